#include "dispatch/explain/explain_drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "dispatch/explain/explained_rows.h"
#include "felsite/printable.h"

namespace felsite::dispatch {
namespace {

using RowKind = ExplainedRow::Kind;

constexpr int kBracketStep = 22;
constexpr int kBoxWidth = 270;
constexpr int kMargin = 16;
constexpr int kLanesGap = 36;
constexpr int kLineHeight = 15;
constexpr int kHeaderHeight = 44;

// Names may be long: what does not fit is in the hover text.
std::string shortened(std::string_view text, std::size_t most) {
  std::string result;
  std::size_t count = 0;
  for (const char c : text) {
    const bool begins = (c & 0xC0) != 0x80;
    if (begins && ++count == most) return result + "…";
    result += c;
  }
  return result;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// A mark on a lane. Its shape shows what the segment does there, so that no colour is needed.
std::string mark(int x, int y, const ExplainedUse& use) {
  if (use.role == "carried")
    return fmt::format("<circle class='carried' cx='{}' cy='{}' r='2'/>", x, y);
  if (use.atomics) {
    return fmt::format("<path class='atomic' d='M{} {}l8 8l-8 8l-8 -8z'/>", x, y - 8);
  }
  if (use.writes && use.reads) {
    return fmt::format(
        "<rect class='write' x='{}' y='{}' width='14' height='14' rx='2'/>"
        "<circle class='inner' cx='{}' cy='{}' r='3.5'/>",
        x - 7, y - 7, x, y);
  }
  if (use.writes) {
    return fmt::format("<rect class='write' x='{}' y='{}' width='14' height='14' rx='2'/>", x - 7,
                       y - 7);
  }
  if (use.reads) return fmt::format("<circle class='read' cx='{}' cy='{}' r='6'/>", x, y);
  return fmt::format("<circle class='length' cx='{}' cy='{}' r='3'/>", x, y);
}

bool is_added(const ExplainedBuffer& buffer) {
  return buffer.kind != ExplainedBuffer::Kind::Program;
}

std::string_view lane_class(const ExplainedBuffer& buffer) {
  if (buffer.kind == ExplainedBuffer::Kind::Control) return "control";
  return is_added(buffer) ? "spill" : "own";
}

class Drawer {
 public:
  explicit Drawer(const Explanation& explanation) : e_(explanation), rows_(rows_of(explanation)) {
    std::uint32_t deepest = 0;
    for (const ExplainedRow& row : rows_) {
      deepest = std::max(deepest, row.depth + (row.kind == RowKind::Open ? 1 : 0));
    }
    box_x_ = kMargin + static_cast<int>(deepest) * kBracketStep;
    int x = box_x_ + kBoxWidth + kLanesGap;
    for (const ExplainedBuffer& buffer : e_.buffers) {
      const std::size_t letters = std::min<std::size_t>(characters(buffer.name), kMaxLetters);
      const int width = std::max(72, static_cast<int>(letters) * 8 + 24);
      lane_widths_.push_back(width);
      lanes_.push_back(x + width / 2);
      x += width;
    }
    width_ = x + kMargin;
  }

  Drawing run() {
    for (const ExplainedRow& row : rows_) add(row);
    const int height = y_ + 8;
    std::string under;
    for (std::size_t i = 0; i < lanes_.size(); ++i) under += lane(i, height);
    return {header(),
            fmt::format("<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' "
                        "viewBox='0 0 {0} {1}' role='img' aria-labelledby='picture-title' "
                        "aria-describedby='steps'><title id='picture-title'>Segments in time, "
                        "from top to bottom, with the buffers that each of them uses</title>"
                        "{2}{3}{4}</svg>",
                        width_, height, under, brackets_, front_)};
  }

 private:
  static constexpr std::size_t kMaxLetters = 16;

  int bracket_x(std::uint32_t depth) const {
    return kMargin + static_cast<int>(depth) * kBracketStep;
  }

  std::string header() const {
    std::string out = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
        "role='img'><title>The names and sizes of the buffers</title>"
        "<text class='small' x='{2}' y='34'>time runs down</text>",
        width_, kHeaderHeight, box_x_);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const ExplainedBuffer& buffer = e_.buffers[i];
      const std::string about =
          is_added(buffer) ? std::string(to_string(buffer.kind)) : buffer.role;
      out += fmt::format(
          "<g><title>{}: {} of {}, {}</title><text class='lane {}' x='{}' y='18'>{}</text>"
          "<text class='tiny' x='{}' y='34'>{}</text></g>",
          escape_html(buffer.name), about, buffer.type, escape_html(to_string(buffer.size)),
          lane_class(buffer), lanes_[i], escape_html(shortened(buffer.name, kMaxLetters)),
          lanes_[i], short_size(buffer.size));
    }
    return out + "</svg>";
  }

  static std::string short_size(const ByteCount& size) {
    if (!size.bytes) return "? bytes";
    const double bytes = static_cast<double>(*size.bytes);
    if (bytes < 1024) return fmt::format("{} B", *size.bytes);
    if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
    if (bytes < 1024.0 * 1024 * 1024) return fmt::format("{:.1f} MiB", bytes / 1024 / 1024);
    return fmt::format("{:.1f} GiB", bytes / 1024 / 1024 / 1024);
  }

  std::string lane(std::size_t i, int height) const {
    const ExplainedBuffer& buffer = e_.buffers[i];
    std::string out;
    if (lane_class(buffer) == "spill") {
      out += fmt::format("<rect class='band' x='{}' y='0' width='{}' height='{}'/>",
                         lanes_[i] - lane_widths_[i] / 2 + 4, lane_widths_[i] - 8, height);
    }
    return out + fmt::format("<line class='lane {}' x1='{}' y1='0' x2='{}' y2='{}'/>",
                             lane_class(buffer), lanes_[i], lanes_[i], height);
  }

  void add(const ExplainedRow& row) {
    switch (row.kind) {
      case RowKind::Open:
        front_ += fmt::format("<text class='title{}' x='{}' y='{}'><title>{}</title>{}</text>",
                              row.is_if ? " if" : "", bracket_x(row.depth) + 12, y_ + 19,
                              escape_html(row.title), escape_html(shortened(row.title, 90)));
        open_.push_back(y_ + 6);
        y_ += 28;
        break;
      case RowKind::Close:
        close(row);
        break;
      case RowKind::Segment:
        segment(row);
        break;
      case RowKind::Barrier:
        barrier(row);
        break;
      case RowKind::NativeBarrier:
        native_barrier();
        break;
    }
  }

  // A barrier inside the dispatch orders all buffers, and no launch ends at it.
  void native_barrier() {
    const int y = y_ + 8;
    front_ += fmt::format(
        "<g><title>A native barrier of the dispatch</title>"
        "<line class='native' x1='{}' y1='{}' x2='{}' y2='{}'/>"
        "<text class='small native' x='{}' y='{}'>native barrier</text></g>",
        box_x_, y, width_ - kMargin, y, box_x_ + 10, y + 4);
    y_ += 20;
  }

  void close(const ExplainedRow& row) {
    const int x = bracket_x(row.depth);
    const int top = open_.back();
    open_.pop_back();
    brackets_ += fmt::format("<path class='bracket{}' d='M{} {}h-6v{}h6'/>", row.is_if ? " if" : "",
                             x + 8, top, y_ + 4 - top);
    y_ += 12;
  }

  void segment(const ExplainedRow& row) {
    const ExplainedSegment& segment = e_.segments[row.index];
    if (!segment.launched) {
      front_ += fmt::format(
          "<g><title>Segment {0} does nothing and is not launched</title>"
          "<rect class='box empty' x='{1}' y='{2}' width='{3}' height='20' rx='5'/>"
          "<text class='small' x='{4}' y='{5}'>{0} · nothing to do</text></g>",
          row.index, box_x_, y_ + 3, kBoxWidth, box_x_ + 10, y_ + 17);
      y_ += 28;
      return;
    }
    std::vector<std::pair<std::string_view, std::string>> lines;
    const auto line = [&](std::string_view kind, std::string_view verb,
                          const std::vector<std::string>& names) {
      if (!names.empty()) lines.emplace_back(kind, fmt::format("{} {}", verb, join(names)));
    };
    line("small", "recomputes", segment.recomputed);
    line("small spilled", "⇠ loads", segment.loaded);
    line("small spilled", "⇢ stores", segment.stored);
    line("small", "workgroup memory", segment.workgroup_memory);
    const int height = 26 + kLineHeight * static_cast<int>(lines.size());
    const int middle = y_ + 4 + height / 2;
    marks(segment, row.index, middle);
    const std::string name = segment.label.empty() ? "segment" : segment.label;
    std::string launches;
    if (!is_one_dispatch(e_)) {
      launches = segment.launches ? fmt::format("×{}", *segment.launches) : "×?";
    }
    front_ += fmt::format(
        "<g><title>Segment {0}: {1}{2}</title>"
        "<rect class='box' x='{3}' y='{4}' width='{5}' height='{6}' rx='6'/>"
        "<text class='name' x='{7}' y='{8}'><tspan class='number'>{0}</tspan> {9}</text>"
        "<text class='launches' x='{10}' y='{8}'>{11}</text>",
        row.index, escape_html(launches_text(e_, segment)), escape_html(split_text(segment)),
        box_x_, y_ + 4, kBoxWidth, height, box_x_ + 10, y_ + 22, escape_html(shortened(name, 26)),
        box_x_ + kBoxWidth - 10, launches);
    int at = y_ + 22;
    for (const auto& [kind, text] : lines) {
      at += kLineHeight;
      front_ += fmt::format("<text class='{}' x='{}' y='{}'>{}</text>", kind, box_x_ + 10, at,
                            escape_html(shortened(text, 42)));
    }
    front_ += "</g>";
    y_ += height + 10;
  }

  // What a launch would move in the host split.
  std::string split_text(const ExplainedSegment& segment) const {
    if (is_one_dispatch(e_)) return {};
    return fmt::format(". Host split: {} up, {} down a launch", to_string(segment.up),
                       to_string(segment.down));
  }

  void marks(const ExplainedSegment& segment, std::uint32_t number, int y) {
    int last = 0;
    for (const ExplainedUse& use : segment.uses) {
      if (use.role != "carried") last = std::max(last, lanes_[use.buffer]);
    }
    if (last != 0) {
      front_ += fmt::format("<line class='reach' x1='{}' y1='{}' x2='{}' y2='{}'/>",
                            box_x_ + kBoxWidth, y, last, y);
    }
    for (const ExplainedUse& use : segment.uses) {
      front_ += fmt::format("<g><title>{}: {} in segment {}{}</title>{}</g>",
                            escape_html(e_.buffers[use.buffer].name), use.role, number,
                            use.atomics ? ", by atomics" : "", mark(lanes_[use.buffer], y, use));
    }
  }

  void barrier(const ExplainedRow& row) {
    const ExplainedBarrier& barrier = e_.barriers[row.index];
    const int y = y_ + 12;
    const int from = row.is_loop_carried ? bracket_x(row.depth - 1) + 2 : box_x_;
    std::string what = row.is_loop_carried ? (barrier.next_iteration ? "↺ barrier, next iteration"
                                                                     : "↺ barrier, next trip")
                                           : "barrier";
    if (barrier.times.value_or(1) != 1) what += fmt::format(" ×{}", *barrier.times);
    front_ += fmt::format(
        "<g><title>Barrier between segments {} and {}: {}</title>"
        "<line class='barrier' x1='{}' y1='{}' x2='{}' y2='{}'/>"
        "<text class='barrier' x='{}' y='{}'>{}</text>",
        barrier.after, barrier.before, escape_html(hazards_text(e_, barrier)), from, y,
        width_ - kMargin, y, box_x_ + 10, y + 4, what);
    // One lane may have several reasons.
    std::vector<std::string> pills(lanes_.size());
    for (const ExplainedHazard& hazard : barrier.hazards) {
      std::string& pill = pills[hazard.buffer];
      pill += (pill.empty() ? "" : " ") + std::string(to_string(hazard.kind));
    }
    for (std::size_t i = 0; i < pills.size(); ++i) {
      if (pills[i].empty()) continue;
      const int width = static_cast<int>(pills[i].size()) * 8 + 14;
      front_ += fmt::format(
          "<rect class='pill' x='{}' y='{}' width='{}' height='16' rx='8'/>"
          "<text class='pill' x='{}' y='{}'>{}</text>",
          lanes_[i] - width / 2, y - 8, width, lanes_[i], y + 4, pills[i]);
    }
    front_ += "</g>";
    y_ += 26;
  }

  const Explanation& e_;
  const std::vector<ExplainedRow> rows_;
  int box_x_ = 0;
  int width_ = 0;
  int y_ = 4;
  std::vector<int> lanes_;
  std::vector<int> lane_widths_;
  std::vector<int> open_;
  std::string brackets_;
  std::string front_;
};

}  // namespace

Drawing draw(const Explanation& explanation) { return Drawer(explanation).run(); }

std::string drawing_legend(const Explanation& explanation) {
  const auto item = [](const std::string& shape, std::string_view text) {
    return fmt::format(
        "<li><svg xmlns='http://www.w3.org/2000/svg' width='22' height='18' aria-hidden='true'>{}"
        "</svg>{}</li>",
        shape, text);
  };
  const auto use = [](std::string role, bool reads, bool writes, bool atomics) {
    return mark(11, 9, ExplainedUse{0, std::move(role), reads, writes, atomics});
  };
  std::string legend = "<ul class='legend' aria-label='Marks'>" +
                       item(use("readonly", true, false, false), "reads") +
                       item(use("writeonly", false, true, false), "writes") +
                       item(use("readwrite", true, true, false), "reads and writes") +
                       item(use("readwrite", false, false, true), "atomics") +
                       item(use("readonly", false, false, false), "its length only");
  if (is_one_dispatch(explanation)) {
    return legend +
           item("<line class='native' x1='0' y1='9' x2='22' y2='9'/>",
                "native barrier, within the dispatch") +
           "</ul>";
  }
  return legend + item(use("carried", false, false, false), "handed on") +
         item(
             "<rect class='band' x='4' y='0' width='14' height='18'/>"
             "<line class='lane spill' x1='11' y1='0' x2='11' y2='18'/>",
             "kept across barriers") +
         item("<line class='barrier' x1='0' y1='9' x2='22' y2='9'/>",
              "barrier: RAW, WAR, WAW name what would go wrong without it") +
         "</ul>";
}

std::string escape_html(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace felsite::dispatch
