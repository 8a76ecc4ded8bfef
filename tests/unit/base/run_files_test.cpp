// SPDX-License-Identifier: MIT
#include "base/run_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file_system.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

using test::TempFolder;

TEST(RunFilesTest, RefusesInputsUnderAnyName) {
  const TempFolder folder;
  const std::string input = folder.write("in/a", "a"), other = folder.write("b", "b");
  std::filesystem::create_hard_link(input, folder / "hard");
  std::filesystem::create_symlink(input, folder / "soft");
  RunFiles files;
  ASSERT_TRUE(files.add_input(input).ok());
  EXPECT_TRUE(files.add_output(other).ok());
  EXPECT_TRUE(files.add_output(folder / "fresh").ok());
  for (const std::string& name : {input, folder / "in/../in/a", folder / "hard", folder / "soft"}) {
    EXPECT_EQ(files.add_output(name).code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(write_file(name, "new").code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(test::content_of(input), "a");
  EXPECT_TRUE(write_file(other, "new").ok());
}

TEST(RunFilesTest, ComparesInAnyOrder) {
  const TempFolder folder;
  const std::string file = folder.write("in/deep/a", "a");
  RunFiles one, two;
  ASSERT_TRUE(one.add_output(file).ok());
  EXPECT_FALSE(one.add_input(file).ok());
  ASSERT_TRUE(two.add_output(file).ok());
  EXPECT_FALSE(two.add_input(folder / "in").ok());
}

TEST(RunFilesTest, FoldersProtectTheirFilesAndAreNotFilled) {
  const TempFolder folder;
  folder.write("in/deep/a", "a");
  RunFiles files;
  ASSERT_TRUE(files.add_input(folder / "in").ok());
  EXPECT_FALSE(write_file(folder / "in/deep/a", "new").ok());
  EXPECT_TRUE(write_file(folder / "in/deep/b", "new").ok());
  EXPECT_FALSE(files.add_output_folder(folder / "in/.").ok());
  EXPECT_TRUE(files.add_output_folder(folder / "out").ok());
}

TEST(RunFilesTest, InputsThatAreFoundLater) {
  const TempFolder folder;
  const std::string weights = folder.write("w", "w"), output = folder.write("o", "o");
  RunFiles files;
  ASSERT_TRUE(files.add_output(output).ok());
  EXPECT_TRUE(note_input(weights).ok());
  EXPECT_FALSE(write_file(weights, "new").ok());
  ASSERT_TRUE(write_file(folder / "made", "made").ok());
  EXPECT_TRUE(note_input(folder / "made").ok());  // a result that is read again may be written again
  EXPECT_TRUE(write_file(folder / "made", "again").ok());
  EXPECT_FALSE(note_input(output).ok());
}

TEST(RunFilesTest, EndWithTheRun) {
  const TempFolder folder;
  const std::string input = folder.write("a", "a");
  {
    RunFiles files;
    ASSERT_TRUE(files.add_input(input).ok());
    EXPECT_FALSE(write_file(input, "new").ok());
  }
  EXPECT_TRUE(write_file(input, "new").ok());
}

TEST(AtomicFileTest, NamesMayBeAsLongAsTheFileSystemAllows) {
  const TempFolder folder;
  const std::string begin(240, 'n');
  for (const std::string& name : {begin + std::string(15, 'a'), begin + std::string(15, 'b'), std::string(221, 'c')}) {
    ASSERT_TRUE(write_file(folder / name, name).ok()) << name.size();
    EXPECT_EQ(test::content_of(folder / name), name);
  }
  const Result<AtomicFile> first = AtomicFile::create(folder / (begin + "1")),
                           second = AtomicFile::create(folder / (begin + "2"));
  EXPECT_TRUE(first.ok() && second.ok()) << "names that begin alike have one temporary";
}

}  // namespace
}  // namespace quarkq
