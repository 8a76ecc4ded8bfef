// SPDX-License-Identifier: MIT
// From an image file to a model's input: framing, colour order, arithmetic, layout, element types, and what does not
// fit.
#include "calib/image/read_image.h"

#include <gtest/gtest.h>

#include "calib/image/resize_image.h"
#include "config/load.h"
#include "unit/calib/image_files.h"

namespace quarkq::calib {
namespace {

using ir::Shape;
using test_image::pattern;
using test_image::png_of;

config::Preprocess block(const std::string& yaml) {
  const Result<config::Node> node = config::parse_text(yaml, "t.yaml");
  EXPECT_TRUE(node.ok());
  const Result<config::Preprocess> read = config::read_preprocess(node.value());
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? read.value() : config::Preprocess{};
}

InputSpec input_of(Shape dims, ElementType type = ElementType::kFloat) {
  return {"image", type, !dims.empty(), std::move(dims)};
}

Result<ir::Tensor> read_file(const std::string& name, const std::string& bytes, const config::Preprocess& preprocess,
                             const InputSpec& input) {
  return read_image({name, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, preprocess, input);
}

class ImageReadTest : public ::testing::Test {
 protected:
  Result<ir::Tensor> read(const Image& image, const std::string& yaml, const InputSpec& input) {
    return read_file("t/a.png", png_of(image), block(yaml), input);
  }
  /// The refusal, which must name the file.
  std::string refusal(const Image& image, const std::string& yaml, const InputSpec& input) {
    const Result<ir::Tensor> tensor = read(image, yaml, input);
    EXPECT_FALSE(tensor.ok()) << yaml;
    EXPECT_EQ(tensor.status().code(), Code::kBadData);
    EXPECT_NE(tensor.status().message().find("/a.png: "), std::string::npos) << tensor.status().message();
    return tensor.status().message();
  }
};

std::vector<float> floats(const Result<ir::Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  if (!tensor.ok()) return {};
  return {tensor.value().data<float>().begin(), tensor.value().data<float>().end()};
}

const Image kTwo = {1, 2, 3, {10, 20, 30, 40, 50, 60}};

TEST_F(ImageReadTest, DefaultsGivePlainPixelsByPlanes) {
  const Result<ir::Tensor> tensor = read(kTwo, "", input_of({1, 3, 1, 2}));
  EXPECT_EQ(floats(tensor), (std::vector<float>{10, 40, 20, 50, 30, 60}));
  EXPECT_EQ(tensor.value().dims(), (Shape{1, 3, 1, 2}));
}

TEST_F(ImageReadTest, ColourOrders) {
  EXPECT_EQ(floats(read(kTwo, "color: BGR", input_of({}))), (std::vector<float>{30, 60, 20, 50, 10, 40}));
  EXPECT_EQ(floats(read(kTwo, "color: RGBA", input_of({}))), (std::vector<float>{10, 40, 20, 50, 30, 60, 255, 255}));
  EXPECT_EQ(floats(read(kTwo, "color: BGRA", input_of({}))), (std::vector<float>{30, 60, 20, 50, 10, 40, 255, 255}));
  EXPECT_EQ(floats(read(kTwo, "color: GRAY", input_of({}))), (std::vector<float>{18, 48}));
}

TEST_F(ImageReadTest, LayoutFollowsTheInputUnlessGiven) {
  const std::vector<float> by_pixels = {10, 20, 30, 40, 50, 60};
  EXPECT_EQ(floats(read(kTwo, "", input_of({1, 1, 2, 3}))), by_pixels);
  EXPECT_EQ(floats(read(kTwo, "", input_of({-1, -1, -1, 3}))), by_pixels);
  EXPECT_EQ(floats(read(kTwo, "layout: NHWC", input_of({}))), by_pixels);
  const Image square = pattern(3, 3, 3);  // both axes could be channels: NCHW
  EXPECT_EQ(floats(read(square, "", input_of({1, 3, 3, 3})))[1], static_cast<float>(square.pixels[3]));
  EXPECT_NE(refusal(kTwo, "layout: NCHW", input_of({1, 1, 2, 3})).find("takes 2x3"), std::string::npos);
}

TEST_F(ImageReadTest, ScaleThenMeanThenStdInFloat) {
  const std::string yaml = "{scale: 1/255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}";
  const std::vector<float> values = floats(read(kTwo, yaml, input_of({})));
  const float scale = static_cast<float>(1.0 / 255);
  EXPECT_EQ(values[0], (10 * scale - 0.485f) / 0.229f);
  EXPECT_EQ(values[3], (50 * scale - 0.456f) / 0.224f);
  EXPECT_EQ(values[5], (60 * scale - 0.406f) / 0.225f);
  // mean and std are in the order of `color`, and one value stands for all.
  EXPECT_EQ(floats(read(kTwo, "{color: BGR, mean: [1, 2, 3], std: 2}", input_of({})))[0], (30 - 1) / 2.0f);
}

TEST_F(ImageReadTest, ConvertsToTheTypeOfTheInput) {
  const Result<ir::Tensor> bytes = read(kTwo, "layout: NHWC", input_of({1, 1, 2, 3}, ElementType::kUInt8));
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_TRUE(bytes.value().same_as(ir::Tensor::from<uint8_t>({1, 1, 2, 3}, kTwo.pixels)));
  const Result<ir::Tensor> small = read(kTwo, "mean: 128", input_of({}, ElementType::kInt8));
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_EQ(small.value().data<int8_t>()[0], -118);
  const Result<ir::Tensor> half = read(kTwo, "scale: 0.5", input_of({}, ElementType::kFloat16));
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half.value().data<uint16_t>()[0], 0x4500);  // 5
  const Result<ir::Tensor> wide = read(kTwo, "", input_of({}, ElementType::kDouble));
  EXPECT_EQ(wide.value().data<double>()[1], 40);
}

TEST_F(ImageReadTest, IntegerInputsRefuseFractionsAndOverflowWhateverTheImageShows) {
  const Image black = {1, 1, 3, {0, 0, 0}};
  const InputSpec bytes = input_of({}, ElementType::kUInt8), small = input_of({}, ElementType::kInt8);
  EXPECT_NE(refusal(black, "scale: 1/255", bytes).find("leave out scale, mean and std"), std::string::npos);
  EXPECT_NE(refusal(black, "", small).find("value 128 does not fit"), std::string::npos);
  EXPECT_NE(refusal(black, "mean: 1", bytes).find("value -1 does not fit"), std::string::npos);
  EXPECT_NE(refusal(black, "", input_of({}, ElementType::kBool)).find("takes BOOL"), std::string::npos);
  EXPECT_NE(refusal(black, "", input_of({}, ElementType::kFloat8E4M3Fn)).find("FLOAT8E4M3FN"), std::string::npos);
  EXPECT_NE(refusal(black, "", input_of({}, ElementType::kString)).find("takes STRING"), std::string::npos);
  EXPECT_NE(refusal(black, "{scale: 3e38, std: 0.001}", input_of({})).find("exceed the range of float32"),
            std::string::npos);
}

TEST_F(ImageReadTest, OtherSizesAreAnErrorThatNamesTheWayOut) {
  const std::string plain = refusal(pattern(4, 6, 3), "", input_of({1, 3, 5, 5}));
  EXPECT_NE(plain.find("4x6, the input takes 5x5 (height x width); preprocess: {resize: {mode: stretch}}"),
            std::string::npos)
      << plain;
  const std::string framed = refusal(pattern(4, 6, 3), "resize: {mode: keep_ratio}", input_of({1, 3, 6, 6}));
  EXPECT_NE(framed.find("4x6 after resizing and cropping, the input takes 6x6"), std::string::npos) << framed;
  EXPECT_NE(refusal(pattern(4, 6, 3), "crop: 5", input_of({})).find("a crop of 5x5 does not fit"), std::string::npos);
  EXPECT_NE(refusal(kTwo, "", input_of({1, 4, 1, 2})).find("image takes [1,4,1,2]"), std::string::npos);
  EXPECT_NE(refusal(kTwo, "", input_of({8, 3, 1, 2})).find("takes [8,3,1,2]"), std::string::npos);
  EXPECT_NE(refusal(kTwo, "", input_of({1, 6})).find("takes [1,6]"), std::string::npos);
  EXPECT_NE(refusal(pattern(100, 1, 1), "resize: {mode: shorter_side, size: 65536}", input_of({})).find("exceeds"),
            std::string::npos);
}

TEST_F(ImageReadTest, BatchedInputsTakeOneImageForTheCallerToStack) {
  const Result<ir::Tensor> tensor = read(kTwo, "batch: 8", input_of({8, 3, 1, 2}));
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor.value().dims(), (Shape{1, 3, 1, 2}));
}

TEST_F(ImageReadTest, ResizeWithoutSizeTakesTheInputs) {
  const Result<ir::Tensor> tensor = read(pattern(4, 6, 3), "resize: {mode: stretch}", input_of({1, 3, 5, 7}));
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor.value().dims(), (Shape{1, 3, 5, 7}));
  for (const Shape& dims : {Shape{}, Shape{1, 3, -1, 7}, Shape{1, 3, 0, 0}}) {
    const Result<ir::Tensor> unknown = read(pattern(4, 6, 3), "resize: {mode: stretch}", input_of(dims));
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.status().code(), Code::kInvalidArgument);
    EXPECT_NE(unknown.status().message().find("; fix it with --shape "), std::string::npos);
  }
  const Result<ir::Tensor> oblong = read(pattern(4, 6, 3), "resize: {mode: shorter_side}", input_of({1, 3, 5, 7}));
  EXPECT_NE(oblong.status().message().find("is not square"), std::string::npos);
}

TEST_F(ImageReadTest, LetterboxPadsTheOddPixelAtTheEndInColourOrder) {
  const std::string yaml = "{color: BGR, layout: NHWC, resize: {mode: letterbox, size: [4, 2], fill: [1, 2, 3]}}";
  const std::vector<float> values = floats(read(kTwo, yaml, input_of({})));  // 1 x 2 stays 1 x 2
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 1, 2, 3, 30, 20, 10, 60, 50, 40, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST_F(ImageReadTest, CropRoundsHalfToEven) {
  const Image image = pattern(1, 8, 1);
  const auto first = [&](const std::string& width) {
    return floats(read(image, "{color: GRAY, crop: [1, " + width + "]}", input_of({})))[0];
  };
  EXPECT_EQ(first("7"), image.pixels[0]);  // 0.5 -> 0
  EXPECT_EQ(first("5"), image.pixels[2]);  // 1.5 -> 2
  EXPECT_EQ(first("3"), image.pixels[2]);  // 2.5 -> 2
  EXPECT_EQ(first("8"), image.pixels[0]);
}

struct SizeRow {
  int64_t height, width;
  config::ResizeMode mode;
  ImageSize target, expected;
};

TEST(FrameImageTest, SizesByMode) {
  using config::ResizeMode;
  const SizeRow rows[] = {
      {213, 320, ResizeMode::kStretch, {224, 200}, {224, 200}},
      {213, 320, ResizeMode::kKeepRatio, {224, 224}, {149, 224}},
      {320, 213, ResizeMode::kKeepRatio, {224, 224}, {224, 149}},
      {1000, 1, ResizeMode::kKeepRatio, {100, 100}, {100, 1}},
      {1, 1000, ResizeMode::kLetterbox, {100, 50}, {1, 50}},
      {4, 5, ResizeMode::kKeepRatio, {10, 5}, {4, 5}},
      {3, 2, ResizeMode::kKeepRatio, {5, 5}, {5, 3}},
      {1, 2, ResizeMode::kKeepRatio, {9, 5}, {2, 5}},  // 2.5 rounds to even
      {213, 320, ResizeMode::kShorterSide, {256, 256}, {256, 384}},
      {320, 213, ResizeMode::kShorterSide, {256, 256}, {384, 256}},
      {333, 500, ResizeMode::kShorterSide, {256, 256}, {256, 384}},  // 384.38 rounds down
      {7, 11, ResizeMode::kShorterSide, {5, 5}, {5, 7}},             // 7.86 rounds down
  };
  for (const SizeRow& row : rows) {
    const ImageSize size = resized_size({row.height, row.width, 1, {}}, row.mode, row.target);
    EXPECT_EQ(size.height, row.expected.height) << row.height << "x" << row.width;
    EXPECT_EQ(size.width, row.expected.width) << row.height << "x" << row.width;
  }
}

TEST(ReadImageTest, BadFileIsNamed) {
  const Result<ir::Tensor> tensor = read_file("b.jpg", "text", {}, input_of({}));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), Code::kBadData);
  EXPECT_NE(tensor.status().message().find("b.jpg: neither a JPEG, a PNG nor a BMP image"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::calib
