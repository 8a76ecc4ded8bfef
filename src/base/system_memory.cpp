// SPDX-License-Identifier: MIT
#include "base/system_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>

namespace quarkq {
namespace {

/// The beginning of a file; empty when it cannot be read.
std::string_view beginning_of(const char* path, std::span<char> buffer) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t length = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

/// The number that `text` begins with, after spaces; 0 when there is none. Leaves what follows it.
int64_t take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int64_t number = 0;
  const char* end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

/// Of a line such as "MemTotal:       24684084 kB", in bytes.
int64_t bytes_of(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + name.size());
  return take_number(text) * 1024;
}

}  // namespace

SystemMemory system_memory(const char* path) {
  std::array<char, 4096> buffer{};
  const std::string_view text = beginning_of(path, buffer);
  return {bytes_of(text, "MemTotal:"), bytes_of(text, "MemAvailable:"), bytes_of(text, "SwapFree:")};
}

ResidentMemory resident_memory() {
  std::array<char, 256> buffer{};
  std::string_view text = beginning_of("/proc/self/statm", buffer);
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  take_number(text);  // pages of addresses
  const int64_t resident = take_number(text), shared = take_number(text);
  return {static_cast<size_t>(resident * page), static_cast<size_t>(shared * page)};
}

}  // namespace quarkq
