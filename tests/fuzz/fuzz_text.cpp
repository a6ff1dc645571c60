// Any bytes: parse, print, format and validate must not crash, and printing must be a fixed point.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "felsite/text.h"
#include "felsite/validate.h"

using namespace felsite::ir;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = parse(text);
  if (!program) {
    if (program.error().empty() || render(program.error()[0], text).empty()) std::abort();
    return -1;  // not worth keeping in the corpus
  }
  const auto formatted = format(text);
  if (!formatted) std::abort();
  const auto twice = format(*formatted);
  if (!twice || *twice != *formatted) std::abort();
  const std::string printed = print(*program);
  const auto again = parse(printed);
  if (!again || again->fingerprint() != program->fingerprint() || print(*again) != printed) {
    std::abort();
  }
  validate(*program);
  return 0;
}
