// The kernels of the rows about code generation and about run time on a device, each with what it
// is run on.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/backend.h"
#include "felsite/program.h"

namespace felsite::bench {

struct BenchKernel {
  std::string_view name;
  std::string_view workgroup;  // as the text form has it
  std::string_view body;       // buffers and statements
  std::string_view peer;       // as an expert writes it in GLSL (shaders/peers); empty: none
  std::uint32_t elements;      // of its buffers, for some 10 ms on two cores of lavapipe
  // How much one of the peer's workgroups does: elements, or columns and rows of a grid.
  std::array<std::uint32_t, 2> peer_tile{};
};

inline constexpr std::uint32_t kStencilWidth = 2048;

extern const BenchKernel kSaxpy;
extern const BenchKernel kStencil;
extern const BenchKernel kReduce;
extern const BenchKernel kClosureHop;
extern const BenchKernel kHash;
// Without a peer.
extern const BenchKernel kSaxpyFma;
extern const BenchKernel kNormalise;
extern const BenchKernel kPolynomial;
extern const BenchKernel kSaxpyUnguarded;
extern const BenchKernel kStencilUnguarded;

// Those with a peer.
std::array<const BenchKernel*, 5> kernels_with_peers();

ir::Program program_of(const BenchKernel& kernel, ir::FloatMode mode);
ir::Program parsed_program(std::string_view text);

// Inputs in declaration order, and the workgroups that cover them.
struct Workload {
  std::vector<Bytes> inputs;
  Extent3 grid;
};
Workload workload_of(const ir::Program& program, std::uint32_t elements);
// Workgroups of the peer.
std::array<std::uint32_t, 2> peer_grid(const BenchKernel& kernel, std::uint32_t elements);

// Statements in a row, each of them using the one before: the same for Felsite and for GLSL.
std::string straight_line_text(std::uint32_t statements);
std::string straight_line_glsl(std::uint32_t statements);
// Declarations, stores and branches in turn, `nodes` in all.
std::string mixed_text(std::uint32_t nodes);

}  // namespace felsite::bench
