// How felsite-bench judges rounds, and how it reports them.
#ifdef FELSITE_BENCH

#include <nlohmann/json.hpp>

#include "report.h"
#include "tool_runner.h"

using namespace felsite::bench;
using felsite::test::contains;

namespace {

Measurement judged(double bound, const std::vector<double>& felsite,
                   const std::vector<double>& peer) {
  Measurement row;
  row.name = "row";
  row.bound = bound;
  judge(row, felsite, peer);
  return row;
}

const std::vector<double> kOnes(9, 1.0);

}  // namespace

TEST_CASE("a bench row is over its bound above it, and not at it") {
  const Measurement at = judged(1.5, std::vector(9, 1.5), kOnes);
  CHECK(at.ratio == 1.5);
  CHECK(at.met);
  CHECK(verdict(at) == "ok");
  const Measurement above = judged(1.5, std::vector(9, 1.5001), kOnes);
  CHECK_FALSE(above.met);
  CHECK(verdict(above) == "OVER");
}

TEST_CASE("a bench row whose spread exceeds its distance from the bound is not proven") {
  // The second and the eighth of nine values are the ends of the interval: half of 0.6.
  const std::vector<double> felsite{0.1, 0.7, 0.9, 0.9, 1.0, 1.1, 1.2, 1.3, 9.0};
  const Measurement row = judged(0, felsite, kOnes);
  CHECK(row.ratio == 1.0);
  CHECK(row.spread == doctest::Approx(0.3));
  CHECK(row.proven);
  CHECK(verdict(row).empty());
  const auto with_bound = [&](double bound) { return judged(bound, felsite, kOnes); };
  CHECK(verdict(with_bound(1.31)) == "ok");
  CHECK(verdict(with_bound(1.29)) == "not proven");
  CHECK(verdict(with_bound(0.71)) == "OVER, not proven");
  CHECK(verdict(with_bound(0.69)) == "OVER");
}

TEST_CASE("the ratio of a bench row is the median of the rounds' ratios, not of its figures") {
  // The machine becomes three times as slow half-way: both sides do.
  const Measurement row = judged(2, {2, 2, 2, 2, 6, 6, 6, 6, 6}, {1, 1, 1, 1, 3, 3, 3, 3, 3});
  CHECK(row.ratio == 2);
  CHECK(row.spread == 0);
}

TEST_CASE("more rounds of the same noise make the spread of a bench row less") {
  const auto spread = [](std::size_t rounds) {
    std::vector<double> felsite;
    for (std::size_t i = 0; i < rounds; ++i) felsite.push_back(1 + static_cast<double>(i % 9) / 10);
    return judged(0, felsite, std::vector(rounds, 1.0)).spread;
  };
  CHECK(spread(9) > spread(99));
  CHECK(spread(99) > 0);
}

TEST_CASE("bench prints bytes as bytes and times as times") {
  CHECK(cost_text(Unit::Bytes, 8'300'000) == "7.9 MiB");
  CHECK(cost_text(Unit::Bytes, 10239) == "10239 B");
  CHECK(cost_text(Unit::Bytes, 10240) == "10.0 KiB");
  CHECK(cost_text(Unit::Nanoseconds, 99.44) == "99.4 ns");
  CHECK(cost_text(Unit::Nanoseconds, 100) == "100 ns");
  CHECK(cost_text(Unit::Nanoseconds, 1000) == "1.0 µs");
  CHECK(cost_text(Unit::Nanoseconds, 8'300'000) == "8.3 ms");
  CHECK(cost_text(Unit::Nanoseconds, 1e9) == "1.00 s");
}

namespace {

std::vector<Measurement> some_rows() {
  Measurement over;
  over.name = "over_row";
  over.size = "1 < 2 & \"3\"";
  over.peer = "raw";
  over.compared = "the same bytes";
  over.surroundings = "A=1";
  over.note = "another form 4.0 µs";
  over.bound = 1;
  judge(over, std::vector(9, 3000.0), std::vector(9, 1500.0));
  Measurement bytes;
  bytes.name = "bytes_row";
  bytes.unit = Unit::Bytes;
  bytes.peer = "array";
  judge(bytes, std::vector(9, 2e6), std::vector(9, 1e6));
  return {over, bytes};
}

}  // namespace

TEST_CASE("the JSON of bench has the documented fields, with their units") {
  const nlohmann::json report = nlohmann::json::parse(to_json("a device", some_rows()));
  CHECK(report["device"] == "a device");
  REQUIRE(report["rows"].size() == 2);
  const nlohmann::json& over = report["rows"][0];
  CHECK(over["name"] == "over_row");
  CHECK(over["size"] == "1 < 2 & \"3\"");
  CHECK(over["unit"] == "ns");
  CHECK(over["felsite"] == 3000.0);
  CHECK(over["peer"] == "raw");
  CHECK(over["peer_value"] == 1500.0);
  CHECK(over["ratio"] == 2.0);
  CHECK(over["spread"] == 0.0);
  CHECK(over["bound"] == 1.0);
  CHECK(over["met"] == false);
  CHECK(over["note"] == "another form 4.0 µs");
  CHECK(report["rows"][1]["unit"] == "B");
  CHECK(report["rows"][1]["bound"].is_null());
  CHECK(report["rows"][1]["met"] == true);
}

TEST_CASE("the summary of bench names what is over its bound") {
  const std::vector<Measurement> rows = some_rows();
  CHECK(summary(rows) == "1 of 2 lines are over their bounds: over_row.");
  CHECK(summary({rows[1]}) == "All 1 lines are within their bounds.");
}

TEST_CASE("the page of bench is a table for readers of every kind, and breaks no figure") {
  const std::string html = to_html("a <device>", some_rows());
  CHECK(contains(html, "<html lang=\"en\">"));
  CHECK(contains(html, "<title>Felsite's benchmarks</title>"));
  CHECK(contains(html, "name=\"viewport\""));
  CHECK(contains(html, "prefers-color-scheme: dark"));
  CHECK(contains(html, "<table role=\"table\" aria-label="));
  CHECK(contains(html, "role=\"columnheader\" scope=\"col\""));
  CHECK(contains(html, "role=\"rowheader\" scope=\"row\">over_row</th>"));
  CHECK(contains(html, "a &lt;device&gt;"));
  CHECK(contains(html, "1 &lt; 2 &amp; &quot;3&quot;"));
  CHECK(contains(html, ".number { text-align: right; white-space: nowrap;"));
  CHECK(contains(html, "class=\"number\" data-label=\"Felsite\">3.0\u00a0µs</td>"));
  CHECK(contains(html, "<tr role=\"row\" class=\"over\">"));
  CHECK(contains(html, ">OVER</td>"));
}

#endif  // FELSITE_BENCH
