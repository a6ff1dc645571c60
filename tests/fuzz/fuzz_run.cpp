// Any text that validates runs, with inputs made of the same bytes, to the same result in every
// order that its workgroups are independent of, and twice.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "felsite/reference.h"
#include "felsite/text.h"
#include "felsite/validate.h"

using namespace felsite;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = ir::parse(text);
  if (!program || !ir::validate(*program).empty()) return -1;
  std::vector<Bytes> inputs;
  for (const ir::BufferDecl& buffer : program->buffers()) {
    if (!takes_caller_bytes(role_of(buffer))) continue;
    const std::size_t count = buffer.count != 0 ? buffer.count : 16;
    if (count > 4096) return -1;
    Bytes bytes(count * ir::info(buffer.element).bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(data[i % size]);
    inputs.push_back(std::move(bytes));
  }
  DispatchConfig config;
  config.timeout = std::chrono::milliseconds(200);
  config.max_output_bytes = 1 << 20;
  ReferenceOptions options;
  options.threads = 1;
  options.memory_limit = 1 << 24;
  const auto backend = make_reference_backend(options);
  const auto first = backend->dispatch(*program, inputs, config);
  const auto second = backend->dispatch(*program, inputs, config);
  const bool timed_out = (!first && first.error().code == ErrorCode::Timeout) ||
                         (!second && second.error().code == ErrorCode::Timeout);
  if (timed_out) return -1;
  if (first.has_value() != second.has_value()) std::abort();
  if (first && *first != *second) std::abort();
  return 0;
}
