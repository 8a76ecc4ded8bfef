// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

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

/// Returns the bytes in a line such as "MemTotal:       24684084 kB".
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

// Linux stores limits in files: cgroup v2 has "MAX PERIOD" in cpu.max and a number in memory.max, v1 has two files and
// one. /proc/self/cgroup names the group of each hierarchy. Inside a container the name is often "/", and the limits
// are at the root of the mounted hierarchy.

namespace {

namespace fs = std::filesystem;

/// Returns the number in a file, or nullopt for "-1" and "max", which mean no limit.
std::optional<double> first_number(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  if (!(file >> value) || value <= 0) return std::nullopt;
  return value;
}

std::optional<double> quota_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> quota_v1(const fs::path& folder) {
  const std::optional<double> quota = first_number(folder / "cpu.cfs_quota_us");
  const std::optional<double> period = first_number(folder / "cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

/// How a limit is read from the folder of a group.
struct Limit {
  const char* controller;
  std::optional<double> (*v2)(const fs::path& folder);
  std::optional<double> (*v1)(const fs::path& folder);
};
constexpr Limit kCpu = {"cpu", quota_v2, quota_v1};
constexpr Limit kMemory = {"memory", [](const fs::path& folder) { return first_number(folder / "memory.max"); },
                           [](const fs::path& folder) { return first_number(folder / "memory.limit_in_bytes"); }};

/// `mount` and the groups from there down to `group`.
void take_least(const fs::path& mount, const std::string& group, std::optional<double> (*read)(const fs::path&),
                std::optional<double>& least) {
  fs::path folder = mount;
  std::vector<fs::path> folders = {folder};
  for (const fs::path& part : fs::path(group).relative_path()) folders.push_back(folder /= part);
  for (const fs::path& one : folders) {
    if (const std::optional<double> found = read(one)) least = std::min(least.value_or(*found), *found);
  }
}

bool has_controller(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == wanted) return true;
  return false;
}

std::optional<double> least_of(const Limit& limit, const std::string& root) {
  const fs::path mounts = root + "/sys/fs/cgroup";
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/group", or "0::/group" for v2
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) take_least(mounts, group, limit.v2, least);
    if (has_controller(controllers, limit.controller)) {
      take_least(mounts / controllers, group, limit.v1, least);
      take_least(mounts / limit.controller, group, limit.v1, least);
    }
  }
  return least;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) { return least_of(kCpu, root); }

std::optional<int64_t> memory_quota(const std::string& root) {
  constexpr double kMost = 1e18;  // version 1 stores "no limit" as nearly 2^63
  const std::optional<double> bytes = least_of(kMemory, root);
  if (!bytes || *bytes > kMost) return std::nullopt;
  return static_cast<int64_t>(*bytes);
}

int64_t granted_memory() {
  static const int64_t bytes = [] {
    const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    return std::min(machine, memory_quota().value_or(machine));
  }();
  return bytes;
}

}  // namespace quarkq
