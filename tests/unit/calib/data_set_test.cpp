// SPDX-License-Identifier: MIT
// What --calib takes beside a folder of samples: folders of classes, one file, archives.
#include <gtest/gtest.h>

#include <numeric>

#include "calib/reader/archives.h"
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using test::first_values;
using test::in_folder;
using test::npy_of;
using test::refusal;
using test::sample_names;
using test::TempFolder;
using Names = std::vector<std::string>;
using Values = std::vector<std::vector<float>>;

const std::vector<InputSpec> kX = {{"x", ElementType::kFloat, true, {1}}};
const std::vector<InputSpec> kRows = {{"x", ElementType::kFloat, true, {1, 2}}};

std::string rows_npy(int rows, const std::string& fortran = "False") {
  std::vector<float> values(static_cast<size_t>(2 * rows));
  std::iota(values.begin(), values.end(), 0.0f);
  return test::npy_bytes(test::npy_header("<f4", cat("(", rows, ", 2)"), fortran), test::raw_bytes<float>(values));
}

TEST(DataSetTest, FoldersOfClassesAreReadInTheirOrder) {
  const TempFolder folder;
  folder.write("class10/a.npy", npy_of(3));
  folder.write("class9/b.npy", npy_of(2));
  folder.write("class9/a.npy", npy_of(1));
  folder.write("class9/notes.txt", "no sample");
  folder.write("empty/notes.txt", "no sample");
  folder.write(".cache/a.npy", npy_of(9));
  EXPECT_EQ(sample_names(in_folder(folder.path()), kX), (Names{"class9/a", "class9/b", "class10/a"}));
  EXPECT_EQ(first_values(in_folder(folder.path()), kX), (Values{{1}, {2}, {3}}));
}

TEST(DataSetTest, AFolderOfTheInputsNameIsNoClass) {
  const TempFolder folder;
  folder.write("x/a.npy", npy_of(1));
  folder.write("other/b.npy", npy_of(2));
  EXPECT_EQ(sample_names(in_folder(folder.path()), kX), Names{"a"});
}

TEST(DataSetTest, BatchesAreCutIntoRows) {
  const TempFolder folder;
  folder.write("x/a.npy", rows_npy(3));
  folder.write("x/b.npy", rows_npy(2));
  folder.write("k/a.npy", npy_of(8));
  folder.write("k/b.npy", npy_of(9));
  const std::vector<InputSpec> inputs = {kRows[0], {"k", ElementType::kFloat, true, {1}}};  // a vector has no batch
  EXPECT_EQ(sample_names(in_folder(folder.path()), inputs), (Names{"a_0", "a_1", "a_2", "b_0", "b_1"}));
  EXPECT_EQ(first_values(in_folder(folder.path()), inputs), (Values{{0, 8}, {2, 8}, {4, 8}, {0, 9}, {2, 9}}));
  DataOptions four = in_folder(folder.path());
  four.limit = 4;
  EXPECT_EQ(sample_names(four, inputs), (Names{"a_0", "a_1", "a_2", "b_0"}));
  EXPECT_EQ(std::string(open_data(four, inputs).value()->notes().at(0).id.row().id), "samples-split");
}

TEST(DataSetTest, BatchesMayHaveAnyNumberOfRows) {
  const TempFolder folder;
  folder.write("x/a.npy", rows_npy(1));
  folder.write("x/b.npy", rows_npy(3));
  folder.write("x/c.npy", rows_npy(2));
  EXPECT_EQ(sample_names(in_folder(folder.path()), kRows), (Names{"a_0", "b_0", "b_1", "b_2", "c_0", "c_1"}));
  const std::vector<InputSpec> both = {kRows[0], {"z", ElementType::kFloat, true, {1, 2}}};
  for (const char* name : {"z/a.npy", "z/b.npy", "z/c.npy"}) folder.write(name, rows_npy(2));
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), both),
                     "z/a.npy: found 2 rows, another input of the sample has 1");
}

TEST(DataSetTest, ClassesOfTwoKindsAreRefused) {
  const TempFolder folder;
  folder.write("one/a.npy", npy_of(1));
  folder.write("two/b.pb", test::pb_of(2));
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), kX), "one/a.npy and ");
  EXPECT_EQ(first_values(in_folder(folder.path(), "pb"), kX), Values{{2}});
}

TEST(DataSetTest, OneFileIsADataSet) {
  const TempFolder folder;
  EXPECT_EQ(sample_names(in_folder(folder.write("one.npy", npy_of(7))), kX), Names{"one"});
  const std::string many = folder.write("many.npy", rows_npy(3));
  EXPECT_EQ(sample_names(in_folder(many), kRows), (Names{"many_0", "many_1", "many_2"}));
  EXPECT_EQ(first_values(in_folder(many), kRows), (Values{{0}, {2}, {4}}));
  EXPECT_EQ(first_values(in_folder(many), {{"x", ElementType::kFloat, true, {-1, 2}}}), (Values{{0}, {2}, {4}}));
  EXPECT_EQ(first_values(in_folder(many), {{"x", ElementType::kFloat, true, {3, 2}}}), Values{{0}});
  const std::string turned = folder.write("turned.npy", rows_npy(3, "True"));
  EXPECT_EQ(first_values(in_folder(turned), kRows), (Values{{0}, {1}, {2}}));
  const std::string zip = folder.write("both.npz", test::zip_bytes({test::stored("x.npy", rows_npy(2))}));
  EXPECT_EQ(first_values(in_folder(zip), kRows), (Values{{0}, {2}}));
  DataOptions raw = in_folder(folder.write("many.bin", test::raw_bytes<float>({0, 1, 2, 3, 4, 5})));
  raw.raw["x"] = {ElementType::kFloat, {3, 2}};
  EXPECT_EQ(first_values(raw, kRows), (Values{{0}, {2}, {4}}));
  DataOptions limited = in_folder(many);
  limited.limit = 2;
  EXPECT_EQ(first_values(limited, kRows), (Values{{0}, {2}}));
}

TEST(DataSetTest, OneFileThatDoesNotFitIsRefused) {
  const TempFolder folder;
  const std::string many = folder.write("many.npy", rows_npy(3));
  QQ_EXPECT_MENTIONS(refusal(in_folder(many), {{"x", ElementType::kFloat, true, {2, 2}}}), "3 rows for input x");
  QQ_EXPECT_MENTIONS(refusal(in_folder(many), {kRows[0], kX[0]}), "must be .npz");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.write("a.txt", "a.npy")), kX), "calibration.list");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder / "none"), kX), "no such folder or file");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.write("b.npy", "text")), kX), "not a .npy file");
  const std::string uneven = test::zip_bytes({test::stored("x.npy", rows_npy(2)), test::stored("y.npy", rows_npy(3))});
  QQ_EXPECT_MENTIONS(
      refusal(in_folder(folder.write("c.npz", uneven)), {kRows[0], {"y", ElementType::kFloat, true, {1, 2}}}),
      "3 samples for input y, 2 for input x");
}

TEST(DataSetTest, ArchivesAreReadAsFolders) {
  const TempFolder folder;
  const std::string flat = test::tar_bytes({{"b.npy", npy_of(2)}, {"./a.npy", npy_of(1)}});
  const std::string nested = test::tar_bytes({{"set/c2/a.npy", npy_of(3)}, {"set/c1/a.npy", npy_of(4)}});
  const std::string inputs = test::tar_bytes({{"d/x/a.npy", npy_of(5)}, {"d/y/a.npy", npy_of(6)}});
  EXPECT_EQ(first_values(in_folder(folder.write("flat.tar", flat)), kX), (Values{{1}, {2}}));
  EXPECT_EQ(first_values(in_folder(folder.write("flat.tar.gz", test::gzip_bytes(flat))), kX), (Values{{1}, {2}}));
  EXPECT_EQ(sample_names(in_folder(folder.write("nested.tgz", test::gzip_bytes(nested))), kX), (Names{"c1/a", "c2/a"}));
  EXPECT_EQ(first_values(in_folder(folder.write("inputs.tar", inputs)), {kX[0], {"y", ElementType::kFloat, true, {1}}}),
            (Values{{5, 6}}));
}

TEST(DataSetTest, BadArchivesAreRefused) {
  const TempFolder folder;
  const std::string good = test::tar_bytes({{"a.npy", npy_of(1)}}), packed = test::gzip_bytes(good);
  std::string damaged = good;
  damaged[0] = 'b';
  const auto of = [&](const std::string& name, const std::string& bytes) {
    return refusal(in_folder(folder.write(name, bytes)), kX);
  };
  QQ_EXPECT_MENTIONS(of("a.tar", "text"), "truncated tar archive");
  QQ_EXPECT_MENTIONS(of("b.tar", damaged), "not a tar archive");
  QQ_EXPECT_MENTIONS(of("c.tar", good.substr(0, 600)), "truncated tar archive, in a.npy");
  QQ_EXPECT_MENTIONS(of("d.tar", test::tar_bytes({{"x/../../a.npy", npy_of(1)}})), "'x/../../a.npy'");
  QQ_EXPECT_MENTIONS(of("e.tar", test::tar_bytes({{"/a.npy", npy_of(1)}})), "'/a.npy'");
  QQ_EXPECT_MENTIONS(of("f.tar", test::tar_bytes({})), "no samples here");
  QQ_EXPECT_MENTIONS(of("g.tgz", good), "damaged or truncated gzip archive");
  QQ_EXPECT_MENTIONS(of("h.tgz", packed.substr(0, packed.size() - 20)), "damaged or truncated gzip archive");
  QQ_EXPECT_MENTIONS(of("i.tgz", packed + packed), "several parts");
}

TEST(DataSetTest, LongPathsOfArchives) {
  const std::string longest(180, 'p');
  const std::string gnu = test::tar_member("././@LongLink", longest + "/a.npy", 'L') + test::tar_bytes({{"cut", "x"}});
  const std::string pax =
      test::tar_member("PaxHeader", "15 path=ab.npy\n20 ctime=123456.789\n", 'x') + test::tar_bytes({{"cut", "y"}});
  const auto only_path = [](const std::string& bytes) {
    const auto members = read_tar(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "t");
    EXPECT_TRUE(members.ok()) << members.status().message();
    return members.ok() && members.value().size() == 1 ? members.value().begin()->first : "";
  };
  EXPECT_EQ(only_path(gnu), longest + "/a.npy");
  EXPECT_EQ(only_path(pax), "ab.npy");
  EXPECT_EQ(only_path(test::tar_bytes({{longest.substr(0, 120) + "/a.npy", "x"}})), longest.substr(0, 120) + "/a.npy");
  EXPECT_EQ(only_path(test::tar_member("link", "", '2') + test::tar_bytes({{"a", "x"}})), "a");
}

/// The member with its size as GNU writes large ones: big-endian after a set bit.
std::string with_binary_size(std::string member, uint64_t size, char top = '\0') {
  member[124] = '\x80';
  member.replace(125, 3, std::string{top, '\0', '\0'});
  for (size_t i = 0; i < 8; ++i) member[128 + i] = static_cast<char>(size >> (8 * (7 - i)));
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0u : static_cast<uint8_t>(member[i]);
  char octal[8];
  std::snprintf(octal, sizeof octal, "%06o", sum);
  return member.replace(148, 8, std::string(octal, 6) + std::string("\0 ", 2));
}

TEST(DataSetTest, SizesOfArchivesMayBeBinary) {
  const std::string end(1024, '\0'), member = test::tar_member("a", "four");
  const auto read = [&](const std::string& bytes) {
    return read_tar(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "t");
  };
  const auto members = read(with_binary_size(member, 4) + end);
  ASSERT_TRUE(members.ok()) << members.status().message();
  EXPECT_EQ(members.value().at("a").bytes, 4u);
  EXPECT_EQ(members.value().at("a").start, 512u);
  for (const uint64_t size : {uint64_t{5000}, uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_EQ(read(with_binary_size(member, size) + end).status().message(), "t: truncated tar archive, in a");
  }
  EXPECT_EQ(read(with_binary_size(member, 4, '\1') + end).status().message(), "t: not a tar archive")
      << "a size above 64 bits";
}

TEST(DataSetTest, ImagesForFloatsNeedARecipe) {
  const TempFolder folder;
  folder.write("c/a.png", test::png_bytes(2, 2, 1, 2, 3));
  const std::vector<InputSpec> floats = {{"x", ElementType::kFloat, true, {1, 3, 2, 2}}};
  const std::string message = refusal(in_folder(folder.path()), floats);
  QQ_EXPECT_MENTIONS(message, "a.png: an image, and the settings do not specify how its pixels become input x");
  QQ_EXPECT_MENTIONS(message, "--preprocess");
  QQ_EXPECT_MENTIONS(message, "yolo-letterbox");
  QQ_EXPECT_MENTIONS(message, "raw");
  EXPECT_TRUE(open_data(in_folder(folder.path()), {{"x", ElementType::kUInt8, true, {1, 3, 2, 2}}}).ok());
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder / "c/a.png"), floats),
                     "the settings do not specify how its pixels become");
}

}  // namespace
}  // namespace quarkq::calib
