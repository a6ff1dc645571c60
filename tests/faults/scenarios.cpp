#include "faults/scenarios.h"

#include <array>
#include <string>

#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "faults/scenario_support.h"
#include "support/kernel_step.h"
#include "vk/vulkan_backend.h"

namespace felsite::test {
namespace {

const ir::Program& add_one() {
  static const ir::Program program = program_of(
      "program add_one workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
      " if i < len(x) { x[i] = x[i] + 1; } }");
  return program;
}

const ir::Program& copy() {
  static const ir::Program program = program_of(
      "program copy workgroup(4) { readonly x: u32[]; readwrite y: u32[]; let i = invocation.x;"
      " if i < len(y) { y[i] = x[i]; } }");
  return program;
}

const ir::Program& trap_on_seven() {
  static const ir::Program program = program_of(
      "program trap_on_seven workgroup(1) { readwrite x: u32[]; if x[0] == 7 { trap(3, seven); }"
      " x[0] = x[0] + 1; }");
  return program;
}

// More buffers than push constants have room for their lengths, so that there is a block of them.
const ir::Program& many_lengths() {
  static const ir::Program program = [] {
    std::string text = "program many_lengths workgroup(1) { ";
    std::string sum = "0";
    for (int i = 0; i < 3; ++i) {
      text += "readonly x" + std::to_string(i) + ": u8[]; ";
      sum += " + len(x" + std::to_string(i) + ")";
    }
    return program_of(text + "output o: u32[1]; o[0] = " + sum + "; }");
  }();
  return program;
}

Result<void> dispatch_forms(Backend& backend) {
  const std::vector<Bytes> inputs{bytes_of(Words{1, 2, 3})};
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  std::vector<Bytes> slots;
  for (int i = 0; i < 2; ++i) {
    if (auto done = backend.dispatch_borrowed_into(add_one(), spans, slots); !done) {
      return plain(std::move(done));
    }
    if (auto right = expect(words_of(slots[0]) == Words{2, 3, 4}); !right) return right;
  }
  return {};
}

Result<void> timed_dispatch(Backend& backend) {
  const Bytes input = bytes_of(Words{1, 2, 3});
  const std::vector<ByteSpan> spans{input};
  return plain(backend.dispatch_borrowed_timed(add_one(), spans));
}

Result<void> borrowed_memory(Backend& backend) {
  // At the beginning of a page, where every device takes it.
  alignas(4096) static const std::array<std::byte, std::size_t{2} << 20> large{};
  const Bytes small = bytes_of(Words{9});
  const std::vector<ByteSpan> spans{large, small};
  auto outputs = backend.dispatch_borrowed(copy(), spans);
  if (!outputs) return plain(std::move(outputs));
  return expect(words_of((*outputs)[0]) == Words{0});
}

Result<void> parameter_block(Backend& backend) {
  return plain(backend.dispatch(many_lengths(), {Bytes(1), Bytes(2), Bytes(3)}));
}

Result<void> asynchronous(Backend& backend) {
  std::vector<std::unique_ptr<PendingDispatch>> pending;
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto started = backend.dispatch_async(add_one(), {bytes_of(Words{i})});
    if (!started) return plain(std::move(started));
    pending.push_back(std::move(*started));
  }
  for (std::uint32_t i = 0; i < 2; ++i) {  // the last one is dropped
    static_cast<void>(pending[i]->is_ready());
    auto outputs = pending[i]->wait();
    if (!outputs) return plain(std::move(outputs));
    if (auto right = expect(words_of((*outputs)[0]) == Words{i + 1}); !right) return right;
  }
  return {};
}

Result<void> compiled(Backend& backend) {
  auto pipeline = backend.compile(add_one());
  if (!pipeline) return plain(std::move(pipeline));
  const Bytes input = bytes_of(Words{4});
  const std::vector<std::vector<ByteSpan>> batch{{input}, {input}};
  auto outputs = (*pipeline)->dispatch_batch(batch);
  if (!outputs) return plain(std::move(outputs));
  Buffers buffers(backend);
  if (auto done = buffers.allocate({4}); !done) return done;
  if (auto done = backend.upload_resident(buffers[0], input); !done) return done;
  for (int i = 0; i < 2; ++i) {
    const std::array resources{buffers[0]};
    if (auto done = (*pipeline)->dispatch_resident(resources); !done) return plain(std::move(done));
  }
  auto result = backend.download_resident(buffers[0]);
  if (!result) return plain(std::move(result));
  return expect(words_of(*result) == Words{6});
}

Result<void> resident_memory(Backend& backend) {
  Buffers buffers(backend);
  if (auto done = buffers.allocate({16, 5, 0}); !done) return done;
  const Bytes sixteen(16, std::byte{3});
  const std::array uploads{
      ResidentUpload{.buffer = buffers[0], .bytes = sixteen},
      ResidentUpload{.buffer = buffers[1], .offset = 1, .bytes = ByteSpan(sixteen).first(3)}};
  if (auto done = backend.upload_resident_at_many(uploads); !done) return done;
  if (auto done = backend.fill_resident(buffers[1], std::byte{7}); !done) return done;
  const std::array ranges{ResidentRange{.buffer = buffers[1]},
                          ResidentRange{.buffer = buffers[0], .offset = 4, .length = 4}};
  std::vector<Bytes> outputs;
  if (auto done = backend.download_resident_ranges_into(ranges, outputs); !done) return done;
  return expect(outputs[0] == Bytes(5, std::byte{7}) && outputs[1] == Bytes(4, std::byte{3}));
}

Result<void> submissions(Backend& backend) {
  Buffers buffers(backend);
  if (auto done = buffers.allocate({16, 16}); !done) return done;
  const Bytes input = bytes_of(Words{1, 2, 3, 4});
  const std::array fills{ResidentFill{.buffer = buffers[0]}, ResidentFill{.buffer = buffers[1]}};
  const std::array uploads{ResidentUpload{.buffer = buffers[0], .bytes = input}};
  const std::array prefix{ResidentStep{.program = copy(), .resources = {buffers[0], buffers[1]}}};
  const std::array repeated{ResidentStep{.program = add_one(), .resources = {buffers[1]}}};
  const std::array reads{ResidentRange{.buffer = buffers[1]}};
  const ResidentSubmission all{.fills = fills,
                               .uploads = uploads,
                               .prefix = prefix,
                               .repeated = repeated,
                               .count = 70,
                               .reads = reads};
  std::vector<Bytes> outputs;
  for (const bool profile : {false, true}) {
    if (auto done = backend.submit_resident(all, outputs, {.profile = profile}); !done) {
      return plain(std::move(done));
    }
    if (auto right = expect(words_of(outputs[0]) == Words{71, 72, 73, 74}); !right) return right;
  }
  auto recorded = backend.record_resident(all);
  if (!recorded) return plain(std::move(recorded));
  for (int i = 0; i < 2; ++i) {
    if (auto done = (*recorded)->run_into(outputs); !done) return plain(std::move(done));
  }
  return expect(words_of(outputs[0]) == Words{71, 72, 73, 74});
}

// Several recordings in one submission: iterations that converge, and steps that the host repeats,
// since only the device knows how often their loop goes round.
Result<void> blocks(Backend& backend) {
  static const ir::Program up = program_of(
      "program up workgroup(1) { readonly by: u32[1]; readwrite n: u32[1];"
      " n[0] = min(n[0] + by[0], 5); }");
  static const ir::Program round = program_of(
      "program round workgroup(2) { readonly n: u32[1]; readwrite x: u32[2]; let end = n[0];"
      " loop k in 0..end { let other = x[1 - invocation.x]; gridsync;"
      " x[invocation.x] = other + 1; gridsync; } }");
  Buffers buffers(backend);
  if (auto done = buffers.allocate({4, 8}); !done) return done;
  const Bytes by = bytes_of(Words{2});
  const std::array fills{ResidentFill{.buffer = buffers[0]}, ResidentFill{.buffer = buffers[1]}};
  const ResidentStep ups{.program = up, .resources = {ResidentResource::of(by), buffers[0]}};
  const ResidentStep rounds{.program = round, .resources = {buffers[0], buffers[1]}};
  const std::array all{ResidentBlock{.steps = {&ups, 1}, .repeat = Repeat::until_unchanged(9)},
                       ResidentBlock{.steps = {&rounds, 1}, .repeat = Repeat::times(2)}};
  const std::array reads{ResidentRange{.buffer = buffers[1]}};
  const ResidentSubmission submission{.fills = fills, .reads = reads, .blocks = all};
  std::vector<Bytes> outputs;
  if (auto done = backend.submit_resident(submission, outputs); !done)
    return plain(std::move(done));
  if (auto right = expect(words_of(outputs[0]) == Words{10, 10}); !right) return right;
  auto recorded = backend.record_resident(submission);
  if (!recorded) return plain(std::move(recorded));
  auto started = (*recorded)->start();
  if (!started) return plain(std::move(started));
  if (auto done = (*started)->wait_into(outputs); !done) return plain(std::move(done));
  return expect(words_of(outputs[0]) == Words{10, 10});
}

Result<void> indirect(Backend& backend) {
  static const ir::Program program = program_of(
      "program counted workgroup(1) { readonly g: u32[]; readwrite n: u32[1];"
      " indirect_dispatch(g[0]); atomic_add(n[0], 1); }");
  // The host has to read its grid.
  static const ir::Program late = program_of(
      "program summed workgroup(1) { readonly g: u32[]; readwrite n: u32[1];"
      " indirect_dispatch(g[0]); let old = n[0]; gridsync; atomic_add(n[0], old); }");
  Buffers buffers(backend);
  if (auto done = buffers.allocate({12, 4}); !done) return done;
  const Bytes grid = bytes_of(Words{2, 3, 1});
  const Bytes zero(4);
  const std::array uploads{ResidentUpload{.buffer = buffers[0], .bytes = grid},
                           ResidentUpload{.buffer = buffers[1], .bytes = zero}};
  const std::array steps{ResidentStep{.program = program, .resources = {buffers[0], buffers[1]}},
                         ResidentStep{.program = late, .resources = {buffers[0], buffers[1]}}};
  const std::array reads{ResidentRange{.buffer = buffers[1]}};
  std::vector<Bytes> outputs;
  auto done =
      backend.submit_resident({.uploads = uploads, .prefix = steps, .reads = reads}, outputs);
  if (!done) return plain(std::move(done));
  return expect(words_of(outputs[0]) == Words{6 + 6 * 6});
}

// A block that the host submits in growing parts, and whose steps the device skips
// when they have run seven times.
Result<void> run_watched(dispatch::OpenDevice& open, vk::Engine& engine, bool measured) {
  static const ir::Program decide = program_of(
      "program decide workgroup(1) { readwrite go: u32[]; readwrite n: u32[];"
      " if go[0] != 0 { n[0] = n[0] + 1; if n[0] >= 7 { go[0] = 0; } } }");
  std::vector<vk::BufferSlice> words;
  for (const auto& [place, bytes] :
       {std::pair(vk::Place::Control, 12u), std::pair(vk::Place::Control, 4u),
        std::pair(vk::Place::Device, 16u)}) {
    auto buffer = engine.memory().make(place, bytes, "words");
    if (!buffer) return plain(std::move(buffer));
    words.push_back({std::move(*buffer), 0, bytes});
  }
  const vk::BufferSlice go{words[0].buffer, 0, 4};
  vk::Sequence sequence{.fills = {{words[2], std::byte{0}}},
                        .count = 9,
                        .reads = {words[2]},
                        .watch = go,
                        .host_words = {{words[0], {1, 1, 1}}, {words[1], {0}}},
                        .measured = measured};
  const auto add_step = [&](const ir::Program& program,
                            std::vector<vk::BufferSlice> buffers) -> Result<void> {
    const auto valid = open.programs.get(program);
    if (!valid) return plain(valid);
    auto step = kernel_step(engine, *valid, buffers);
    if (!step) return plain(step);
    sequence.repeated.push_back(std::move(*step));
    return {};
  };
  if (auto added = add_step(add_one(), {words[2]}); !added) return added;
  if (engine.device().has(vk::RuntimeFeature::ConditionalRendering)) {
    sequence.repeated.back().condition = go;
  } else {
    sequence.repeated.back().indirect = words[0];
  }
  if (auto added = add_step(decide, {go, words[1]}); !added) return added;
  auto recording = engine.record(std::move(sequence));
  if (!recording) return plain(std::move(recording));
  auto running = engine.start(std::move(*recording), {});
  if (!running) return plain(std::move(running));
  if (auto done = engine.finish(*running, vk::kNoTimeout); !done) return plain(std::move(done));
  Bytes result(16);
  if (auto read = running->recording->read(0, result); !read) return read;
  return expect(words_of(result) == Words(4, 7));
}

Result<void> watched(Backend& backend) {
  return dispatch::BackendCore::of(backend).call(
      "watched", [&](const dispatch::SharedDevice& open) -> Result<void> {
        const auto engine = vk::engine_of(backend);
        if (!engine) return plain(engine);
        if (auto done = run_watched(*open, **engine, false); !done) return done;
        return run_watched(*open, **engine, true);
      });
}

Result<void> static_uploads(Backend& backend) {
  const Bytes payload = bytes_of(Words{1, 2});
  const std::vector<ByteSpan> payloads{payload};
  auto uploads = backend.acquire_static_uploads("faults", payloads);
  if (!uploads) return plain(std::move(uploads));
  auto bytes = backend.download_resident(uploads->handles[0]);
  if (auto done = backend.release_static_uploads(*uploads); bytes && !done) return done;
  if (!bytes) return plain(std::move(bytes));
  return expect(*bytes == payload);
}

Result<void> trapping(Backend& backend) {
  const Bytes seven = bytes_of(Words{7});
  const std::vector<ByteSpan> spans{seven};
  return plain(backend.dispatch_borrowed(trap_on_seven(), spans));
}

Result<void> flushing(Backend& backend) {
  if (auto done = run_small_dispatch(backend); !done) return done;
  return backend.flush();
}

Result<void> device_buffers(Backend& backend) {
  std::vector<DeviceBuffer> buffers;
  const auto run = [&]() -> Result<void> {
    for (const char* const label : {"from", "to"}) {
      auto made = backend.allocate_device_buffer(8, label);
      if (!made) return plain(std::move(made));
      buffers.push_back(std::move(*made));
    }
    const Bytes input = bytes_of(Words{5, 6});
    if (auto done = backend.upload_resident(buffers[0].resident, input); !done) return done;
    if (auto done = backend.dispatch_device_buffers(copy(), buffers); !done) {
      return plain(std::move(done));
    }
    auto result = backend.download_resident(buffers[1].resident);
    if (!result) return plain(std::move(result));
    return expect(*result == input);
  };
  auto done = run();
  for (const DeviceBuffer& buffer : buffers) {
    if (auto freed = backend.free_device_buffer(buffer); done && !freed) done = std::move(freed);
  }
  return done;
}

// More than the staging memory takes in one piece; where nothing is staged there is nothing to do.
Result<void> large_transfers(Backend& backend) {
  const auto engine = vk::engine_of(backend);
  if (!engine) return plain(engine);
  const vk::MemoryStrategy& memory = (*engine)->device().plan().memory;
  if (memory.writes_in_place && memory.reads_in_place) return {};
  static const Bytes large = bytes_of(counting((std::uint32_t{4} << 20) / 4 + 100));
  Buffers buffers(backend);
  if (auto done = buffers.allocate({large.size()}); !done) return done;
  if (auto done = backend.upload_resident(buffers[0], large); !done) return done;
  auto result = backend.download_resident(buffers[0]);
  if (!result) return plain(std::move(result));
  return expect(*result == large);
}

Result<void> nothing(Backend&) { return {}; }

Result<void> closing(Backend& backend) {
  if (auto done = run_small_dispatch(backend); !done) return done;
  return backend.shutdown();
}

// Nobody waits for the work but the shutdown.
Result<void> closing_under_way(Backend& backend) {
  DispatchConfig config;
  config.grid_override = {{20000, 1, 1}};
  auto pending = backend.dispatch_async(add_one(), {bytes_of(Words{1})}, config);
  if (!pending) return plain(std::move(pending));
  return backend.shutdown();
}

}  // namespace

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all{
      {.name = "opening", .run = nothing, .faults_in_opening = true, .has_cache_file = true},
      {"dispatch", dispatch_forms},
      {"timed dispatch", timed_dispatch},
      {"borrowed memory", borrowed_memory},
      {"parameter block", parameter_block},
      {.name = "asynchronous", .run = asynchronous, .takes_long = true},
      {.name = "compiled", .run = compiled, .takes_long = true},
      {"resident memory", resident_memory},
      {.name = "large transfers", .run = large_transfers, .needs_device = true},
      {"device buffers", device_buffers},
      {.name = "submissions", .run = submissions, .takes_long = true},
      {.name = "blocks", .run = blocks, .takes_long = true},
      {"indirect", indirect},
      {.name = "watched", .run = watched, .needs_device = true, .takes_long = true},
      {"static uploads", static_uploads},
      {.name = "trap", .run = trapping, .ends_with = ErrorCode::Trapped},
      {.name = "flush", .run = flushing, .has_cache_file = true},
      {.name = "closing", .run = closing, .has_cache_file = true, .closes = true},
      {.name = "closing under way",
       .run = closing_under_way,
       .closes = true,
       .has_no_timeouts = true},
  };
  const std::vector<Scenario> grids = grid_scenarios();
  all.insert(all.end(), grids.begin(), grids.end());
  return all;
}

Result<void> run_small_dispatch(Backend& backend) {
  auto outputs = backend.dispatch(add_one(), {bytes_of(Words{41})});
  if (!outputs) return plain(std::move(outputs));
  return expect(words_of((*outputs)[0]) == Words{42});
}

}  // namespace felsite::test
