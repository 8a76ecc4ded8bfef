// SPDX-License-Identifier: MIT
// Linux keeps quotas in files: cgroup v2 has "MAX PERIOD" in cpu.max, v1 has two files. /proc/self/cgroup names the
// group of each hierarchy; inside of a container that is often "/", while limits stand at the root of what is mounted.
#include "base/cpu_quota.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace quarkq {
namespace {

namespace fs = std::filesystem;

/// The number in a file; "-1" is no limit and gives nothing.
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

/// `mount` and the groups from there down to `group`.
template <typename Read>
void take_least(const fs::path& mount, const std::string& group, Read read, std::optional<double>& least) {
  fs::path folder = mount;
  std::vector<fs::path> folders = {folder};
  for (const fs::path& part : fs::path(group).relative_path()) folders.push_back(folder /= part);
  for (const fs::path& one : folders) {
    if (const std::optional<double> found = read(one)) least = std::min(least.value_or(*found), *found);
  }
}

bool has_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu") return true;
  return false;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  const fs::path mounts = root + "/sys/fs/cgroup";
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/group", or "0::/group" for v2
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) take_least(mounts, group, quota_v2, least);
    if (has_cpu(controllers)) {
      take_least(mounts / controllers, group, quota_v1, least);
      take_least(mounts / "cpu", group, quota_v1, least);
    }
  }
  return least;
}

}  // namespace quarkq
