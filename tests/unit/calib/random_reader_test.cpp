// SPDX-License-Identifier: MIT
// Random samples against recorded ones.
#include "calib/data_reader.h"

#include "unit/calib/sample_support.h"
#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

using ir::Shape;
using test::input;

ElementType type_of_dtype(const std::string& dtype) {
  constexpr std::pair<const char*, ElementType> kTypes[] = {
      {"float32", ElementType::kFloat}, {"float64", ElementType::kDouble}, {"float16", ElementType::kFloat16},
      {"int64", ElementType::kInt64},   {"uint8", ElementType::kUInt8},    {"bool", ElementType::kBool}};
  for (const auto& [text, type] : kTypes) {
    if (dtype == text) return type;
  }
  ADD_FAILURE() << dtype;
  return ElementType::kFloat;
}

void expect_recorded_sample(const test::Json& wanted, const RandomDataOptions& options) {
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
  expect_recorded_sample(golden["no_range_shape_1x6"], {});
  RandomDataOptions options;
  for (const auto& [name, range] : golden["range_shape_1x6"]["ranges"].items())
    options.ranges[name] = {range[0], range[1]};
  expect_recorded_sample(golden["range_shape_1x6"]["values"], options);
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

TEST(RandomReaderTest, OtherTypesAndRangesThatAreNoneAreRefused) {
  EXPECT_EQ(make_random_reader({input("x", {2}, ElementType::kString)}, {}).status().code(), Code::kBadData);
  EXPECT_EQ(make_random_reader({input("x", {2}, ElementType::kComplex64)}, {}).status().code(), Code::kBadData);
  for (const auto& range : {std::pair<double, double>{3, 2}, {0, 1e300}, {-1e300, 0}, {0, 4294967295.0}}) {
    RandomDataOptions options;
    options.ranges["x"] = range;
    const auto reader = make_random_reader({input("x", {2}, ElementType::kInt32)}, options);
    ASSERT_FALSE(reader.ok()) << range.second;
    QQ_EXPECT_MENTIONS(reader.status().message(), "RandomDataReaderInputDataRange");
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
    QQ_EXPECT_MENTIONS(reader.status().message(), "input x");
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
