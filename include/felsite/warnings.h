// Reports problems that do not make a call fail.
#pragma once

#include <functional>
#include <string_view>

namespace felsite {

// Sets where warnings go, one sentence each, from any thread, possibly from several at once. A null
// function restores the default, standard error. With FELSITE_VALIDATION the layer's messages go
// there too. A warning may come from within a call, so the handler must not call Felsite, except
// for set_warning_handler.
//
// When set_warning_handler returns, the previous handler is not called any more and no thread is in
// it, so whatever it refers to may be destroyed. For this it waits for calls that other threads are
// in; the caller must therefore hold no lock that the handler takes. Called from within a handler
// it does not wait, since two of them would wait for each other: the previous handler is then not
// called again, and lives until its last call returns.
void set_warning_handler(std::function<void(std::string_view)> handler);

}  // namespace felsite
