// The reducer of failing programs, on failures that are known.
#include "support/program_generator.h"
#include "support/program_reducer.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

bool has_binary(const ir::Program& program, ir::BinaryOp op) {
  for (const ir::Expr& expr : program.exprs()) {
    if (expr.kind == ir::ExprKind::Binary && expr.binary() == op) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a failing program becomes small, stays valid and still fails") {
  std::size_t reduced = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    ProgramGenerator generator(seed);
    const std::string text = generator.text();
    const Failure failure = [](const ir::Program& program, const std::vector<Bytes>&) {
      return has_binary(program, ir::BinaryOp::MulHigh) ? std::string("mul_high") : std::string();
    };
    if (failure(valid_program(text), {}).empty()) continue;
    ++reduced;
    const std::string small = Reducer(generator.inputs(), failure).reduce(text);
    INFO("seed " << seed << "\n" << small);
    const ir::Program program = valid_program(small);
    CHECK(has_binary(program, ir::BinaryOp::MulHigh));
    CHECK(program.nodes().size() <= 6);
  }
  CHECK(reduced >= 3);
}

TEST_CASE("the file of a reduced program holds what reproduces it") {
  const std::string text =
      "program p workgroup(2) {\n  readonly x: u32[];\n  output o: u32[2];\n"
      "  o[0] = 1;\n  o[1] = x[0] + 2;\n}\n";
  const Failure failure = [](const ir::Program& program, const std::vector<Bytes>&) {
    return has_binary(program, ir::BinaryOp::Add) ? std::string("adds") : std::string();
  };
  const std::string path =
      write_reduced(987'654'321, text, {bytes_of(Words{0xABC, 5})}, {3, 1, 1}, failure);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "felsite_reduced_987654321.fels";
  CHECK(path.find(file.string()) == 0);
  std::ifstream stream(file);
  const std::string found((std::istreambuf_iterator<char>(stream)), {});
  std::filesystem::remove(file);
  CHECK(found.find("//! run: --backend vulkan --check --grid 3,1,1 --input x=bits:abc,5\n") !=
        std::string::npos);
  CHECK(found.find("o[0] = 1;") == std::string::npos);
  CHECK(found.find("+ 2") != std::string::npos);
}
