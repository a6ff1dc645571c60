#include "vk/record/sequence_layout.h"

#include <algorithm>
#include <unordered_map>

namespace felsite::vk {
namespace {

using dispatch::BufferAccess;
using dispatch::PlannedStep;
using dispatch::Section;
using dispatch::Stage;

class LayoutMaker {
 public:
  LayoutMaker(const Sequence& sequence, const Device& device)
      : sequence_(sequence),
        most_workgroups_(device.snapshot().limits.workgroup_count),
        alignment_(std::max<std::uint64_t>(device.snapshot().limits.storage_buffer_alignment, 16)) {
  }

  SequenceLayout make() {
    stage_transfers();
    add(Section::Prologue, CommandKind::EarlierWork, 0, {"earlier work", {}});
    add_fills();
    add_uploads();
    place_status();
    add_kernels(Section::Prologue, sequence_.prefix, layout_.prefix_control);
    if (sequence_.count > 0) {
      add_kernels(Section::Block, sequence_.repeated, layout_.repeated_control);
      if (layout_.reports) add_close();
      add_look();
    }
    add_reads();
    add_host();
    add_earlier_work();
    layout_.plan.count = sequence_.repeated.empty() ? 0 : sequence_.count;
    layout_.barriers = dispatch::plan_barriers(layout_.plan);
    return std::move(layout_);
  }

 private:
  // Buffers are numbers in the plan, as the staging and control buffers do not exist yet.
  static constexpr std::uint32_t kControl = 0;
  static constexpr std::uint32_t kReadback = 1;
  std::uint32_t number(const SharedBuffer& buffer) {
    const auto next = static_cast<std::uint32_t>(2 + buffers_.size());
    const auto [found, is_new] = numbers_.emplace(buffer.get(), next);
    if (is_new) buffers_.push_back({buffer.get(), false});
    return found->second;
  }

  BufferAccess access(const BufferSlice& slice, Stage stage, bool writes) {
    const std::uint32_t buffer = number(slice.buffer);
    if (writes) buffers_[buffer - 2].written = true;
    return {buffer, slice.offset, slice.offset + slice.bytes, stage, writes};
  }

  std::vector<PlannedStep>& steps(Section section) {
    if (section == Section::Prologue) return layout_.plan.prologue;
    return section == Section::Block ? layout_.plan.block : layout_.plan.epilogue;
  }

  void add(Section section, CommandKind kind, std::size_t index, PlannedStep step) {
    steps(section).push_back(std::move(step));
    layout_.commands[static_cast<std::size_t>(section)].push_back(
        {kind, static_cast<std::uint32_t>(index)});
  }

  // The host writes and reads in place where it can. A fill comes before the uploads, so an upload
  // that overlaps a fill is copied by the device, and so is one that overlaps such an upload.
  void stage_transfers() {
    std::vector<const BufferSlice*> by_device;
    for (const FillStep& fill : sequence_.fills) by_device.push_back(&fill.target);
    for (const BufferSlice& upload : sequence_.uploads) {
      const auto waits = [&] {
        return std::ranges::any_of(
            by_device, [&](const BufferSlice* earlier) { return overlap(*earlier, upload); });
      };
      const bool staged = upload.bytes != 0 && (!upload.buffer->is_written_in_place() || waits());
      layout_.upload_offsets.push_back(staged ? layout_.upload_bytes : kNotStaged);
      if (!staged) continue;
      layout_.upload_bytes = base::align_up(layout_.upload_bytes + upload.bytes, 16);
      by_device.push_back(&upload);
    }
    for (const BufferSlice& read : sequence_.reads) {
      const bool staged = read.bytes != 0 && !read.buffer->is_read_in_place();
      layout_.read_offsets.push_back(staged ? layout_.read_bytes : kNotStaged);
      if (staged) layout_.read_bytes = base::align_up(layout_.read_bytes + read.bytes, 16);
    }
  }

  void add_fills() {
    for (std::size_t i = 0; i < sequence_.fills.size(); ++i) {
      BufferSlice target = sequence_.fills[i].target;
      target.bytes = base::align_up(target.bytes, 4);  // its padding is filled too
      add(Section::Prologue, CommandKind::Fill, i,
          {"fill", {access(target, Stage::Transfer, true)}});
    }
  }

  void add_uploads() {
    for (std::size_t i = 0; i < sequence_.uploads.size(); ++i) {
      if (layout_.upload_offsets[i] == kNotStaged) continue;
      add(Section::Prologue, CommandKind::CopyIn, i,
          {"upload", {access(sequence_.uploads[i], Stage::Transfer, true)}});
    }
  }

  std::uint64_t control_block(std::uint64_t bytes) {
    const std::uint64_t at = layout_.control_bytes;
    layout_.control_bytes = base::align_up(at + bytes, alignment_);
    return at;
  }

  void add_kernels(Section section, const std::vector<KernelStep>& kernels,
                   std::vector<ControlBlocks>& control) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const KernelStep& step = kernels[i];
      const codegen::Kernel& kernel = step.kernel->kernel;
      ControlBlocks& blocks = control[i];
      PlannedStep planned{step.name, {}};
      for (const SliceAccess& made : step.accesses) {
        planned.accesses.push_back(access(made.slice, Stage::Compute, made.writes));
      }
      if (step.indirect) {
        planned.accesses.push_back(access(*step.indirect, Stage::Indirect, false));
      }
      if (step.condition) {
        planned.accesses.push_back(access(*step.condition, Stage::Condition, false));
      }
      if (blocks.status) {
        planned.accesses.push_back(
            {kControl, *blocks.status, *blocks.status + blocks.status_range, Stage::Compute, true});
      }
      if (kernel.parameter_binding) {
        const std::size_t parts =
            step.indirect ? 1 : dispatch::grid_parts(step.grid, most_workgroups_).size();
        for (std::size_t part = 0; part < parts; ++part) {
          blocks.parameters.push_back(
              control_block(step.parameters.size() * sizeof(std::uint32_t)));
        }
      }
      add(section, CommandKind::Kernel, i, std::move(planned));
    }
  }

  // The trap of an early run counts, and not a lower one of a later run. So where a block that may
  // trap runs several times, each run ends with a copy that closes the reports.
  bool closes_runs() const {
    return sequence_.count > 1 &&
           std::ranges::any_of(sequence_.repeated, [](const KernelStep& step) {
             return !step.kernel->kernel.trap_tags.empty();
           });
  }

  void place_status() {
    const auto place = [&](const std::vector<KernelStep>& kernels,
                           std::vector<ControlBlocks>& control) {
      control.resize(kernels.size());
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const codegen::Kernel& kernel = kernels[i].kernel->kernel;
        if (!kernel.status_binding) continue;
        has_status_ = true;
        control[i].status_range = status_bytes(kernel);
        control[i].status = control_block(control[i].status_range);
      }
    };
    place(sequence_.prefix, layout_.prefix_control);
    if (sequence_.count == 0) return;
    place(sequence_.repeated, layout_.repeated_control);
    if (!closes_runs()) return;
    layout_.reports = control_block(kReportBytes);
    for (ControlBlocks& blocks : layout_.repeated_control) {
      if (blocks.status) {
        blocks.status_range = *layout_.reports + kReportBytes - *blocks.status;
      }
    }
  }

  void add_close() {
    const std::uint64_t at = *layout_.reports;
    add(Section::Block, CommandKind::Close, 0,
        {"close", {{kControl, at, at + kReportBytes, Stage::Transfer, true}}});
  }

  // After each run the host may read the watched word and all error reports. For a block that runs
  // once, it does so when everything has ended.
  void add_look() {
    layout_.watched = sequence_.watch && sequence_.count > 1 && !sequence_.repeated.empty();
    if (!layout_.watched) return;
    PlannedStep step{"poll", {}};
    const auto look_at = [&](const SharedBuffer& buffer) {
      step.accesses.push_back(access({buffer, 0, buffer->range()}, Stage::Host, false));
    };
    look_at(sequence_.watch->buffer);
    for (const IndirectGate& gate : sequence_.gates) look_at(gate.words.buffer);
    if (has_status_) {
      step.accesses.push_back({kControl, 0, layout_.control_bytes, Stage::Host, false});
    }
    add(Section::Block, CommandKind::Host, 0, std::move(step));
  }

  void add_reads() {
    for (std::size_t i = 0; i < sequence_.reads.size(); ++i) {
      const std::uint64_t at = layout_.read_offsets[i];
      if (at == kNotStaged) continue;
      const BufferSlice& read = sequence_.reads[i];
      PlannedStep step{"read", {access(read, Stage::Transfer, false)}};
      step.accesses.push_back({kReadback, at, at + read.bytes, Stage::Transfer, true});
      add(Section::Epilogue, CommandKind::CopyOut, i, std::move(step));
    }
  }

  // Waiting for work does not make what it wrote visible to the host; only a barrier does. The host
  // may read and write every mapped buffer until the next submission. Its writes count as reads
  // here: after the wait the device has finished all its reads.
  void add_host() {
    PlannedStep step{"host", {}};
    for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].written || !buffers_[i].buffer->is_mapped()) continue;
      step.accesses.push_back({i + 2, 0, buffers_[i].buffer->range(), Stage::Host, false});
    }
    if (has_status_) {
      step.accesses.push_back({kControl, 0, layout_.control_bytes, Stage::Host, false});
    }
    if (layout_.read_bytes != 0) {
      step.accesses.push_back({kReadback, 0, layout_.read_bytes, Stage::Host, false});
    }
    if (!step.accesses.empty()) add(Section::Epilogue, CommandKind::Host, 0, std::move(step));
  }

  // What ran before on this queue is not known. It may have written every buffer, unless no other
  // work can reach them.
  void add_earlier_work() {
    if (sequence_.is_alone) return;
    PlannedStep& first = layout_.plan.prologue.front();
    for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
      const std::uint64_t end = buffers_[i].buffer->range();
      first.accesses.push_back({i + 2, 0, end, Stage::Compute, true});
      first.accesses.push_back({i + 2, 0, end, Stage::Transfer, true});
    }
  }

  struct Known {
    const Buffer* buffer;
    bool written;
  };

  const Sequence& sequence_;
  const Extent3& most_workgroups_;
  const std::uint64_t alignment_;
  SequenceLayout layout_;
  std::vector<Known> buffers_;  // number - 2
  std::unordered_map<const Buffer*, std::uint32_t> numbers_;
  bool has_status_ = false;
};

}  // namespace

SequenceLayout lay_out(const Sequence& sequence, const Device& device) {
  return LayoutMaker(sequence, device).make();
}

std::vector<std::uint32_t> parameters_of(const KernelStep& step, const dispatch::GridPart& part) {
  std::vector<std::uint32_t> parameters = step.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const codegen::Parameter& parameter = step.kernel->kernel.parameters[i];
    if (parameter.kind == codegen::ParameterKind::Base)
      parameters[i] = step.base[parameter.ref] + part.base[parameter.ref];
  }
  return parameters;
}

}  // namespace felsite::vk
