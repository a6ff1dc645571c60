// Makes the host's memory run out: the operators new of this executable count what Felsite's own
// code asks for, and throw std::bad_alloc at one of those calls.
//
// Not in felsite::test: whose an allocation is follows from the functions that stand on the stack,
// and these here stand on it always.
#pragma once

#include <cstdint>
#include <vector>

namespace host_memory {

// The place of an allocation: a hash of the stack from there up to the test.
using Place = std::uint64_t;

struct Faults {
  long fail_at = -1;          // the allocation to fail, from 0 on; -1: none
  bool stays = false;         // all later ones fail too, until `pause`
  bool notes_places = false;  // for `places`
};

// From now on Felsite's allocations are counted, on all threads. Those of tests, of the standard
// library for itself and of drivers are not.
void begin(const Faults& faults);
// Nothing is counted and nothing fails between the two; a fault that stays has gone then.
void pause();
void go_on();
// How many there were.
long end();
bool has_failed();
// The place of each allocation, in order. Valid after `end`.
std::vector<Place> places();

}  // namespace host_memory
