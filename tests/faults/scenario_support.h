// What the scenarios share: they hand errors on, and free what they allocate on every path.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "felsite/backend.h"
#include "felsite/text.h"
#include "support/run_program.h"

namespace felsite::test {

inline ir::Program program_of(std::string_view text) {
  auto program = ir::parse(text);
  return program ? *program : ir::Program();
}

inline Result<void> expect(bool right) {
  if (right) return {};
  return std::unexpected(Error{.code = ErrorCode::Unknown,
                               .message = "The scenario got a wrong result.",
                               .fix = "mend the backend.",
                               .context = {}});
}

template <class T>
Result<void> plain(Result<T> result) {
  if (!result) return std::unexpected(std::move(result.error()));
  return {};
}

// Resident buffers that are freed on every path.
class Buffers {
 public:
  explicit Buffers(Backend& backend) : backend_(backend) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (const ResidentHandle& handle : handles_) static_cast<void>(backend_.free_resident(handle));
  }
  Result<void> allocate(std::initializer_list<std::uint64_t> sizes) {
    auto handles = backend_.allocate_resident_many(std::vector<std::uint64_t>(sizes));
    if (!handles) return std::unexpected(std::move(handles.error()));
    handles_ = std::move(*handles);
    return {};
  }
  const ResidentHandle& operator[](std::size_t i) const { return handles_[i]; }

 private:
  Backend& backend_;
  std::vector<ResidentHandle> handles_;
};

}  // namespace felsite::test
