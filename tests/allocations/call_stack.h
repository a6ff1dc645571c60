// Whose code asks for memory: by the functions on the stack and the symbols of this executable.
#pragma once

#include <cstdint>

namespace host_memory {

enum class Owner : std::uint8_t { Felsite, Other };

struct Caller {
  Owner owner = Owner::Other;
  std::uint64_t place = 0;  // a hash of the stack, if it was asked for
};

// Reads the symbols, which allocates. Must run before the first `caller`.
void read_symbols();
// `immediate` is the address that the operator new returns to.
Caller caller(const void* immediate, bool with_place);

}  // namespace host_memory
