#include <fmt/format.h>

#include <random>

#include "support/float_truth.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using ir::Type;

namespace {

std::uint64_t canonical(Type type, std::uint64_t bits) {
  if (type == Type::Bool) return bits != 0;
  return ir::is_float(type) ? truth::canonical(bits, type) : bits;
}

constexpr std::uint64_t kMemorySeed = 0x5EED'0004;

}  // namespace

TEST_CASE("a copy of every element type keeps the values, canonically") {
  std::mt19937_64 random(kMemorySeed);
  for (std::size_t t = 0; t <= static_cast<std::size_t>(Type::F64); ++t) {
    const auto type = static_cast<Type>(t);
    const std::size_t size = ir::info(type).bytes;
    Bytes in(256 * size);
    for (std::size_t i = 0; i < in.size(); ++i) {
      // Runs of zeros and ones bytes make subnormals and NaNs likely.
      const std::uint64_t roll = random();
      in[i] = static_cast<std::byte>(roll % 3 == 0 ? 0 : roll % 3 == 1 ? 0xFF : roll >> 8);
    }
    for (const char* through : {"", "workgroup w: {0}[16];"}) {
      const bool shared = through[0] != 0;
      const std::string text = fmt::format(
          "program p workgroup(16) {{ readonly x: {0}[]; output o: {0}[256]; {1} {2} }}",
          ir::info(type).name,
          shared ? fmt::format(fmt::runtime(through), ir::info(type).name) : "",
          shared ? "w[15 - local.x] = x[invocation.x]; o[invocation.x] = w[15 - local.x];"
                 : "o[invocation.x] = x[invocation.x];");
      const Bytes out = run(text, {in}, inferred_grid())[0];
      REQUIRE(out.size() == in.size());
      for (std::size_t i = 0; i < 256; ++i) {
        CAPTURE(ir::info(type).name);
        CAPTURE(kMemorySeed);
        CHECK(element(out, i, size) == canonical(type, element(in, i, size)));
      }
    }
  }
}

TEST_CASE("bytes that are never stored stay as the caller gave them, canonical or not") {
  const Words in{0x7F80'0001, 0x0000'0001, 0xFFC1'2345, 5};
  const Words out =
      run_words("program p workgroup(1) { readwrite f: f32[]; f[3] = 1.0; }", {bytes_of(in)});
  CHECK(out == Words{0x7F80'0001, 0x0000'0001, 0xFFC1'2345, 0x3F80'0000});
}

TEST_CASE("narrow loads widen by the sign of the type") {
  const std::vector<std::uint8_t> in{0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x55, 0xAA};
  const auto out = run(R"(program p workgroup(8) {
    readonly a: u8[8]; readonly b: i8[8]; readonly c: u16[4]; readonly d: i16[4];
    output o: u32[8]; output s: i32[8]; output q: u32[4]; output r: i32[4];
    let i = local.x;
    o[i] = a[i]; s[i] = b[i];
    if i < 4 { q[i] = c[i]; r[i] = d[i]; }
  })",
                       {bytes_of(in), bytes_of(in), bytes_of(in), bytes_of(in)});
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(words_of(out[0])[i] == in[i]);
    CHECK(values_of<std::int32_t>(out[1])[i] == (in[i] < 128 ? in[i] : in[i] - 256));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const int value = in[2 * i] + 256 * in[2 * i + 1];
    CHECK(words_of(out[2])[i] == static_cast<std::uint32_t>(value));
    CHECK(values_of<std::int32_t>(out[3])[i] == (value < 32768 ? value : value - 65536));
  }
}

TEST_CASE("narrow stores truncate and leave the neighbours alone") {
  for (const char* type : {"u8", "i8", "u16", "i16"}) {
    const bool is_signed = type[0] == 'i';
    const std::size_t size = std::string_view(type).ends_with("8") ? 1 : 2;
    const Bytes in(16 * size, std::byte{0xEE});
    const Bytes out =
        run(fmt::format("program p workgroup(16) {{ readwrite x: {}[]; "
                        "if local.x % 3 == 1 {{ x[local.x] = {}(305419896) + {}(local.x); }} }}",
                        type, is_signed ? "i32" : "u32", is_signed ? "i32" : "u32"),
            {in})[0];
    for (std::size_t i = 0; i < 16; ++i) {
      const std::uint64_t mask = size == 1 ? 0xFF : 0xFFFF;
      const std::uint64_t untouched = 0xEEEE & mask;
      CAPTURE(type);
      CHECK(element(out, i, size) == (i % 3 == 1 ? (305419896 + i) & mask : untouched));
    }
  }
}

TEST_CASE("neighbouring narrow stores from all invocations do not disturb each other") {
  std::vector<std::uint8_t> expected(256);
  for (std::size_t i = 0; i < 256; ++i) expected[i] = static_cast<std::uint8_t>(i * 7);
  CHECK(run("program p workgroup(32) { output o: u8[256]; o[invocation.x] = invocation.x * 7; }",
            {}, inferred_grid())[0] == bytes_of(expected));
}

TEST_CASE("a narrow value can be stored as its own type") {
  const auto out =
      run("program p workgroup(1) { output a: i8[4]; output b: u16[2]; a[2] = i8(-3i32); "
          "a[3] = -128i8; b[1] = u16(65537); }");
  CHECK(values_of<std::int8_t>(out[0]) == std::vector<std::int8_t>{0, 0, -3, -128});
  CHECK(values_of<std::uint16_t>(out[1]) == std::vector<std::uint16_t>{0, 1});
}

TEST_CASE("bool words: any non-zero word reads as true, stores write 0 or 1") {
  const auto out = run(R"(program p workgroup(4) {
    readonly b: bool[];
    output o: bool[4];
    output n: u32[4];
    o[local.x] = b[local.x];
    n[local.x] = select(b[local.x], 5, 6);
  })",
                       {bytes_of(Words{0, 1, 0x8000'0000, 0xFFFF'FFFF})});
  CHECK(words_of(out[0]) == Words{0, 1, 1, 1});
  CHECK(words_of(out[1]) == Words{6, 5, 5, 5});
}

TEST_CASE("loads and stores canonicalise floats") {
  const auto out = run(R"(program p workgroup(8) {
    readonly f: f32[]; output o: f32[8]; output bits: u32[8];
    o[local.x] = f[local.x];
    bits[local.x] = bitcast<u32>(f[local.x]);
  })",
                       {bytes_of(Words{1, 0x8000'0001, 0x7FFF'FFFF, 0x8080'0000, 0x7F80'0001,
                                       0xFF80'0000, 0xFFC0'0000, 0x007F'FFFF})});
  const Words expected{0,           0x8000'0000, 0x7FC0'0000, 0x8080'0000,
                       0x7FC0'0000, 0xFF80'0000, 0x7FC0'0000, 0};
  CHECK(words_of(out[0]) == expected);
  CHECK(words_of(out[1]) == expected);
}

TEST_CASE("a bitcast to a float is canonical at once") {
  const Words out = run_words(R"(program p workgroup(1) {
    readonly w: u32[]; output o: u32[3];
    loop i in 0..3 { o[i] = bitcast<u32>(bitcast<f32>(w[i])); }
  })",
                              {bytes_of(Words{1, 0xFFFF'FFFF, 0x3F80'0000})});
  CHECK(out == Words{0, 0x7FC0'0000, 0x3F80'0000});
}

TEST_CASE("loads and stores past the end: zero, nothing, and counted") {
  const auto backend = make_reference_backend();
  const auto program = valid_program(R"(program p workgroup(8) {
    readonly x: u32[];
    readwrite y: u32[];
    output o: u32[8];
    o[local.x] = x[local.x] + 1;
    y[local.x * 2] = 7;
  })");
  const auto out =
      backend->dispatch(program, {bytes_of(Words{5, 6, 7}), bytes_of(Words{1, 2, 3, 4})});
  REQUIRE(out.has_value());
  CHECK(words_of((*out)[0]) == Words{7, 2, 7, 4});
  CHECK(words_of((*out)[1]) == Words{6, 7, 8, 1, 1, 1, 1, 1});
  CHECK(backend->out_of_bounds().loads == 5);
  CHECK(backend->out_of_bounds().stores == 6);
  CHECK(backend->out_of_bounds().atomics == 0);
  REQUIRE(backend->dispatch(program, {bytes_of(Words(3)), bytes_of(Words(4))}).has_value());
  CHECK(backend->out_of_bounds().loads == 10);
}

TEST_CASE("a program within its buffers counts nothing") {
  const auto backend = make_reference_backend();
  REQUIRE(backend
              ->dispatch(valid_program("program p workgroup(8) { output o: u32[8]; "
                                       "if invocation.x < 8 { o[invocation.x] = 1; } }"),
                         {}, on_grid(4))
              .has_value());
  CHECK(backend->out_of_bounds().loads + backend->out_of_bounds().stores == 0);
}

TEST_CASE("past the end of every type, far and near") {
  for (std::size_t t = 0; t <= static_cast<std::size_t>(Type::F64); ++t) {
    const auto& row = ir::info(static_cast<Type>(t));
    const std::string text = fmt::format(
        R"(program p workgroup(4) {{
          readwrite x: {0}[];
          output o: {0}[4];
          workgroup w: {0}[3];
          w[local.x] = x[0];
          let large = select(local.x == 1, 4294967295, local.x * 1073741824);
          let far = select(local.x == 0, len(x), large);
          o[local.x] = x[far];
          x[far] = x[0];
          w[far] = x[0];
          if local.x == 3 {{ o[local.x] = w[local.x]; }}
        }})",
        row.name);
    const Bytes in(2 * row.bytes, std::byte{1});
    const auto out = run(text, {in});
    CAPTURE(row.name);
    CHECK(out[0].size() == in.size());
    CHECK(out[1] == Bytes(4 * row.bytes));
    if (static_cast<Type>(t) != Type::F32 && static_cast<Type>(t) != Type::Bool)
      CHECK(out[0] == in);
  }
}

TEST_CASE("masked lanes past the end are not counted") {
  const auto backend = make_reference_backend();
  REQUIRE(backend
              ->dispatch(valid_program(R"(program p workgroup(8) {
    readonly x: u32[]; output o: u32[8];
    if local.x < len(x) { o[local.x] = x[local.x]; }
  })"),
                         {bytes_of(Words{1, 2})})
              .has_value());
  CHECK(backend->out_of_bounds().loads == 0);
}

TEST_CASE("len of every kind of buffer") {
  const auto out = run(R"(program p workgroup(1) {
    readonly a: u16[]; readwrite b: u64[3]; uniform c: f32[]; output o: u32[6]; workgroup w: u8[5];
    writeonly d: i8[9];
    o[0] = len(a); o[1] = len(b); o[2] = len(c); o[3] = len(o); o[4] = len(w); o[5] = len(d);
    d[8] = 1i32;
  })",
                       {Bytes(14), Bytes(24), Bytes(8)});
  CHECK(words_of(out[1]) == Words{7, 3, 2, 6, 5, 9});
}

TEST_CASE("two workgroup buffers of one name length do not overlap") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[12];
    workgroup a: u8[4]; workgroup b: u64[4]; workgroup c: u16[4];
    let i = local.x;
    a[i] = 10 + i; b[i] = u64(20 + i); c[i] = 30 + i;
    o[i] = a[3 - i]; o[4 + i] = u32(b[3 - i]); o[8 + i] = c[3 - i];
  })");
  CHECK(out == Words{13, 12, 11, 10, 23, 22, 21, 20, 33, 32, 31, 30});
}
