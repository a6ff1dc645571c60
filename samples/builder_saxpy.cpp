// The kernel of saxpy.fels, built in C++, run on the reference backend, and read back.
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "felsite/backend.h"
#include "felsite/builder.h"

using namespace felsite;
using namespace felsite::ir;

namespace {

int fail(const std::string& reason) {
  std::fprintf(stderr, "%s\n", reason.c_str());
  return 1;
}

}  // namespace

int main() {
  Builder k("saxpy", {64});
  Buffer a = k.uniform("a", Type::F32, 1);
  Buffer x = k.readonly("x", Type::F32);
  Buffer y = k.readwrite("y", Type::F32);
  Value i = k.let("i", k.invocation(0));
  k.if_(i < k.length(y), [&] { y[i] = k.fma(a[0u], x[i], y[i]); });
  const auto program = k.build();
  if (!program) return fail(to_string(to_error(program.error(), "saxpy")));

  // Backends take and return bytes, in the order of the declarations. Inputs are only borrowed.
  const std::vector<float> factor{2};
  const std::vector<float> left{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<float> right{10, 20, 30, 40, 50, 60, 70, 80};
  const std::vector<ByteSpan> inputs{std::as_bytes(std::span(factor)),
                                     std::as_bytes(std::span(left)),
                                     std::as_bytes(std::span(right))};
  const auto backend = make_backend("reference");
  if (!backend) return fail(to_string(backend.error()));
  const auto results = (*backend)->dispatch_borrowed(*program, inputs);
  if (!results) return fail(to_string(results.error()));

  const Bytes& bytes = results->front();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float value : values) std::printf("%g ", static_cast<double>(value));
  std::puts("");
}
