// The picture of an explanation: time runs down, each buffer has a lane.
#pragma once

#include <string>

#include "felsite/explain.h"

namespace felsite::dispatch {

// The names of the lanes, and everything below them, as two SVGs of the same width, so that a page
// can keep the first one in sight.
struct Drawing {
  std::string lanes;
  std::string body;
};
Drawing draw(const Explanation& explanation);

// The legend: small SVGs of the marks, with what they mean.
std::string drawing_legend(const Explanation& explanation);

// Escapes text for HTML, also within attributes.
std::string escape_html(std::string_view text);

}  // namespace felsite::dispatch
