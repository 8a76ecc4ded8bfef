// SPDX-License-Identifier: MIT
// Files that are complete or absent, and folders in natural order.
#include "base/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

using test::content_of;
using test::TempFolder;

TEST(AtomicFileTest, NothingStaysWithoutCommit) {
  const TempFolder folder;
  {
    Result<AtomicFile> file = AtomicFile::create(folder / "out.bin");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value().write("half", 4).ok());
    EXPECT_FALSE(file_exists(folder / "out.bin"));
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFileTest, CommitReplacesTheWholeFile) {
  const TempFolder folder;
  const std::string path = folder.write("out.bin", "something longer from before");
  Result<AtomicFile> file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file.value().write("new", 3).ok());
  EXPECT_EQ(content_of(path), "something longer from before");  // until the very end
  ASSERT_TRUE(file.value().commit().ok());
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out.bin"});
}

TEST(AtomicFileTest, FailureLeavesTheOldFile) {
  const TempFolder folder;
  const std::string path = folder.write("out.bin", "old");
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file.value().write("new", 3).ok());
  }
  EXPECT_EQ(content_of(path), "old");
}

TEST(AtomicFileTest, WritesLargerThanItsBufferArrive) {
  const TempFolder folder;
  std::string data(3'500'000, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31 >> 3);
  Result<AtomicFile> file = AtomicFile::create(folder / "big");
  ASSERT_TRUE(file.value().write(data.data(), 10).ok());
  ASSERT_TRUE(file.value().write(data.data() + 10, data.size() - 10).ok());
  EXPECT_EQ(file.value().written(), data.size());
  ASSERT_TRUE(file.value().commit().ok());
  EXPECT_EQ(content_of(folder / "big"), data);
}

TEST(AtomicFileTest, AMovedFileIsCommittedOnce) {
  const TempFolder folder;
  Result<AtomicFile> file = AtomicFile::create(folder / "out");
  {
    AtomicFile moved = std::move(file).value();
    ASSERT_TRUE(moved.write("x", 1).ok());
    ASSERT_TRUE(moved.commit().ok());
  }
  EXPECT_EQ(content_of(folder / "out"), "x");
}

TEST(AtomicFileTest, UnwritableFolderIsNamed) {
  const Result<AtomicFile> file = AtomicFile::create("/nowhere/at/all.bin");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), Code::kIo);
  EXPECT_NE(file.status().message().find("/nowhere/at/all.bin"), std::string::npos);
}

TEST(AtomicFileTest, InterruptRemovesWhatIsUnfinished) {
  const TempFolder folder;
  Result<AtomicFile> file = AtomicFile::create(folder / "out");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(folder.names().size(), 1u);
  remove_unfinished_files();
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFileTest, WhatAKilledProcessLeftIsRemovedByTheNext) {
  const TempFolder folder;
  for (const char* name :
       {"out.part-7-0123456789abcdef", "out.data.part-12-fedcba9876543210", "out.data.link-12-fedcba9876543210",
        "other.part-7-0123456789abcdef", "out.part-7", "out.part-x-0123456789abcdef", "out.part-7-0123456789abcdeX"})
    folder.write(name, "half");
  ASSERT_TRUE(write_file(folder / "out", "new").ok());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.part-7-0123456789abcdeX", "other.part-7-0123456789abcdef",
                                                      "out", "out.part-7", "out.part-x-0123456789abcdef"}));
  remove_dead_temporaries(folder / "");
  EXPECT_EQ(folder.names().size(), 4u);
}

TEST(AtomicFileTest, ATemporaryOfALiveProcessStays) {
  const TempFolder folder;
  const std::string theirs = folder.write("out.part-7-0123456789abcdef", "half");
  const int fd = platform::open_to_write(theirs);
  ASSERT_TRUE(platform::lock_alone(fd));
  ASSERT_TRUE(write_file(folder / "out", "new").ok());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"out", "out.part-7-0123456789abcdef"}));
  ::close(fd);
  ASSERT_TRUE(write_file(folder / "out", "new").ok());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
}

TEST(AtomicFileTest, LinksInThePlaceOfTemporariesAreNotFollowed) {
  const TempFolder folder;
  const std::string precious = folder.write("precious", "keep");
  ASSERT_EQ(::symlink(precious.c_str(), (folder / cat("out.part-", process_token())).c_str()), 0);
  ASSERT_EQ(::symlink(precious.c_str(), (folder / "out.part-7-0123456789abcdef").c_str()), 0);
  EXPECT_FALSE(write_file(folder / "out", "new").ok());
  EXPECT_EQ(content_of(precious), "keep");
}

TEST(AtomicFileTest, OneFileWrittenTwiceAtOnceIsRefused) {
  const TempFolder folder;
  const Result<AtomicFile> first = AtomicFile::create(folder / "out"), second = AtomicFile::create(folder / "out");
  ASSERT_TRUE(first.ok());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("written twice"), std::string::npos);
}

TEST(AtomicFileTest, ADeviceIsWrittenAndStays) {
  ASSERT_TRUE(write_file("/dev/null", "text").ok());
  struct stat info {};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write_file(pipe, "text").ok());
  std::array<char, 8> read{};
  EXPECT_EQ(::read(reader, read.data(), read.size()), 4);
  ::close(reader);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"pipe"});
}

TEST(ListFilesTest, DigitRunsCompareAsNumbers) {
  const TempFolder folder;
  for (const char* name : {"img10.npy", "img9.npy", "a.npy", "img009.npy", "img1_2.npy", "img1_10.npy", "b.txt"})
    folder.write(name, "");
  folder.write("img0.npy/inner.npy", "");  // a folder with such a name is no file
  const std::vector<std::string> found = list_files(folder.path(), ".npy").value();
  EXPECT_EQ(found,
            (std::vector<std::string>{"a.npy", "img1_2.npy", "img1_10.npy", "img009.npy", "img9.npy", "img10.npy"}));
  EXPECT_EQ(list_folders(folder.path()).value(), std::vector<std::string>{"img0.npy"});
}

TEST(ListFilesTest, OrderDoesNotDependOnTheOrderOfCreation) {
  std::vector<std::string> names = {
      "0.npy", "00.npy", "1.npy", "01.npy", "x1y2", "x01y2", "x1y02", "x", "99999999999999999999", "3"};
  std::vector<std::string> first;
  std::sort(names.begin(), names.end());
  for (int i = 0; i < 40; ++i) {
    const TempFolder folder;
    for (const std::string& name : names) folder.write(name, "");
    const std::vector<std::string> found = list_files(folder.path(), "").value();
    if (i == 0) first = found;
    EXPECT_EQ(found, first);
    std::next_permutation(names.begin(), names.end());
  }
}

TEST(ListFilesTest, FilesBelowAreRelativeAndLinksToFoldersAreNotFollowed) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "b/c");
  for (const char* name : {"b/c/10.npy", "b/c/9.npy", "a.npy"}) folder.write(name, "");
  std::filesystem::create_directory_symlink(folder.path(), folder / "b/loop");
  std::filesystem::create_symlink(folder / "a.npy", folder / "link.npy");
  std::filesystem::create_symlink("nowhere", folder / "dangling.npy");
  EXPECT_EQ(list_files_below(folder.path()).value(),
            (std::vector<std::string>{"a.npy", "b/c/9.npy", "b/c/10.npy", "link.npy"}));
  EXPECT_EQ(list_files_below(folder / "a.npy").status().code(), Code::kBadData);
}

TEST(FileSystemTest, NamelessFilesLeaveNoName) {
  const TempFolder folder;
  const int file = open_nameless_file(folder.path());
  ASSERT_GE(file, 0);
  EXPECT_EQ(write(file, "x", 1), 1);
  EXPECT_TRUE(list_files(folder.path(), "").value().empty());
  close(file);
  EXPECT_LT(open_nameless_file(folder / "none"), 0);
}

TEST(ListFilesTest, MissingFolderIsBadData) {
  EXPECT_EQ(list_files("/nowhere", ".npy").status().code(), Code::kBadData);
  EXPECT_EQ(list_folders("/nowhere").status().code(), Code::kBadData);
  EXPECT_EQ(list_files_below("/nowhere").status().code(), Code::kBadData);
}

TEST(FileSystemTest, ReadsAndMapsWholeFiles) {
  const TempFolder folder;
  const std::string path = folder.write("a", "text\n"), empty = folder.write("empty", "");
  EXPECT_EQ(read_text_file(path).value(), "text\n");
  EXPECT_EQ(read_text_file(path, 3).status().code(), Code::kResource);
  EXPECT_EQ(read_text_file(folder / "none").status().code(), Code::kIo);
  const auto mapped = MappedFile::open(path).value();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->data()), mapped->size()), "text\n");
  EXPECT_EQ(MappedFile::open(empty).value()->size(), 0u);
  EXPECT_EQ(MappedFile::open(folder.path()).status().code(), Code::kIo);
}

TEST(FileSystemTest, TellsFilesFromFolders) {
  const TempFolder folder;
  const std::string path = folder.write("a", "");
  EXPECT_TRUE(file_exists(path));
  EXPECT_FALSE(file_exists(folder.path()));
  EXPECT_TRUE(is_folder(folder.path()));
  EXPECT_FALSE(is_folder(path));
}

/// Sorting needs an order: nothing comes before itself, of two names at most one is first, and it is transitive.
TEST(ListFilesTest, TheOrderOfNamesIsAnOrder) {
  // clang-format off
  const std::vector<std::string> names = {
      "", "a", "a0", "a00", "a1", "a01", "a9", "a10", "a010", "a10b", "a10c", "a2b3", "a2b10", "b", "1", "01", "1a",
      "10", "9", "99999999999999999999", "100000000000000000000", "a b", "A1", "a-1", "a.1", "img2.x9", "img2.x10"};
  // clang-format on
  for (const std::string& a : names) {
    EXPECT_FALSE(natural_less(a, a)) << a;
    for (const std::string& b : names) {
      EXPECT_FALSE(natural_less(a, b) && natural_less(b, a)) << a << " and " << b;
      EXPECT_TRUE(a == b || natural_less(a, b) || natural_less(b, a)) << a << " and " << b << " differ";
      for (const std::string& c : names) {
        const bool is_between = natural_less(a, b) && natural_less(b, c);
        EXPECT_TRUE(!is_between || natural_less(a, c)) << a << ", " << b << ", " << c;
      }
    }
  }
  EXPECT_TRUE(natural_less("img2.x9", "img2.x10"));
  EXPECT_TRUE(natural_less("99999999999999999999", "100000000000000000000")) << "longer than any integer";
}

TEST(NamelessFileTest, HoldsWhatIsWrittenAndEndsThere) {
  const TempFolder folder;
  const int file = open_nameless_file(folder.path());
  ASSERT_GE(file, 0);
  EXPECT_TRUE(folder.names().empty());
  EXPECT_TRUE(write_all_at(file, "weights", 7, 5));
  std::array<char, 7> found{};
  EXPECT_TRUE(read_all_at(file, found.data(), 7, 5));
  EXPECT_EQ(std::string(found.data(), 7), "weights");
  EXPECT_FALSE(read_all_at(file, found.data(), 7, 6));
  EXPECT_EQ(errno, EIO);
  EXPECT_FALSE(write_all_at(-1, "weights", 7, 0));
  EXPECT_EQ(errno, EBADF);
  ::close(file);
}

}  // namespace
}  // namespace quarkq
