#include "dispatch/reference/reference_programs.h"

#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "felsite/validate.h"

namespace felsite::dispatch {
namespace {

// The bytecode grows with the program.
std::uint64_t bytes_of(const reference::Interpreter& ready) {
  return sizeof ready + ready.program().nodes().size_bytes() + ready.program().exprs().size_bytes();
}

}  // namespace

Result<std::shared_ptr<const reference::Interpreter>> PreparedPrograms::get(
    const ir::Program& program) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_program_.find(program.fingerprint()); found != by_program_.end()) {
      ready_.splice(ready_.begin(), ready_, found->second);
      ++figures_.hits;
      count(Counter::PipelinesCached);
      return ready_.front();
    }
  }
  // Outside the lock: a large program must not hold up the others.
  FELSITE_TRY(const auto valid, ir::require_valid(program));
  auto interpreter = std::make_shared<const reference::Interpreter>(valid);
  count(Counter::PipelinesCompiled);
  Ready dropped;  // let go without the lock
  const std::lock_guard lock(mutex_);
  ++figures_.misses;
  const ir::Fingerprint key = program.fingerprint();
  if (const auto found = by_program_.find(key); found != by_program_.end()) return *found->second;
  ready_.push_front(interpreter);
  by_program_.emplace(key, ready_.begin());
  figures_.bytes += bytes_of(*interpreter);
  if (ready_.size() > most_) {
    dropped = std::move(ready_.back());
    by_program_.erase(dropped->program().fingerprint());
    ready_.pop_back();
    figures_.bytes -= bytes_of(*dropped);
    ++figures_.evictions;
  }
  return interpreter;
}

void PreparedPrograms::clear() {
  const std::lock_guard lock(mutex_);
  by_program_.clear();
  ready_.clear();
  figures_.bytes = 0;
}

PipelineCacheSnapshot PreparedPrograms::snapshot() const {
  const std::lock_guard lock(mutex_);
  PipelineCacheSnapshot figures = figures_;
  figures.entries = ready_.size();
  return figures;
}

}  // namespace felsite::dispatch
