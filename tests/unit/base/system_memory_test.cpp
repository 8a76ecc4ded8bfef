// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <string>

#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

SystemMemory read_from(const std::string& text) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/meminfo";
  std::ofstream(path) << text;
  return system_memory(path.c_str());
}

TEST(SystemMemoryTest, ReadsKibibytes) {
  const SystemMemory found = read_from(
      "MemTotal:       24684084 kB\nMemFree:            17 kB\nMemAvailable:   22773240 kB\nSwapCached: 3 kB\n"
      "SwapFree:              5 kB\n");
  EXPECT_EQ(found.total, int64_t{24684084} * 1024);
  EXPECT_EQ(found.available, int64_t{22773240} * 1024);
  EXPECT_EQ(found.free_swap, 5 * 1024);
}

TEST(SystemMemoryTest, TakesWhatIsNotSaidAsNothing) {
  for (const char* text : {"", "MemTotal:", "MemTotal: much kB\n", "MemTotal:   "}) {
    const SystemMemory found = read_from(text);
    EXPECT_EQ(found.total, 0) << text;
    EXPECT_EQ(found.available, 0) << text;
    EXPECT_EQ(found.free_swap, 0) << text;
  }
  EXPECT_EQ(system_memory("/no/such/file").total, 0);
}

TEST(SystemMemoryTest, KnowsThisMachine) {
  const SystemMemory found = system_memory();
  if (found.total == 0) GTEST_SKIP() << "/proc/meminfo is not there";
  EXPECT_GT(found.available, 0);
  EXPECT_LE(found.available, found.total);
}

TEST(ResidentMemoryTest, CountsWhatIsWritten) {
  const ResidentMemory before = resident_memory();
  if (before.all == 0) GTEST_SKIP() << "/proc/self/statm is not there";
  constexpr size_t kBytes = size_t{64} << 20;
  // New pages from the system: memory that an earlier test returned to the heap is resident already.
  void* pages = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 'x', kBytes);
  const ResidentMemory after = resident_memory();
  ::munmap(pages, kBytes);
  EXPECT_GE(after.all - after.of_files + kBytes / 8, before.all - before.of_files + kBytes);
  EXPECT_GE(after.all, after.of_files);
}

}  // namespace
}  // namespace quarkq
