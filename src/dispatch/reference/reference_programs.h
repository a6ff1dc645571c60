// Programs prepared for the interpreter, by fingerprint: running one again neither validates nor
// compiles it.
#pragma once

#include <memory>
#include <mutex>

#include "base/lru.h"
#include "felsite/figures.h"
#include "ir/fingerprint.h"
#include "reference/interpreter.h"

namespace felsite::dispatch {

class PreparedPrograms {
 public:
  // Keeps at most `most` programs.
  explicit PreparedPrograms(std::size_t most = 256) : ready_({.entries = most}) {}

  // InvalidProgram with the findings if it does not validate.
  Result<std::shared_ptr<const reference::Interpreter>> get(const ir::Program& program);
  void clear();
  PipelineCacheSnapshot snapshot() const;

 private:
  using Ready = base::Lru<ir::Fingerprint, std::shared_ptr<const reference::Interpreter>,
                          ir::FingerprintHash>;

  mutable std::mutex mutex_;
  Ready ready_;
  PipelineCacheSnapshot figures_;
};

}  // namespace felsite::dispatch
