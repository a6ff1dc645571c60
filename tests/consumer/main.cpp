// Builds a program, runs it on the reference backend, and checks the answer: all a user needs from
// the installed headers and library.
#include <felsite/builder.h>
#include <felsite/reference.h>
#include <felsite/text.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

int main() {
  using namespace felsite;
  ir::Builder k("square", {8});
  ir::Buffer x = k.readonly("x", ir::Type::U32);
  ir::Buffer out = k.output("out", ir::Type::U32, 4);
  ir::Value i = k.let("i", k.invocation(0));
  k.if_(i < k.length(out), [&] { out[i] = x[i] * x[i]; });
  const auto program = k.build();
  if (!program) return 1;

  const std::uint32_t values[] = {1, 2, 3, 4};
  Bytes input(sizeof values);
  std::memcpy(input.data(), values, sizeof values);
  const auto result = make_reference_backend()->dispatch(*program, {input});
  if (!result) {
    std::puts(to_string(result.error()).c_str());
    return 1;
  }
  std::uint32_t squares[4];
  std::memcpy(squares, (*result)[0].data(), sizeof squares);
  std::printf("%u %u %u %u\n", squares[0], squares[1], squares[2], squares[3]);
  return squares[0] == 1 && squares[1] == 4 && squares[2] == 9 && squares[3] == 16 ? 0 : 1;
}
