// What went wrong without making a call fail.
#pragma once

#include <functional>
#include <string_view>

namespace felsite {

// Where warnings go, one sentence each, from any thread; a null function brings back the default,
// standard error. With FELSITE_VALIDATION the layer's messages come there too. A warning may come
// from within a call, so the function must not call Felsite.
void set_warning_handler(std::function<void(std::string_view)> handler);

}  // namespace felsite
