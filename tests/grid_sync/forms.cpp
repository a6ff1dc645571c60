#include "grid_sync/forms.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "felsite/reference.h"
#include "felsite/vulkan.h"
#include "support/difference.h"

namespace felsite::test {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

VulkanOptions vulkan_options() { return {.mask = environment("FELSITE_GRID_SYNC_MASK", "")}; }

// Not an assertion: nothing can be tested without it.
template <class T>
T needed(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return *std::move(result);
}

// Nothing a run takes stays taken.
class NothingStays {
 public:
  explicit NothingStays(Backend& backend) : backend_(backend), before_(backend.metric_snapshot()) {}
  NothingStays(const NothingStays&) = delete;
  NothingStays& operator=(const NothingStays&) = delete;
  ~NothingStays() {
    const MetricSnapshot after = backend_.metric_snapshot();
    CHECK(after.resident_buffers == before_.resident_buffers);
    CHECK(after.resident_bytes == before_.resident_bytes);
  }

 private:
  Backend& backend_;
  MetricSnapshot before_;
};

}  // namespace

bool on_vulkan() {
  static const bool vulkan = environment("FELSITE_GRID_SYNC_BACKEND", "reference") == "vulkan";
  return vulkan;
}

Backend& tested() {
  static const std::unique_ptr<Backend> backend =
      on_vulkan() ? needed(make_vulkan_backend(vulkan_options()))
                  : needed(make_backend("reference"));
  return *backend;
}

bool tested_has(codegen::Feature feature) {
  if (!on_vulkan()) return true;
  static const codegen::Capabilities capabilities = needed(vulkan_capabilities(vulkan_options()));
  return capabilities.has(feature);
}

const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> list{{"automatic", &tested(), GridSync::Automatic},
                           {"host split", &tested(), GridSync::HostSplit}};
    if (on_vulkan()) {
      list.push_back({"resident", &tested(), GridSync::Resident});
      list.push_back({"one workgroup", &tested(), GridSync::OneWorkgroup});
      return list;
    }
    // A test that depends on the order of workgroups would be a wrong test.
    static const auto reversed = make_reference_backend({.order = WorkgroupOrder::Reversed});
    static const auto shuffled =
        make_reference_backend({.order = WorkgroupOrder::Shuffled, .seed = 7});
    list.push_back({"automatic, reversed", reversed.get(), GridSync::Automatic});
    list.push_back({"host split, reversed", reversed.get(), GridSync::HostSplit});
    list.push_back({"automatic, shuffled", shuffled.get(), GridSync::Automatic});
    return list;
  }();
  return all;
}

Refusals& refusals() {
  static Refusals counts;
  return counts;
}

bool may_refuse(const Form& form, const DispatchConfig& config) {
  if (form.sync != GridSync::OneWorkgroup) return false;
  const auto grid = config.grid_override;
  return !grid || std::uint64_t{(*grid)[0]} * (*grid)[1] * (*grid)[2] > 1;
}

namespace {

// What the contract leaves open and docs/vulkan.md says is refused: never in silence.
bool must_refuse(const Form& form, const Expected& expected) {
  const bool native = form.backend->device_profile().grid_sync && form.sync == GridSync::Automatic;
  if (expected.refusal == Expected::Refusal::OneWorkgroup) {
    return form.sync == GridSync::OneWorkgroup;
  }
  return expected.refusal == Expected::Refusal::WhereSplit && !native;
}

}  // namespace

std::string_view fair_refusal(const Form& form, const Error& error, const DispatchConfig& config) {
  const auto count = [](std::string_view reason) {
    ++refusals().refused[reason];
    return reason;
  };
  if (form.sync == GridSync::OneWorkgroup && error.code == ErrorCode::LoopBudgetExceeded) {
    return count("one dispatch exceeds the driver's loop budget");
  }
  if (error.code != ErrorCode::UnsupportedFeature || !may_refuse(form, config)) return {};
  for (const std::string_view reason : {"invocations are too many for one workgroup",
                                        "each of several workgroups has its own memory",
                                        "each of several workgroups has its own barriers",
                                        "each of several workgroups has its own subgroups",
                                        "a collective copies for all invocations"}) {
    if (error.message.find(reason) != std::string::npos) return count(reason);
  }
  return {};
}

void check_all_forms(const ir::Program& program, const std::vector<Bytes>& inputs,
                     const DispatchConfig& config, const Expected& expected) {
  std::optional<std::uint32_t> iterations = expected.iterations;
  std::optional<bool> converged = expected.converged;
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const NothingStays nothing_stays(*form.backend);
    if (may_refuse(form, config)) ++refusals().asked;
    std::vector<Bytes> outputs;
    const auto timing = form.backend->dispatch_borrowed_into(program, spans_of(inputs), outputs,
                                                             in_form(config, form));
    if (must_refuse(form, expected)) {
      REQUIRE_FALSE(timing.has_value());
      CHECK(timing.error().code == ErrorCode::UnsupportedFeature);
      CHECK_FALSE(timing.error().fix.empty());
      continue;
    }
    if (!timing && is_fair_refusal(form, timing.error(), config)) continue;
    CHECK_MESSAGE(timing.has_value(), to_string(timing.error()));
    if (!timing) continue;
    CHECK(difference(program, expected.outputs, outputs) == "");
    if (!iterations) iterations = timing->iterations_run;
    if (!converged) converged = timing->converged;
    CHECK(timing->iterations_run == *iterations);
    CHECK(timing->converged == *converged);
  }
}

void check_all_forms(std::string_view text, const std::vector<Bytes>& inputs,
                     const DispatchConfig& config, const Expected& expected) {
  INFO(text);
  check_all_forms(valid_program(text), inputs, config, expected);
}

void check_all_forms_fail(const ir::Program& program, const std::vector<Bytes>& inputs,
                          const DispatchConfig& config, ErrorCode code, bool needs_a_run,
                          const MoreChecks& more) {
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const NothingStays nothing_stays(*form.backend);
    std::vector<Bytes> outputs;
    const auto timing = form.backend->dispatch_borrowed_into(program, spans_of(inputs), outputs,
                                                             in_form(config, form));
    CHECK_FALSE(timing.has_value());
    if (timing) continue;
    const Error& error = timing.error();
    if (needs_a_run && is_fair_refusal(form, error, config)) continue;
    CAPTURE(to_string(error));
    CHECK(error.code == code);
    CHECK(!error.message.empty());
    CHECK(!error.fix.empty());
    CHECK(to_string(error).find("Fix: ") != std::string::npos);
    if (more) more(form, error);
  }
}

std::string sample_text(std::string_view name) {
  const std::string path = FELSITE_SOURCE_DIR "/samples/" + std::string(name) + ".fels";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("there is no " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace felsite::test
