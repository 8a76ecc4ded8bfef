// SPDX-License-Identifier: MIT
#include "base/platform/console.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace quarkq::platform {

std::vector<std::string> utf8_arguments(int count, char** arguments) { return {arguments + 1, arguments + count}; }

void prepare_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_closed = ::fcntl(fd, F_GETFD) == -1 && errno == EBADF;
    if (is_closed)
      static_cast<void>(::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY));  // gets the lowest
  }
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

std::optional<size_t> terminal_columns(std::FILE* stream) {
  winsize size{};
  const bool is_known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? std::optional<size_t>(size.ws_col) : std::nullopt;
}

void write_error(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

}  // namespace quarkq::platform
