// Programs made ready for the interpreter, by fingerprint: running one again neither validates nor
// compiles it.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "felsite/figures.h"
#include "reference/interpreter.h"

namespace felsite::dispatch {

class PreparedPrograms {
 public:
  // Of more than `most` programs the least recently used go.
  explicit PreparedPrograms(std::size_t most = 256) : most_(most) {}

  // InvalidProgram with the findings if it does not validate.
  Result<std::shared_ptr<const reference::Interpreter>> get(const ir::Program& program);
  void clear();
  PipelineCacheSnapshot snapshot() const;

 private:
  using Ready = std::shared_ptr<const reference::Interpreter>;
  struct Hash {
    std::size_t operator()(const ir::Fingerprint& f) const { return f.low ^ f.high; }
  };
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::list<Ready> ready_;  // the least recently used last
  std::unordered_map<ir::Fingerprint, std::list<Ready>::iterator, Hash> by_program_;
  PipelineCacheSnapshot figures_;
};

}  // namespace felsite::dispatch
