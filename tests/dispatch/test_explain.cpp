// What an explanation says, against numbers that were worked out by hand.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "felsite/explain.h"
#include "support/parse.h"

using namespace felsite;

namespace {

DeviceProfile small_device() {
  DeviceProfile device;
  device.name = "small";
  device.max_workgroup_size = {128, 128, 64};
  device.max_workgroup_invocations = 128;
  device.allows_host_grid_sync_split = true;
  return device;
}

Explanation explained(std::string_view text, const DispatchConfig& config = {},
                      const ExplainInputs& inputs = {},
                      const DeviceProfile& device = small_device()) {
  const auto explanation = explain(test::parsed(text), config, inputs, device);
  if (!explanation) FAIL(to_string(explanation.error()));
  return *explanation;
}

ExplainInputs sizes(std::vector<std::optional<std::uint64_t>> bytes) {
  return {.bytes = std::move(bytes), .indirect_grid = {}};
}

ExplainInputs with_source(std::string_view text) {
  return {.bytes = {}, .indirect_grid = {}, .source = std::string(text)};
}

// "buffer role buffer role …"
std::string uses(const Explanation& e, std::size_t segment) {
  std::string text;
  for (const ExplainedUse& use : e.segments[segment].uses) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", e.buffers[use.buffer].name, use.role);
  }
  return text;
}

// "after>before:buffer kind …"
std::string barriers(const Explanation& e) {
  std::string text;
  for (const ExplainedBarrier& barrier : e.barriers) {
    text +=
        fmt::format("{}>{}{}:", barrier.after, barrier.before, barrier.next_iteration ? "'" : "");
    for (const ExplainedHazard& hazard : barrier.hazards) {
      text += fmt::format(" {} {}", e.buffers[hazard.buffer].name, to_string(hazard.kind));
    }
    text += "\n";
  }
  return text;
}

std::string order(const std::vector<ExplainedPart>& parts) {
  std::string text;
  for (const ExplainedPart& part : parts) {
    if (!text.empty()) text += " ";
    switch (part.kind) {
      case ExplainedPart::Kind::Segment:
        text += fmt::format("{}", part.segment);
        break;
      case ExplainedPart::Kind::Repeat:
        text += fmt::format("{}={}..{}({})", part.variable, part.from, part.to, order(part.parts));
        break;
      case ExplainedPart::Kind::If:
        text += fmt::format("if {}({})", part.condition, order(part.parts));
        break;
      case ExplainedPart::Kind::Else:
        text += fmt::format("else({})", order(part.parts));
        break;
    }
  }
  return text;
}

constexpr std::string_view kThree =
    "program three workgroup(4) { readonly a: u32[]; readwrite b: u32[]; readwrite c: u32[];"
    " output d: u32[8]; let i = invocation.x;"
    " b[i] = a[i]; gridsync; d[i] = b[7 - i]; gridsync; d[i ^ 1] = c[i]; }";

}  // namespace

TEST_CASE("the roles of buffers follow what each segment does with them") {
  const Explanation e = explained(kThree, {.grid_sync = GridSync::Resident}, sizes({32, 32, 32}));
  REQUIRE(e.segments.size() == 3);
  CHECK(uses(e, 0) == "a readonly, b accumulator, c carried");
  CHECK(uses(e, 1) == "b readonly, c carried, d writeonly");
  CHECK(uses(e, 2) == "b carried, c readonly, d accumulator");
  CHECK(e.segments[1].recomputed == std::vector<std::string>{"i"});
  CHECK(e.spills.empty());
  CHECK(e.kept.bytes == 0u);
  CHECK(barriers(e) == "0>1: b RAW\n1>2: d WAW\n");
  CHECK(order(e.order) == "0 1 2");
  CHECK(e.launches == 3u);
  CHECK(e.route == "resident");
}

TEST_CASE("what runs as one dispatch has native barriers, and nothing that only a cut needs") {
  constexpr std::string_view text =
      "program p workgroup(4) { readwrite x: u32[8]; let i = invocation.x; let v = x[i];"
      " gridsync; x[i ^ 1] = v; }";
  const Explanation cut = explained(text, {.grid_sync = GridSync::Resident});
  CHECK(!is_one_dispatch(cut));
  CHECK(barriers(cut) == "0>1: x WAR spill RAW\n");
  CHECK(cut.spills.size() == 1);
  CHECK(cut.buffers.size() == 2);
  CHECK(!to_text(cut).contains("native barrier"));
  CHECK(to_html(cut).contains("class='pill'"));

  const Explanation one = explained(text);  // eight invocations are one workgroup of 128
  CHECK(one.route == "one workgroup");
  CHECK(is_one_dispatch(one));
  CHECK(one.launches == 1u);
  CHECK(one.barriers.empty());
  CHECK(one.spills.empty());
  CHECK(one.kept.bytes == 0u);
  REQUIRE(one.buffers.size() == 1);
  CHECK(one.buffers[0].name == "x");
  CHECK(uses(one, 0) == "x readonly");
  CHECK(one.segments[0].stored.empty());
  CHECK(to_text(one).contains("  ── native barrier\n"));
  CHECK(to_html(one).contains("native barrier"));
  CHECK(!to_html(one).contains("class='pill'"));
  CHECK(!to_html(one).contains("Barriers between launches"));
}

TEST_CASE("a nested loop shows its trips per entry and in total") {
  const auto text_of = [](std::string_view inner) {
    return to_text(explained(
        fmt::format("program p workgroup(4) {{ readwrite x: u32[8]; let i = invocation.x;"
                    " loop a in 1..4 {{ x[i] = a; loop b in {} {{ x[i] = x[i] + b; gridsync; }} }}"
                    " x[i] = 0; }}",
                    inner),
        {.grid_sync = GridSync::Resident}));
  };
  CHECK(text_of("0..5").contains("repeat a in 1..4: 3 trips\n"));
  CHECK(text_of("0..5").contains("repeat b in 0..5: 5 trips each time, 15 in all\n"));
  // 1 + 2 + 3: not the same each time.
  CHECK(text_of("0..a").contains("repeat b in 0..a: 6 trips in all, begun 3 times\n"));
}

TEST_CASE("the lines of the source show their segments and grid barriers") {
  constexpr std::string_view text =
      "// a comment\n"
      "program p workgroup(4) {\n"
      "  readwrite x: u32[8];\n"
      "  let i = invocation.x;\n"
      "  gridsync;\n"
      "  loop k in 0..2 {\n"
      "    if x[i] > k {\n"
      "      x[i] = k;\n"
      "    }\n"
      "    gridsync; x[i ^ 1] = 1;\n"
      "  }\n"
      "  x[i] = 0;\n"
      "}\n";
  const auto lines_of = [](const Explanation& e) {
    std::string lines;
    for (const ExplainedLine& line : e.source) {
      lines += fmt::format("{}{}|", fmt::join(line.segments, "+"), line.grid_barrier ? "!" : "");
    }
    return lines;
  };
  const Explanation e = explained(text, {}, with_source(text));
  REQUIRE(e.source.size() == 13);
  CHECK(e.source[0].text == "// a comment");
  CHECK(lines_of(e) == "|||0|!||2|2|2|3!||4||");
  CHECK(e.segments.size() == 5);  // segment 1, before the loop, is empty

  // Another text, or none: the program is printed.
  const Explanation printed = explained(text, {}, with_source("program q"));
  REQUIRE(!printed.source.empty());
  CHECK(printed.source[0].text == "program p workgroup(4) {");
  CHECK(lines_of(printed).contains("0|!|"));
  CHECK(lines_of(explained(text)) == lines_of(printed));
}

TEST_CASE("the page shows the source beside its segments, with titles and roles") {
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[];\n let i = invocation.x; let v = x[i];\n"
      " gridsync;\n x[i ^ 1] = v; }";
  const std::string page =
      to_html(explained(text, {.grid_sync = GridSync::Resident}, with_source(text)));
  for (const char* part :
       {"<html lang='en'>", "<meta name='viewport'", "<main>", "</main>", "<title>p: how it runs",
        "role='img'", "aria-describedby='steps'", "<ol class='steps' id='steps'>",
        "<th scope='col'>because of</th>", "role='region'",
        "<li class='cut'><span class='of'>barrier</span><span class='no'>3</span> gridsync;</li>",
        "<li class='odd '><span class='of'>1</span><span class='no'>4</span> x[i ^ 1] = v; "
        "}</li>"}) {
    CAPTURE(part);
    CHECK(page.contains(part));
  }
}

TEST_CASE("every picture of the page has a title, and so has everything drawn in it") {
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[];\n let i = invocation.x; let v = x[i];\n"
      " gridsync;\n x[i ^ 1] = v; }";
  const std::string page =
      to_html(explained(text, {.grid_sync = GridSync::Resident}, with_source(text)));
  int pictures = 0;
  for (std::size_t at = page.find("<svg "); at != std::string::npos; at = page.find("<svg ", at)) {
    const std::size_t end = page.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string tag = page.substr(at, end - at);
    CAPTURE(tag);
    at = end + 1;
    if (tag.contains("aria-hidden='true'")) continue;  // a mark in the legend, beside its words
    ++pictures;
    CHECK(tag.contains("role='img'"));
    CHECK(page.substr(at).starts_with("<title"));
  }
  CHECK(pictures == 2);
  for (const char* part : {"aria-labelledby='picture-title'", "<title id='picture-title'>",
                           "<g><title>x: ", "<g><title>Segment 0: ", "<g><title>Segment 1: ",
                           "<g><title>Barrier between segments 0 and 1: "}) {
    CAPTURE(part);
    CHECK(page.contains(part));
  }
}

TEST_CASE("the traffic is inputs and outputs once, or those of each segment") {
  const Explanation e = explained(kThree, {}, sizes({32, 32, 32}));
  CHECK(e.traffic.resident_up.bytes == 96u);    // a, b, c
  CHECK(e.traffic.resident_down.bytes == 96u);  // b, c, d
  // Up: a and b; b; c and d. Down: b; d; d.
  CHECK(e.traffic.split_up.bytes == 64u + 32u + 64u);
  CHECK(e.traffic.split_down.bytes == 32u + 32u + 32u);
  CHECK(e.segments[0].up.formula == "4·len(a) + 4·len(b)");
  CHECK(e.traffic.split_up.formula == "4·len(a) + 8·len(b) + 4·len(c) + 32");
}

TEST_CASE("what is not known is a formula, and the assumption is stated") {
  const Explanation e = explained(kThree, {}, sizes({std::nullopt, 32}));
  CHECK(!e.traffic.resident_up.bytes);
  CHECK(e.traffic.resident_up.formula == "4·len(a) + 4·len(b) + 4·len(c)");
  CHECK(e.traffic.resident_down.bytes == std::nullopt);
  REQUIRE(e.assumptions.size() == 3);  // any of them may be the largest
  CHECK(e.assumptions[0].starts_with("The sizes of `a`, `c` are not known"));
  CHECK(!e.grid);
  CHECK(e.grid_reason == "for the largest storage buffer, whose size is not known");
  const Explanation known = explained(kThree, {}, sizes({32, 32, 40}));
  CHECK(known.grid == std::array{3u, 1u, 1u});
  CHECK(known.grid_reason == "for the 10 elements of `c`");

  const Explanation open = explained(
      "program p workgroup(4) { readwrite x: u32[]; let i = invocation.x; let v = x[i];"
      " gridsync; x[i ^ 1] = v; }");
  CHECK(!open.grid);
  CHECK(open.route == "resident");
  CHECK(open.assumptions.size() == 3);
  REQUIRE(open.notes.size() == 1);
  CHECK(open.notes[0].starts_with("On a grid of one workgroup the route is one workgroup."));
  CHECK(open.kept.formula == "4·invocations");
  CHECK(!open.kept.bytes);
}

TEST_CASE("loops are a tree with trips, launches and barriers counted") {
  const Explanation e = explained(
      "program p workgroup(4) { readwrite x: u32[]; output y: u64[8]; let i = invocation.x;"
      " loop a in 1..4 { let v = x[i]; gridsync; x[i ^ 1] = v + a;"
      "   loop b in 0..a { let w = x[i]; gridsync; x[i ^ 1] = w; } }"
      " gridsync; y[i] = u64(x[i]); }",
      {.grid_sync = GridSync::Resident}, sizes({32}));
  CHECK(e.route == "resident");
  // Trips of the inner loop: 1 + 2 + 3.
  const auto trips = [&](const std::vector<ExplainedPart>& parts) {
    const auto loop = std::ranges::find(parts, ExplainedPart::Kind::Repeat, &ExplainedPart::kind);
    REQUIRE(loop != parts.end());
    return std::pair(loop->trips, loop->parts);
  };
  const auto [outer, body] = trips(e.order);
  CHECK(outer == 3u);
  CHECK(trips(body).first == 6u);
  // Two launches in each trip of either loop, and the last one.
  CHECK(e.launches == 3u * 2 + 6 * 2 + 1);
  CHECK(e.host_resolvable);
  // v and w are never alive together.
  REQUIRE(e.spills.size() == 2);
  CHECK(e.spill_words == 1);
  CHECK(e.kept.bytes == 8u * 4);
  CHECK(std::ranges::all_of(e.barriers, [](const auto& b) { return !b.hazards.empty(); }));
}

TEST_CASE("branches are in the tree with their condition, and who decides it") {
  const Explanation e = explained(
      "program p workgroup(4) { readonly n: u32[1]; readwrite x: u32[8]; let i = invocation.x;"
      " if n[0] > 3 { x[i] = 1; gridsync; x[i] = x[7 - i]; } else { x[i] = 2; gridsync; x[i] = 3; }"
      " x[i] = x[i] + 1; }");
  CHECK(order(e.order) == "0 if n[0] > 3(1 2) else(3 4) 5");
  CHECK(!e.host_resolvable);
  CHECK(e.order[1].on_device);
  CHECK(!e.segments[1].launches);
  CHECK(!e.traffic.split_up.bytes);
}

TEST_CASE("convergence says which buffers are reported and which are compared") {
  constexpr std::string_view text =
      "program p workgroup(64) { readwrite x: u32[256]; readwrite y: u32[256];"
      " let i = invocation.x; x[i] = max(x[i], y[i]); gridsync; atomic_add(y[255 - i], x[i]); }";
  const Explanation e = explained(text, {.fixpoint_iterations = 9});
  CHECK(e.convergence.kind == "automatic");
  CHECK(e.convergence.iterations == 9);
  CHECK(e.convergence.evolving == std::vector<std::string>{"x", "y"});
  CHECK(e.convergence.reported == std::vector<std::string>{"x"});
  CHECK(e.convergence.compared == std::vector<std::string>{"y"});
  CHECK(e.traffic.split_up_at_most.bytes == 9 * *e.traffic.split_up.bytes);

  const Explanation split =
      explained(text, {.fixpoint_iterations = 9, .grid_sync = GridSync::HostSplit});
  CHECK(split.route == "host split");
  CHECK(split.convergence.compared == std::vector<std::string>{"x", "y"});
}

TEST_CASE("iterations with grids of their own say who reads them, and compare all that changes") {
  const auto explained_with = [](std::string_view barrier) {
    return explained(
        fmt::format("program p workgroup(1) {{ readwrite g: u32[3]; readwrite n: u32[];"
                    " indirect_dispatch(g[0]); n[0] = n[0] + 1; {}"
                    " g[0] = num_workgroups.x / 2; }}",
                    barrier),
        {.fixpoint_iterations = 9}, sizes({12, 40}));
  };
  const Explanation device = explained_with("");
  CHECK(device.route == "resident");
  CHECK(device.reason == "Each iteration has a grid of its own, which the device reads.");
  CHECK(device.convergence.reported.empty());
  CHECK(device.convergence.compared == std::vector<std::string>{"g", "n"});
  CHECK(device.notes.empty());
  const auto has_gate = [](const Explanation& e) {
    return std::ranges::any_of(e.schedule, [](const std::string& line) {
      return line.find("p gate") != std::string::npos;
    });
  };
  CHECK(has_gate(device));
  const Explanation host = explained_with("gridsync;");
  CHECK(host.route == "resident");
  CHECK(host.reason == "Each iteration has a grid of its own, which the host reads.");
  CHECK(host.convergence.compared == std::vector<std::string>{"g", "n"});
  CHECK(host.segments.size() == 2);
  CHECK_FALSE(has_gate(host));
  REQUIRE(!host.notes.empty());
  CHECK(host.notes.back() == "The schedule is that of one iteration.");
}

TEST_CASE("a plain program is one dispatch") {
  const Explanation e = explained(
      "program p workgroup(4) { readonly a: u32[]; output b: u32[4]; b[local.x] = a[local.x]; }",
      {}, sizes({16}));
  CHECK(e.route == "plain");
  CHECK(e.segments.size() == 1);
  CHECK(e.barriers.empty());
  CHECK(e.launches == 1u);
  CHECK(e.convergence.kind == "once");
}

TEST_CASE("errors are those of a dispatch") {
  const ir::Program three = test::parsed(kThree);
  const auto code = [&](const DispatchConfig& config, const ExplainInputs& inputs) {
    const auto result = explain(three, config, inputs, small_device());
    return result ? ErrorCode::Unknown : result.error().code;
  };
  CHECK(code({.fixpoint_iterations = 0}, {}) == ErrorCode::BadInputs);
  CHECK(code({}, sizes({31, 32, 32})) == ErrorCode::BadInputs);
  CHECK(code({.grid_override = std::array{9999u, 1u, 1u}, .grid_sync = GridSync::OneWorkgroup},
             {}) == ErrorCode::UnsupportedFeature);
  const auto invalid = explain(ir::Program(), {}, {}, small_device());
  REQUIRE(!invalid);
  CHECK(invalid.error().code == ErrorCode::InvalidProgram);
}

TEST_CASE("a hundred segments are written in every form") {
  std::string text = "program p workgroup(4) { readwrite x: u32[]; let i = invocation.x; ";
  for (int k = 0; k < 100; ++k) text += fmt::format("x[i] = x[i ^ 1] + {}; gridsync; ", k);
  const Explanation e = explained(text + "x[i] = 0; }");
  CHECK(e.segments.size() == 101);
  CHECK(e.barriers.size() == 100);
  CHECK(to_text(e).size() > 1000);
  CHECK(to_json(e).size() > 1000);
  CHECK(to_html(e).size() > 1000);
}

TEST_CASE("the schedule is shown with the barriers between its steps") {
  const Explanation e = explained(kThree, {.grid_sync = GridSync::Resident}, sizes({32, 32, 32}));
  std::vector<std::string> steps;
  for (const std::string& line : e.schedule) {
    if (line.starts_with("  k") || line.starts_with("  --")) steps.push_back(line.substr(2, 10));
  }
  // Three kernels, and then their steps.
  CHECK(steps == std::vector<std::string>{"k0 three_s", "k1 three_s", "k2 three_s", "k0 three s",
                                          "-- barrier", "k1 three s", "-- barrier", "k2 three s"});
  CHECK(to_text(e).contains("\nschedule\n  route: resident."));
  CHECK(to_json(e).contains("\"  -- barrier: compute to compute\""));
  CHECK(to_html(e).contains("<h2>Schedule</h2>"));
  CHECK(
      explained(kThree, {.grid_sync = GridSync::HostSplit}, sizes({32, 32, 32})).schedule.empty());
}

TEST_CASE("the estimates of both forms stand beside the choice, with what they assume") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[8];
    uniform trips: u32[1];
    loop k in 0..trips[0] {
      x[invocation.x] = x[invocation.x] + k;
      gridsync;
    }
  })";
  const Explanation e = explained(text);
  REQUIRE(e.estimates);
  CHECK(e.route == "one workgroup");
  CHECK(e.estimates->one_workgroup_ns < e.estimates->resident_ns);
  const std::vector<std::string> assumed{"A loop whose bounds are not known takes 16 trips."};
  CHECK(e.estimates->assumptions == assumed);
  CHECK(to_text(e).contains("estimated   one workgroup "));
  CHECK(to_text(e).contains("assumed     For the estimates: A loop whose bounds"));
  CHECK(to_html(e).contains("<dt>estimated</dt><dd>one workgroup "));
  CHECK(to_json(e).contains("\"estimates\": {\n    \"one_workgroup_ns\": "));
  CHECK(to_json(e).contains(assumed.front()));

  // Known bytes leave nothing to assume, and more trips cost more.
  ExplainInputs known = sizes({32, 4});
  known.contents = {{}, Bytes{std::byte{100}, std::byte{}, std::byte{}, std::byte{}}};
  const Explanation longer = explained(text, {}, known);
  REQUIRE(longer.estimates);
  CHECK(longer.estimates->assumptions.empty());
  CHECK(longer.estimates->resident_ns > e.estimates->resident_ns);
}

TEST_CASE("there are no estimates where there is nothing to choose") {
  const char* const text =
      "program p workgroup(4) { output x: u32[8]; x[0] = 1; gridsync; x[1] = 2; }";
  DispatchConfig asked;
  asked.grid_sync = GridSync::Resident;
  const Explanation e = explained(text, asked);
  CHECK_FALSE(e.estimates);
  CHECK_FALSE(to_text(e).contains("estimated"));
  CHECK(to_json(e).contains("\"estimates\": null"));
}

TEST_CASE("what the schedule is too large for is an error, as of the dispatch") {
  DeviceProfile device = small_device();
  device.memory_bytes = 1000;
  const auto result =
      explain(test::parsed("program p workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
                           " let v = atomic_add(x[0], 1); gridsync; x[i] = v; }"),
              {.grid_sync = GridSync::Resident}, sizes({4096}), device);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::DeviceOutOfMemory);
  CHECK(result.error().context.program == "p");
}
