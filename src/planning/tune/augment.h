// SPDX-License-Identifier: MIT
// Changed images as further samples for the whole network (ADR 0020): mirrored, cropped, brighter or darker.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/tensor.h"

namespace quarkq::planning::finetune {

/// Random numbers that depend only on their place, so that an interrupted training needs no state of a generator.
class PlacedRandom {
 public:
  PlacedRandom(uint32_t seed, uint64_t step, uint64_t place) : state_(mixed(mixed(mixed(seed) ^ step) ^ place)) {}
  /// Returns a number in [0, count). REQUIRES: count > 0.
  uint64_t below(uint64_t count) { return next() % count; }
  /// Returns a number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  /// The finalizer of SplitMix64.
  static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  uint64_t next() {
    state_ = mixed(state_);
    return state_;
  }
  uint64_t state_;
};

/// How one image is changed.
struct Change {
  int64_t top = 0, left = 0, height = 0, width = 0;  ///< The crop.
  bool is_mirrored = false;                          ///< Left and right are exchanged.
  float brightness = 1;
};

/// The changes that are drawn for images of one size.
class Augmentation {
 public:
  /// Returns nullopt if `dims` (ONNX order) is not that of one image with 1 or 3 channels, first or last.
  static std::optional<Augmentation> of(const ir::Shape& dims);

  int64_t height() const { return dims_[is_channels_last_ ? 1 : 2]; }
  int64_t width() const { return dims_[is_channels_last_ ? 2 : 3]; }
  /// Returns the shape of a crop.
  ir::Shape shape(int64_t height, int64_t width) const;

  /// Heights and widths that crops may have, in addition to the whole image.
  void allow_crop(int64_t height, int64_t width) { crops_.emplace_back(height, width); }
  Change draw(PlacedRandom& random) const;
  /// REQUIRES: float32 of the dimensions of of().
  ir::Tensor changed(const ir::Tensor& image, const Change& change) const;

 private:
  Augmentation(ir::Shape dims, bool is_channels_last) : dims_(std::move(dims)), is_channels_last_(is_channels_last) {}

  ir::Shape dims_;
  bool is_channels_last_;
  std::vector<std::pair<int64_t, int64_t>> crops_;
};

}  // namespace quarkq::planning::finetune
