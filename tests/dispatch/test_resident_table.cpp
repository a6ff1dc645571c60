#include <atomic>
#include <thread>

#include "dispatch/state/resident_table.h"
#include "support/run_program.h"

using namespace felsite;
using dispatch::ResidentTable;

namespace {

using Table = ResidentTable<int>;

ResidentHandle add(Table& table, int value) { return table.add(std::make_shared<int>(value)); }

ErrorCode refused(const Table& table, const ResidentHandle& handle) {
  const auto found = table.find(handle);
  REQUIRE(!found.has_value());
  CHECK(!found.error().fix.empty());
  return found.error().code;
}

}  // namespace

TEST_CASE("a handle names its buffer until it is removed") {
  Table table;
  const ResidentHandle a = add(table, 1);
  const ResidentHandle b = add(table, 2);
  CHECK(a != b);
  CHECK(table.size() == 2);
  CHECK(**table.find(a) == 1);
  CHECK(**table.find(b) == 2);
  CHECK(**table.remove(a) == 1);
  CHECK(table.size() == 1);
  CHECK(refused(table, a) == ErrorCode::InvalidHandle);
  CHECK(!table.remove(a).has_value());
  CHECK(**table.find(b) == 2);
}

TEST_CASE("a place that is used again has a new generation") {
  Table table;
  ResidentHandle last = add(table, 0);
  std::vector<ResidentHandle> old;
  for (int i = 1; i < 50; ++i) {
    old.push_back(last);
    REQUIRE(table.remove(last).has_value());
    last = add(table, i);
    CHECK(last.slot == old.front().slot);
    for (const ResidentHandle& handle : old) CHECK(!table.find(handle).has_value());
    CHECK(**table.find(last) == i);
  }
  CHECK(table.size() == 1);
}

TEST_CASE("handles of other tables, and made-up ones, name nothing") {
  Table table;
  Table other;
  const ResidentHandle own = add(table, 1);
  const ResidentHandle foreign = add(other, 2);
  CHECK(own.slot == foreign.slot);
  CHECK(own.generation == foreign.generation);
  CHECK(refused(table, foreign) == ErrorCode::InvalidHandle);
  CHECK(refused(table, {}) == ErrorCode::InvalidHandle);
  CHECK(refused(table, {own.backend, own.slot + 1, own.generation}) == ErrorCode::InvalidHandle);
  CHECK(refused(table, {own.backend, own.slot, own.generation + 1}) == ErrorCode::InvalidHandle);
  CHECK(refused(table, {own.backend, own.slot, 0}) == ErrorCode::InvalidHandle);
  CHECK(refused(table, {own.backend, UINT32_MAX, UINT32_MAX}) == ErrorCode::InvalidHandle);
}

TEST_CASE("removals report when a handle may have become invalid") {
  Table table;
  const ResidentHandle a = add(table, 1);
  const std::uint64_t before = table.removals();
  const ResidentHandle b = add(table, 2);
  CHECK(table.removals() == before);
  REQUIRE(table.remove(b).has_value());
  CHECK(table.removals() != before);
  const std::uint64_t between = table.removals();
  CHECK(!table.remove(b).has_value());
  CHECK(table.removals() == between);
  table.clear();
  CHECK(table.removals() != between);
  CHECK(!table.find(a).has_value());
}

TEST_CASE("a cleared table is empty, and its places serve again") {
  Table table;
  std::vector<ResidentHandle> handles;
  for (int i = 0; i < 10; ++i) handles.push_back(add(table, i));
  REQUIRE(table.remove(handles[3]).has_value());
  table.clear();
  CHECK(table.size() == 0);
  for (const ResidentHandle& handle : handles) CHECK(!table.find(handle).has_value());
  for (int i = 0; i < 10; ++i) CHECK(add(table, i).slot < 10);
  CHECK(table.size() == 10);
  for (const ResidentHandle& handle : handles) CHECK(!table.find(handle).has_value());
}

TEST_CASE("a buffer in use outlives its handle") {
  Table table;
  const ResidentHandle a = add(table, 7);
  const auto in_use = table.find(a);
  REQUIRE(table.remove(a).has_value());
  CHECK(**in_use == 7);
  CHECK(in_use->use_count() == 1);
}

TEST_CASE("threads add, find and remove at once") {
  Table table;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 300; ++i) {
          const ResidentHandle handle = add(table, t * 1000 + i);
          const auto found = table.find(handle);
          if (!found || **found != t * 1000 + i) ++wrong;
          if (!table.remove(handle)) ++wrong;
          if (table.find(handle)) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(table.size() == 0);
}
