#include "dispatch/reference/reference_programs.h"

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
    if (const auto* found = ready_.find(program.fingerprint())) {
      ++figures_.hits;
      count(Counter::PipelinesCached);
      return found->value;
    }
  }
  // Outside the lock: a large program must not hold up the others.
  if (const ir::Findings findings = ir::validate(program); !findings.empty()) {
    return std::unexpected(ir::to_error(findings, program.name()));
  }
  auto interpreter = std::make_shared<const reference::Interpreter>(program);
  count(Counter::PipelinesCompiled);
  Ready::Entries evicted;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  ++figures_.misses;
  const ir::Fingerprint key = program.fingerprint();
  if (const auto* found = ready_.find(key)) return found->value;
  evicted = ready_.add(key, interpreter, bytes_of(*interpreter));
  figures_.evictions += evicted.size();
  return interpreter;
}

void PreparedPrograms::clear() {
  Ready::Entries all;
  const std::lock_guard lock(mutex_);
  all = ready_.take_all();
}

PipelineCacheSnapshot PreparedPrograms::snapshot() const {
  const std::lock_guard lock(mutex_);
  PipelineCacheSnapshot figures = figures_;
  figures.entries = ready_.size();
  figures.bytes = ready_.bytes();
  return figures;
}

}  // namespace felsite::dispatch
