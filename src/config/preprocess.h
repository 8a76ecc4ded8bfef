// SPDX-License-Identifier: MIT
// The block "preprocess:": conversion of an image file to the model's input. Applied in the order of the members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

// Recipes: named "preprocess:" blocks with which most networks were trained.

/// Typical mean and standard deviation, per channel, of photos prepared by a recipe.
struct TypicalInput {
  double mean = 0, deviation = 0;
};

struct PreprocessRecipe {
  const char* name;
  const char* summary;
  const char* block;  ///< The block of the recipe as in a settings file (flow YAML).
  TypicalInput typical;
};

/// Returns the table of recipes. The model's input determines their sizes.
const std::vector<PreprocessRecipe>& preprocess_recipes();

/// "imagenet, imagenet-bgr, ..."
std::string recipe_names();

/// Returns `node` as a map without the key "recipe". A text names a recipe. In a map the other keys override the keys
/// of its recipe, and the keys of the map "resize" override one by one. Null stays null. Fails with kInvalidArgument
/// naming the known recipes.
Result<Node> expand_recipe(const Node& node);

enum class ColorOrder { kRgb, kBgr, kGray, kRgba, kBgra };
enum class ResizeMode {
  kStretch,      ///< To exactly height x width.
  kKeepRatio,    ///< The largest size within height x width.
  kShorterSide,  ///< The smallest size that covers height x width; for a square: the shorter side gets `height`
                 ///< pixels.
  kLetterbox,    ///< kKeepRatio, then centred on a canvas of height x width filled with `fill`.
};
enum class Interpolation { kNearest, kBilinear, kBicubic };
enum class ImageLayout { kNchw, kNhwc };

struct Resize {
  ResizeMode mode = ResizeMode::kStretch;
  std::optional<int64_t> height, width;  ///< Absent: the size of the model's input.
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;             ///< Average over the shrinking area, like Pillow; false: like OpenCV.
  std::vector<double> fill = {114};  ///< Letterbox colour, 0 to 255: one value, or one per channel in `color` order.
};

struct Preprocess {
  ColorOrder color = ColorOrder::kRgb;
  std::optional<Resize> resize;                     ///< Absent: the image must already have the right size.
  std::optional<std::pair<int64_t, int64_t>> crop;  ///< Height and width of the centre crop after resizing.
  /// Share of the resized sides that is cropped, in (0, 1]. A resize without a size then uses the size of the crop, or
  /// of the model's input, divided by this; the crop has that size.
  std::optional<double> crop_fraction;
  double scale = 1.0;             ///< Factor for the pixel values 0 to 255, applied first.
  std::vector<double> mean, std;  ///< Then (x - mean) / std, one value or one per channel in `color` order; empty: not
                                  ///< applied.
  std::optional<ImageLayout> layout;  ///< Absent: determined by the model's input.
  int64_t batch = 1;                  ///< Number of images in one sample.
};

/// Returns the values per pixel: 1, 3 or 4.
size_t channels_of(ColorOrder color);

/// Reads the block. `node` is a map, the name of a recipe or null (all defaults). Fails with kInvalidArgument naming
/// key, found and allowed values.
Result<Preprocess> read_preprocess(const Node& node);

/// Reads the block of the recipe `name`. Fails with kInvalidArgument naming the known recipes.
Result<Preprocess> read_recipe(const std::string& name);

}  // namespace quarkq::config
