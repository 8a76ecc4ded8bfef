// SPDX-License-Identifier: MIT
#include "base/cpu_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

class CpuQuotaTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = folder_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::optional<double> quota() const { return cpu_quota(folder_.path()); }

 private:
  test::TempFolder folder_;
};

TEST_F(CpuQuotaTest, IsAbsentWithoutGroupsOrLimits) {
  EXPECT_FALSE(quota());
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_FALSE(quota());
}

TEST_F(CpuQuotaTest, ReadsVersionTwoOfAContainer) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(CpuQuotaTest, TakesTheLeastOfNestedGroups) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 1.0);
}

TEST_F(CpuQuotaTest, ReadsVersionOne) {
  write("/proc/self/cgroup", "3:memory:/a\n2:cpu,cpuacct:/a\n1:cpuset:/\n0::/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0.5);
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(quota());
}

TEST_F(CpuQuotaTest, IgnoresSpoiledFiles) {
  write("/proc/self/cgroup", "nonsense\n0:\n0::/\n5:cpu:/\n");
  write("/sys/fs/cgroup/cpu.max", "100000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "much\n");
  EXPECT_FALSE(quota());
}

}  // namespace
}  // namespace quarkq
