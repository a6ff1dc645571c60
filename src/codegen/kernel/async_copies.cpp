#include "codegen/kernel/async_copies.h"

#include <algorithm>

namespace felsite::codegen {

using ir::NodeKind;

namespace {

constexpr std::uint32_t kCopiedInLine = 4;  // longer copies are loops

}  // namespace

void AsyncCopies::declare() {
  for (ir::NodeId id = plan_.nodes.begin; id < plan_.nodes.end; ++id) {
    const ir::Node& node = program_.node(id);
    if (!ir::info(node.kind).issues_copy) continue;
    Copy copy{.tag = node.name, .node = id};
    copy.type = ir::info(program_.buffer(node.ref2).element).loaded;
    copy.is_pair = is_held_as_pair(e_, copy.type);
    copy.part_type = copy.is_pair ? e_.type_word() : e_.type_of(copy.type);
    const bool persistent = plan_.regions.needed;
    copy.part_pointer = e_.module().type_pointer(
        persistent ? spv::StorageClass::Private : spv::StorageClass::Function, copy.part_type);
    const Id array = e_.module().type_array(copy.part_type, e_.word(node.extra).id());
    copy.pending = variables_.new_variable(e_.type_bool(), persistent);
    copy.index = variables_.new_variable(e_.type_word(), persistent);
    copy.payload[0] = variables_.new_variable(array, persistent);
    if (copy.is_pair) copy.payload[1] = variables_.new_variable(array, persistent);
    e_.store(copy.pending, e_.flag(false).id);
    copies_.push_back(copy);
  }
  std::ranges::sort(copies_, {}, [](const Copy& c) { return std::pair(c.tag, c.node); });
}

template <class Body>
void AsyncCopies::each_element(std::uint32_t count, Body body) {
  if (count <= kCopiedInLine) {
    for (std::uint32_t i = 0; i < count; ++i) body(e_.word(i));
    return;
  }
  const Word to = e_.word(count);
  check_loop_ended(e_.repeat(e_.word(0), to, e_.word(1), body), to);
}

void AsyncCopies::issue(ir::NodeId id, Word to, Word from) {
  const ir::Node& node = program_.node(id);
  const Copy& copy =
      *std::ranges::lower_bound(copies_, std::pair(node.name, id), {},
                                [](const Copy& c) { return std::pair(c.tag, c.node); });
  e_.store(copy.pending, e_.flag(true).id);
  e_.store(copy.index, to.id());
  each_element(node.extra, [&](Word i) {
    // An index that wraps around is past the end of the buffer.
    const Word at = from + i;
    const Value loaded = buffers_.load(node.ref2, at, IndexBound::Unknown);
    const Value value = lower_select(at < from, lower_literal(e_, copy.type, 0), loaded);
    const auto keep = [&](std::size_t part, Id bits) {
      e_.store(e_.function().access(copy.part_pointer, {copy.payload[part], i.id()}), bits);
    };
    keep(0, value.id());
    if (copy.is_pair) keep(1, value.wide().high.id());
  });
}

void AsyncCopies::wait(ir::NodeId id) {
  const auto waited = std::ranges::equal_range(copies_, program_.node(id).name, {},
                                               [](const Copy& c) { return c.tag; });
  for (const Copy& copy : waited) {
    const ir::Node& node = program_.node(copy.node);
    e_.when(e_.load_flag(copy.pending), [&] {
      e_.store(copy.pending, e_.flag(false).id);
      const Word to = e_.load_word(copy.index);
      each_element(node.extra, [&](Word i) {
        const auto kept = [&](std::size_t part) {
          return e_.load(copy.part_type,
                         e_.function().access(copy.part_pointer, {copy.payload[part], i.id()}));
        };
        const Id low = kept(0);
        const Value value = value_from_parts(e_, copy.type, low, copy.is_pair ? kept(1) : 0);
        const Word at = to + i;
        e_.when(at >= to, [&] { buffers_.store(node.ref, at, value, IndexBound::Unknown); });
      });
    });
  }
}

}  // namespace felsite::codegen
