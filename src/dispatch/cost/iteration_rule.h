// How often a program runs, and what ends it: the configuration's fields in one place.
#pragma once

#include <optional>

#include "felsite/dispatch.h"
#include "felsite/program.h"

namespace felsite::dispatch {

struct IterationRule {
  std::uint32_t bound = 1;             // the most iterations
  bool converges = false;              // something may end it before
  bool compares = false;               // it ends when no storage buffer changes
  std::optional<ir::BufferId> flag{};  // it ends when an iteration leaves this buffer zero

  bool is_repeated() const { return bound > 1; }
};

inline bool is_repeated(const DispatchConfig& config) {
  return config.fixpoint_iterations.value_or(1) > 1;
}

inline IterationRule iteration_rule(const ir::Program& program, const DispatchConfig& config) {
  IterationRule rule{.bound = config.fixpoint_iterations.value_or(1)};
  const Convergence::Kind kind = config.convergence.kind;
  rule.converges = rule.is_repeated() && kind != Convergence::Kind::None;
  rule.compares = rule.is_repeated() && kind == Convergence::Kind::Automatic;
  if (kind == Convergence::Kind::Flag) rule.flag = program.find_buffer(config.convergence.flag);
  return rule;
}

}  // namespace felsite::dispatch
