#include "vk/record/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "vk/instance/vulkan_error.h"
#include "vk/record/sequence_checks.h"
#include "vk/record/sequence_dump.h"

namespace felsite::vk {
namespace {

using dispatch::Section;

// How many steps of a block's runs one command buffer holds. Beginning another one takes a software
// driver as long as ten small dispatches.
constexpr std::size_t kMaxStepsInBatch = 256;

std::uint32_t most_in_batch(std::size_t steps) {
  const std::size_t in_batch = kMaxStepsInBatch / std::max<std::size_t>(steps, 1);
  return static_cast<std::uint32_t>(std::max<std::size_t>(in_batch, 1));
}

BlockRuns spread_runs(std::uint32_t count, std::size_t steps) {
  const std::uint32_t most = most_in_batch(steps);
  if (count <= most) return {.first = count};
  return {.first = count % most, .often = most, .times = count / most};
}

// A power of two, like the numbers of runs that RunPace gives, and only if that many can be
// submitted together.
BlockRuns spread_watched_runs(std::uint32_t count, std::size_t steps) {
  const std::uint32_t batch = std::bit_floor(std::min(most_in_batch(steps), count / 2));
  return {.first = 1, .often = 1, .batch = batch > 1 ? batch : 0};
}

}  // namespace

Result<std::shared_ptr<Recording>> Recording::make(Memory& memory, Sequence sequence) {
  std::shared_ptr<Recording> made(new Recording(memory.device()));
  made->sequence_ = std::move(sequence);
  const Sequence& steps = made->sequence_;
  FELSITE_CHECK(check_sequence(steps, made->device_));
  made->note_buffers();
  made->layout_ = lay_out(steps, made->device_);
  made->runs_ = made->layout_.watched
                    ? spread_watched_runs(made->layout_.plan.count, steps.repeated.size())
                    : spread_runs(made->layout_.plan.count, steps.repeated.size());
  dump_sequence(steps, made->layout_);
  Result<void> done = made->make_blocks(memory);
  if (done) done = made->make_descriptors();
  if (done) done = made->make_clock();
  if (done) done = made->make_commands();
  if (done) done = made->record();
  if (!done) return std::unexpected(std::move(done.error()));
  return made;
}

const std::vector<KernelStep>& Recording::kernels(Section section) const {
  return section == Section::Block ? sequence_.repeated : sequence_.prefix;
}

Result<void> Recording::make_blocks(Memory& memory) {
  const std::uint64_t longest = device_.snapshot().limits.storage_buffer_range;
  if (layout_.reports && *layout_.reports + kReportBytes > longest) {
    return std::unexpected(over_limit(
        fmt::format("What the steps may report takes {} bytes; the device binds at most {}.",
                    *layout_.reports + kReportBytes, longest),
        "use fewer tags of traps, or fewer steps that trap in a block.", device_.snapshot().name,
        *layout_.reports + kReportBytes, longest));
  }
  const auto make = [&](Place place, std::uint64_t bytes, std::string_view what,
                        SharedBuffer& out) -> Result<void> {
    if (bytes == 0) return {};
    FELSITE_TRY(out, memory.make(place, bytes, {sequence_.name, what}));
    return {};
  };
  Result<void> done = make(Place::Control, layout_.control_bytes, "control", control_);
  if (done) done = make(Place::Upload, layout_.upload_bytes, "upload", upload_);
  if (done) done = make(Place::Readback, layout_.read_bytes, "readback", readback_);
  if (!done || control_ == nullptr) return done;
  Bytes contents(control_->bytes());
  const auto put_parameters = [&](const std::vector<KernelStep>& steps,
                                  const std::vector<ControlBlocks>& blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].parameters.empty()) continue;
      std::vector<dispatch::GridPart> parts{dispatch::GridPart{}};
      if (!steps[i].indirect) {
        parts = dispatch::grid_parts(steps[i].grid, device_.snapshot().limits.workgroup_count);
      }
      for (std::size_t part = 0; part < parts.size(); ++part) {
        const std::vector<std::uint32_t> words = parameters_of(steps[i], parts[part]);
        std::ranges::copy(
            std::as_bytes(std::span(words)),
            contents.begin() + static_cast<std::ptrdiff_t>(blocks[i].parameters[part]));
      }
    }
  };
  put_parameters(sequence_.prefix, layout_.prefix_control);
  put_parameters(sequence_.repeated, layout_.repeated_control);
  return control_->write(0, contents);
}

Result<void> Recording::make_descriptors() {
  std::vector<Binding> bindings;
  const VkBuffer control = control_ != nullptr ? control_->handle() : VK_NULL_HANDLE;
  const auto add = [&](const std::vector<KernelStep>& steps,
                       const std::vector<ControlBlocks>& blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (steps[i].kernel->pipeline.pushes_descriptors) continue;
      const std::size_t parts = std::max<std::size_t>(blocks[i].parameters.size(), 1);
      for (std::size_t part = 0; part < parts; ++part) {
        if (steps[i].kernel->kernel.parameter_binding && blocks[i].parameters.empty()) continue;
        Binding binding = binding_of(steps[i], blocks[i], part, control);
        if (!bindings.empty() && bindings.back().same_buffers(binding)) continue;
        bindings.push_back(std::move(binding));
      }
    }
  };
  add(sequence_.prefix, layout_.prefix_control);
  add(sequence_.repeated, layout_.repeated_control);
  FELSITE_TRY(auto sets, DescriptorSets::make(device_, bindings, sequence_.name));
  sets_ = std::make_unique<DescriptorSets>(std::move(sets));
  return {};
}

Result<void> Recording::make_clock() {
  if (!sequence_.measured) return {};
  FELSITE_TRY(clock_, StepClock::make(device_, sequence_.prefix.size() + sequence_.repeated.size(),
                                      sequence_.name));
  return {};
}

std::vector<Recording::Part> Recording::parts() const {
  std::vector<Part> parts{kBeginning};
  if (layout_.watched || runs_.times != 0) parts.push_back(kBlock);
  if (runs_.batch != 0) parts.push_back(kBatch);
  if (layout_.watched ? records_epilogue() : runs_.times != 0) parts.push_back(kEpilogue);
  return parts;
}

// A host access records no command, but it may need a barrier.
bool Recording::records_epilogue() const {
  const auto& commands = layout_.commands[static_cast<std::size_t>(Section::Epilogue)];
  const bool copies = std::ranges::any_of(
      commands, [](const Command& command) { return command.kind != CommandKind::Host; });
  return copies || std::ranges::any_of(layout_.barriers.barriers, [](const auto& barrier) {
           return barrier.section == Section::Epilogue;
         });
}

Result<void> Recording::make_commands() {
  const DeviceFunctions& functions = device_.functions();
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.queueFamilyIndex = device_.plan().compute_family;
  // Each recording has its own pool, so recording needs no lock.
  FELSITE_TRY(command_pool_,
              device_.make<VkCommandPool>(functions.vkCreateCommandPool,
                                          functions.vkDestroyCommandPool, info, sequence_.name));
  const std::vector<Part> wanted = parts();
  std::vector<VkCommandBuffer> made(wanted.size());
  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = command_pool_.get();
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = static_cast<std::uint32_t>(made.size());
  const VkResult result =
      functions.vkAllocateCommandBuffers(device_.handle(), &allocation, made.data());
  if (result != VK_SUCCESS) {
    return std::unexpected(device_.error(result, "allocate command buffers"));
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    commands_[wanted[i]] = made[i];
    device_.name(made[i], {sequence_.name, kPartNames[wanted[i]]});
  }
  return {};
}

template <class Body>
Result<void> Recording::write(Part part, Body body) {
  CommandWriter writer(device_, commands_[part], device_.compute_family(), *sets_);
  Contents contents;
  const bool runs_often = part == kBlock || part == kBatch;
  FELSITE_CHECK(writer.begin(runs_often));
  body(writer, contents);
  FELSITE_CHECK(writer.end());
  contents_[part] = contents;
  return {};
}

Result<void> Recording::record() {
  const bool all_in_one = !has(kBlock);
  // The clock runs once over everything, or separately in each submission that the host waits for.
  const bool clock_per_submission = layout_.watched;
  Result<void> done = write(kBeginning, [&](CommandWriter& writer, Contents& contents) {
    clock_.begin(writer);
    clock_.expect(writer, 0, sequence_.prefix.size());
    record_section(writer, Section::Prologue, contents);
    record_block(writer, runs_.first, contents);
    if (all_in_one) record_section(writer, Section::Epilogue, contents);
    if (all_in_one || clock_per_submission) clock_.end(writer);
  });
  if (!done || all_in_one) return done;
  done = write(kBlock, [&](CommandWriter& writer, Contents& contents) {
    if (clock_per_submission) clock_.begin(writer);
    record_block(writer, runs_.often, contents);
    if (clock_per_submission) clock_.end(writer);
  });
  if (!done || !has(kEpilogue)) return done;
  return write(kEpilogue, [&](CommandWriter& writer, Contents& contents) {
    if (clock_per_submission) clock_.begin(writer);
    record_section(writer, Section::Epilogue, contents);
    clock_.end(writer);
  });
}

// Recorded when it is first needed: most runs end long before.
Result<void> Recording::record_batch() {
  if (contents_[kBatch].block_runs != 0) return {};
  return write(kBatch, [&](CommandWriter& writer, Contents& contents) {
    record_block(writer, runs_.batch, contents);
  });
}

void Recording::record_block(CommandWriter& writer, std::uint32_t runs, Contents& contents) {
  for (std::uint32_t run = 0; run < runs; ++run) {
    clock_.expect(writer, sequence_.prefix.size(), sequence_.repeated.size());
    record_section(writer, Section::Block, contents);
  }
  contents.block_runs += runs;
}

void Recording::record_section(CommandWriter& writer, Section section, Contents& contents) {
  const auto& commands = layout_.commands[static_cast<std::size_t>(section)];
  auto next =
      std::ranges::find(layout_.barriers.barriers, section, &dispatch::PlannedBarrier::section);
  for (std::uint32_t i = 0; i <= commands.size(); ++i) {
    for (; next != layout_.barriers.barriers.end() && next->section == section && next->before == i;
         ++next) {
      writer.barrier(*next);
      ++contents.barriers;
    }
    if (i == commands.size()) break;
    record_command(writer, commands[i], section);
    if (commands[i].kind != CommandKind::Kernel) continue;
    const KernelStep& step = kernels(section)[commands[i].index];
    if (step.caller_step && step.counts_as_launch) ++contents.launches;
  }
}

void Recording::record_command(CommandWriter& writer, const Command& command, Section section) {
  switch (command.kind) {
    case CommandKind::EarlierWork:
    case CommandKind::Host:
      return;
    case CommandKind::Fill:
      writer.fill(sequence_.fills[command.index]);
      return;
    case CommandKind::CopyIn: {
      const BufferSlice& to = sequence_.uploads[command.index];
      writer.copy(upload_->handle(), layout_.upload_offsets[command.index], to.buffer->handle(),
                  to.offset, to.bytes);
      return;
    }
    case CommandKind::CopyOut: {
      const BufferSlice& from = sequence_.reads[command.index];
      writer.copy(from.buffer->handle(), from.offset, readback_->handle(),
                  layout_.read_offsets[command.index], from.bytes);
      return;
    }
    case CommandKind::Close:
      writer.copy(control_->handle(), *layout_.reports, control_->handle(), *layout_.reports + 4,
                  4);
      return;
    case CommandKind::Kernel: {
      const bool repeated = section == Section::Block;
      const auto& blocks = repeated ? layout_.repeated_control : layout_.prefix_control;
      const VkBuffer control = control_ != nullptr ? control_->handle() : VK_NULL_HANDLE;
      const std::size_t step = command.index + (repeated ? sequence_.prefix.size() : 0);
      clock_.step_begins(writer, step);
      writer.kernel(kernels(section)[command.index], blocks[command.index], control);
      clock_.step_ends(writer, step);
      return;
    }
  }
}

void Recording::note_buffers() {
  const auto note = [&](const BufferSlice& slice) { buffers_.push_back(slice.buffer.get()); };
  for (const FillStep& fill : sequence_.fills) note(fill.target);
  std::ranges::for_each(sequence_.uploads, note);
  std::ranges::for_each(sequence_.reads, note);
  if (sequence_.watch) note(*sequence_.watch);
  for (const HostWords& words : sequence_.host_words) note(words.target);
  for (const auto* steps : {&sequence_.prefix, &sequence_.repeated}) {
    for (const KernelStep& step : *steps) {
      std::ranges::for_each(step.buffers, note);
      if (step.indirect) note(*step.indirect);
      if (step.condition) note(*step.condition);
    }
  }
  std::ranges::sort(buffers_);
  buffers_.erase(std::unique(buffers_.begin(), buffers_.end()), buffers_.end());
}

std::uint64_t Recording::own_bytes() const {
  std::uint64_t bytes = sequence_.own_bytes;
  for (const SharedBuffer& buffer : {control_, upload_, readback_}) {
    if (buffer != nullptr) bytes += buffer->bytes();
  }
  return bytes;
}

bool Recording::uses(const KernelOnDevice* kernel) const {
  const auto is_of = [&](const KernelStep& step) { return step.kernel.get() == kernel; };
  return std::ranges::any_of(sequence_.prefix, is_of) ||
         std::ranges::any_of(sequence_.repeated, is_of);
}

bool Recording::uses(const Buffer* buffer) const {
  return std::ranges::binary_search(buffers_, buffer);
}

}  // namespace felsite::vk
