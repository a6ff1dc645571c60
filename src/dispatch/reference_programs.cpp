#include "dispatch/reference_programs.h"

#include "dispatch/counters.h"
#include "felsite/validate.h"

namespace felsite::dispatch {

Result<std::shared_ptr<const reference::Interpreter>> PreparedPrograms::get(
    const ir::Program& program) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = ready_.find(program.fingerprint()); found != ready_.end()) {
      ++figures_.hits;
      count(Counter::PipelinesCached);
      return found->second;
    }
  }
  // Outside the lock: a large program must not hold up the others.
  if (const ir::Findings findings = ir::validate(program); !findings.empty()) {
    return std::unexpected(ir::to_error(findings, program.name()));
  }
  auto interpreter = std::make_shared<const reference::Interpreter>(program);
  count(Counter::PipelinesCompiled);
  const std::lock_guard lock(mutex_);
  ++figures_.misses;
  if (ready_.size() >= kMost) {
    figures_.evictions += ready_.size();
    ready_.clear();
  }
  return ready_.emplace(program.fingerprint(), std::move(interpreter)).first->second;
}

void PreparedPrograms::clear() {
  const std::lock_guard lock(mutex_);
  ready_.clear();
}

PipelineCacheSnapshot PreparedPrograms::snapshot() const {
  const std::lock_guard lock(mutex_);
  PipelineCacheSnapshot figures = figures_;
  figures.entries = ready_.size();
  return figures;
}

}  // namespace felsite::dispatch
