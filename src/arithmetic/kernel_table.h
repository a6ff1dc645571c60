// Builds tables of kernels for every type at compile time.
#pragma once

#include <array>
#include <utility>

#include "felsite/types.h"

namespace felsite::arithmetic {

inline constexpr std::size_t kTypes = ir::kTypeCount - 1;  // without Type::None

// make.template operator()<type>() for each type, by its index.
template <class Entry, class Make>
constexpr std::array<Entry, kTypes> by_type(Make make) {
  return [&]<std::size_t... index>(std::index_sequence<index...>) {
    return std::array<Entry, kTypes>{make.template operator()<static_cast<ir::Type>(index)>()...};
  }
  (std::make_index_sequence<kTypes>());
}

}  // namespace felsite::arithmetic
