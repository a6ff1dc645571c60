// The picture of an explanation: time runs down, each buffer has a lane.
#pragma once

#include <string>

#include "felsite/explain.h"

namespace felsite::dispatch {

// The names of the lanes, and below them everything else, as two SVGs of one width: a page may keep
// the first one in sight.
struct Drawing {
  std::string lanes;
  std::string body;
};
Drawing draw(const Explanation& explanation);

// The marks with what they mean, as small SVGs between words.
std::string drawing_legend(const Explanation& explanation);

// Text for HTML, also within attributes.
std::string escape_html(std::string_view text);

}  // namespace felsite::dispatch
