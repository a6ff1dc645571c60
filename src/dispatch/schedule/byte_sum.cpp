#include "dispatch/schedule/byte_sum.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace felsite::dispatch {

ByteSum::ByteSum(std::uint64_t each, std::string name, std::optional<std::uint64_t> count) {
  if (each != 0) terms_.push_back({std::move(name), each, count});
}

ByteSum& ByteSum::operator+=(const ByteSum& other) {
  is_too_large_ = is_too_large_ || other.is_too_large_;
  set(constant_, base::checked_sum({constant_, other.constant_}));
  for (const Term& term : other.terms_) {
    const auto same = std::ranges::find(terms_, term.name, &Term::name);
    if (same == terms_.end()) {
      terms_.push_back(term);
    } else {
      set(same->each, base::checked_sum({same->each, term.each}));
    }
  }
  return *this;
}

ByteSum ByteSum::times(std::uint64_t count) const {
  ByteSum product;
  if (count == 0) return product;
  product = *this;
  product.set(product.constant_, base::checked_product({constant_, count}));
  for (Term& term : product.terms_) {
    product.set(term.each, base::checked_product({term.each, count}));
  }
  return product;
}

void ByteSum::set(std::uint64_t& number, std::optional<std::uint64_t> value) {
  is_too_large_ = is_too_large_ || !value;
  number = value.value_or(0);
}

ByteCount ByteSum::value() const {
  if (is_too_large_) return {.bytes = {}, .formula = "more than 64 bits count"};
  ByteCount result{.bytes = constant_, .formula = {}};
  for (const Term& term : terms_) {
    if (!result.formula.empty()) result.formula += " + ";
    result.formula += term.each == 1 ? term.name : fmt::format("{}·{}", term.each, term.name);
    const auto bytes = term.count ? base::checked_product({term.each, *term.count}) : std::nullopt;
    result.bytes =
        result.bytes && bytes ? base::checked_sum({*result.bytes, *bytes}) : std::nullopt;
  }
  if (constant_ != 0 || terms_.empty()) {
    result.formula += fmt::format("{}{}", result.formula.empty() ? "" : " + ", constant_);
  }
  return result;
}

}  // namespace felsite::dispatch
