#include "ir/text/decimal.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace felsite::ir {
namespace {

// No number of 54 bits within the range of f64 has more digits; further digits of a decimal only
// show that it is greater.
constexpr std::size_t kMaxDigits = 800;

// digits · 10^power
struct Decimal {
  std::string digits;
  std::int64_t power = 0;
};

Decimal read(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  Decimal result;
  if (e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.power);
  }
  bool is_behind_point = false;
  bool has_more = false;
  for (const char c : mantissa) {
    if (c == '.') {
      is_behind_point = true;
      continue;
    }
    const bool is_kept = result.digits.size() < kMaxDigits;
    if (is_kept && (c != '0' || !result.digits.empty())) result.digits += c;
    if (!is_kept && c != '0') has_more = true;
    if (is_kept == is_behind_point) result.power += is_kept ? -1 : 1;
  }
  if (has_more) {
    result.digits += '1';
    --result.power;
  }
  return result;
}

// A whole number, its lowest 32 bits first.
class Whole {
 public:
  explicit Whole(std::uint64_t value) { add(value); }
  explicit Whole(std::string_view digits) {
    for (const char digit : digits) {
      multiply(10);
      add(static_cast<std::uint64_t>(digit - '0'));
    }
  }

  void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& word : words_) {
      carry += std::uint64_t{word} * factor;
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_.push_back(static_cast<std::uint32_t>(carry));
  }
  void multiply_by_power_of_ten(std::int64_t power) {
    for (; power >= 9; power -= 9) multiply(1'000'000'000);
    for (; power > 0; --power) multiply(10);
  }
  void multiply_by_power_of_two(std::int64_t power) {
    for (; power >= 31; power -= 31) multiply(std::uint32_t{1} << 31);
    if (power > 0) multiply(std::uint32_t{1} << power);
  }

  // The top word is never zero, so the number with more words is larger.
  int compare(const Whole& other) const {
    if (words_.size() != other.words_.size()) return words_.size() < other.words_.size() ? -1 : 1;
    const auto differ = std::mismatch(words_.rbegin(), words_.rend(), other.words_.rbegin());
    if (differ.first == words_.rend()) return 0;
    return *differ.first < *differ.second ? -1 : 1;
  }

 private:
  void add(std::uint64_t value) {
    for (std::size_t i = 0; value != 0; ++i) {
      if (i == words_.size()) words_.push_back(0);
      value += words_[i];
      words_[i] = static_cast<std::uint32_t>(value);
      value >>= 32;
    }
  }

  std::vector<std::uint32_t> words_;
};

}  // namespace

int compare(std::string_view decimal, std::uint64_t mantissa, int exponent) {
  const Decimal read_decimal = read(decimal);
  Whole left(read_decimal.digits);
  Whole right(mantissa);
  left.multiply_by_power_of_ten(read_decimal.power);
  right.multiply_by_power_of_ten(-read_decimal.power);
  right.multiply_by_power_of_two(exponent);
  left.multiply_by_power_of_two(-exponent);
  return left.compare(right);
}

}  // namespace felsite::ir
