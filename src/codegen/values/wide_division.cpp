// Division of 64-bit integers on pairs of words, without loops: by digits of 16 bits within a word
// (Knuth's algorithm D), and by one corrected estimate where the divisor takes more than a word.
#include "codegen/values/emitter.h"
#include "codegen/values/values.h"

namespace felsite::codegen {
namespace {

struct Division {
  Wide quotient;
  Wide remainder;
};

struct WordDivision {
  Word quotient;
  Word remainder;
};

// One digit: (high:digit) / divisor, where the divisor's top bit is set and high < divisor. The
// estimate by the divisor's upper half is at most two too large.
WordDivision divide_digit(Word high, Word digit, Word divisor) {
  const Word upper = divisor >> 16;
  const Word lower = divisor & 0xFFFFU;
  Word quotient = divide(high, upper);
  Word rest = high - quotient * upper;
  for (int correction = 0; correction < 2; ++correction) {
    // A rest of more than a digit ends the corrections; the comparison would wrap.
    const Flag too_large =
        (rest < 0x10000U) && (quotient > 0xFFFFU || quotient * lower > ((rest << 16) | digit));
    quotient = select(too_large, quotient - 1U, quotient);
    rest = select(too_large, rest + upper, rest);
  }
  return {quotient, ((high << 16) | digit) - quotient * divisor};
}

// (high:low) / divisor for high < divisor: two digits, after bringing the divisor's top bit up.
WordDivision divide_by_word(Word high, Word low, Word divisor) {
  const Word shift = clz(divisor) & 31U;
  const Word scaled = divisor << shift;
  const Wide dividend = wide(low, high) << shift;
  const Word bottom = low_word(dividend);
  const WordDivision first = divide_digit(high_word(dividend), bottom >> 16, scaled);
  const WordDivision second = divide_digit(first.remainder, bottom & 0xFFFFU, scaled);
  return {(first.quotient << 16) | second.quotient, second.remainder >> shift};
}

Division divide_pairs(Wide a, Wide b) {
  Emitter& e = *a.emitter;
  const Word zero = e.word(0);
  // A divisor of one word: the high word, then what is left of it with the low one.
  const Word one_word = select(b.high == 0U, b.low, e.word(1));
  const Word top = divide(a.high, one_word);
  const WordDivision rest = divide_by_word(a.high - top * one_word, a.low, one_word);
  // A longer one: its leading 32 bits estimate the quotient from half the dividend, which leaves
  // it at most one too large. Taking one away first makes it at most one too small.
  const Word shift = clz(b.high) & 31U;
  const Word leading = (b << shift).high;
  const Wide half = a >> 1U;
  const Word leading_or_one = select(b.high == 0U, e.word(0x8000'0000U), leading);
  const Word half_quotient = divide_by_word(half.high, half.low, leading_or_one).quotient;
  const Word estimate = half_quotient >> (31U - shift);
  const Word low_estimate = select(estimate == 0U, zero, estimate - 1U);
  const Wide left = a - wide(low_estimate, zero) * b;
  const Flag one_more = left >= b;
  const Word long_quotient = select(one_more, low_estimate + 1U, low_estimate);
  const Wide long_rest = select(one_more, left - b, left);

  const Flag is_short = b.high == 0U;
  return {wide(select(is_short, rest.quotient, long_quotient), select(is_short, top, zero)),
          select(is_short, wide(rest.remainder, zero), long_rest)};
}

template <class Choose>
Wide through_helper(Helper kind, const char* name, Wide a, Wide b, Choose choose) {
  Emitter& e = *a.emitter;
  const Id word = e.type_word();
  const Id result =
      e.call_helper(kind, 0, name, e.type_word_pair(), {word, word, word, word},
                    {a.low.id(), a.high.id(), b.low.id(), b.high.id()}, [&](FunctionWriter& f) {
                      const Wide left = wide(e.as_word(f.param(0)), e.as_word(f.param(1)));
                      const Wide right = wide(e.as_word(f.param(2)), e.as_word(f.param(3)));
                      return vector_of_words(choose(divide_pairs(left, right)));
                    });
  return wide_from_vector(e, result);
}

}  // namespace

Wide divide(Wide a, Wide b) {
  Emitter& e = *a.emitter;
  if (!a.is_pair()) {
    return e.as_wide(e.function().divide(e.type_wide(), {a.native, b.native}));
  }
  return through_helper(Helper::DivideWide, "divide_u64", a, b,
                        [](const Division& d) { return d.quotient; });
}

Wide modulo(Wide a, Wide b) {
  Emitter& e = *a.emitter;
  if (!a.is_pair()) {
    return e.as_wide(e.function().modulo(e.type_wide(), {a.native, b.native}));
  }
  return through_helper(Helper::ModuloWide, "modulo_u64", a, b,
                        [](const Division& d) { return d.remainder; });
}

}  // namespace felsite::codegen
