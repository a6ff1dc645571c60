// A check for tables that are looked up by an enumerator's number.
#pragma once

#include <cstddef>

namespace felsite::base {

// Whether each row stands at the number of its enumerator, which `key` names.
template <class Table, class Key>
consteval bool in_order(const Table& table, Key key) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].*key) != i) return false;
  }
  return true;
}

}  // namespace felsite::base
