// SPDX-License-Identifier: MIT
// Node to Preprocess: names, sizes, numbers and lists of the block "preprocess:", each checked before an image is read.
#include "config/preprocess.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "base/suggest.h"
#include "config/convert.h"
#include "config/preprocess_recipes.h"

namespace quarkq::config {
namespace {

constexpr int64_t kMaxSize = 65536;   ///< of a side, in pixels
constexpr int64_t kMaxBatch = 65536;  ///< images in one sample

template <typename E>
using Names = std::vector<std::pair<std::string, E>>;

const Names<ColorOrder> kColors = {{"RGB", ColorOrder::kRgb},
                                   {"BGR", ColorOrder::kBgr},
                                   {"GRAY", ColorOrder::kGray},
                                   {"RGBA", ColorOrder::kRgba},
                                   {"BGRA", ColorOrder::kBgra}};
const Names<ResizeMode> kModes = {{"stretch", ResizeMode::kStretch},
                                  {"keep_ratio", ResizeMode::kKeepRatio},
                                  {"shorter_side", ResizeMode::kShorterSide},
                                  {"letterbox", ResizeMode::kLetterbox}};
const Names<Interpolation> kInterpolations = {
    {"nearest", Interpolation::kNearest}, {"bilinear", Interpolation::kBilinear}, {"bicubic", Interpolation::kBicubic}};
const Names<ImageLayout> kLayouts = {{"NCHW", ImageLayout::kNchw}, {"NHWC", ImageLayout::kNhwc}};

std::string where(const Node& node, const std::string& path) { return node.mark().prefix() + path; }

/// The value of `key`, or null when it is absent or null.
const Node* given(const Node& node, const std::string& key) {
  const Node* value = node.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

template <typename E>
Result<E> read_name(const Node& node, const std::string& path, const Names<E>& names) {
  std::vector<std::string> allowed;
  for (const auto& [name, value] : names) {
    if (node.is_text() && node.as_text() == name) return value;
    allowed.push_back(name);
  }
  const std::string hint = node.is_text() ? did_you_mean(node.as_text(), allowed) : "";
  return wrong_kind(node, join(allowed, ", ") + hint).context(where(node, path));
}

Result<int64_t> read_count(const Node& node, const std::string& path, int64_t most) {
  QQ_TRY(const int64_t value, read<int64_t>(node, path));
  if (value >= 1 && value <= most) return value;
  return invalid_argument(where(node, path), ": found ", value, ", allowed is 1 to ", most);
}

/// "224" or "[224, 320]": height and width.
Result<std::pair<int64_t, int64_t>> read_size(const Node& node, const std::string& path) {
  if (!node.is_list()) {
    QQ_TRY(const int64_t side, read_count(node, path, kMaxSize));
    return std::pair(side, side);
  }
  if (node.items().size() != 2) {
    return wrong_kind(node, "one integer or a list [height, width]").context(where(node, path));
  }
  QQ_TRY(const int64_t height, read_count(node.items()[0], path + "[0]", kMaxSize));
  QQ_TRY(const int64_t width, read_count(node.items()[1], path + "[1]", kMaxSize));
  return std::pair(height, width);
}

/// A number, or a fraction written as a text: "1/255". Finite in float32, which images are computed in.
Result<double> read_number(const Node& node, const std::string& path) {
  Node over = node, under(int64_t{1});
  if (node.is_text() && node.as_text().find('/') != std::string::npos) {
    const std::string& text = node.as_text();
    over = Node::from_plain_scalar(text.substr(0, text.find('/')));
    under = Node::from_plain_scalar(text.substr(text.find('/') + 1));
  }
  const Result<double> a = Convert<double>::from(over), b = Convert<double>::from(under);
  if (a.ok() && b.ok() && std::isfinite(static_cast<float>(a.value() / b.value()))) return a.value() / b.value();
  return wrong_kind(node, "a finite number or a fraction such as 1/255").context(where(node, path));
}

/// One number or a list of them, as many as there are channels, or one for all.
Result<std::vector<double>> read_numbers(const Node& node, const std::string& path, size_t channels) {
  std::vector<double> numbers;
  if (!node.is_list()) {
    QQ_TRY(const double number, read_number(node, path));
    return std::vector<double>{number};
  }
  const Node::List& items = node.items();
  if (items.size() != 1 && items.size() != channels) {
    return invalid_argument(where(node, path), ": found a list of ", items.size(), ", allowed is 1 value",
                            channels == 1 ? "" : cat(" or ", channels, ", one per channel"));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    QQ_TRY(const double number, read_number(items[i], cat(path, "[", i, "]")));
    numbers.push_back(number);
  }
  return numbers;
}

/// The first of `numbers` that fails `test` is named as not `allowed`.
Status check_numbers(const Node& node, const std::string& path, const std::vector<double>& numbers,
                     bool (*test)(double), const char* allowed) {
  for (const double number : numbers) {
    if (!test(number)) return invalid_argument(where(node, path), ": found ", number, ", allowed is ", allowed);
  }
  return {};
}

bool is_byte(double x) { return x >= 0 && x <= 255 && x == std::floor(x); }
bool divides(double x) { return static_cast<float>(x) != 0; }

Status read_resize_size(const Node& node, Resize& resize) {
  QQ_TRY(const auto size, read_size(node, "preprocess.resize.size"));
  if (resize.mode == ResizeMode::kShorterSide && size.first != size.second) {
    return invalid_argument(where(node, "preprocess.resize.size"), ": found [", size.first, ", ", size.second,
                            "], allowed for shorter_side is one size");
  }
  std::tie(resize.height, resize.width) = size;
  return {};
}

Status read_fill(const Node& node, size_t channels, Resize& resize) {
  const std::string path = "preprocess.resize.fill";
  if (resize.mode != ResizeMode::kLetterbox) {
    return invalid_argument(where(node, path), ": only mode letterbox fills a border");
  }
  QQ_TRY(resize.fill, read_numbers(node, path, channels));
  return check_numbers(node, path, resize.fill, is_byte, "an integer 0 to 255");
}

Result<Resize> read_resize(const Node& node, size_t channels) {
  const std::string path = "preprocess.resize";
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"mode", "size", "interpolation", "antialias", "fill"}));
  Resize resize;
  if (const Node* mode = given(node, "mode")) {
    QQ_TRY(resize.mode, read_name(*mode, path + ".mode", kModes));
  }
  if (const Node* size = given(node, "size")) QQ_RETURN_IF_ERROR(read_resize_size(*size, resize));
  if (const Node* name = given(node, "interpolation")) {
    QQ_TRY(resize.interpolation, read_name(*name, path + ".interpolation", kInterpolations));
  }
  if (const Node* flag = given(node, "antialias")) {
    QQ_TRY(resize.antialias, read<bool>(*flag, path + ".antialias"));
  }
  if (const Node* fill = given(node, "fill")) QQ_RETURN_IF_ERROR(read_fill(*fill, channels, resize));
  return resize;
}

Result<double> read_fraction(const Node& node) {
  const std::string path = "preprocess.crop_fraction";
  QQ_TRY(const double fraction, read_number(node, path));
  if (fraction > 0.01 && fraction <= 1) return fraction;  // the resized image has a bounded size
  return invalid_argument(where(node, path), ": found ", fraction, ", allowed is above 0.01, to 1");
}

Status read_values(const Node& node, size_t channels, Preprocess& block) {
  if (const Node* scale = given(node, "scale")) {
    QQ_TRY(block.scale, read_number(*scale, "preprocess.scale"));
  }
  if (const Node* mean = given(node, "mean")) {
    QQ_TRY(block.mean, read_numbers(*mean, "preprocess.mean", channels));
  }
  if (const Node* std = given(node, "std")) {
    QQ_TRY(block.std, read_numbers(*std, "preprocess.std", channels));
    return check_numbers(*std, "preprocess.std", block.std, divides, "a float32 that is not 0");
  }
  return {};
}

}  // namespace

size_t channels_of(ColorOrder color) {
  if (color == ColorOrder::kGray) return 1;
  return color == ColorOrder::kRgba || color == ColorOrder::kBgra ? 4 : 3;
}

Result<Preprocess> read_recipe(const std::string& name) { return read_preprocess(Node(name)); }

Result<Preprocess> read_preprocess(const Node& asked) {
  Preprocess block;
  if (asked.is_null()) return block;
  QQ_TRY(const Node node, expand_recipe(asked));
  QQ_RETURN_IF_ERROR(check_keys(
      node, "preprocess", {"color", "resize", "crop", "crop_fraction", "scale", "mean", "std", "layout", "batch"}));
  if (const Node* color = given(node, "color")) {
    QQ_TRY(block.color, read_name(*color, "preprocess.color", kColors));
  }
  const size_t channels = channels_of(block.color);
  if (const Node* resize = given(node, "resize")) {
    QQ_TRY(block.resize, read_resize(*resize, channels));
  }
  if (const Node* crop = given(node, "crop")) {
    QQ_TRY(block.crop, read_size(*crop, "preprocess.crop"));
  }
  if (const Node* fraction = given(node, "crop_fraction")) {
    QQ_TRY(block.crop_fraction, read_fraction(*fraction));
    if (!block.resize) {
      return invalid_argument(where(*fraction, "preprocess.crop_fraction"), ": needs preprocess.resize");
    }
  }
  QQ_RETURN_IF_ERROR(read_values(node, channels, block));
  if (const Node* layout = given(node, "layout")) {
    QQ_TRY(block.layout, read_name(*layout, "preprocess.layout", kLayouts));
  }
  if (const Node* batch = given(node, "batch")) {
    QQ_TRY(block.batch, read_count(*batch, "preprocess.batch", kMaxBatch));
  }
  return block;
}

}  // namespace quarkq::config
