// SPDX-License-Identifier: MIT
#include "base/system_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace quarkq {
namespace {

/// Of a line such as "MemTotal:       24684084 kB", in bytes.
int64_t bytes_of(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  std::string_view number = text.substr(at + name.size());
  number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
  int64_t kibibytes = 0;
  std::from_chars(number.data(), number.data() + number.size(), kibibytes);
  return kibibytes * 1024;
}

}  // namespace

SystemMemory system_memory(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 4096> buffer{};
  const ssize_t length = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  if (length <= 0) return {};
  const std::string_view text(buffer.data(), static_cast<size_t>(length));
  return {bytes_of(text, "MemTotal:"), bytes_of(text, "MemAvailable:"), bytes_of(text, "SwapFree:")};
}

}  // namespace quarkq
