// A program that uses Vulkan and an allocator itself, before, while and after Felsite runs: on the
// program's device, and on one that Felsite opens.
#include "own_vulkan.h"

#include <felsite/text.h>
#include <felsite/vulkan.h>
#include <felsite/vulkan_interop.h>

#include <memory>
#include <vector>

using namespace felsite;

namespace {

constexpr const char* kSquare = R"(program square workgroup(8) {
  readonly x: u32[];
  output y: u32[4];
  let i = invocation.x;
  if i < 4 { y[i] = x[i] * x[i]; }
})";

void square_on(Result<std::unique_ptr<Backend>> backend, const OwnDevice& own) {
  if (!backend) require(false, to_string(backend.error()).c_str());
  const auto program = ir::parse(kSquare);
  require(program.has_value(), "parse");
  const std::uint32_t values[] = {1, 2, 3, 4};
  Bytes input(sizeof values);
  std::memcpy(input.data(), values, sizeof values);
  own.use();
  const auto result = (*backend)->dispatch(*program, {input});
  if (!result) require(false, to_string(result.error()).c_str());
  std::uint32_t squares[4];
  std::memcpy(squares, (*result)[0].data(), sizeof squares);
  require(squares[0] == 1 && squares[1] == 4 && squares[2] == 9 && squares[3] == 16, "the squares");
  own.use();
}

}  // namespace

int main() {
  const OwnDevice own;
  own.use();
  VulkanInterop mine;
  mine.instance = own.instance;
  mine.physical_device = own.physical;
  mine.device = own.device;
  mine.queue = own.queue;
  square_on(make_vulkan_backend(mine), own);
  square_on(make_vulkan_backend(), own);
  own.use();
  std::puts("both ways");
}
