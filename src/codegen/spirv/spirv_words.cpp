#include "codegen/spirv/spirv_words.h"

namespace felsite::codegen {

void Instructions::add_text(spv::Op op, std::initializer_list<std::uint32_t> first,
                            std::string_view text, std::span<const std::uint32_t> rest) {
  // Little-endian characters, ended by a NUL, padded with more of them.
  const std::size_t text_words = text.size() / 4 + 1;
  start(op, first.size() + text_words + rest.size());
  words_.insert(words_.end(), first);
  const std::size_t base = words_.size();
  words_.resize(base + text_words, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
    words_[base + i / 4] |= byte << (8 * (i % 4));
  }
  words_.insert(words_.end(), rest.begin(), rest.end());
}

}  // namespace felsite::codegen
