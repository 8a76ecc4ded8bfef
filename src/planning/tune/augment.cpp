// SPDX-License-Identifier: MIT
#include "planning/tune/augment.h"

namespace quarkq::planning::finetune {

namespace {

constexpr double kDarkest = 0.8, kBrightest = 1.1;
constexpr int64_t kSmallestSide = 16;  ///< Smaller inputs are not images.
constexpr int64_t kMostElongated = 4;  ///< Longer inputs are lines of text or signals, which have a direction.

bool is_color(int64_t channels) { return channels == 1 || channels == 3; }

}  // namespace

std::optional<Augmentation> Augmentation::of(const ir::Shape& dims) {
  if (dims.size() != 4 || dims[0] != 1) return {};
  const bool is_channels_last = !is_color(dims[1]) && is_color(dims[3]);
  if (!is_channels_last && !is_color(dims[1])) return {};
  const Augmentation found(dims, is_channels_last);
  const int64_t shorter = std::min(found.height(), found.width()), longer = std::max(found.height(), found.width());
  if (shorter < kSmallestSide || longer >= kMostElongated * shorter) return {};
  return found;
}

ir::Shape Augmentation::shape(int64_t height, int64_t width) const {
  return is_channels_last_ ? ir::Shape{1, height, width, dims_[3]} : ir::Shape{1, dims_[1], height, width};
}

Change Augmentation::draw(PlacedRandom& random) const {
  Change change{0, 0, height(), width()};
  const uint64_t size = random.below(crops_.size() + 1);
  if (size > 0) std::tie(change.height, change.width) = crops_[size - 1];
  change.top = static_cast<int64_t>(random.below(static_cast<uint64_t>(height() - change.height + 1)));
  change.left = static_cast<int64_t>(random.below(static_cast<uint64_t>(width() - change.width + 1)));
  change.is_mirrored = random.below(2) == 1;
  change.brightness = static_cast<float>(kDarkest + (kBrightest - kDarkest) * random.uniform());
  return change;
}

ir::Tensor Augmentation::changed(const ir::Tensor& image, const Change& change) const {
  ir::Tensor result = ir::Tensor::allocate(ElementType::kFloat, shape(change.height, change.width));
  const auto from = image.data<float>();
  const auto to = result.mutable_data<float>();
  const int64_t planes = is_channels_last_ ? 1 : dims_[1], depth = is_channels_last_ ? dims_[3] : 1;
  size_t next = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t y = 0; y < change.height; ++y)
      for (int64_t x = 0; x < change.width; ++x)
        for (int64_t c = 0; c < depth; ++c) {
          const int64_t column = change.left + (change.is_mirrored ? change.width - 1 - x : x);
          const int64_t place = ((plane * height() + change.top + y) * width() + column) * depth + c;
          to[next++] = from[static_cast<size_t>(place)] * change.brightness;
        }
  return result;
}

}  // namespace quarkq::planning::finetune
