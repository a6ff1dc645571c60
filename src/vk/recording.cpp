#include "vk/recording.h"

#include <algorithm>
#include <cmath>

#include "dispatch/counters.h"
#include "vk/debug_names.h"
#include "vk/kernel_dump.h"
#include "vk/kernel_status.h"
#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

using dispatch::Section;

// Steps of a block's runs that are recorded one after the other in one command buffer. Beginning
// another one takes a software driver as long as ten small dispatches.
constexpr std::size_t kMostStepsInLine = 256;
// Runs of a longer block in one submission: a display or a watchdog must survive it.
constexpr std::uint32_t kMostRunsAtOnce = 64;

BlockRuns spread_runs(std::uint32_t count, std::size_t steps) {
  const std::size_t in_line = kMostStepsInLine / std::max<std::size_t>(steps, 1);
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(in_line, 1));
  if (count <= most) return {.first = count, .often = 0, .times = 0};
  return {.first = count % most, .often = most, .times = count / most};
}

// Two queries for the whole, then two for each kernel step.
constexpr std::uint32_t kBegin = 0;
constexpr std::uint32_t kEnd = 1;
std::uint32_t first_query(std::size_t step) { return 2 + 2 * static_cast<std::uint32_t>(step); }

}  // namespace

Result<std::shared_ptr<Recording>> Recording::make(Memory& memory, Sequence sequence) {
  std::shared_ptr<Recording> made(new Recording(memory.device()));
  made->sequence_ = std::move(sequence);
  const Sequence& steps = made->sequence_;
  for (const auto* kernels : {&steps.prefix, &steps.repeated}) {
    for (const KernelStep& step : *kernels) {
      if (auto fits = check_ranges(made->device_, step); !fits) {
        return std::unexpected(std::move(fits.error()));
      }
    }
  }
  made->note_buffers();
  made->layout_ = lay_out(steps, made->device_);
  made->runs_ = spread_runs(made->layout_.plan.count, steps.repeated.size());
  dump_sequence(steps, made->layout_);
  Result<void> done = made->make_blocks(memory);
  if (done) done = made->make_descriptors();
  if (done) done = made->make_queries();
  if (done) done = made->make_commands();
  if (done) done = made->record();
  if (!done) return std::unexpected(std::move(done.error()));
  dispatch::count(Counter::Recordings);
  return made;
}

const std::vector<KernelStep>& Recording::kernels(Section section) const {
  return section == Section::Block ? sequence_.repeated : sequence_.prefix;
}

Result<void> Recording::make_blocks(Memory& memory) {
  const auto make = [&](Place place, std::uint64_t bytes, std::string_view what,
                        SharedBuffer& out) -> Result<void> {
    if (bytes == 0) return {};
    auto buffer = memory.make(place, bytes, sequence_.name + std::string(what));
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    out = std::move(*buffer);
    return {};
  };
  Result<void> done = make(Place::Control, layout_.control_bytes, " control", control_);
  if (done) done = make(Place::Upload, layout_.upload_bytes, " upload", upload_);
  if (done) done = make(Place::Readback, layout_.read_bytes, " readback", readback_);
  if (!done || control_ == nullptr) return done;
  Bytes contents(control_->bytes());
  const auto put_parameters = [&](const std::vector<KernelStep>& steps,
                                  const std::vector<ControlBlocks>& blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].parameters.empty()) continue;
      std::vector<GridPart> parts{GridPart{}};
      if (!steps[i].indirect) {
        parts = grid_parts(steps[i].grid, device_.snapshot().limits.workgroup_count);
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
  auto sets = DescriptorSets::make(device_, bindings);
  if (!sets) return std::unexpected(std::move(sets.error()));
  sets_ = std::make_unique<DescriptorSets>(std::move(*sets));
  return {};
}

Result<void> Recording::make_queries() {
  if (!sequence_.measured || device_.timestamp_bits() == 0) return {};
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = first_query(sequence_.prefix.size() + sequence_.repeated.size());
  const VolkDeviceTable& functions = device_.functions();
  auto pool = device_.make<VkQueryPool>(functions.vkCreateQueryPool, functions.vkDestroyQueryPool,
                                        info, "make a query pool");
  if (!pool) return std::unexpected(std::move(pool.error()));
  queries_ = std::move(*pool);
  return {};
}

Result<void> Recording::make_commands() {
  const VolkDeviceTable& functions = device_.functions();
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.queueFamilyIndex = device_.plan().compute_family;
  // A pool of its own: recording then needs no lock against other threads.
  auto pool = device_.make<VkCommandPool>(
      functions.vkCreateCommandPool, functions.vkDestroyCommandPool, info, "make a command pool");
  if (!pool) return std::unexpected(std::move(pool.error()));
  command_pool_ = std::move(*pool);
  commands_.resize(runs_.times != 0 ? 3 : 1);
  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = command_pool_.get();
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = static_cast<std::uint32_t>(commands_.size());
  const VkResult result =
      functions.vkAllocateCommandBuffers(device_.handle(), &allocation, commands_.data());
  if (result != VK_SUCCESS) {
    return std::unexpected(device_.error(result, "allocate command buffers"));
  }
  for (const VkCommandBuffer commands : commands_) {
    name_object(device_, VK_OBJECT_TYPE_COMMAND_BUFFER, commands, sequence_.name);
  }
  return {};
}

Result<void> Recording::record() {
  const std::size_t prefix = sequence_.prefix.size();
  const auto write = [&](VkCommandBuffer commands, bool often, const auto& body) -> Result<void> {
    CommandWriter writer(device_, commands, *sets_);
    if (auto begun = writer.begin(often); !begun) return begun;
    body(writer);
    return writer.end();
  };
  const auto prologue = [&](CommandWriter& writer) {
    writer.reset_queries(queries_.get(), 0, first_query(prefix));
    writer.timestamp(queries_.get(), kBegin);
    record_section(writer, Section::Prologue, 1);
  };
  const auto block = [&](CommandWriter& writer, std::uint32_t runs, std::uint32_t times) {
    for (std::uint32_t run = 0; run < runs; ++run) {
      writer.reset_queries(queries_.get(), first_query(prefix),
                           2 * static_cast<std::uint32_t>(sequence_.repeated.size()));
      record_section(writer, Section::Block, times);
    }
  };
  const auto epilogue = [&](CommandWriter& writer) {
    record_section(writer, Section::Epilogue, 1);
    writer.timestamp(queries_.get(), kEnd);
  };
  Result<void> done = write(commands_[0], false, [&](CommandWriter& writer) {
    prologue(writer);
    block(writer, runs_.first, 1);
    if (runs_.times == 0) epilogue(writer);
  });
  if (!done || runs_.times == 0) return done;
  done = write(commands_[1], true,
               [&](CommandWriter& writer) { block(writer, runs_.often, runs_.times); });
  if (done) done = write(commands_[2], false, epilogue);
  return done;
}

// `times`: how often what is recorded runs.
void Recording::record_section(CommandWriter& writer, Section section, std::uint32_t times) {
  const auto& commands = layout_.commands[static_cast<std::size_t>(section)];
  auto next =
      std::ranges::find(layout_.barriers.barriers, section, &dispatch::PlannedBarrier::section);
  for (std::uint32_t i = 0; i <= commands.size(); ++i) {
    for (; next != layout_.barriers.barriers.end() && next->section == section && next->before == i;
         ++next) {
      writer.barrier(*next);
      barriers_ += times;
    }
    if (i == commands.size()) break;
    record_command(writer, commands[i], section);
    if (commands[i].kind != CommandKind::Kernel) continue;
    if (kernels(section)[commands[i].index].caller_step) launches_ += times;
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
    case CommandKind::Kernel: {
      const bool repeated = section == Section::Block;
      const auto& blocks = repeated ? layout_.repeated_control : layout_.prefix_control;
      const VkBuffer control = control_ != nullptr ? control_->handle() : VK_NULL_HANDLE;
      const std::uint32_t query =
          first_query(command.index + (repeated ? sequence_.prefix.size() : 0));
      writer.timestamp(queries_.get(), query);
      writer.kernel(kernels(section)[command.index], blocks[command.index], control);
      writer.timestamp(queries_.get(), query + 1);
      return;
    }
  }
}

Result<Ticket> Recording::submit(WorkQueue& queue, std::span<const ByteSpan> uploads,
                                 const WorkQueue* other, Ticket after) {
  std::uint64_t uploaded = 0;
  for (std::size_t i = 0; i < sequence_.uploads.size(); ++i) {
    const std::uint64_t staged = layout_.upload_offsets[i];
    Buffer& target = staged == kNotStaged ? *sequence_.uploads[i].buffer : *upload_;
    const std::uint64_t at = staged == kNotStaged ? sequence_.uploads[i].offset : staged;
    if (auto written = target.write(at, uploads[i]); !written) {
      return std::unexpected(std::move(written.error()));
    }
    uploaded += uploads[i].size();
  }
  auto ticket = submit_commands(queue, other, after);
  if (!ticket) return ticket;
  dispatch::count(Counter::UploadBytes, uploaded);
  dispatch::count(Counter::Launches, launches_);
  dispatch::count(Counter::Barriers, barriers_);
  return ticket;
}

Result<Ticket> Recording::submit_commands(WorkQueue& queue, const WorkQueue* other, Ticket after) {
  if (runs_.times == 0) {  // the most frequent case allocates nothing
    auto ticket = queue.submit(commands_, other, after);
    if (ticket) last_ticket_ = *ticket;
    return ticket;
  }
  std::vector<VkCommandBuffer> batch{commands_[0]};
  const std::uint32_t most = std::max(kMostRunsAtOnce / std::max(runs_.often, 1u), 1u);
  std::uint32_t left = runs_.times;
  while (true) {
    const std::uint32_t times = std::min(left, most);
    if (times != 0) batch.insert(batch.end(), times, commands_[1]);
    left -= times;
    if (left == 0 && runs_.times != 0) batch.push_back(commands_[2]);
    auto ticket = queue.submit(batch, other, after);
    if (ticket) last_ticket_ = *ticket;
    if (!ticket || left == 0) return ticket;
    batch.clear();
    other = nullptr;
  }
}

Result<void> Recording::check_status() {
  Result<void> done = check_steps(sequence_.prefix, layout_.prefix_control);
  if (done) done = check_steps(sequence_.repeated, layout_.repeated_control);
  return done;
}

Result<void> Recording::check_steps(const std::vector<KernelStep>& steps,
                                    const std::vector<ControlBlocks>& blocks) {
  if (control_ == nullptr) return {};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].status) continue;
    codegen::Status status{};
    const auto bytes = std::as_writable_bytes(std::span(&status, 1));
    if (auto read = control_->read(*blocks[i].status, bytes); !read) return read;
    auto failed = error_of(status, steps[i].kernel->kernel);
    if (!failed) continue;
    // A kernel writes its status once; it must be clean before the next run.
    for (const auto* all : {&layout_.prefix_control, &layout_.repeated_control}) {
      for (const ControlBlocks& block : *all) {
        const codegen::Status clean{};
        if (!block.status) continue;
        if (auto cleared = control_->write(*block.status, std::as_bytes(std::span(&clean, 1)));
            !cleared) {
          return cleared;
        }
      }
    }
    failed->context.step = steps[i].caller_step;
    return std::unexpected(steps[i].kernel->with_context(std::move(*failed)));
  }
  return {};
}

Result<void> Recording::read(std::size_t index, std::span<std::byte> bytes) const {
  dispatch::count(Counter::DownloadBytes, bytes.size());
  const std::uint64_t staged = layout_.read_offsets[index];
  if (staged != kNotStaged) return readback_->read(staged, bytes);
  return sequence_.reads[index].buffer->read(sequence_.reads[index].offset, bytes);
}

Result<Recording::DeviceTimes> Recording::device_times() const {
  DeviceTimes times;
  if (queries_.get() == VK_NULL_HANDLE) return times;
  const std::size_t steps =
      sequence_.prefix.size() + (layout_.plan.count != 0 ? sequence_.repeated.size() : 0);
  std::vector<std::uint64_t> ticks(first_query(steps));
  const VkResult result = device_.functions().vkGetQueryPoolResults(
      device_.handle(), queries_.get(), 0, static_cast<std::uint32_t>(ticks.size()),
      ticks.size() * sizeof ticks[0], ticks.data(), sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "read the timestamps"));
  const std::uint32_t bits = device_.timestamp_bits();
  const std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  const double period = device_.snapshot().limits.timestamp_period_ns;
  const auto nanoseconds = [&](std::uint32_t from, std::uint32_t to) {
    const auto elapsed = static_cast<double>((ticks[to] - ticks[from]) & mask);
    return static_cast<std::uint64_t>(std::llround(elapsed * period));
  };
  times.total_ns = nanoseconds(kBegin, kEnd);
  for (std::size_t i = 0; i < steps; ++i) {
    times.step_begin.push_back(nanoseconds(kBegin, first_query(i)));
    times.step_ns.push_back(nanoseconds(first_query(i), first_query(i) + 1));
  }
  // Steps that ran not once took no time.
  times.step_begin.resize(sequence_.prefix.size() + sequence_.repeated.size());
  times.step_ns.resize(times.step_begin.size());
  return times;
}

void Recording::note_buffers() {
  const auto note = [&](const BufferSlice& slice) { buffers_.push_back(slice.buffer.get()); };
  for (const FillStep& fill : sequence_.fills) note(fill.target);
  std::ranges::for_each(sequence_.uploads, note);
  std::ranges::for_each(sequence_.reads, note);
  for (const auto* steps : {&sequence_.prefix, &sequence_.repeated}) {
    for (const KernelStep& step : *steps) {
      std::ranges::for_each(step.buffers, note);
      if (step.indirect) note(*step.indirect);
    }
  }
  std::ranges::sort(buffers_);
  buffers_.erase(std::unique(buffers_.begin(), buffers_.end()), buffers_.end());
}

bool Recording::uses(const Buffer* buffer) const {
  return std::ranges::binary_search(buffers_, buffer);
}

}  // namespace felsite::vk
