// Programs with grid barriers or iterations, each at several sizes: what `automatic_form` measures.
#pragma once

#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "graph.h"

namespace felsite::bench {

struct FormShape {
  std::string name;
  std::string text;
  std::vector<Bytes> inputs;  // in declaration order
  DispatchConfig config;      // without a form
};

// The shapes are the same in every run and on every device.
std::vector<FormShape> form_shapes();

// Its two halves: regular work on arrays, and graphs.
std::vector<FormShape> array_shapes();
std::vector<FormShape> graph_shapes();

template <class T>
Bytes bytes_of_values(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Workgroups of `size` invocations for `elements`, and iterations with what ends them.
DispatchConfig along_x(std::uint32_t elements, std::uint32_t size, std::uint32_t iterations = 1,
                       Convergence::Kind ends = Convergence::Kind::Automatic);

}  // namespace felsite::bench
