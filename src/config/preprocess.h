// SPDX-License-Identifier: MIT
// The block "preprocess:": from an image file to the values that a model takes. Applied in the order of the members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

// Recipes: the blocks "preprocess:" that most networks were trained with, by name.

/// Typical mean and standard deviation, per channel, of photos prepared by a recipe.
struct TypicalInput {
  double mean = 0, deviation = 0;
};

struct PreprocessRecipe {
  const char* name;
  const char* summary;
  const char* block;  ///< what it stands for, as a settings file would say it (flow YAML)
  TypicalInput typical;
};

/// THE table. Sizes are those of the model's input.
const std::vector<PreprocessRecipe>& preprocess_recipes();

/// "imagenet, imagenet-bgr, ..."
std::string recipe_names();

/// `node` as a map without the key "recipe": a text names a recipe; in a map the other keys override those of its
/// recipe, and in the map "resize" each key for itself. Null stays null. Fails with kInvalidArgument naming the known
/// recipes.
Result<Node> expand_recipe(const Node& node);

enum class ColorOrder { kRgb, kBgr, kGray, kRgba, kBgra };
enum class ResizeMode {
  kStretch,      ///< to exactly height x width
  kKeepRatio,    ///< as large as fits into height x width
  kShorterSide,  ///< as small as covers height x width; of a square: the shorter side has `height` pixels
  kLetterbox,    ///< kKeepRatio, then centred on a canvas of height x width filled with `fill`
};
enum class Interpolation { kNearest, kBilinear, kBicubic };
enum class ImageLayout { kNchw, kNhwc };

struct Resize {
  ResizeMode mode = ResizeMode::kStretch;
  std::optional<int64_t> height, width;  ///< absent: those of the model's input
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;             ///< average over the area that shrinks, as Pillow does; false: as OpenCV does
  std::vector<double> fill = {114};  ///< letterbox colour, 0 to 255: one value, or one per channel in `color` order
};

struct Preprocess {
  ColorOrder color = ColorOrder::kRgb;
  std::optional<Resize> resize;                     ///< absent: the image must have the right size already
  std::optional<std::pair<int64_t, int64_t>> crop;  ///< height, width: cut from the centre after resizing
  /// (0, 1]: share of the resized sides that is cut out. A resize without a size then aims at the size of the cut, or
  /// that of the model's input, divided by this; and what is cut has that size.
  std::optional<double> crop_fraction;
  double scale = 1.0;             ///< pixel values 0 to 255 are multiplied by this first
  std::vector<double> mean, std;  ///< then (x - mean) / std, one value or one per channel in `color` order; empty: none
  std::optional<ImageLayout> layout;  ///< absent: determined by the model's input
  int64_t batch = 1;                  ///< images in one sample
};

/// Values per pixel: 1, 3 or 4.
size_t channels_of(ColorOrder color);

/// The typed block. `node`: a map, the name of a recipe (preprocess.h) or null (all defaults). Fails with
/// kInvalidArgument naming key, found and allowed.
Result<Preprocess> read_preprocess(const Node& node);

/// The block of the recipe `name`. kInvalidArgument names the known ones.
Result<Preprocess> read_recipe(const std::string& name);

}  // namespace quarkq::config
