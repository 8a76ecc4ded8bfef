// SPDX-License-Identifier: MIT
// Sample folders of every layout and format.
#include "calib/reader/file_formats.h"
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using test::first_values;
using test::in_folder;
using test::input;
using test::npy_of;
using test::pb_of;
using test::refusal;
using test::sample_names;
using test::stored;
using test::TempFolder;
using test::zip_bytes;
using Values = std::vector<std::vector<float>>;

const std::vector<InputSpec> kOne = {input("x", {1})};
const std::vector<InputSpec> kTwo = {input("net/x:0", {1}), input("b", {1})};

TEST(SampleFolderTest, EveryFormatGivesTheSameValues) {
  const struct {
    const char *file, *kind;
    std::string bytes;
  } rows[] = {{"s.npy", "npy", npy_of(7)},
              {"s.NPZ", "npz", zip_bytes({stored("x.npy", npy_of(7))})},
              {"s.PB", "pb", pb_of(7)},
              {"s.bin", "raw", test::raw_bytes<float>({7})},
              {"s.RAW", "raw", test::raw_bytes<float>({7})},
              {"s.data", "raw", test::raw_bytes<float>({7})}};
  for (const auto& row : rows) {
    const TempFolder folder;
    folder.write(row.file, row.bytes);
    for (const char* noise : {"README.txt", ".DS_Store", "._s.npy", "s.NPY", "labels.csv", ".npy"})
      folder.write(noise, "?");
    EXPECT_EQ(first_values(in_folder(folder.path()), kOne), (Values{{7}})) << row.file;
    EXPECT_EQ(first_values(in_folder(folder.path(), row.kind), kOne), (Values{{7}})) << row.file;
    EXPECT_EQ(sample_names(in_folder(folder.path()), kOne), std::vector<std::string>{"s"});
    const Sample sample = open_data(in_folder(folder.path()), kOne).value()->read(0).value();
    EXPECT_EQ(sample.files, std::vector<std::string>{folder.path() + "/" + row.file});
  }
}

TEST(SampleFolderTest, ImagesAreReadAndStacked) {
  const TempFolder folder;
  for (int i = 0; i < 5; ++i)
    folder.write(cat("i", i, ".png"), test::png_bytes(2, 2, static_cast<uint8_t>(10 * i), 1, 2));
  DataOptions options = in_folder(folder.path());
  options.preprocess.emplace();
  EXPECT_EQ(first_values(options, {input("x", {1, 3, 2, 2})}), (Values{{0}, {10}, {20}, {30}, {40}}));
  options.preprocess->batch = 2;
  EXPECT_EQ(first_values(options, {input("x", {2, 3, 2, 2})}), (Values{{0}, {20}}));  // the fifth is left out
  EXPECT_EQ(first_values(options, {input("x", {-1, 3, 2, 2})}), (Values{{0}, {20}, {40}}));
  EXPECT_EQ(sample_names(options, {input("x", {-1, 3, 2, 2})}), (std::vector<std::string>{"i0", "i2", "i4"}));
  const auto reader = open_data(options, {input("x", {-1, 3, 2, 2})});
  const ir::Tensor pair = reader.value()->read(1).value().inputs[0];
  EXPECT_EQ(pair.dims(), (ir::Shape{2, 3, 2, 2}));
  EXPECT_EQ(pair.data<float>()[12], 30.0f);
  EXPECT_EQ(reader.value()->read(2).value().inputs[0].dims(), (ir::Shape{1, 3, 2, 2}));
  options.preprocess->batch = 6;
  QQ_EXPECT_MENTIONS(refusal(options, {input("x", {6, 3, 2, 2})}), "holds 5 images, preprocess.batch: 6");
  options.preprocess->batch = 2;
  QQ_EXPECT_MENTIONS(open_data(options, {input("x", {4, 3, 2, 2})}).value()->read(0).status().message(),
                     "i0.png: shape [2,3,2,2]");
}

TEST(SampleFolderTest, EqualNamesKeepTheirSuffixes) {
  const TempFolder folder;
  for (const char* name : {"a.bin", "a.raw", "b.raw"}) folder.write(name, "1234");
  EXPECT_EQ(sample_names(in_folder(folder.path()), kOne), (std::vector<std::string>{"a.bin", "a.raw", "b"}));
}

TEST(SampleFolderTest, MixedKindsNameAFileOfEachAndTheWayOut) {
  const TempFolder folder;
  folder.write("b.npy", npy_of(1));
  folder.write("a.bin", test::raw_bytes<float>({2}));
  const std::string text = refusal(in_folder(folder.path()), kOne);
  QQ_EXPECT_MENTIONS(text, folder.path() + ": holds a.bin and b.npy");
  QQ_EXPECT_MENTIONS(text, "calibration.reader: raw or npy");
  EXPECT_EQ(first_values(in_folder(folder.path(), "npy"), kOne), (Values{{1}}));
  EXPECT_EQ(first_values(in_folder(folder.path(), "raw"), kOne), (Values{{2}}));
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path(), "image"), kOne), "looked for .jpg, .jpeg, .png");
  const auto unknown = open_data(in_folder(folder.path(), "numpy"), kOne);
  EXPECT_EQ(unknown.status().code(), Code::kInvalidArgument);
  QQ_EXPECT_MENTIONS(unknown.status().message(), "found numpy");
}

TEST(SampleFolderTest, FoldersOfSeveralInputsMayHoldDifferentKinds) {
  const TempFolder folder;
  folder.write("net_x_0/s1.npy", npy_of(1));
  folder.write("net_x_0/s10.npy", npy_of(10));
  folder.write("b/s10.pb", pb_of(20));
  folder.write("b/s1.pb", pb_of(2));
  EXPECT_EQ(first_values(in_folder(folder.path()), kTwo), (Values{{1, 2}, {10, 20}}));
  folder.write("b/s10.raw", "1234");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), kTwo), "/b: holds s1.pb and s10.raw");
}

TEST(SampleFolderTest, PairedFilesMustBeUnique) {
  const TempFolder folder;
  folder.write("net_x_0/s.npy", npy_of(1));
  folder.write("b/s.raw", "1234");
  folder.write("b/s.bin", "1234");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), kTwo), "files are paired by their names");
}

TEST(NpzTest, HoldsAllInputs) {
  const TempFolder folder;
  folder.write("1.npz", zip_bytes({stored("extra.npy", npy_of(9)), stored("b.npy", npy_of(2)),
                                   stored("net/x:0.npy", npy_of(1))}));
  folder.write("2.npz", zip_bytes({test::deflated("net_x_0.npy", npy_of(3)), stored("b.npy", npy_of(4)),
                                   stored("readme", "?")}));
  EXPECT_EQ(first_values(in_folder(folder.path()), kTwo), (Values{{1, 2}, {3, 4}}));
}

TEST(NpzTest, OneInputTakesASingleArrayOfAnyName) {
  const TempFolder folder;
  folder.write("1.npz", zip_bytes({stored("arr_0.npy", npy_of(1))}));
  EXPECT_EQ(first_values(in_folder(folder.path()), kOne), (Values{{1}}));
  QQ_EXPECT_MENTIONS(open_data(in_folder(folder.path()), kTwo).value()->read(0).status().message(),
                     "1.npz: contains no array for input net/x:0 (found: arr_0)");
  folder.write("1.npz", zip_bytes({stored("arr_0.npy", npy_of(1)), stored("arr_1.npy", npy_of(1))}));
  QQ_EXPECT_MENTIONS(open_data(in_folder(folder.path()), kOne).value()->read(0).status().message(),
                     "(found: arr_0, arr_1)");
}

TEST(NpzTest, BadArraysNameFileAndEntry) {
  const std::string lying = test::npy_bytes(test::npy_header("<f4", "(1000000,)"), "1234");
  const struct {
    const char* what;
    std::string bytes, message;
  } rows[] = {
      {"no archive", "PK?", "1.npz: not a zip archive"},
      {"no array at all", zip_bytes({}), "(found: none)"},
      {"no .npy in it", zip_bytes({stored("x.npy", "text of some length")}), "1.npz: entry x.npy: not a .npy file"},
      {"false header", zip_bytes({stored("x.npy", lying)}), "entry x.npy: 132 bytes, its header FLOAT[1000000] needs"},
      {"objects", zip_bytes({stored("x.npy", test::npy_bytes(test::npy_header("|O", "(1,)"), "12345678"))}),
       "object array"},
      {"other shape", zip_bytes({stored("x.npy", test::npy_bytes(test::npy_header("<f4", "(2,)"), "12345678"))}),
       "1.npz: shape [2], input x takes [1]"},
  };
  for (const auto& row : rows) {
    const TempFolder folder;
    folder.write("1.npz", row.bytes);
    const Status status = open_data(in_folder(folder.path()), kOne).value()->read(0).status();
    EXPECT_EQ(status.code(), Code::kBadData) << row.what;
    QQ_EXPECT_MENTIONS(status.message(), row.message) << row.what;
  }
}

TEST(TestDataSetTest, FilesGoToInputsByNumber) {
  const TempFolder folder;
  for (int i = 0; i < 11; ++i) {
    folder.write(cat("test_data_set_", i, "/input_0.pb"), pb_of(static_cast<float>(i)));
    folder.write(cat("test_data_set_", i, "/input_1.pb"), pb_of(100));
    folder.write(cat("test_data_set_", i, "/output_0.pb"), pb_of(-1));
  }
  folder.write("model.onnx", "?");
  const Values values = first_values(in_folder(folder.path()), kTwo);
  ASSERT_EQ(values.size(), 11u);
  EXPECT_EQ(values[2], (std::vector<float>{2, 100}));
  EXPECT_EQ(values[10], (std::vector<float>{10, 100}));
  EXPECT_EQ(sample_names(in_folder(folder.path()), kTwo)[10], "test_data_set_10");
  EXPECT_EQ(first_values(in_folder(folder.path() + "/test_data_set_3"), kTwo), (Values{{3, 100}}));
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), kOne), "has input_1.pb, the model has 1 inputs");
  std::filesystem::remove(folder / "test_data_set_4/input_1.pb");
  QQ_EXPECT_MENTIONS(refusal(in_folder(folder.path()), kTwo),
                     "test_data_set_4: has no input_1.pb, which input b needs");
}

TEST(TestDataSetTest, OneInputModelsMayNumberTheirSamplesSo) {
  const TempFolder folder;
  for (int i = 0; i < 3; ++i) folder.write(cat("input_", i, ".pb"), pb_of(static_cast<float>(i)));
  EXPECT_EQ(first_values(in_folder(folder.path()), kOne), (Values{{0}, {1}, {2}}));
}

TEST(TestDataSetTest, DamagedFilesAreBadData) {
  const TempFolder folder;
  folder.write("a.pb", "this is no tensor");
  folder.write("b.pb", std::string("\x08\x05\x10\x01\x4A\x04\0\0\0\0", 10));  // 5 elements in 4 bytes
  const auto reader = open_data(in_folder(folder.path()), kOne);
  ASSERT_TRUE(reader.ok());
  for (size_t i = 0; i < 2; ++i) {
    const Status status = reader.value()->read(i).status();
    EXPECT_EQ(status.code(), Code::kBadData);
    QQ_EXPECT_MENTIONS(status.message(), i == 0 ? "a.pb: " : "b.pb: ");
  }
}

TEST(RawFileTest, TypeAndShapeComeFromTheBlockOrTheModel) {
  const TempFolder folder;
  folder.write("0.raw", std::string("\1\0\2\0", 4));
  DataOptions options = in_folder(folder.path());
  QQ_EXPECT_MENTIONS(open_data(options, {input("x", {2})}).value()->read(0).status().message(),
                     "0.raw: 4 bytes, FLOAT[2] of input x needs 8");
  QQ_EXPECT_MENTIONS(open_data(options, {input("x", {-1})}).value()->read(0).status().message(),
                     "raw values need a shape");
  options.raw[""] = {ElementType::kInt16, {2}};
  EXPECT_EQ(first_values(options, {input("x", {-1})}), (Values{{1}}));
  options.raw["x"] = {ElementType::kUInt8, {4}};
  EXPECT_EQ(open_data(options, {input("x", {-1})}).value()->read(0).value().inputs[0].data<float>()[2], 2.0f);
  options.raw["x"] = {ElementType::kUInt8, {int64_t{1} << 40, int64_t{1} << 40}};
  QQ_EXPECT_MENTIONS(open_data(options, {input("x", {-1})}).value()->read(0).status().message(), "2^48");
}

TEST(FileFormatsTest, SuffixesSayTheKind) {
  for (const auto& [name, kind] : {std::pair<const char*, const char*>{"a.npy", "npy"},
                                   {"a.b.JPeG", "image"},
                                   {"a.PNG", "image"},
                                   {"dir/a.Data", "raw"},
                                   {"a.pb", "pb"}}) {
    const FileFormat* format = format_of(name, "");
    ASSERT_NE(format, nullptr) << name;
    EXPECT_STREQ(format->kind, kind);
  }
  for (const char* name : {"a.NPY", ".npy", "npy", "a.npy.txt", "a.onnx", ""})
    EXPECT_EQ(format_of(name, ""), nullptr) << name;
  EXPECT_EQ(format_of("a.npy", "raw"), nullptr);
}

}  // namespace
}  // namespace quarkq::calib
