#include "dispatch/explain/explained_source.h"

#include "dispatch/cut/grid_sync_cut.h"
#include "felsite/text.h"
#include "ir/text/lexer.h"

namespace felsite::dispatch {
namespace {

std::vector<ExplainedLine> lines_of(std::string_view text) {
  std::vector<ExplainedLine> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({.text = std::string(line), .segments = {}, .grid_barrier = false});
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

// Whether the program's source positions refer to this text.
bool is_text_of(const ir::SourceMap& map, std::string_view text) {
  return !map.empty() && map.program_end < text.size() &&
         *map.line_starts == ir::find_line_starts(text);
}

class LineMarker {
 public:
  // `map` has the positions of the program's rows in these lines.
  LineMarker(const ir::ValidProgram& program, const ir::SourceMap& map,
             std::vector<ExplainedLine>& lines)
      : program_(program), map_(map), lines_(lines) {}

  void run() {
    const Cut cut = cut_at_grid_syncs(program_);
    for (std::uint32_t s = 0; s < cut.segments.size(); ++s) {
      for (const CutEvent& event : cut.segments[s].events) {
        if (event.kind == CutEvent::Kind::Nodes) mark(event.nodes, s);
      }
    }
    for (ir::NodeId id = program_.entry().begin; id < program_.entry().end; ++id) {
      if (!ir::is_grid_sync(program_.node(id))) continue;
      lines_[line_of(map_.nodes[id])].grid_barrier = true;
    }
  }

 private:
  std::size_t line_of(std::uint32_t offset) const { return line_column(map_, offset).line - 1; }

  // Sibling statements.
  void mark(ir::NodeRange nodes, std::uint32_t segment) {
    for (ir::NodeId id = nodes.begin; id < nodes.end; id = program_.node(id).end) {
      const std::size_t last = line_of(map_.node_ends[id]);
      for (std::size_t line = line_of(map_.nodes[id]); line <= last; ++line) {
        std::vector<std::uint32_t>& segments = lines_[line].segments;
        if (segments.empty() || segments.back() != segment) segments.push_back(segment);
      }
    }
  }

  const ir::ValidProgram& program_;
  const ir::SourceMap& map_;
  std::vector<ExplainedLine>& lines_;
};

}  // namespace

std::vector<ExplainedLine> explain_source(const ir::ValidProgram& program, std::string_view text) {
  if (is_text_of(program.source(), text)) {
    std::vector<ExplainedLine> lines = lines_of(text);
    LineMarker(program, program.source(), lines).run();
    return lines;
  }
  const std::string printed = ir::print(program);
  std::vector<ExplainedLine> lines = lines_of(printed);
  const auto parsed = ir::parse(printed);
  if (parsed) LineMarker(program, parsed->source(), lines).run();
  return lines;
}

}  // namespace felsite::dispatch
