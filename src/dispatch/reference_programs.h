// Programs made ready for the interpreter, by fingerprint: running one again neither validates nor
// compiles it.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "felsite/figures.h"
#include "reference/interpreter.h"

namespace felsite::dispatch {

class PreparedPrograms {
 public:
  // InvalidProgram with the findings if it does not validate.
  Result<std::shared_ptr<const reference::Interpreter>> get(const ir::Program& program);
  void clear();
  PipelineCacheSnapshot snapshot() const;

 private:
  static constexpr std::size_t kMost = 256;
  struct Hash {
    std::size_t operator()(const ir::Fingerprint& f) const { return f.low ^ f.high; }
  };
  mutable std::mutex mutex_;
  std::unordered_map<ir::Fingerprint, std::shared_ptr<const reference::Interpreter>, Hash> ready_;
  PipelineCacheSnapshot figures_;
};

}  // namespace felsite::dispatch
