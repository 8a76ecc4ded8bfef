// SPDX-License-Identifier: MIT
#include "pipeline/pictures.h"

#include <algorithm>
#include <cmath>

namespace quarkq::pipeline {
namespace {

constexpr size_t kMostPictures = 3;  // of one output
constexpr size_t kLeastSide = 16;    // smaller ones are feature maps
constexpr size_t kMostSide = 96;     // pixels of the longer side that are kept

/// Where the pixels of an image tensor lie.
struct ImageLayout {
  size_t height = 0, width = 0, channels = 0;
  size_t row = 0, column = 0, channel = 0;  ///< steps, in elements
};

/// Of [1, C, H, W] or [1, H, W, C] with 1 or 3 channels.
std::optional<ImageLayout> image_layout(const ir::Shape& dims) {
  if (dims.size() != 4 || dims[0] < 1) return std::nullopt;
  const auto is_channels = [](int64_t dim) { return dim == 1 || dim == 3; };
  ImageLayout image;
  const auto side = [&](size_t axis) { return static_cast<size_t>(dims[axis]); };
  if (is_channels(dims[1])) {
    image = {side(2), side(3), side(1), side(3), 1, side(2) * side(3)};
  } else if (is_channels(dims[3])) {
    image = {side(1), side(2), side(3), side(2) * side(3), side(3), 1};
  }
  if (image.height < kLeastSide || image.width < kLeastSide) return std::nullopt;
  return image;
}

std::vector<uint8_t> pixels(const std::vector<double>& values, const ImageLayout& image, const OutputPicture& picture) {
  std::vector<uint8_t> bytes;
  bytes.reserve(picture.width * picture.height * picture.channels);
  const double span = std::max(picture.high - picture.low, 1e-30);
  for (size_t y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < picture.width; ++x) {
      for (size_t c = 0; c < picture.channels; ++c) {
        const size_t place = y * image.height / picture.height * image.row +
                             x * image.width / picture.width * image.column + c * image.channel;
        const double level = 255 * (values[place] - picture.low) / span;
        bytes.push_back(static_cast<uint8_t>(std::isfinite(level) ? std::clamp(level, 0.0, 255.0) : 0.0));
      }
    }
  }
  return bytes;
}

OutputPicture picture_of(const SampleResult& result, const ImageLayout& image) {
  OutputPicture picture{result.sample, result.output, image.width, image.height, image.channels, 0, 0, {}, {}};
  const size_t longer = std::max(image.width, image.height);
  if (longer > kMostSide) {
    picture.width = std::max<size_t>(1, image.width * kMostSide / longer);
    picture.height = std::max<size_t>(1, image.height * kMostSide / longer);
  }
  const auto [low, high] = std::ranges::minmax(result.expected);
  picture.low = low;
  picture.high = high;
  picture.expected = pixels(result.expected, image, picture);
  picture.found = pixels(result.found, image, picture);
  return picture;
}

std::string hexadecimal(const std::vector<uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

void add_sample(const SampleResult& result, ReportDetails& details) {
  details.samples.push_back({result.sample, result.output, result.cosine});
  const auto known = std::ranges::count(details.pictures, result.output, &OutputPicture::output);
  const std::optional<ImageLayout> image = image_layout(result.dims);
  if (image && static_cast<size_t>(known) < kMostPictures) details.pictures.push_back(picture_of(result, *image));
}

Json samples_json(const std::vector<SampleAgreement>& samples) {
  Json rows = Json::array();
  for (const SampleAgreement& one : samples)
    rows.push_back({{"sample", one.sample}, {"output", one.output}, {"cosine", number(one.cosine)}});
  return rows;
}

Json pictures_json(const std::vector<OutputPicture>& pictures) {
  Json rows = Json::array();
  for (const OutputPicture& one : pictures) {
    rows.push_back({{"sample", one.sample},
                    {"output", one.output},
                    {"width", one.width},
                    {"height", one.height},
                    {"channels", one.channels},
                    {"low", number(one.low)},
                    {"high", number(one.high)},
                    {"float", hexadecimal(one.expected)},
                    {"quantized", hexadecimal(one.found)}});
  }
  return rows;
}

}  // namespace quarkq::pipeline
