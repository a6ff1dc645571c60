// Writes the entry point of a kernel: the statements of the IR, in their order. What has a state of
// its own is a part of its own.
#pragma once

#include <string>
#include <vector>

#include "codegen/kernel/async_copies.h"
#include "codegen/kernel/region_writer.h"

namespace felsite::codegen {

class KernelWriter : KernelPart {
 public:
  explicit KernelWriter(const KernelPart& kernel);

  // The entry point with everything it calls. Gives its id.
  Id write();
  std::vector<std::string> take_trap_tags() { return traps_.take_tags(); }

 private:
  WriteStatements statement_writer();
  Flow write_entry(OpenBlock block);
  Flow write_program(OpenBlock block);
  Flow statements(OpenBlock block, ir::NodeRange range);
  Flow statement(OpenBlock block, ir::NodeId id);
  void let(ir::NodeId id);
  Flow branch(OpenBlock block, ir::NodeId id);
  Flow loop(OpenBlock block, ir::NodeId id);
  Flow loop_trips(OpenBlock block, ir::NodeId id, Word from, Word to);
  void leave(OpenBlock block);

  Variables variables_;
  ExpressionWriter expressions_;
  AsyncCopies copies_;
  TrapReports traps_;
  TripCounts trips_;
  RegionWriter regions_;
};

}  // namespace felsite::codegen
