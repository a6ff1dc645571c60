#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "felsite/printable.h"

namespace felsite::tool {

namespace {

// The first error of writing standard output: later calls have nothing left to write, and succeed
// or fail for another reason.
int first_failure = 0;

void note_failure(bool written) {
  if (!written && first_failure == 0) first_failure = errno != 0 ? errno : EIO;
}

}  // namespace

void write_out(std::string_view text) {
  errno = 0;
  note_failure(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}
void flush_out() {
  errno = 0;
  note_failure(std::fflush(stdout) == 0);
}
void write_err(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string json_text(const nlohmann::json& body) {
  return printable_json(body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void open_missing_streams() {
  for (const auto& [stream, mode] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}}) {
    // open() takes the lowest free descriptor, which is this one: those below it are open.
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) open("/dev/null", mode);
  }
}

int finish_output(int code) {
  flush_out();
  if (first_failure == 0) return code;
  write_err("felsite: Cannot write standard output: ");
  write_err(std::strerror(first_failure));
  write_err(". Fix: write to a place with room.\n");
  return code == kOk ? kProgramAtFault : code;
}

}  // namespace felsite::tool
