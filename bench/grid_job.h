// A program with its configuration, its inputs and the slots of its outputs.
#pragma once

#include <memory>
#include <vector>

#include "felsite/backend.h"
#include "give_up.h"

namespace felsite::bench {

class GridJob {
 public:
  GridJob(std::shared_ptr<Backend> backend, const ir::Program& program, std::vector<Bytes> inputs,
          const DispatchConfig& config)
      : backend_(std::move(backend)),
        compiled_(must(backend_->compile(program, config))),
        inputs_(std::move(inputs)),
        spans_(inputs_.begin(), inputs_.end()) {}
  DispatchTiming run() { return must(compiled_->dispatch_borrowed_into(spans_, outputs_)); }
  const std::vector<Bytes>& outputs() const { return outputs_; }

 private:
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<CompiledPipeline> compiled_;
  std::vector<Bytes> inputs_;
  std::vector<ByteSpan> spans_;
  std::vector<Bytes> outputs_;
};

}  // namespace felsite::bench
