// SPDX-License-Identifier: MIT
#include "config/named_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/base/temp_folder.h"

namespace quarkq::config {
namespace {

using test::TempFolder;

TEST(NamedFilesTest, FindsWhatSettingsAndTheirFilesName) {
  const TempFolder folder;
  folder.write("samples/0.npy", ""), folder.write("samples/with space.npy", ""), folder.write("rotation.json", "[]");
  const std::string list = folder.write("list.txt", "x=samples/0.npy  # one\n'samples/with space.npy'\nnone.npy\n");
  folder.write("passes.yaml", "a: {b: [" + folder / "rotation.json" + "]}\n");
  const NamedFiles found =
      files_named_by("xint8", {"calibration.list=" + list, "ShapeShifterYaml=" + folder / "passes.yaml",
                               "evaluation.dir=" + folder / "samples", "SaveAndRestore=" + folder / "ranges.json",
                               "exclude=[" + folder / "samples" + ", none]"});
  const auto reads = [&](const std::string& name) { return std::ranges::count(found.read, folder / name); };
  EXPECT_GE(reads("list.txt"), 1);
  EXPECT_GE(reads("samples/0.npy"), 1);
  EXPECT_GE(reads("samples/with space.npy"), 1);
  EXPECT_GE(reads("passes.yaml"), 1);
  EXPECT_GE(reads("rotation.json"), 1);
  EXPECT_EQ(reads("samples"), 1) << "a name to exclude is no folder of samples";
  EXPECT_EQ(reads("samples/none.npy"), 0);
  EXPECT_EQ(found.written, std::vector<std::string>{folder / "ranges.json"});
}

TEST(NamedFilesTest, SettingsThatCannotBeReadNameNothing) {
  EXPECT_TRUE(files_named_by("no such preset", {}).read.empty());
  EXPECT_TRUE(files_named_in("no such file.yaml").read.empty());
}

TEST(NamedFilesTest, FilesThatNameEachOtherEnd) {
  const TempFolder folder;
  const std::string a = folder / "a.yaml", b = folder.write("b.yaml", "x: " + a + "\n");
  folder.write("a.yaml", "x: " + b + "\n");
  EXPECT_LE(files_named_in(a).read.size(), 4u);
}

}  // namespace
}  // namespace quarkq::config
