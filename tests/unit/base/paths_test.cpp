// SPDX-License-Identifier: MIT
#include "base/paths.h"

#include "base/file_system.h"
#include "unit/base/temp_folder.h"

namespace quarkq::paths {
namespace {

const std::string kName = "\u6a21\u578b \u00fc\U0001f600";

TEST(PathsTest, ReadsThePartsOfAPath) {
  struct Row {
    std::string path, folder, name, stem, suffix;
  };
  const Row rows[] = {{"a/b.onnx", "a", "b.onnx", "b", ".onnx"},
                      {"b.tar.gz", "", "b.tar.gz", "b.tar", ".gz"},
                      {"a/.hidden", "a", ".hidden", ".hidden", ""},
                      {"a/b/", "a/b", "", "", ""},
                      {"/a", "/", "a", "a", ""},
                      {"", "", "", "", ""},
                      {kName + "/" + kName + ".npy", kName, kName + ".npy", kName, ".npy"}};
  for (const Row& row : rows) {
    EXPECT_EQ(folder_of(row.path), row.folder) << row.path;
    EXPECT_EQ(name_of(row.path), row.name) << row.path;
    EXPECT_EQ(stem_of(row.path), row.stem) << row.path;
    EXPECT_EQ(suffix_of(row.path), row.suffix) << row.path;
  }
}

TEST(PathsTest, JoinsAndSplits) {
  EXPECT_EQ(with_slashes(joined("a", kName)), "a/" + kName);
  EXPECT_EQ(with_slashes(joined("a/", "b")), "a/b");
  EXPECT_EQ(joined("", "b"), "b");
  EXPECT_EQ(with_suffix(kName + ".onnx", ".yaml"), kName + ".yaml");
  EXPECT_EQ(with_suffix("a/b.onnx", ""), "a/b");
  EXPECT_EQ(with_slashes(normal("a/./b/../c")), "a/c");
  EXPECT_EQ(parts_of("a/labels/" + kName), (std::vector<std::string>{"a", "labels", kName}));
  EXPECT_EQ(with_slashes(of_parts({"a", "images", kName})), "a/images/" + kName);
}

TEST(PathsTest, RelativePathsHaveSlashes) {
  EXPECT_EQ(relative_to("a/b/" + kName, "a"), "b/" + kName);
  EXPECT_EQ(relative_to("a/b", "a/c"), "../b");
  EXPECT_EQ(relative_to("a", "a"), ".");
}

TEST(PathsTest, ARootIsRecognized) {
  EXPECT_TRUE(has_root("/a"));
  EXPECT_FALSE(has_root("a/b"));
  EXPECT_FALSE(has_root(kName));
  EXPECT_EQ(name_of(absolute(kName)), kName);
  EXPECT_TRUE(has_root(absolute(kName)));
  EXPECT_EQ(absolute(""), "");
}

TEST(PathsTest, MakesAndRemovesFolders) {
  const test::TempFolder folder;
  const std::string top = folder.path() + "/" + kName;
  std::string deep = top;
  for (const char letter : {'a', 'b', 'c', 'd'}) deep += "/" + std::string(80, letter);
  ASSERT_TRUE(make_folders(deep).ok());
  EXPECT_TRUE(make_folders(deep).ok()) << "a folder that exists is no error";
  const std::string file = deep + "/" + kName + ".txt";
  ASSERT_TRUE(write_file(file, "text").ok());
  EXPECT_EQ(make_folders(file + "/x").message().find(file + "/x: cannot make this folder, "), 0u);
  EXPECT_TRUE(exists(file) && is_taken(file) && is_same(file, deep + "/./" + kName + ".txt"));
  EXPECT_FALSE(is_same(file, deep) || exists(file + "x"));
  remove(deep);
  EXPECT_TRUE(exists(deep)) << "only an empty folder is removed";
  remove_tree(top);
  EXPECT_FALSE(exists(top));
}

TEST(PathsTest, RealPathsEndAtWhatExists) {
  const test::TempFolder folder;
  const std::string own = real(folder.path()).value(), file = folder.write("a.bin", "1");
  EXPECT_EQ(real(file).value(), joined(own, "a.bin"));
  EXPECT_EQ(real(folder.path() + "/x/../a.bin").has_value(), platform::backslash_separates());
  EXPECT_FALSE(real(folder.path() + "/b").has_value());
  EXPECT_EQ(real_so_far(folder.path() + "/b/" + kName), joined(joined(own, "b"), kName));
  EXPECT_EQ(real_so_far(folder.path() + "/b/../c"), joined(own, "c"));
}

TEST(PathsTest, LinksAreRemovedAndNotFollowed) {
  if (platform::backslash_separates()) GTEST_SKIP() << "links need rights on Windows";
  const test::TempFolder folder;
  const std::string kept = folder.write("kept/a.bin", "1");
  ASSERT_TRUE(make_folders(folder / "gone").ok());
  std::filesystem::create_directory_symlink(folder / "kept", folder / "gone/link");
  std::filesystem::create_symlink("nowhere", folder / "gone/dangling");
  EXPECT_TRUE(is_taken(folder / "gone/dangling"));
  EXPECT_FALSE(exists(folder / "gone/dangling"));
  EXPECT_EQ(real(folder / "gone/link/a.bin"), real(kept));
  remove_tree(folder / "gone");
  EXPECT_FALSE(exists(folder / "gone"));
  EXPECT_TRUE(exists(kept));
}

}  // namespace
}  // namespace quarkq::paths
