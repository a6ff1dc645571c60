#include <array>
#include <cstring>

#include "arithmetic/arithmetic.h"
#include "arithmetic/kernel_table.h"
#include "ir/op_tables.h"
#include "reference/machine.h"

namespace felsite::reference {
namespace {

static_assert(std::endian::native == std::endian::little, "buffers are little-endian");

template <Type type>
Lane<type> read(const std::byte* data, std::uint64_t index) {
  Element<type> bits;
  std::memcpy(&bits, data + index * sizeof bits, sizeof bits);
  return lane_from_element<type>(bits);
}

template <Type type>
void write(std::byte* data, std::uint64_t index, Lane<type> value) {
  const Element<type> bits = element_from_lane<type>(value);
  std::memcpy(data + index * sizeof bits, &bits, sizeof bits);
}

template <Type type>
std::uint64_t run_load(std::byte* result, const std::uint32_t* index, const std::uint32_t* mask,
                       LaneRange range, const std::byte* data, std::uint64_t count) {
  auto* out = reinterpret_cast<Lane<type>*>(result);
  std::uint64_t outside = 0;
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    if (!range.full && mask[lane] == 0) continue;
    const bool inside = index[lane] < count;
    out[lane] = inside ? read<type>(data, index[lane]) : Lane<type>{};
    outside += inside ? 0u : 1u;
  }
  return outside;
}

template <Type type>
std::uint64_t run_store(const std::byte* value, const std::uint32_t* index,
                        const std::uint32_t* mask, LaneRange range, std::byte* data,
                        std::uint64_t count) {
  const auto* in = reinterpret_cast<const Lane<type>*>(value);
  std::uint64_t outside = 0;
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    if (!range.full && mask[lane] == 0) continue;
    if (index[lane] < count) {
      write<type>(data, index[lane], in[lane]);
    } else {
      ++outside;
    }
  }
  return outside;
}

using ir::AtomicOp;

template <AtomicOp op, Type type>
Lane<type> changed(Lane<type> old, Lane<type> operand, Lane<type> expected) {
  if constexpr (op == AtomicOp::Add) return evaluate<BinaryOp::Add, type>(old, operand);
  if constexpr (op == AtomicOp::Sub) return evaluate<BinaryOp::Sub, type>(old, operand);
  if constexpr (op == AtomicOp::Or) return evaluate<BinaryOp::BitOr, type>(old, operand);
  if constexpr (op == AtomicOp::And) return evaluate<BinaryOp::BitAnd, type>(old, operand);
  if constexpr (op == AtomicOp::Xor) return evaluate<BinaryOp::BitXor, type>(old, operand);
  if constexpr (op == AtomicOp::Min) return evaluate<BinaryOp::Min, type>(old, operand);
  if constexpr (op == AtomicOp::Max) return evaluate<BinaryOp::Max, type>(old, operand);
  if constexpr (op == AtomicOp::Exchange) return operand;
  if constexpr (op == AtomicOp::CompareExchange) return old == expected ? operand : old;
}

template <AtomicOp op, Type type>
std::uint64_t run_atomic(std::byte* result, const std::uint32_t* index, const std::byte* operand,
                         const std::byte* expected, const std::uint32_t* mask, LaneRange range,
                         std::byte* data, std::uint64_t count) {
  auto* out = reinterpret_cast<Lane<type>*>(result);
  const auto* in = reinterpret_cast<const Lane<type>*>(operand);
  const auto* other = reinterpret_cast<const Lane<type>*>(expected);
  std::uint64_t outside = 0;
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    if (!range.full && mask[lane] == 0) continue;
    if (index[lane] >= count) {
      out[lane] = Lane<type>{};
      ++outside;
      continue;
    }
    const Lane<type> old = read<type>(data, index[lane]);
    write<type>(data, index[lane], changed<op, type>(old, in[lane], other[lane]));
    out[lane] = old;
  }
  return outside;
}

constexpr auto kLoads =
    by_type<LoadKernel>([]<Type type>() -> LoadKernel { return &run_load<type>; });
constexpr auto kStores =
    by_type<StoreKernel>([]<Type type>() -> StoreKernel { return &run_store<type>; });

template <AtomicOp op>
constexpr auto make_atomics() {
  return by_type<AtomicKernel>([]<Type type>() -> AtomicKernel {
    constexpr bool admitted = ir::kAtomicOps[static_cast<std::size_t>(op)].elements.has(type);
    if constexpr (admitted) return &run_atomic<op, type>;
    return nullptr;
  });
}

constexpr auto kAtomics = []<std::size_t... index>(std::index_sequence<index...>) {
  return std::array{make_atomics<static_cast<AtomicOp>(index)>()...};
}
(std::make_index_sequence<ir::kAtomicOpCount>());

}  // namespace

LoadKernel load_kernel(Type element) { return kLoads[static_cast<std::size_t>(element)]; }
StoreKernel store_kernel(Type element) { return kStores[static_cast<std::size_t>(element)]; }
AtomicKernel atomic_kernel(AtomicOp op, Type element) {
  return kAtomics[static_cast<std::size_t>(op)][static_cast<std::size_t>(element)];
}

}  // namespace felsite::reference
