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

void write_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void write_err(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string json_text(const nlohmann::json& body) {
  return printable_json(body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void open_missing_streams() {
  for (const auto& [stream, mode] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}}) {
    // Takes the lowest free number, which is this one: those below it are open.
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) open("/dev/null", mode);
  }
}

int finish_output(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const int reason = errno != 0 ? errno : EIO;
  write_err("felsite: Cannot write standard output: ");
  write_err(std::strerror(reason));
  write_err(". Fix: write to a place with room.\n");
  return code == kOk ? kProgramAtFault : code;
}

}  // namespace felsite::tool
