// SPDX-License-Identifier: MIT
// What every implementation of base/platform must do, on each system.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/platform/console.h"
#include "base/platform/files.h"
#include "base/platform/library.h"
#include "base/platform/memory.h"
#include "base/platform/native_path.h"
#include "base/platform/process.h"
#include "unit/base/temp_folder.h"

namespace quarkq::platform {
namespace {

using test::content_of;
using test::TempFolder;

TEST(PlatformFilesTest, DescribesFilesFoldersAndAbsence) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", "12345");
  const auto file = describe(path), place = describe(folder.path());
  ASSERT_TRUE(file && place);
  EXPECT_EQ(file->kind, FileKind::kFile);
  EXPECT_EQ(file->bytes, 5u);
  EXPECT_EQ(file->links, 1u);
  EXPECT_EQ(place->kind, FileKind::kFolder);
  EXPECT_TRUE(file->id != place->id);
  EXPECT_FALSE(describe(folder / "none"));
}

TEST(PlatformFilesTest, AFileKeepsItsIdentityWhenItIsRenamed) {
  const TempFolder folder;
  const std::string from = folder.write("a", "new"), to = folder.write("b", "old");
  const FileId id = describe(from)->id;
  ASSERT_TRUE(replace_file(from, to));
  EXPECT_TRUE(describe(to)->id == id);
  EXPECT_EQ(content_of(to), "new");
  EXPECT_FALSE(describe(from));
}

TEST(PlatformFilesTest, RenamingAMissingFileTellsWhy) {
  const TempFolder folder;
  EXPECT_FALSE(replace_file(folder / "none", folder / "b"));
  EXPECT_EQ(errno, ENOENT);
}

TEST(PlatformFilesTest, ASecondNameDoesNotReplaceAnother) {
  const TempFolder folder;
  const std::string path = folder.write("a", "text"), other = folder.write("b", "other");
  ASSERT_TRUE(link_file(path, folder / "c"));
  EXPECT_TRUE(describe(folder / "c")->id == describe(path)->id);
  EXPECT_EQ(describe(path)->links, 2u);
  EXPECT_FALSE(link_file(path, other));
  EXPECT_EQ(errno, EEXIST);
}

TEST(PlatformFilesTest, CreatesAFileOnce) {
  const TempFolder folder;
  const int fd = create_file(folder / "a");
  ASSERT_GE(fd, 0);
  EXPECT_EQ(write_some(fd, "abc", 3), 3);
  EXPECT_EQ(create_file(folder / "a"), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_TRUE(close_file(fd));
  EXPECT_EQ(content_of(folder / "a"), "abc");
  EXPECT_EQ(create_file(folder.path() + "/none/a"), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(PlatformFilesTest, AnOpenFileCanBeRenamedAndRemoved) {
  const TempFolder folder;
  const std::string path = folder.write("a", "text"), renamed = folder / "b";
  const int fd = open_to_read(path);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(replace_file(path, renamed));
  EXPECT_TRUE(remove_file(renamed.c_str()));
  if (!backslash_separates()) {  // wine keeps the name until the file is closed
    EXPECT_FALSE(describe(renamed));
    EXPECT_EQ(describe(fd)->links, 0u);
  }
  std::array<char, 8> found{};
  EXPECT_EQ(read_some(fd, found.data(), found.size()), 4);
  close_file(fd);
  EXPECT_TRUE(folder.names().empty());
}

TEST(PlatformFilesTest, LocksBelongToTheOpenFile) {
  const TempFolder folder;
  const std::string path = folder.write("a", "text");
  const int first = open_to_write(path), second = open_to_write(path);
  EXPECT_TRUE(lock_alone(first));
  EXPECT_FALSE(lock_alone(second));
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(content_of(path), "text") << "a lock must not keep others from reading";
  const int copy = duplicate(first);
  close_file(first);
  EXPECT_FALSE(lock_alone(second)) << "the copy still holds the lock";
  close_file(copy);
  EXPECT_TRUE(lock_alone(second));
  close_file(second);
}

TEST(PlatformFilesTest, SharedLocksExcludeALockAlone) {
  const TempFolder folder;
  const int first = open_folder(folder.path()), second = open_folder(folder.path());
  ASSERT_TRUE(lock_alone(first));
  EXPECT_TRUE(lock_shared(first)) << "turns its own lock into a shared one";
  EXPECT_TRUE(lock_shared(second));
  EXPECT_FALSE(lock_alone(second));
  EXPECT_TRUE(is_open_folder(first, folder.path()));
  EXPECT_FALSE(is_open_folder(first, folder / "none"));
  close_file(first);
  close_file(second);
}

TEST(PlatformFilesTest, TouchingChangesTheTime) {
  const TempFolder folder;
  const int fd = create_file(folder / "a");
  const FileInfo before = *describe(fd);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(touch(fd));
  const FileInfo after = *describe(fd);
  close_file(fd);
  EXPECT_GT(std::pair(after.seconds, after.nanoseconds), std::pair(before.seconds, before.nanoseconds));
}

TEST(PlatformFilesTest, ListsByKindAndSuffix) {
  using Names = std::vector<std::string>;
  const TempFolder folder;
  for (const char* name : {"a.npy", "b.txt", "below.npy/c"}) folder.write(name, "");
  const auto listed = [&](const Wanted& wanted) {
    Names names;
    EXPECT_TRUE(list_folder(folder.path(), wanted, names));
    std::ranges::sort(names);
    return names;
  };
  EXPECT_EQ(listed({.kind = FileKind::kFile, .suffix = ".npy"}), Names{"a.npy"});
  EXPECT_EQ(listed({.kind = FileKind::kFolder}), Names{"below.npy"});
  EXPECT_EQ(listed({.kind = std::nullopt}), (Names{"a.npy", "b.txt", "below.npy"}));
  Names names;
  EXPECT_FALSE(list_folder(folder / "none", {.kind = std::nullopt}, names));
  EXPECT_EQ(errno, ENOENT);
}

TEST(PlatformFilesTest, FindsFilesLikeAPattern) {
  const TempFolder folder;
  for (const char* name : {"p1/lib/x.so", "p2/lib/x.so", "q/lib/x.so", "p3/other"}) folder.write(name, "");
  const std::vector<std::string> found = files_like(folder.path() + "/p*/lib/x.so");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].ends_with("p1/lib/x.so")) << found[0];
  EXPECT_TRUE(found[1].ends_with("p2/lib/x.so")) << found[1];
  EXPECT_TRUE(files_like(folder.path() + "/z*").empty());
}

TEST(PlatformFilesTest, UnicodeAndLongPathsWork) {
  const TempFolder folder;
  std::string path = folder.path();
  std::error_code error;
  for (int i = 0; i < 8; ++i) {
    path += "/" + std::string(40, static_cast<char>('a' + i));
    std::filesystem::create_directory(native(path), error);
    ASSERT_FALSE(error) << error.message();
  }
  const std::string file = path + "/\u6a21\u578b \u00fc.bin";
  ASSERT_GT(file.size(), 320u);
  const int fd = create_file(file);
  ASSERT_GE(fd, 0) << std::strerror(errno);
  EXPECT_TRUE(close_file(fd));
  EXPECT_EQ(describe(file)->kind, FileKind::kFile);
  EXPECT_TRUE(remove_file(file.c_str()));
  std::filesystem::remove_all(native(folder.path()), error);
}

TEST(PlatformFilesTest, TemporaryFoldersAreNew) {
  std::string first, second;
  ASSERT_TRUE(make_temporary_folder(first) && make_temporary_folder(second));
  EXPECT_NE(first, second);
  for (const std::string& path : {first, second}) std::filesystem::remove(native(path));
}

TEST(PlatformMemoryTest, MapsPartsOfAnAnonymousFile) {
  const TempFolder folder;
  const int fd = create_nameless(folder.path(), "spill");
  ASSERT_GE(fd, 0);
  const size_t unit = mapping_unit();
  ASSERT_EQ(write_at(fd, "first", 5, 0), 5);
  ASSERT_EQ(write_at(fd, "second", 6, unit), 6);
  const std::byte* const part = map_file(fd, unit, 6, View::kFileLater);
  ASSERT_NE(part, nullptr) << std::strerror(errno);
  drop_pages(part, 6);
  EXPECT_EQ(std::memcmp(part, "second", 6), 0);
  unmap(part, 6);
  release_space(fd, unit, 6);
  std::array<char, 5> found{};
  EXPECT_EQ(read_at(fd, found.data(), 5, 0), 5);
  EXPECT_EQ(std::string(found.data(), 5), "first");
  close_file(fd);
  EXPECT_GT(peak_memory(), uint64_t{1} << 20);
}

TEST(PlatformProcessTest, TellsWhatThisProcessIs) {
  EXPECT_GT(process_number(), 0);
  int other = 0;
  std::thread([&] { other = thread_number(); }).join();
  EXPECT_NE(thread_number(), other);
  uint64_t first = 0, second = 0;
  fill_random(&first, sizeof first);
  fill_random(&second, sizeof second);
  EXPECT_NE(first, second);
  set_environment("QUARKQ_PLATFORM_TEST", "value");
  EXPECT_EQ(environment("QUARKQ_PLATFORM_TEST"), "value");
  EXPECT_EQ(environment("QUARKQ_PLATFORM_TEST_NONE"), "");
}

TEST(PlatformProcessTest, AChildIsReadAndItsExitCodeReturned) {
  using Words = std::vector<std::string>;
  const bool is_windows = backslash_separates();
  Result<Child> child = Child::start(is_windows ? Words{"cmd", "/c", "echo out& echo bad>&2& exit 3"}
                                                : Words{"sh", "-c", "echo out; echo bad >&2; exit 3"});
  ASSERT_TRUE(child.ok()) << child.status().message();
  std::string output, errors;
  while (child.value().read(output, errors, 100)) {
  }
  EXPECT_EQ(output.substr(0, 3), "out");
  EXPECT_EQ(errors.substr(0, 3), "bad");
  std::optional<int> code;
  while (!code) {
    const Result<std::optional<int>> ended = child.value().ended();
    ASSERT_TRUE(ended.ok());
    code = ended.value();
  }
  EXPECT_EQ(*code, 3);
}

TEST(PlatformProcessTest, AMissingProgramIsAnError) {
  const Result<Child> child = Child::start({"quarkq-no-such-program", "a b"});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().code(), Code::kInvalidArgument);
  EXPECT_NE(child.status().message().find("quarkq-no-such-program: cannot be started"), std::string::npos);
}

TEST(PlatformProcessTest, ACopyAnswersOrEnds) {
  if (!can_copy_process()) GTEST_SKIP() << "this system cannot copy a process";
  std::array<std::byte, 4> answer{};
  const auto filled = run_in_copy([](std::span<std::byte> bytes) { bytes[3] = std::byte{7}; }, answer);
  ASSERT_TRUE(filled);
  EXPECT_TRUE(filled->has_answered);
  EXPECT_EQ(answer[3], std::byte{7});
  const auto ended = run_in_copy([](std::span<std::byte>) { end_process(2); }, answer);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->has_answered);
  EXPECT_EQ(ended->exit_code, 2);
}

TEST(PlatformLibraryTest, MissingLibrariesTellWhy) {
  const OpenedLibrary opened = open_library("/no/such/" + library_file("quarkq_none"));
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_NE(opened.why, "");
  EXPECT_NE(own_file().find("quarkq_tests"), std::string::npos);
  EXPECT_TRUE(library_file("a").ends_with(library_suffix()));
}

TEST(PlatformLibraryTest, TheOwnPackagesComeBeforeOthers) {
  const std::vector<std::string> places = places_of_library("pack/capi", "name", "/own");
  const auto own = std::ranges::find_if(places, [](const std::string& place) { return place.starts_with("/own/"); });
  ASSERT_NE(own, places.end());
  for (auto place = places.begin(); place != own; ++place) EXPECT_EQ(place->find("packages"), std::string::npos);
}

TEST(PlatformConsoleTest, AFileIsNoTerminal) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(is_terminal(file));
  EXPECT_FALSE(terminal_columns(file));
  std::fclose(file);
}

}  // namespace
}  // namespace quarkq::platform
