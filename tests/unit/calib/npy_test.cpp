// SPDX-License-Identifier: MIT
// .npy files: every dtype there and back, the forms NumPy writes, and files with false headers.
#include "calib/npy.h"

#include <bit>
#include <cstring>

#include "unit/base/temp_folder.h"
#include "unit/calib/file_bytes.h"

namespace quarkq::calib {
namespace {

using ir::Shape;
using ir::Tensor;

using test::npy_bytes;

std::string header_of(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return test::npy_header(descr, shape, order);
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return test::raw_bytes(values);
}

Result<Tensor> parse(const std::string& bytes) {
  return parse_npy(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "t.npy");
}

/// A tensor whose bytes are 1, 2, 3, ...; bools are 0 and 1.
Tensor counting(ElementType type, const Shape& dims) {
  Tensor tensor = Tensor::zeros(type, dims);
  for (int64_t i = 0; i < tensor.bytes(); ++i) {
    tensor.mutable_raw()[i] = static_cast<std::byte>(type == ElementType::kBool ? i % 2 : i + 1);
  }
  return tensor;
}

TEST(NpyTest, EveryDtypeThereAndBack) {
  const test::TempFolder folder;
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kInt8,
                                 ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16, ElementType::kInt32,
                                 ElementType::kUInt32, ElementType::kInt64, ElementType::kUInt64, ElementType::kBool}) {
    for (const Shape& dims : {Shape{}, Shape{7}, Shape{2, 3}, Shape{1, 3, 2, 2}, Shape{0}, Shape{3, 0, 2}}) {
      const std::string path = folder / "a.npy";
      const Tensor before = counting(type, dims);
      ASSERT_TRUE(write_npy(path, before).ok());
      const Result<Tensor> after = read_npy(path);
      ASSERT_TRUE(after.ok()) << after.status().message();
      EXPECT_TRUE(after.value().same_as(before)) << name(type) << " rank " << dims.size();
    }
  }
}

TEST(NpyTest, WritesTheBytesThatNumPyWrites) {
  const test::TempFolder folder;
  const std::string path = folder / "a.npy";
  ASSERT_TRUE(write_npy(path, Tensor::from<float>({2, 1}, std::vector<float>{1, 2})).ok());
  EXPECT_EQ(test::content_of(path), npy_bytes(header_of("<f4", "(2, 1)"), raw<float>({1, 2})));
  ASSERT_TRUE(write_npy(path, Tensor::from<uint8_t>({3}, std::vector<uint8_t>{1, 2, 3})).ok());
  EXPECT_EQ(test::content_of(path), npy_bytes(header_of("|u1", "(3,)"), "\1\2\3"));
  ASSERT_TRUE(write_npy(path, Tensor::scalar<int64_t>(5)).ok());
  EXPECT_EQ(test::content_of(path), npy_bytes(header_of("<i8", "()"), raw<int64_t>({5})));
}

TEST(NpyTest, RefusesToWriteWhatNumPyHasNoDtypeFor) {
  const test::TempFolder folder;
  for (const ElementType type : {ElementType::kBFloat16, ElementType::kInt4, ElementType::kFloat8E5M2}) {
    const Status status = write_npy(folder / "a.npy", Tensor::zeros(type, {2}));
    EXPECT_EQ(status.code(), Code::kUnsupported);
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(NpyTest, ReadsVersionsOneToThree) {
  for (const int version : {1, 2, 3}) {
    const Result<Tensor> tensor = parse(npy_bytes(header_of("<i4", "(2,)"), raw<int32_t>({3, -4}), version));
    ASSERT_TRUE(tensor.ok()) << version << " " << tensor.status().message();
    EXPECT_TRUE(tensor.value().same_as(Tensor::from<int32_t>({2}, std::vector<int32_t>{3, -4})));
  }
}

TEST(NpyTest, FortranOrderBecomesCOrder) {
  // [[1, 2, 3], [4, 5, 6]] by columns
  const Result<Tensor> matrix = parse(npy_bytes(header_of("<i2", "(2, 3)", "True"), raw<int16_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(matrix.ok());
  EXPECT_TRUE(matrix.value().same_as(Tensor::from<int16_t>({2, 3}, std::vector<int16_t>{1, 2, 3, 4, 5, 6})));
  std::vector<double> columns(24), rows(24);
  for (size_t a = 0; a < 2; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      for (size_t c = 0; c < 4; ++c) {
        columns[a + 2 * b + 6 * c] = rows[12 * a + 4 * b + c] = static_cast<double>(100 * a + 10 * b + c);
      }
    }
  }
  const Result<Tensor> cube = parse(npy_bytes(header_of("<f8", "(2, 3, 4)", "True"), raw(columns)));
  ASSERT_TRUE(cube.ok());
  EXPECT_TRUE(cube.value().same_as(Tensor::from<double>({2, 3, 4}, rows)));
  EXPECT_TRUE(parse(npy_bytes(header_of("<f8", "(2, 0, 4)", "True"), "")).ok());
}

TEST(NpyTest, BigEndianIsSwapped) {
  const Result<Tensor> ints = parse(npy_bytes(header_of(">i4", "(2,)"), std::string("\0\0\1\2\xFF\xFF\xFF\xFE", 8)));
  ASSERT_TRUE(ints.ok());
  EXPECT_TRUE(ints.value().same_as(Tensor::from<int32_t>({2}, std::vector<int32_t>{258, -2})));
  const Result<Tensor> floats = parse(npy_bytes(header_of(">f4", "()"), std::string("\x3F\xC0\0\0", 4)));
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(floats.value().data<float>()[0], 1.5f);
  // Swapped and by columns at once: [[1, 2], [3, 4]].
  const Result<Tensor> both = parse(npy_bytes(header_of(">u2", "(2, 2)", "True"), std::string("\0\1\0\3\0\2\0\4", 8)));
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(both.value().same_as(Tensor::from<uint16_t>({2, 2}, std::vector<uint16_t>{1, 2, 3, 4})));
}

TEST(NpyTest, AcceptsKeysInAnyOrderAndPythonTwoLongs) {
  const Result<Tensor> tensor =
      parse(npy_bytes("{'shape': (2L, 1L), 'fortran_order': False, 'descr': '=u1'}", "\7\10"));
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor.value().dims(), (Shape{2, 1}));
}

struct BadArray {
  const char* what;
  std::string bytes, message;  ///< message: a part of the expected message
};

std::vector<BadArray> bad_files() {
  const std::string four = raw<float>({1});
  std::string long_header = npy_bytes(header_of("<f4", "(1,)"), four, 2);
  std::string many_ones = "(";
  for (int i = 0; i < 65; ++i) many_ones += "1,";
  many_ones += ")";
  long_header.replace(8, 4, std::string("\0\0\0\x7F", 4));
  return {
      {"empty file", "", "not a .npy file"},
      {"other file", "PK\3\4 this is a zip archive", "not a .npy file"},
      {"ends in the magic", "\x93NUMPY", "not a .npy file"},
      {"version 4", npy_bytes(header_of("<f4", "(1,)"), four, 4), "version 4, supported are 1 to 3"},
      {"version 0", npy_bytes(header_of("<f4", "(1,)"), four, 0), "version 0"},
      {"header longer than the file", std::string("\x93NUMPY\1\0\xFF\x7F", 10), "truncated header"},
      {"header of two gigabytes", long_header, "truncated header"},
      {"version 2 without its length", std::string("\x93NUMPY\2\0\1\0", 10), "truncated header"},
      {"truncated data", npy_bytes(header_of("<f4", "(3,)"), four), "holds 4 bytes of data"},
      {"too much data", npy_bytes(header_of("<f4", "(1,)"), four + four), "holds 8 bytes of data"},
      {"object array", npy_bytes(header_of("|O", "(1,)"), four), "object array"},
      {"structured array", npy_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", four),
       "structured"},
      {"complex", npy_bytes(header_of("<c8", "(1,)"), four + four), "dtype '<c8' is not supported"},
      {"text", npy_bytes(header_of("<U1", "(1,)"), four), "dtype '<U1' is not supported"},
      {"no shape", npy_bytes("{'descr': '<f4', 'fortran_order': False, }", four), "lacks"},
      {"no header", npy_bytes("", four), "lacks"},
      {"negative dimension", npy_bytes(header_of("<f4", "(-1,)"), four), "malformed"},
      {"two numbers in one dimension", npy_bytes(header_of("<f4", "(1 1,)"), four), "malformed"},
      {"sixty-five dimensions", npy_bytes(header_of("<f4", many_ones), four), "more than 64 dimensions"},
      {"order of neither kind", npy_bytes(header_of("<f4", "(1,)", "perhaps"), four), "neither True nor False"},
      {"long double", npy_bytes(header_of("<f16", "(1,)"), four), "dtype '<f16' is not supported"},
      {"bytes", npy_bytes(header_of("|S4", "(1,)"), four), "dtype '|S4' is not supported"},
      {"dates", npy_bytes(header_of("<M8[s]", "(1,)"), four + four), "is not supported"},
      {"bfloat16 as raw bytes", npy_bytes(header_of("<V2", "(2,)"), four), "dtype '<V2' is not supported"},
      {"zero elements and a wild product", npy_bytes(header_of("<f4", "(0, 99999999, 99999999)"), ""), "2^48"},
      {"words as shape", npy_bytes(header_of("<f4", "(one,)"), four), "malformed"},
      {"no tuple", npy_bytes(header_of("<f4", "1"), four), "no shape"},
      {"tuple without end", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4", four), "malformed"},
      {"huge dimension", npy_bytes(header_of("<f4", "(99999999999999999999,)"), four), "dimension above 2^48"},
      {"huge product", npy_bytes(header_of("<f4", "(16777216, 16777216, 16777216)"), four), "t.npy"},
  };
}

TEST(NpyTest, BadFilesAreNamedWithTheirCause) {
  for (const BadArray& row : bad_files()) {
    const Result<Tensor> tensor = parse(row.bytes);
    ASSERT_FALSE(tensor.ok()) << row.what;
    EXPECT_EQ(tensor.status().code(), Code::kBadData) << row.what;
    EXPECT_TRUE(tensor.status().message().starts_with("t.npy: ")) << tensor.status().message();
    EXPECT_NE(tensor.status().message().find(row.message), std::string::npos)
        << row.what << ": " << tensor.status().message();
  }
}

TEST(NpyTest, EveryTruncationIsRefused) {
  const std::string whole = npy_bytes(header_of("<f4", "(4,)"), raw<float>({1, 2, 3, 4}));
  ASSERT_TRUE(parse(whole).ok());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) EXPECT_FALSE(parse(whole.substr(0, bytes)).ok()) << bytes;
}

TEST(NpyTest, MissingFileIsBadData) {
  const Result<Tensor> tensor = read_npy("/nowhere/x.npy");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), Code::kBadData);
  EXPECT_NE(tensor.status().message().find("/nowhere/x.npy"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::calib
