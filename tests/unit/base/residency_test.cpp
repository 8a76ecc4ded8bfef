// SPDX-License-Identifier: MIT
// Mapped data that leaves memory and comes back: temporary files without a name, and the limit on resident pages.
#include "base/residency.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/file_system.h"
#include "base/machine.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

using test::TempFolder;

constexpr size_t kMegabyte = size_t{1} << 20;

std::vector<uint8_t> numbered(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), uint8_t{3});
  return data;
}

bool same(const std::byte* found, const std::vector<uint8_t>& wanted) {
  return std::equal(wanted.begin(), wanted.end(), reinterpret_cast<const uint8_t*>(found));
}

/// Reads every page.
size_t touch(const std::byte* data, size_t bytes) {
  size_t sum = 0;
  for (size_t i = 0; i < bytes; i += 4096) sum += static_cast<size_t>(data[i]);
  return sum;
}

TEST(SpillFileTest, GivesBackWhatWasPutThere) {
  const TempFolder folder;
  const auto file = SpillFile::create(folder.path()).value();
  const std::vector<uint8_t> first = numbered(5000), second = numbered(3 * kMegabyte + 1);
  const auto a = file->put(first.data(), first.size()).value(), b = file->put(second.data(), second.size()).value();
  EXPECT_TRUE(same(a.get(), first));
  EXPECT_TRUE(same(b.get(), second));
  EXPECT_TRUE(folder.names().empty()) << "the file has no name that could stay behind";
}

TEST(SpillFileTest, DataOutlivesTheFilesOwner) {
  const TempFolder folder;
  const std::vector<uint8_t> data = numbered(10000);
  std::shared_ptr<const std::byte> kept =
      SpillFile::create(folder.path()).value()->put(data.data(), data.size()).value();
  EXPECT_TRUE(same(kept.get(), data));
}

TEST(SpillFileTest, SaysWhyAFolderDoesNotDo) {
  const Result<std::shared_ptr<SpillFile>> made = SpillFile::create("/no/such/folder");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("/no/such/folder: cannot make a temporary file here"), std::string::npos);
}

TEST(ResidencyTest, DroppedPagesComeBackFromTheFile) {
  const TempFolder folder;
  const std::vector<uint8_t> data = numbered(32 * kMegabyte);
  const auto file = SpillFile::create(folder.path()).value();
  const auto kept = file->put(data.data(), data.size()).value();
  EXPECT_TRUE(same(kept.get(), data));
  const size_t before = resident_memory().of_files;
  drop_mapped_pages();
  EXPECT_LE(resident_memory().of_files + 30 * kMegabyte, before);
  EXPECT_TRUE(same(kept.get(), data));
}

TEST(ResidencyTest, FilesThatAreMappedCountUntilTheyAreClosed) {
  const TempFolder folder;
  const std::vector<uint8_t> data = numbered(32 * kMegabyte);
  const std::string path = folder.write("weights", std::string(data.begin(), data.end()));
  const auto mapped = MappedFile::open(path).value();
  EXPECT_TRUE(same(mapped->data(), data));
  const size_t before = resident_memory().of_files;
  drop_mapped_pages();
  EXPECT_LE(resident_memory().of_files + 30 * kMegabyte, before);
  EXPECT_TRUE(same(mapped->data(), data));
}

TEST(ResidencyTest, ALimitHoldsWhileDataIsRead) {
  const TempFolder folder;
  const std::vector<uint8_t> data = numbered(64 * kMegabyte);
  const auto kept = SpillFile::create(folder.path()).value()->put(data.data(), data.size()).value();
  touch(kept.get(), data.size());
  const size_t all = resident_memory().of_files;
  trim_mapped_pages();
  EXPECT_EQ(resident_memory().of_files / kMegabyte, all / kMegabyte) << "without a limit pages stay";
  const size_t program = all - data.size();
  {
    const ResidencyLimit limit(program + 16 * kMegabyte);
    touch(kept.get(), data.size());
    trim_mapped_pages();
    EXPECT_LE(resident_memory().of_files, program + 16 * kMegabyte);
    touch(kept.get(), data.size());
    const auto start = std::chrono::steady_clock::now();
    const auto waits = [&] { return std::chrono::steady_clock::now() - start < std::chrono::seconds(10); };
    while (resident_memory().of_files > program + 16 * kMegabyte && waits()) std::this_thread::yield();
    EXPECT_LE(resident_memory().of_files, program + 16 * kMegabyte) << "the limit's own thread looks, too";
  }
  touch(kept.get(), data.size());
  trim_mapped_pages();
  EXPECT_GE(resident_memory().of_files + kMegabyte, all) << "the limit has ended";
}

}  // namespace
}  // namespace quarkq
