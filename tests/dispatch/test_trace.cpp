#include <nlohmann/json.hpp>
#include <thread>

#include "dispatch/telemetry/trace.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;
using dispatch::HostSlice;
using dispatch::note_device_slice;
using dispatch::TraceClock;
using nlohmann::json;

namespace {

std::vector<json> events(const std::string& text, const char* kind) {
  const json trace = json::parse(text);
  std::vector<json> found;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == kind) found.push_back(event);
  }
  return found;
}

std::vector<json> slices(const std::string& text) { return events(text, "X"); }

// The name of a row, as the viewer shows it.
std::string row_name(const std::string& text, const json& slice) {
  for (const json& event : events(text, "M")) {
    if (event.at("name") == "thread_name" && event.at("pid") == slice.at("pid") &&
        event.at("tid") == slice.at("tid")) {
      return event.at("args").at("name");
    }
  }
  return "";
}

}  // namespace

TEST_CASE("nothing is noted without a trace") {
  CHECK(!dispatch::tracing());
  { const HostSlice slice("before"); }
  start_trace();
  CHECK(dispatch::tracing());
  const std::string text = stop_trace();
  CHECK(!dispatch::tracing());
  { const HostSlice slice("after"); }
  CHECK(slices(text).empty());
  CHECK(slices(stop_trace()).empty());
}

TEST_CASE("host slices nest, in microseconds from the start") {
  start_trace();
  {
    const HostSlice outer("outer");
    std::this_thread::sleep_for(2ms);
    const HostSlice inner("inner");
    std::this_thread::sleep_for(2ms);
  }
  const std::vector<json> found = slices(stop_trace());
  REQUIRE(found.size() == 2);
  const json& inner = found[0].at("name") == "inner" ? found[0] : found[1];
  const json& outer = found[0].at("name") == "inner" ? found[1] : found[0];
  CHECK(outer.at("name") == "outer");
  CHECK(outer.at("ts").get<double>() >= 0);
  CHECK(outer.at("dur").get<double>() >= 4000);
  CHECK(outer.at("dur").get<double>() < 60e6);
  CHECK(inner.at("ts").get<double>() >= outer.at("ts").get<double>() + 2000);
  CHECK(inner.at("tid") == outer.at("tid"));
  CHECK(inner.at("pid") == outer.at("pid"));
}

TEST_CASE("each thread and each device has a row with a name") {
  start_trace();
  { const HostSlice slice("here"); }
  std::jthread([] { const HostSlice slice("there"); }).join();
  const auto now = TraceClock::now();
  note_device_slice("first device", "a step", now, 1500ns);
  note_device_slice("second device", "a step", now, 0ns);
  note_device_slice("first device", "next step", now + 2us, 1us);
  const std::string text = stop_trace();
  const std::vector<json> found = slices(text);
  REQUIRE(found.size() == 5);
  CHECK(row_name(text, found[0]) == "thread 1");
  CHECK(row_name(text, found[1]) == "thread 2");
  CHECK(row_name(text, found[2]) == "first device");
  CHECK(row_name(text, found[3]) == "second device");
  CHECK(row_name(text, found[4]) == "first device");
  CHECK(found[0].at("pid") == found[1].at("pid"));
  CHECK(found[0].at("pid") != found[2].at("pid"));
  CHECK(found[2].at("dur").get<double>() == doctest::Approx(1.5));
  CHECK(found[4].at("ts").get<double>() - found[2].at("ts").get<double>() == doctest::Approx(2.0));
  CHECK(events(text, "M").size() == 2 + 4);
}

TEST_CASE("starting again begins a new record, without what began before it") {
  start_trace();
  { const HostSlice slice("old"); }
  const auto old = TraceClock::now();
  {
    const HostSlice across("across");
    start_trace();
  }
  note_device_slice("device", "old", old, 1ns);
  { const HostSlice slice("new"); }
  const std::vector<json> found = slices(stop_trace());
  REQUIRE(found.size() == 1);
  CHECK(found[0].at("name") == "new");
}

TEST_CASE("names that are no text do no harm") {
  start_trace();
  note_device_slice("device \"x\"\n", "bad \xFF\xC3 bytes \\ \"quoted\"", TraceClock::now(), 1ns);
  const std::string text = stop_trace();
  const std::vector<json> found = slices(text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].at("name").get<std::string>().starts_with("bad "));
  CHECK(row_name(text, found[0]) == "device \"x\"\n");
}

TEST_CASE("threads may note while a trace starts and stops") {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        const HostSlice slice("busy");
        note_device_slice("device", "step", TraceClock::now(), 1ns);
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    start_trace();
    std::this_thread::yield();
    CHECK(json::parse(stop_trace()).contains("traceEvents"));
  }
}

TEST_CASE("a dispatch and its steps are slices, named by label or program") {
  const auto backend = make_reference_backend();
  const ir::Program program =
      valid_program("program busy workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; }");
  start_trace();
  REQUIRE(backend->dispatch(program, {Bytes(4)}).has_value());
  DispatchConfig config;
  config.label = "labelled";
  REQUIRE(backend->dispatch_async(program, {Bytes(4)}, config).value()->wait().has_value());
  const std::string text = stop_trace();
  std::vector<std::string> host;
  std::vector<std::string> device;
  for (const json& slice : slices(text)) {
    const bool on_device = row_name(text, slice) == "reference";
    (on_device ? device : host).push_back(slice.at("name"));
  }
  CHECK(device == std::vector<std::string>{"busy", "labelled"});
  CHECK(std::ranges::count(host, "dispatch") == 2);
  CHECK(std::ranges::count(host, "dispatch_async") == 1);
  CHECK(std::ranges::count(host, "wait") == 1);
}
