// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

class ControlGroupsTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = folder_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::optional<double> quota() const { return cpu_quota(folder_.path()); }
  std::optional<int64_t> memory() const { return memory_quota(folder_.path()); }

 private:
  test::TempFolder folder_;
};

TEST_F(ControlGroupsTest, IsAbsentWithoutGroupsOrLimits) {
  EXPECT_FALSE(quota());
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_FALSE(quota());
  EXPECT_FALSE(memory());
}

TEST_F(ControlGroupsTest, ReadsVersionTwoOfAContainer) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(quota(), 1.5);
  EXPECT_EQ(memory(), int64_t{1} << 31);
}

TEST_F(ControlGroupsTest, TakesTheLeastOfNestedGroups) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  write("/sys/fs/cgroup/outer/memory.max", "4096000\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(quota(), 1.0);
  EXPECT_EQ(memory(), 4096000);
}

TEST_F(ControlGroupsTest, ReadsVersionOne) {
  write("/proc/self/cgroup", "3:memory:/a\n2:cpu,cpuacct:/a\n1:cpuset:/\n0::/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0.5);
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(quota());
}

TEST_F(ControlGroupsTest, ReadsMemoryOfVersionOne) {
  write("/proc/self/cgroup", "3:memory:/a\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(memory()) << "what version 1 says where nothing is limited";
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(memory(), 1000000);
}

TEST_F(ControlGroupsTest, IgnoresSpoiledFiles) {
  write("/proc/self/cgroup", "nonsense\n0:\n0::/\n5:cpu:/\n");
  write("/sys/fs/cgroup/cpu.max", "100000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "much\n");
  write("/sys/fs/cgroup/memory.max", "\n");
  EXPECT_FALSE(quota());
  EXPECT_FALSE(memory());
}

}  // namespace
}  // namespace quarkq
