// Grids of two dimensions: heat until it rests, and the Game of Life.
#include <random>
#include <set>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct Plate {
  std::vector<float> heat;
  std::uint32_t iterations = 0;
};

// Sums and products of floats are rounded alike here and there, and no value is subnormal.
Plate at_rest(std::vector<float> heat, std::size_t width, std::uint32_t bound) {
  const std::size_t height = heat.size() / width;
  for (std::uint32_t iteration = 1; iteration <= bound; ++iteration) {
    const std::vector<float> old = heat;
    for (std::size_t y = 1; y + 1 < height; ++y) {
      for (std::size_t x = 1; x + 1 < width; ++x) {
        const std::size_t at = y * width + x;
        heat[at] = (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]) * 0.25f;
      }
    }
    if (heat == old) return {heat, iteration};
  }
  return {heat, bound};
}

std::vector<float> heated_rim(std::size_t width, std::size_t height) {
  std::vector<float> heat(width * height, 0.0f);
  for (std::size_t x = 0; x < width; ++x) heat[x] = 100.0f;
  for (std::size_t y = 0; y < height; ++y) heat[y * width] = 37.5f + static_cast<float>(y);
  return heat;
}

// Two worlds in turn, the parity of the generation says which is which.
const char* const kLife = R"(program life workgroup(4, 4) {
  uniform size: u32[3];
  readwrite even: u8[];
  readwrite odd: u8[];

  let x = invocation.x;
  let y = invocation.y;
  let w = size[0];
  let h = size[1];
  loop generation in 0..size[2] {
    let neighbours = 0;
    let alive = 0;
    let at = y * w + x;
    if x < w && y < h {
      loop dy in 0..3 {
        loop dx in 0..3 {
          let place = (y + h + dy - 1) % h * w + (x + w + dx - 1) % w;
          if (generation & 1) == 0 {
            neighbours = neighbours + even[place];
          } else {
            neighbours = neighbours + odd[place];
          }
        }
      }
      if (generation & 1) == 0 {
        alive = even[at];
      } else {
        alive = odd[at];
      }
      neighbours = neighbours - alive;
    }
    gridsync;
    let lives = u32(neighbours == 3 || (neighbours == 2 && alive == 1));
    if x < w && y < h {
      if (generation & 1) == 0 {
        odd[at] = lives;
      } else {
        even[at] = lives;
      }
    }
    gridsync;
  }
})";

using Cell = std::pair<std::uint32_t, std::uint32_t>;

// By the set of the living.
std::set<Cell> next_generation(const std::set<Cell>& living, std::uint32_t w, std::uint32_t h) {
  std::set<Cell> next;
  for (std::uint32_t x = 0; x < w; ++x) {
    for (std::uint32_t y = 0; y < h; ++y) {
      int around = 0;
      for (const std::uint32_t dx : {w - 1, 0u, 1u}) {
        for (const std::uint32_t dy : {h - 1, 0u, 1u}) {
          if (dx == 0 && dy == 0) continue;
          around += living.contains({(x + dx) % w, (y + dy) % h}) ? 1 : 0;
        }
      }
      if (around == 3 || (around == 2 && living.contains({x, y}))) next.insert({x, y});
    }
  }
  return next;
}

Bytes world_of(const std::set<Cell>& living, std::uint32_t w, std::uint32_t h) {
  Bytes world(std::size_t{w} * h);
  for (const auto& [x, y] : living) world[std::size_t{y} * w + x] = std::byte{1};
  return world;
}

void check_life(std::uint32_t w, std::uint32_t h, std::uint32_t generations, std::uint64_t seed) {
  CAPTURE(generations);
  std::mt19937_64 engine(seed);
  std::set<Cell> living;
  for (std::uint32_t k = 0; k < w * h / 3; ++k) {
    living.insert(
        {static_cast<std::uint32_t>(engine() % w), static_cast<std::uint32_t>(engine() % h)});
  }
  const Bytes first = world_of(living, w, h);
  std::set<Cell> before;
  for (std::uint32_t g = 0; g < generations; ++g) {
    before = std::exchange(living, next_generation(living, w, h));
  }
  const Bytes last = world_of(living, w, h);
  const Bytes previous = world_of(before, w, h);
  const bool ends_even = generations % 2 == 0;
  check_all_forms(kLife, {bytes_of(Words{w, h, generations}), first, Bytes(first.size())},
                  on_grid((w + 3) / 4, (h + 3) / 4),
                  {{ends_even ? last : previous, ends_even ? previous : last}});
}

}  // namespace

TEST_CASE("heat in a plate until no bit moves") {
  const auto rim = heated_rim(16, 12);
  const Plate truth = at_rest(rim, 16, 5'000);
  CHECK(truth.iterations < 5'000);
  check_all_forms(sample_text("grid_heat"), {bytes_of(Words{16}), bytes_of(rim)},
                  fixpoint(on_grid(2, 2), 5'000), {{bytes_of(truth.heat)}, truth.iterations, true});
}

TEST_CASE("heat in a wide plate, cut off by the bound") {
  const auto rim = heated_rim(100, 30);
  const Plate truth = at_rest(rim, 100, 50);
  check_all_forms(sample_text("grid_heat"), {bytes_of(Words{100}), bytes_of(rim)},
                  fixpoint(on_grid(13, 4), 50), {{bytes_of(truth.heat)}, 50, false});
}

TEST_CASE("a plate that is all rim rests at once") {
  const auto rim = heated_rim(9, 2);
  check_all_forms(sample_text("grid_heat"), {bytes_of(Words{9}), bytes_of(rim)},
                  fixpoint(on_grid(2, 1), 50), {{bytes_of(rim)}, 1, true});
}

TEST_CASE("the Game of Life on tori of several sizes") {
  check_life(8, 8, 30, 1);
  check_life(13, 7, 21, 2);
  check_life(32, 24, 10, 3);
  check_life(5, 5, 1, 4);
}

TEST_CASE("a glider moves one cell in four generations") {
  Bytes cells(64);
  Bytes moved(64);
  for (const std::size_t at : {1u, 10u, 16u, 17u, 18u}) {
    cells[at] = std::byte{1};
    moved[at + 9] = std::byte{1};
  }
  check_all_forms(sample_text("game_of_life"), {bytes_of(Words{4}), cells}, on_grid(2, 2),
                  {{moved}});
  // 32 generations take it around the torus, back to where it was.
  check_all_forms(sample_text("game_of_life"), {bytes_of(Words{32}), cells}, on_grid(2, 2),
                  {{cells}});
  check_all_forms(sample_text("game_of_life"), {bytes_of(Words{0}), cells}, on_grid(2, 2),
                  {{cells}});
}
