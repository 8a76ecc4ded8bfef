// SPDX-License-Identifier: MIT
// Sample folders, fitting arrays to inputs, and random samples against recorded ones.
#include "calib/data_reader.h"

#include <limits>

#include "calib/npy.h"
#include "numeric/half.h"
#include "unit/base/temp_folder.h"
#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

using ir::Shape;
using ir::Tensor;

InputSpec input(const std::string& name, Shape dims, ElementType type = ElementType::kFloat) {
  return {name, type, true, std::move(dims)};
}

Tensor floats(const Shape& dims, float first = 0) {
  Tensor tensor = Tensor::zeros(ElementType::kFloat, dims);
  for (float& value : tensor.mutable_data<float>()) value = first++;
  return tensor;
}

void save(const test::TempFolder& folder, const std::string& file, const Tensor& tensor) {
  ASSERT_TRUE(write_npy(folder / file, tensor).ok());
}

std::string refusal(const std::string& folder, std::vector<InputSpec> inputs) {
  const auto reader = open_npy_folder(folder, std::move(inputs), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), Code::kBadData);
  return reader.status().message();
}

#define EXPECT_MENTIONS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(NpyFolderTest, OneInputReadsTheFolderItselfInNaturalOrder) {
  const test::TempFolder folder;
  for (const char* name : {"img10.npy", "img9.npy", "img1.npy"}) save(folder, name, floats({1, 2}));
  folder.write("readme.txt", "no sample");
  const auto reader = open_npy_folder(folder.path(), {input("x", {1, 2})}, 0);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader.value()->size(), 3u);
  EXPECT_EQ(reader.value()->read(0).value().name, "img1");
  EXPECT_EQ(reader.value()->read(1).value().name, "img9");
  EXPECT_EQ(reader.value()->read(2).value().name, "img10");
}

TEST(NpyFolderTest, LimitTakesTheFirstSamples) {
  const test::TempFolder folder;
  for (int i = 0; i < 5; ++i) save(folder, cat(i, ".npy"), floats({1}, static_cast<float>(i)));
  EXPECT_EQ(open_npy_folder(folder.path(), {input("x", {1})}, 2).value()->size(), 2u);
  EXPECT_EQ(open_npy_folder(folder.path(), {input("x", {1})}, 9).value()->size(), 5u);
}

TEST(NpyFolderTest, SeveralInputsArePairedByFileName) {
  const test::TempFolder folder;
  for (const char* name : {"s1", "s2"}) {
    save(folder, cat("a/", name, ".npy"), floats({1}, name[1] == '1' ? 10.0f : 20.0f));
    save(folder, cat("b/", name, ".npy"), floats({1}, name[1] == '1' ? 11.0f : 21.0f));
  }
  const auto reader = open_npy_folder(folder.path(), {input("b", {1}), input("a", {1})}, 0);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Sample sample = reader.value()->read(1).value();
  EXPECT_EQ(sample.name, "s2");
  EXPECT_EQ(sample.inputs[0].data<float>()[0], 21.0f);  // in input order, not folder order
  EXPECT_EQ(sample.inputs[1].data<float>()[0], 20.0f);
}

TEST(NpyFolderTest, OneInputMayHaveItsOwnFolder) {
  const test::TempFolder folder;
  save(folder, "x/0.npy", floats({1}));
  EXPECT_TRUE(open_npy_folder(folder.path(), {input("x", {1})}, 0).ok());
}

TEST(NpyFolderTest, SlashAndColonOfAnInputNameMayBeUnderscores) {
  const test::TempFolder folder;
  save(folder, "net_x_0/0.npy", floats({1}));
  save(folder, "y_0/0.npy", floats({1}));
  const auto reader = open_npy_folder(folder.path(), {input("net/x:0", {1}), input("y:0", {1})}, 0);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
}

TEST(NpyFolderTest, MissingPartnerNamesFileAndBothFolders) {
  const test::TempFolder folder;
  save(folder, "a/0.npy", floats({1}));
  save(folder, "a/1.npy", floats({1}));
  save(folder, "b/0.npy", floats({1}));
  const std::string text = refusal(folder.path(), {input("a", {1}), input("b", {1})});
  EXPECT_MENTIONS(text, folder.path() + "/b: has no 1.npy");
  EXPECT_MENTIONS(text, folder.path() + "/a");
  EXPECT_MENTIONS(refusal(folder.path(), {input("b", {1}), input("a", {1})}), folder.path() + "/b: has no 1.npy");
}

TEST(NpyFolderTest, WrongFoldersAreExplained) {
  const test::TempFolder folder;
  EXPECT_MENTIONS(refusal(folder / "none", {input("x", {1})}), "no such folder");
  EXPECT_MENTIONS(refusal(folder.path(), {input("x", {1})}), "no .npy files here");
  EXPECT_MENTIONS(refusal(folder.path(), {}), "no inputs");
  save(folder, "image/0.npy", floats({1}));
  EXPECT_MENTIONS(refusal(folder.path(), {input("images", {1})}), "did you mean image?");
  EXPECT_MENTIONS(refusal(folder.path(), {input("image", {1}), input("mask", {1})}), "no folder for input mask");
}

TEST(NpyFolderTest, UnfitFilesAreNamedWithFoundAndWanted) {
  const test::TempFolder folder;
  save(folder, "0.npy", floats({1, 3, 5}));
  save(folder, "1.npy", Tensor::from<int32_t>({1, 3, 4}, std::vector<int32_t>(12)));
  folder.write("2.npy", "nothing of the kind");
  const auto reader = open_npy_folder(folder.path(), {input("x", {-1, 3, 4})}, 0);
  ASSERT_TRUE(reader.ok());
  const std::string shape = reader.value()->read(0).status().message();
  EXPECT_MENTIONS(shape, folder.path() + "/0.npy: shape [1,3,5], input x takes [?,3,4]");
  EXPECT_MENTIONS(reader.value()->read(1).status().message(), "1.npy: holds INT32, input x takes FLOAT");
  EXPECT_MENTIONS(reader.value()->read(2).status().message(), "2.npy: not a .npy file");
}

Result<Tensor> fit(const Tensor& tensor, const InputSpec& spec) { return fit_to_input(tensor, spec, "f.npy"); }

TEST(FitToInputTest, ShapesAreBroughtInForm) {
  EXPECT_EQ(fit(floats({12}), input("x", {1, 3, 4})).value().dims(), (Shape{1, 3, 4}));    // flat
  EXPECT_EQ(fit(floats({3, 4}), input("x", {1, 3, 4})).value().dims(), (Shape{1, 3, 4}));  // batch dimension added
  EXPECT_EQ(fit(floats({3, 4}), input("x", {-1, 3, 4})).value().dims(), (Shape{1, 3, 4}));
  EXPECT_EQ(fit(floats({5, 3, 4}), input("x", {-1, 3, 4})).value().dims(), (Shape{5, 3, 4}));
  EXPECT_EQ(fit(floats({7}), input("x", {-1})).value().dims(), (Shape{7}));
  EXPECT_EQ(fit(floats({7, 9}), {"x", ElementType::kFloat, false, {}}).value().dims(), (Shape{7, 9}));  // nothing known
}

TEST(FitToInputTest, OtherShapesAreRefused) {
  EXPECT_FALSE(fit(floats({12}), input("x", {-1, 3, 4})).ok());  // flat needs every dimension known
  EXPECT_FALSE(fit(floats({11}), input("x", {1, 3, 4})).ok());
  EXPECT_FALSE(fit(floats({4, 3}), input("x", {1, 3, 4})).ok());
  EXPECT_FALSE(fit(floats({2, 3, 4}), input("x", {1, 3, 4})).ok());
  EXPECT_FALSE(fit(floats({1, 1, 3, 4}), input("x", {1, 3, 4})).ok());
}

TEST(FitToInputTest, KindsAreKeptAndWidthsConverted) {
  const Tensor doubles = Tensor::from<double>({2}, std::vector<double>{0.1, -2});
  EXPECT_EQ(fit(doubles, input("x", {2})).value().data<float>()[0], 0.1f);
  EXPECT_EQ(fit(doubles, input("x", {2}, ElementType::kFloat16)).value().data<uint16_t>()[1], float16_from_float(-2));
  EXPECT_EQ(fit(floats({2}), input("x", {2}, ElementType::kDouble)).value().data<double>()[1], 1.0);
  const Tensor ints = Tensor::from<int64_t>({2}, std::vector<int64_t>{-1, 200});
  EXPECT_EQ(fit(ints, input("x", {2}, ElementType::kInt32)).value().data<int32_t>()[0], -1);
  EXPECT_MENTIONS(fit(ints, input("x", {2}, ElementType::kInt8)).status().message(), "f.npy: value 200 does not fit");
  EXPECT_MENTIONS(fit(ints, input("x", {2}, ElementType::kUInt8)).status().message(), "f.npy: value -1 does not fit");
  EXPECT_FALSE(fit(floats({2}), input("x", {2}, ElementType::kInt64)).ok());
  EXPECT_FALSE(fit(floats({2}), input("x", {2}, ElementType::kBool)).ok());
}

ElementType type_of_dtype(const std::string& dtype) {
  const std::pair<const char*, ElementType> kTypes[] = {
      {"float32", ElementType::kFloat}, {"float64", ElementType::kDouble}, {"float16", ElementType::kFloat16},
      {"int64", ElementType::kInt64},   {"uint8", ElementType::kUInt8},    {"bool", ElementType::kBool}};
  for (const auto& [text, type] : kTypes) {
    if (dtype == text) return type;
  }
  ADD_FAILURE() << dtype;
  return ElementType::kFloat;
}

void expect_recorded(const test::Json& wanted, const RandomDataOptions& options) {
  std::vector<InputSpec> inputs;
  for (const auto& [name, entry] : wanted.items()) inputs.push_back(input(name, {1, 6}, type_of_dtype(entry["dtype"])));
  const auto reader = make_random_reader(inputs, options);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader.value()->size(), 1u);
  const Sample sample = reader.value()->read(0).value();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<double> found = ir::to_double(sample.inputs[i]).value();
    for (size_t k = 0; k < found.size(); ++k) {
      const std::string text = wanted[inputs[i].name]["values"][k];
      EXPECT_EQ(found[k], text == "True" ? 1.0 : std::stod(text)) << inputs[i].name << " " << k;
    }
  }
}

TEST(RandomReaderTest, NumbersAreTheRecordedOnes) {
  QQ_SKIP_WITHOUT_GOLDEN();
  const test::Json& golden = test::golden_calibration()["random_data_reader"];
  expect_recorded(golden["no_range_shape_1x6"], {});
  RandomDataOptions options;
  for (const auto& [name, range] : golden["range_shape_1x6"]["ranges"].items())
    options.ranges[name] = {range[0], range[1]};
  expect_recorded(golden["range_shape_1x6"]["values"], options);
}

TEST(RandomReaderTest, UnknownDimensionsGetTheRecordedSizes) {
  QQ_SKIP_WITHOUT_GOLDEN();
  std::vector<InputSpec> inputs;
  for (size_t rank = 1; rank <= 5; ++rank) inputs.push_back(input(cat("x", rank - 1), Shape(rank, -1)));
  inputs.push_back(input("x5", {}));
  const Sample sample = make_random_reader(inputs, {}).value()->read(0).value();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const test::Json& wanted = test::golden_calibration()["random_data_reader"]["dynamic_shapes"][inputs[i].name];
    EXPECT_EQ(sample.inputs[i].dims(), wanted.get<Shape>()) << inputs[i].name;
  }
}

TEST(RandomReaderTest, ShapesAndRangesMustNameEveryInput) {
  RandomDataOptions shapes, ranges;
  shapes.shapes["y"] = {1};
  ranges.ranges["y"] = {0, 1};
  for (const RandomDataOptions& options : {shapes, ranges}) {
    const auto reader = make_random_reader({input("x", {1})}, options);
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.status().code(), Code::kInvalidArgument);
    EXPECT_MENTIONS(reader.status().message(), "input x");
  }
}

TEST(RandomReaderTest, GivenShapesWinUnlessADimensionIsOpen) {
  RandomDataOptions options;
  options.shapes["x"] = {-1, 5};
  EXPECT_EQ(make_random_reader({input("x", {-1, 7})}, options).value()->read(0).value().inputs[0].dims(),
            (Shape{1, 5}));
  options.shapes["x"] = {2, -1};
  EXPECT_EQ(make_random_reader({input("x", {-1, 7})}, options).value()->read(0).value().inputs[0].dims(),
            (Shape{1, 7}));
}

}  // namespace
}  // namespace quarkq::calib
