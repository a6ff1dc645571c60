// The scalar types of the IR and their properties.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace felsite::ir {

enum class Type : std::uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64,
  None,  // an expression whose type is unknown; validation says why
};

inline constexpr std::size_t kTypeCount = static_cast<std::size_t>(Type::None) + 1;

enum class TypeClass : std::uint8_t { Bool, Unsigned, Signed, Float, None };

struct TypeInfo {
  Type type;
  std::string_view name;
  std::uint8_t bytes;  // of one element in a buffer
  TypeClass kind;
  Type loaded;       // the type of a loaded element: narrow integers widen
  Type as_unsigned;  // the unsigned type of the same width, None for bool
};

inline constexpr std::array<TypeInfo, kTypeCount> kTypes{{
    {Type::Bool, "bool", 4, TypeClass::Bool, Type::Bool, Type::None},
    {Type::U8, "u8", 1, TypeClass::Unsigned, Type::U32, Type::U8},
    {Type::I8, "i8", 1, TypeClass::Signed, Type::I32, Type::U8},
    {Type::U16, "u16", 2, TypeClass::Unsigned, Type::U32, Type::U16},
    {Type::I16, "i16", 2, TypeClass::Signed, Type::I32, Type::U16},
    {Type::U32, "u32", 4, TypeClass::Unsigned, Type::U32, Type::U32},
    {Type::I32, "i32", 4, TypeClass::Signed, Type::I32, Type::U32},
    {Type::U64, "u64", 8, TypeClass::Unsigned, Type::U64, Type::U64},
    {Type::I64, "i64", 8, TypeClass::Signed, Type::I64, Type::U64},
    {Type::F16, "f16", 2, TypeClass::Float, Type::F16, Type::U16},
    {Type::BF16, "bf16", 2, TypeClass::Float, Type::BF16, Type::U16},
    {Type::F32, "f32", 4, TypeClass::Float, Type::F32, Type::U32},
    {Type::F64, "f64", 8, TypeClass::Float, Type::F64, Type::U64},
    {Type::None, "?", 0, TypeClass::None, Type::None, Type::None},
}};

constexpr const TypeInfo& info(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

std::optional<Type> type_named(std::string_view name);

// A set of types as a bit mask: the operand side of a typing rule.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(Type type) : bits_(static_cast<std::uint16_t>(1u << unsigned(type))) {}
  constexpr bool has(Type type) const { return ((bits_ >> unsigned(type)) & 1u) != 0; }
  constexpr TypeSet operator|(TypeSet other) const {
    TypeSet both;
    both.bits_ = static_cast<std::uint16_t>(bits_ | other.bits_);
    return both;
  }

 private:
  std::uint16_t bits_ = 0;
};

constexpr TypeSet operator|(Type a, Type b) { return TypeSet(a) | TypeSet(b); }

inline constexpr TypeSet kUnsignedTypes = Type::U32 | Type::U64;
inline constexpr TypeSet kSignedTypes = Type::I32 | Type::I64;
inline constexpr TypeSet kIntegerTypes = kUnsignedTypes | kSignedTypes;
// Narrow floats compute in f32; the functions are fixed f32 algorithms, so f64 has none of them.
inline constexpr TypeSet kFunctionTypes = TypeSet(Type::F16) | Type::BF16 | Type::F32;
inline constexpr TypeSet kFloatTypes = kFunctionTypes | Type::F64;
inline constexpr TypeSet kNumericTypes = kIntegerTypes | kFloatTypes;
inline constexpr TypeSet kNarrowTypes = TypeSet(Type::U8) | Type::I8 | Type::U16 | Type::I16;
inline constexpr TypeSet kValueTypes = kNumericTypes | kNarrowTypes | Type::Bool;

constexpr bool is_float(Type type) { return info(type).kind == TypeClass::Float; }

}  // namespace felsite::ir
