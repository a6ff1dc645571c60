// Loads, stores and atomics on the buffers of a program.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "codegen/kernel/buffer_layout.h"
#include "codegen/kernel/interface.h"
#include "codegen/plan/memory_use.h"
#include "codegen/values/value.h"

namespace felsite::codegen {

class Buffers {
 public:
  Buffers(Emitter& emitter, Interface& interface, const ir::Program& program, MemoryUse use);

  Value load(ir::BufferId buffer, Word index, IndexBound bound);
  void store(ir::BufferId buffer, Word index, const Value& value, IndexBound bound);
  // `expected`: for CompareExchange only.
  Value atomic(ir::AtomicOp op, ir::Ordering ordering, ir::BufferId buffer, Word index,
               const std::optional<Value>& expected, const Value& value, IndexBound bound);

  // A barrier of execution and memory for the workgroup.
  void barrier();
  // Every invocation has to reach these. The second one ends with a barrier if it stores anything.
  void store_zeros(std::span<const ir::BufferId> buffers);
  void zero_workgroup_memory(std::span<const ir::BufferId> buffers);
  // Workgroup memory that the lowering itself needs.
  Id workgroup_words(std::uint32_t count, const char* name);
  Id workgroup_word(Id array, Word index);
  Word load_workgroup_word(Id array, Word index);
  void store_workgroup_word(Id array, Word index, Word value);
  // The same where several lanes may store one value at once.
  void publish_workgroup_word(Id array, Word index, Word value);

  void finish(Kernel& kernel) const;

 private:
  struct Storage {
    Id variable = 0;
    Layout layout = Layout::Words;
    spv::StorageClass storage = spv::StorageClass::StorageBuffer;
    Id unit_type = 0;
    Id pointer_type = 0;
    std::uint32_t memory_operands = 0;
    bool is_block = true;
  };

  const Storage& storage(ir::BufferId buffer);
  void declare_storage(ir::BufferId buffer, Storage& storage);
  void declare_workgroup(ir::BufferId buffer, Storage& storage);
  Id unit_type(Layout layout);
  Id pointer(const Storage& storage, Word unit);
  Id load_unit(const Storage& storage, Word unit);
  void store_unit(const Storage& storage, Word unit, Id value);
  Value load_unchecked(const Storage& storage, ir::Type element, Word index);
  void store_unchecked(const Storage& storage, ir::Type element, Word index, const Value& value);
  void store_in_word(const Storage& storage, ir::Type element, Word index, Word bits);
  Id atomic_unchecked(ir::AtomicOp op, ir::Ordering ordering, const Storage& storage, Word index,
                      const std::optional<Value>& expected, const Value& value);
  Id add_float_exactly(const Storage& storage, Word index, const Value& value);
  bool needs_check(const Storage& storage, IndexBound bound, AccessKind kind);
  Word atomic_scope(const Storage& storage) const;
  Word atomic_semantics(ir::Ordering ordering) const;
  std::uint32_t memory_classes() const;

  Emitter& e_;
  Interface& interface_;
  const ir::Program& program_;
  MemoryUse use_;
  bool roomy_;
  std::vector<Storage> storages_;  // by BufferId
  bool relies_on_robust_access_ = false;
  std::uint32_t shared_bytes_ = 0;
};

}  // namespace felsite::codegen
