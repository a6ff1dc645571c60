// What went wrong without making a call fail.
#pragma once

#include <functional>
#include <string_view>

namespace felsite {

// Where warnings go, one sentence each, from any thread, also from several at once; a null function
// brings back the default, standard error. With FELSITE_VALIDATION the layer's messages come there
// too. A warning may come from within a call, so the function must not call Felsite, but for
// set_warning_handler.
//
// When set_warning_handler returns, the function that was there before is not called any more, and
// no thread is in it: what it refers to may be destroyed. To that end it waits for calls that other
// threads are in, so that the caller must hold no lock that the function takes. Called by a
// handler, it does not wait, as two of them would wait for each other: the function is then not
// called again, and lives until its last call returns.
void set_warning_handler(std::function<void(std::string_view)> handler);

}  // namespace felsite
