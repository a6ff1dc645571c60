// The ways to give an input, for every kind of element.
#include "tool_runner.h"

using namespace felsite::test;

namespace {

// A program that gives its input back, and the number of its elements.
std::string echo(std::string_view type, std::string_view count = "") {
  std::string text = "program echo workgroup(1) { readwrite x: ";
  text.append(type).append("[").append(count).append("]; output n: u32[1]; n[0] = len(x); }");
  return text;
}

Outcome give(std::string_view type, const std::string& spec, std::string_view count = "") {
  return run_tool({"run", "-", "--input", "x=" + spec}, echo(type, count));
}

// The line of `x`, without its name.
std::string values(const Outcome& outcome) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  const std::size_t end = outcome.out.find('\n');
  REQUIRE(outcome.out.starts_with("x = "));
  return outcome.out.substr(4, end - 4);
}

}  // namespace

TEST_CASE("a list of numbers") {
  CHECK(values(give("u32", "1,2,4294967295")) == "1 2 4294967295");
  CHECK(values(give("u32", "0xff,0X10")) == "255 16");
  CHECK(values(give("i32", "-1,-2147483648,2147483647")) == "-1 -2147483648 2147483647");
  CHECK(values(give("u64", "18446744073709551615")) == "18446744073709551615");
  CHECK(values(give("i64", "-9223372036854775808")) == "-9223372036854775808");
  CHECK(values(give("u8", "0,255")) == "0 255");
  CHECK(values(give("i8", "-128,127")) == "-128 127");
  CHECK(values(give("u16", "65535")) == "65535");
  CHECK(values(give("i16", "-32768")) == "-32768");
  CHECK(values(give("bool", "true,false,1,0")) == "1 0 1 0");
  CHECK(give("u32", "5").out == "x = 5\nn = 1\n");
}

TEST_CASE("a list of floats") {
  CHECK(values(give("f32", "1,-0.5,+2,1e20,0.1")) == "1 -0.5 2 1e+20 0.1");
  CHECK(values(give("f32", "inf,-inf,nan,-0")) == "inf -inf nan -0");
  CHECK(values(give("f64", "0.1,1e300")) == "0.1 1e+300");
  CHECK(values(give("f16", "0.5,65504,1.0009765625")) == "0.5 65504 1.0009766");
  CHECK(values(give("bf16", "1,256,0.15625")) == "1 256 0.15625");
}

TEST_CASE("decimals are rounded once, as literals are") {
  const auto bits = [](std::string_view type, const std::string& decimal) {
    const Outcome outcome = run_tool({"run", "-", "-i", "x=" + decimal, "-o", "x=hex"}, echo(type));
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  // 1 + 2^-24, the tie between 1 and the next f32, and values beside it, closer than f64 can
  // represent.
  CHECK(bits("f32", "1.000000059604644775390625") == "x = 3f800000\n");
  CHECK(bits("f32", "1.00000005960464477539062500001") == "x = 3f800001\n");
  CHECK(bits("f32", "-1.00000005960464477539062500001") == "x = bf800001\n");
  CHECK(bits("f32", "1.00000017881393432617187499999") == "x = 3f800001\n");
  CHECK(bits("f32", "1.000000178813934326171875") == "x = 3f800002\n");
  // 1 + 2^-11 in f16, 1 + 2^-8 in bf16.
  CHECK(bits("f16", "1.00048828125") == "x = 3c00\n");
  CHECK(bits("f16", "1.000488281250000000000000000001") == "x = 3c01\n");
  CHECK(bits("f16", "1.001464843749999999999999999999") == "x = 3c01\n");
  CHECK(bits("bf16", "1.00390625") == "x = 3f80\n");
  CHECK(bits("bf16", "1.003906250000000000000000000001") == "x = 3f81\n");
  // 1 + 2^-53 in f64.
  CHECK(bits("f64", "1.00000000000000011102230246251565404236316680908203125") ==
        "x = 3ff0000000000000\n");
  CHECK(bits("f64", "1.000000000000000111022302462515654042363166809082031250001") ==
        "x = 3ff0000000000001\n");
  check_refused(give("f32", "1e39"), 1, "`1e39` is not an f32");
  check_refused(give("f16", "65520"), 1, "`65520` is not an f16");
  CHECK(bits("f16", "65519.999999999999999999999") == "x = 7bff\n");
  CHECK(bits("f32", "1e-400") == "x = 00000000\n");
}

TEST_CASE("a number that the type does not hold is refused") {
  check_refused(give("u32", "4294967296"), 1, "`4294967296` is not a u32");
  check_refused(give("u32", "-1"), 1, "`-1` is not a u32");
  check_refused(give("u8", "256"), 1, "`256` is not a u8");
  check_refused(give("i8", "-129"), 1, "`-129` is not an i8");
  check_refused(give("u32", "1.5"), 1, "`1.5` is not a u32");
  check_refused(give("u32", "1, 2"), 1, "` 2` is not a u32");
  check_refused(give("u32", "1,,2"), 1, "`` is not a u32");
  check_refused(give("u32", "1,2,"), 1, "ends with a comma");
  check_refused(give("f32", "one"), 1, "`one` is not an f32");
  check_refused(give("bool", "yes"), 1, "`yes` is not a bool");
  check_refused(give("u32", "0x"), 1, "`0x` is not a u32");
}

TEST_CASE("bits in hexadecimal, for every type") {
  CHECK(values(give("f32", "bits:3f800000,0xbf000000,80000000,7fc00001")) == "1 -0.5 -0 nan");
  CHECK(values(give("f64", "bits:3ff0000000000000")) == "1");
  CHECK(values(give("f16", "bits:3c00,0")) == "1 0");
  CHECK(values(give("i8", "bits:ff,80")) == "-1 -128");
  CHECK(values(give("u64", "bits:FFFFFFFFFFFFFFFF,a")) == "18446744073709551615 10");
  CHECK(give("f32", "bits:").out == "x = \nn = 0\n");
  const Outcome exact =
      run_tool({"run", "-", "-i", "x=bits:7fa00001,ff812345", "-o", "x=hex"}, echo("f32"));
  CHECK(exact.out == "x = 7fa00001 ff812345\n");
  check_refused(give("f16", "bits:10000"), 1, "`10000` is not the bits of an f16");
  check_refused(give("u32", "bits:xyz"), 1, "`xyz` is not the bits of a u32");
  check_refused(give("u32", "bits:-1"), 1, "`-1` is not the bits of a u32");
  check_refused(give("u32", "bits:1,,2"), 1, "`` is not the bits of a u32");
  check_refused(give("u32", "bits:1,"), 1, "ends with a comma");
  check_refused(give("u32", "bits:10000000000000000"), 1, "is not the bits of a u32");
}

TEST_CASE("nothing after the equals sign is no element") {
  CHECK(give("u32", "").out == "x = \nn = 0\n");
}

TEST_CASE("zeros and iota, with a count or with the buffer's own") {
  CHECK(values(give("u32", "zeros:3")) == "0 0 0");
  CHECK(values(give("f64", "zeros", "2")) == "0 0");
  CHECK(values(give("u32", "iota:5")) == "0 1 2 3 4");
  CHECK(values(give("f32", "iota", "4")) == "0 1 2 3");
  CHECK(values(give("bool", "iota:3")) == "0 1 1");
  CHECK(give("u8", "iota:258").out.starts_with("x = 0 1 2 3"));
  CHECK(values(give("u32", "zeros:0")).empty());
}

TEST_CASE("bytes wrap in iota") {
  const Scratch scratch;
  const Outcome outcome = run_tool(
      {"run", "-", "--input", "x=iota:258", "--output", "x=@" + scratch.path("bytes")}, echo("u8"));
  REQUIRE(outcome.code == 0);
  const std::string bytes = scratch.read("bytes");
  REQUIRE(bytes.size() == 258);
  CHECK(bytes[255] == '\xff');
  CHECK(bytes[256] == '\0');
}

TEST_CASE("random inputs are equal for equal seeds, and differ for others") {
  for (const char* type : {"u32", "i8", "u64", "f32", "f16", "bool"}) {
    CAPTURE(type);
    const std::string once = values(give(type, "random:40:7"));
    CHECK(once == values(give(type, "random:40:7")));
    CHECK(once != values(give(type, "random:40:8")));
    CHECK(values(give(type, "random:40")) == values(give(type, "random:40:0")));
  }
}

TEST_CASE("random floats are from -1 to 1") {
  std::istringstream numbers(values(give("f32", "random:64:3")));
  double low = 0;
  double high = 0;
  int count = 0;
  for (double number = 0; numbers >> number; ++count) {
    low = std::min(low, number);
    high = std::max(high, number);
  }
  CHECK(count == 64);
  CHECK(low >= -1.0);
  CHECK(low < -0.5);
  CHECK(high <= 1.0);
  CHECK(high > 0.5);
}

TEST_CASE("a generator without a usable count is refused") {
  check_refused(give("u32", "iota"), 1, "needs a count");
  check_refused(give("u32", "zeros:many"), 1, "`zeros:many`");
  check_refused(give("u32", "iota:-3"), 1, "`iota:-3`");
  check_refused(give("u32", "iota:3:4"), 1, "`iota:3:4`");
  check_refused(give("u32", "random:3:seed"), 1, "`random:3:seed`");
  check_refused(give("u64", "zeros:999999999999"), 1, "more than 2 GiB");
  check_refused(give("u32", "zeros:99999999999999999999"), 1, "`zeros:99999999999999999999`");
}

TEST_CASE("raw bytes from a file") {
  const Scratch scratch;
  const std::string file = scratch.write("x.bin", std::string("\1\0\0\0\2\0\0\0", 8));
  CHECK(values(give("u32", "@" + file)) == "1 2");
  CHECK(values(give("u16", "@" + file)) == "1 0 2 0");
  const std::string empty = scratch.write("empty.bin", "");
  CHECK(values(give("u32", "@" + empty)).empty());
  const std::string odd = scratch.write("odd.bin", "12345");
  check_refused(give("u32", "@" + odd), 1, "no whole number of u32 elements");
}

TEST_CASE("raw bytes from standard input") {
  const Scratch scratch;
  const std::string program = scratch.write("echo.fels", echo("u8"));
  CHECK(values(run_tool({"run", program, "--input", "x=@-"}, "AB")) == "65 66");
}

TEST_CASE("standard input is read once: by the program or by one input") {
  const Scratch scratch;
  const std::string text =
      "program two workgroup(1) { readonly a: u8[]; readonly b: u8[]; output o: u32[1];"
      " o[0] = len(a) + len(b); }";
  const std::string program = scratch.write("two.fels", text);
  check_refused(run_tool({"run", program, "-i", "a=@-", "-i", "b=@-"}, "AB"), 2, "standard input");
  check_refused(run_tool({"run", "-", "-i", "a=@-", "-i", "b=1"}, text), 2, "standard input");
  check_refused(run_tool({"explain", "-", "-i", "a=@-"}, text), 2, "standard input");
  CHECK(run_tool({"run", program, "-i", "a=@-", "-i", "b=1"}, "AB").out == "o = 3\n");
}

TEST_CASE("a file that cannot be read is refused") {
  const Scratch scratch;
  check_refused(give("u32", "@" + scratch.path("absent")), 1, "No such file or directory");
  check_refused(give("u32", "@" + scratch.path("")), 1, "Is a directory");
}

TEST_CASE("the counts that the program fixes are demanded") {
  check_refused(give("u32", "1,2", "3"), 1, "Buffer `x` takes 3 elements and was given 2");
  check_refused(give("u32", "iota:4", "1"), 1, "Fix: give exactly 1 element, 4 bytes.");
  check_refused(give("u32", "iota:4", "3"), 1, "Buffer `x` takes 3 elements and was given 4");
}

TEST_CASE("inputs may come in any order, before and after the file") {
  const Sample saxpy = sample_named("saxpy");
  const Outcome outcome = run_tool(
      {"run", "-i", "y=1,1", "--input", "a=3", "--grid", "1", saxpy.path, "--input=x=iota:2"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "y = 1 4\n");
}

TEST_CASE("missing, unknown and repeated inputs are refused") {
  const std::string path = sample_named("saxpy").path;
  check_refused(run_tool({"run", path}), 1, "The input `a` (f32) is missing");
  check_refused(run_tool({"run", path, "-i", "a=1", "-i", "x=1"}), 1, "The input `y` (f32) is");
  check_refused(run_tool({"run", path, "-i", "b=1"}), 1, "The program has no input `b`");
  check_refused(run_tool({"run", path, "-i", "a=1", "-i", "a=2"}), 1, "`a` is given twice");
  // An output takes no bytes.
  check_refused(run_tool({"run", sample_named("histogram").path, "-i", "bins=zeros"}), 1,
                "The program has no input `bins`");
}
