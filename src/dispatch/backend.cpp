#include "felsite/backend.h"

#include <fmt/format.h>

#include "felsite/reference.h"

namespace felsite {

Result<std::vector<Bytes>> Backend::dispatch(const ir::Program& program,
                                             const std::vector<Bytes>& inputs,
                                             const DispatchConfig& config) {
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  return dispatch_borrowed(program, spans, config);
}

Result<std::vector<Bytes>> Backend::dispatch_borrowed(const ir::Program& program,
                                                      std::span<const ByteSpan> inputs,
                                                      const DispatchConfig& config) {
  std::vector<Bytes> outputs;
  if (auto timing = dispatch_borrowed_into(program, inputs, outputs, config); !timing) {
    return std::unexpected(std::move(timing.error()));
  }
  return outputs;
}

Result<TimedOutputs> Backend::dispatch_borrowed_timed(const ir::Program& program,
                                                      std::span<const ByteSpan> inputs,
                                                      const DispatchConfig& config) {
  TimedOutputs result;
  auto timing = dispatch_borrowed_into(program, inputs, result.outputs, config);
  if (!timing) return std::unexpected(std::move(timing.error()));
  result.timing = *timing;
  return result;
}

std::vector<std::string> backend_ids() { return {"reference"}; }

Result<std::unique_ptr<Backend>> make_backend(std::string_view id) {
  if (id == "reference") return make_reference_backend();
  std::string known;
  for (const std::string& name : backend_ids()) known += (known.empty() ? "" : ", ") + name;
  return std::unexpected(Error{.code = ErrorCode::UnsupportedFeature,
                               .message = fmt::format("There is no backend `{}`.", id),
                               .fix = fmt::format("use one of: {}.", known),
                               .context = {}});
}

}  // namespace felsite
