// SPDX-License-Identifier: MIT
// Node to Preprocess: names, sizes, numbers and lists of the block "preprocess:", each checked before an image is read.
#include "config/preprocess.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "config/convert.h"
#include "config/load.h"

namespace quarkq::config {

namespace {

/// `under` overridden by the entries of `over`; null entries remove keys.
Node laid_over(Node under, const Node& over) {
  for (const Node::Entry& entry : over.entries()) {
    const Node* old = under.find(entry.key);
    const bool merges = entry.key == "resize" && old != nullptr && old->is_map() && entry.value.is_map();
    Node value = merges ? laid_over(*old, entry.value) : entry.value;
    under = value.is_null() ? under.without(entry.key) : under.with(entry.key, std::move(value), entry.key_mark);
  }
  return under;
}

Result<const PreprocessRecipe*> find_recipe(const Node& name) {
  std::vector<std::string> known;
  for (const PreprocessRecipe& recipe : preprocess_recipes()) {
    if (name.is_text() && name.as_text() == recipe.name) return &recipe;
    known.emplace_back(recipe.name);
  }
  return invalid_argument(name.mark().prefix(), "preprocess: found ", describe(name),
                          name.is_text() ? did_you_mean(name.as_text(), known) : "", ", allowed is a recipe (",
                          join(known, ", "), ") or a map of settings");
}

}  // namespace

const std::vector<PreprocessRecipe>& preprocess_recipes() {
  // Mean and deviation of photos are taken as 0.45 and 0.26 of the range, those of the ImageNet constants.
  static const std::vector<PreprocessRecipe> table = {
      {"imagenet",
       "torchvision and timm: (x / 255 - mean) / std of ImageNet, RGB, middle 87.5 %",
       "{resize: {mode: shorter_side}, crop_fraction: 0.875, scale: 1/255, mean: [0.485, 0.456, 0.406], "
       "std: [0.229, 0.224, 0.225]}",
       {0, 1.15}},
      {"imagenet-bgr",
       "the same values in BGR order",
       "{color: BGR, resize: {mode: shorter_side}, crop_fraction: 0.875, scale: 1/255, mean: [0.406, 0.456, 0.485], "
       "std: [0.225, 0.224, 0.229]}",
       {0, 1.15}},
      {"caffe",
       "Caffe and Keras 'caffe': 0..255 minus the mean, BGR, middle 87.5 %",
       "{color: BGR, resize: {mode: shorter_side}, crop_fraction: 0.875, mean: [103.939, 116.779, 123.68]}",
       {0, 66}},
      {"tf",
       "TensorFlow, Keras 'tf', Inception: x / 127.5 - 1, RGB, middle 87.5 %",
       "{resize: {mode: shorter_side}, crop_fraction: 0.875, mean: 127.5, std: 127.5}",
       {-0.1, 0.52}},
      {"clip",
       "CLIP: (x / 255 - mean) / std of its data, RGB, bicubic, middle square",
       "{resize: {mode: shorter_side, interpolation: bicubic}, crop_fraction: 1, scale: 1/255, "
       "mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711]}",
       {0, 0.97}},
      {"yolo-letterbox",
       "YOLO v5 and later: x / 255, RGB, the whole photo with a grey border (114)",
       "{resize: {mode: letterbox, fill: 114, antialias: false}, scale: 1/255}",
       {0.45, 0.26}},
      {"raw", "pixels 0..255 as they are, RGB, stretched", "{resize: {mode: stretch}}", {115, 66}},
  };
  return table;
}

std::string recipe_names() {
  std::vector<std::string> names;
  for (const PreprocessRecipe& recipe : preprocess_recipes()) names.emplace_back(recipe.name);
  return join(names, ", ");
}

Result<Node> expand_recipe(const Node& node) {
  const Node* name = node.is_text() ? &node : node.find("recipe");
  if (name == nullptr) return node;
  QQ_TRY(const PreprocessRecipe* recipe, find_recipe(*name));
  QQ_TRY(const Node block, parse_text(recipe->block, recipe->name));
  return laid_over(block.at(node.mark()), node.is_map() ? node.without("recipe") : Node(Node::Map{}));
}

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
