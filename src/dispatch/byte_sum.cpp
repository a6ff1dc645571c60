#include "dispatch/byte_sum.h"

#include <fmt/format.h>

#include <algorithm>

namespace felsite::dispatch {

ByteSum::ByteSum(std::uint64_t each, std::string name, std::optional<std::uint64_t> count) {
  if (each != 0) terms_.push_back({std::move(name), each, count});
}

ByteSum& ByteSum::operator+=(const ByteSum& other) {
  constant_ += other.constant_;
  for (const Term& term : other.terms_) {
    const auto same = std::ranges::find(terms_, term.name, &Term::name);
    if (same == terms_.end()) {
      terms_.push_back(term);
    } else {
      same->each += term.each;
    }
  }
  return *this;
}

ByteSum ByteSum::times(std::uint64_t count) const {
  ByteSum product;
  if (count == 0) return product;
  product = *this;
  product.constant_ *= count;
  for (Term& term : product.terms_) term.each *= count;
  return product;
}

ByteCount ByteSum::value() const {
  ByteCount result{.bytes = constant_, .formula = {}};
  for (const Term& term : terms_) {
    if (!result.formula.empty()) result.formula += " + ";
    result.formula += term.each == 1 ? term.name : fmt::format("{}·{}", term.each, term.name);
    if (!term.count) result.bytes.reset();
    if (result.bytes) *result.bytes += term.each * *term.count;
  }
  if (constant_ != 0 || terms_.empty()) {
    result.formula += fmt::format("{}{}", result.formula.empty() ? "" : " + ", constant_);
  }
  return result;
}

}  // namespace felsite::dispatch
