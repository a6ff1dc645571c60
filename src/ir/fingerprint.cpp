#include "ir/fingerprint.h"

#include <xxhash.h>

#include <array>
#include <memory>

namespace felsite::ir {
namespace {

// Feeds little-endian words to the hash on every platform. Variables enter by their index, names by
// their characters (an index into the name table would depend on the other interned names).
class Digest {
 public:
  Digest() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state_.get()); }

  void word(std::uint32_t value) {
    if (used_ + 4 > buffer_.size()) flush();
    for (std::size_t i = 0; i < 4; ++i) {
      buffer_[used_ + i] = static_cast<unsigned char>(value >> (8 * i));
    }
    used_ += 4;
  }

  void text(std::string_view value) {
    word(static_cast<std::uint32_t>(value.size()));
    flush();
    XXH3_128bits_update(state_.get(), value.data(), value.size());
  }

  Fingerprint finish() {
    flush();
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {hash.high64, hash.low64};
  }

 private:
  void flush() {
    XXH3_128bits_update(state_.get(), buffer_.data(), used_);
    used_ = 0;
  }

  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
  std::array<unsigned char, 1 << 14> buffer_;
  std::size_t used_ = 0;
};

std::uint32_t pack(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a | (b << 8) | (c << 16) | (d << 24);
}

void reference(Digest& digest, const Arena& arena, std::uint32_t ref) {
  digest.word(is_resolved(ref) || ref == kNone ? ref : kUnresolved);
  if (!is_resolved(ref) && ref != kNone) digest.text(arena.names[ref & ~kUnresolved]);
}

}  // namespace

Fingerprint fingerprint_of(std::string_view name, const Extent3& workgroup_size,
                           FloatMode float_mode, const Arena& arena) {
  Digest digest;
  digest.text("felsite program 1");
  digest.text(name);
  for (const std::uint32_t extent : workgroup_size) digest.word(extent);
  digest.word(static_cast<std::uint32_t>(float_mode));

  digest.word(static_cast<std::uint32_t>(arena.buffers.size()));
  for (const BufferDecl& buffer : arena.buffers) {
    digest.text(buffer.name);
    digest.word(buffer.access == Access::Workgroup ? kNone : buffer.binding);
    digest.word(pack(unsigned(buffer.element), unsigned(buffer.access), buffer.output,
                     buffer.pipeline_live_out));
    digest.word(buffer.count);
    digest.word(static_cast<std::uint32_t>(buffer.hints.size()));
    for (const std::string& hint : buffer.hints) digest.text(hint);
  }
  digest.word(static_cast<std::uint32_t>(arena.ops.size()));
  for (const OpDecl& op : arena.ops) {
    digest.text(arena.names[op.name]);
    digest.word(op.param_count);
    for (VarId param = op.first_param; param < op.first_param + op.param_count; ++param) {
      digest.word(static_cast<std::uint32_t>(arena.vars[param].type));
    }
    digest.word(static_cast<std::uint32_t>(op.result_type));
    digest.word(op.body.begin);
    digest.word(op.body.end);
    digest.word(op.result);
  }
  digest.word(static_cast<std::uint32_t>(arena.exprs.size()));
  for (const Expr& expr : arena.exprs) {
    digest.word(pack(unsigned(expr.kind), expr.op, unsigned(expr.type), expr.aux));
    reference(digest, arena, expr.ref);
    for (const std::uint32_t arg : expr.args) digest.word(arg);
  }
  for (const ExprId operand : arena.call_operands) digest.word(operand);
  digest.word(static_cast<std::uint32_t>(arena.nodes.size()));
  for (const Node& node : arena.nodes) {
    digest.word(pack(unsigned(node.kind), node.op, 0, 0));
    reference(digest, arena, node.ref);
    reference(digest, arena, node.ref2);
    digest.word(node.extra);
    digest.word(node.args[0]);
    digest.word(node.args[1]);
    digest.word(node.end);
    if (node.name != kNone) digest.text(arena.names[node.name]);
  }
  digest.word(arena.entry.begin);
  digest.word(arena.entry.end);
  return digest.finish();
}

}  // namespace felsite::ir
