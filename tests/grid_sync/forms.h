// Every form in which a program with grid barriers, or a fixpoint, is run, on the backend that the
// environment names. What a test expects is computed by hand or by a plain host algorithm, never
// taken from a backend; only generated programs are compared with the reference.
//
//   FELSITE_GRID_SYNC_BACKEND   reference (the default) or vulkan
//   FELSITE_GRID_SYNC_MASK      for vulkan: VulkanOptions.mask
//   FELSITE_GRID_SYNC_PROGRAMS  how many generated programs are compared
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/backend.h"
#include "felsite/capabilities.h"
#include "support/results.h"
#include "support/run_program.h"

namespace felsite::test {

bool on_vulkan();
// One for all tests: opening a device takes a while.
Backend& tested();
// The features of the tested device; the reference has them all.
bool tested_has(codegen::Feature feature);

struct Form {
  std::string name;
  Backend* backend;
  GridSync sync;

  // There the error of a run says in which segment it was.
  bool has_segments() const {
    return on_vulkan() && (sync == GridSync::HostSplit || sync == GridSync::Resident);
  }
};
const std::vector<Form>& forms();

// One workgroup cannot hold every grid, and may say so; but a grid of one, or of none, always fits.
struct Refusals {
  std::uint64_t asked = 0;  // how often it was given more than one workgroup
  std::map<std::string_view, std::uint64_t> refused{};  // by reason
};
Refusals& refusals();

struct Expected {
  std::vector<Bytes> outputs{};
  std::optional<std::uint32_t> iterations{};
  std::optional<bool> converged{};
  // One workgroup, or all forms that split, answer with UnsupportedFeature.
  enum class Refusal : std::uint8_t { Never, OneWorkgroup, WhereSplit };
  Refusal refusal = Refusal::Never;
};

// Runs the program in each form. The bytes are the expected ones, the iterations too, or at least
// those of the other forms, and nothing stays resident.
void check_all_forms(const ir::Program& program, const std::vector<Bytes>& inputs,
                     const DispatchConfig& config, const Expected& expected);
void check_all_forms(std::string_view text, const std::vector<Bytes>& inputs,
                     const DispatchConfig& config, const Expected& expected);

// Each form answers with this error, which is whole, and nothing stays resident. What the caller
// did wrong comes before what a form cannot do; `needs_a_run` is for errors that only a run shows.
using MoreChecks = std::function<void(const Form&, const Error&)>;
void check_all_forms_fail(const ir::Program& program, const std::vector<Bytes>& inputs,
                          const DispatchConfig& config, ErrorCode code, bool needs_a_run = false,
                          const MoreChecks& more = {});

// The only difference between a form and a plain run.
inline DispatchConfig in_form(DispatchConfig config, const Form& form) {
  config.grid_sync = form.sync;
  return config;
}
// Whether the form may say that the grid is too large for it, and for which of the reasons that it
// may have it did so; counted. Empty: the error is no such refusal.
bool may_refuse(const Form& form, const DispatchConfig& config);
std::string_view fair_refusal(const Form& form, const Error& error, const DispatchConfig& config);
inline bool is_fair_refusal(const Form& form, const Error& error, const DispatchConfig& config) {
  return !fair_refusal(form, error, config).empty();
}

inline DispatchConfig fixpoint(DispatchConfig config, std::uint32_t bound,
                               Convergence convergence = {}) {
  config.fixpoint_iterations = bound;
  config.convergence = std::move(convergence);
  return config;
}
inline Convergence by_flag(std::string name) { return {Convergence::Kind::Flag, std::move(name)}; }
inline Convergence never() { return {Convergence::Kind::None, ""}; }

// value(0), value(1), value(2), …
Words each(std::uint32_t count, auto value) {
  Words words(count);
  for (std::uint32_t i = 0; i < count; ++i) words[i] = value(i);
  return words;
}

// samples/NAME.fels
std::string sample_text(std::string_view name);

}  // namespace felsite::test
