// The one file that holds volk's code, for the peers that are written by hand. Its header brings it
// along where this is defined, so it does not matter whether the distribution has volk as a library
// or, as Debian, as its two files.
#define VOLK_IMPLEMENTATION
#include <volk.h>
