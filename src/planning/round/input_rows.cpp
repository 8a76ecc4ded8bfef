// SPDX-License-Identifier: MIT
#include "planning/round/input_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/stored_floats.h"

namespace quarkq::planning {
namespace {

int64_t product_of(const std::vector<int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
}

/// Coordinates of element `index` of an array of these dimensions.
void coordinates_of(int64_t index, const std::vector<int64_t>& dims, std::vector<int64_t>& coordinates) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    coordinates[axis] = index % dims[axis];
    index /= dims[axis];
  }
}

/// Number `i` of `count` places that are spread evenly over `size`.
int64_t spread(int64_t i, int64_t count, int64_t size) { return (2 * i + 1) * size / (2 * count); }

}  // namespace

Result<InputRows> InputRows::make(const finetune::Layer& layer, const ir::Node& node, const ir::Shape& weights) {
  InputRows rows;
  if (layer.kind == finetune::Layer::Kind::kProduct) {
    rows.is_product_ = true;
    rows.depth_ = weights[layer.transposed ? 1 : 0];
    rows.outputs_ = weights[layer.transposed ? 0 : 1];
    return rows;
  }
  if (layer.kind != finetune::Layer::Kind::kConv) return unsupported("it is neither a Conv nor a matrix product");
  const size_t axes = weights.size() - 2;
  rows.groups_ = node.int_or("group", 1);
  rows.kernel_.assign(weights.begin() + 2, weights.end());
  rows.strides_ = node.ints_or("strides", std::vector<int64_t>(axes, 1));
  rows.dilations_ = node.ints_or("dilations", std::vector<int64_t>(axes, 1));
  const std::vector<int64_t> pads = node.ints_or("pads", std::vector<int64_t>(2 * axes, 0));
  const auto is_positive = [](int64_t value) { return value > 0; };
  if (rows.strides_.size() != axes || rows.dilations_.size() != axes || pads.size() != 2 * axes || rows.groups_ < 1 ||
      weights[0] % rows.groups_ != 0 || !std::all_of(rows.strides_.begin(), rows.strides_.end(), is_positive) ||
      !std::all_of(rows.dilations_.begin(), rows.dilations_.end(), is_positive))
    return unsupported("its attributes do not fit its weights");
  rows.pads_.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  rows.pads_after_.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  rows.outputs_ = weights[0] / rows.groups_;
  rows.depth_ = weights[1] * product_of(rows.kernel_);
  return rows;
}

Result<std::vector<float>> InputRows::read(const ir::Tensor& input, int64_t most, ValueRange range) const {
  QQ_TRY(std::vector<float> values, ir::float_values(input));
  for (float& value : values) value = value < range.low ? range.low : value > range.high ? range.high : value;
  if (!is_product_) return read_images(values, input.dims(), most);
  if (input.rank() < 1 || input.dims().back() != depth_) return unsupported("its input does not fit its weights");
  return read_product(values, most);
}

Result<std::vector<float>> InputRows::read_product(const std::vector<float>& values, int64_t most) const {
  const int64_t all = static_cast<int64_t>(values.size()) / std::max<int64_t>(1, depth_), count = std::min(all, most);
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(count * depth_));
  for (int64_t i = 0; i < count; ++i) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(spread(i, count, all) * depth_);
    rows.insert(rows.end(), row, row + static_cast<std::ptrdiff_t>(depth_));
  }
  return rows;
}

Result<std::vector<float>> InputRows::read_images(const std::vector<float>& values, const ir::Shape& dims,
                                                  int64_t most) const {
  const size_t axes = kernel_.size();
  const int64_t taps = product_of(kernel_), channels = taps == 0 ? 0 : depth_ / taps;
  if (dims.size() != axes + 2 || dims[1] != channels * groups_)
    return unsupported("its input does not fit its weights");
  const std::vector<int64_t> image(dims.begin() + 2, dims.end());
  std::vector<int64_t> result(axes), place(axes), tap(axes);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t span = image[i] + pads_[i] + pads_after_[i] - dilations_[i] * (kernel_[i] - 1) - 1;
    if (span < 0) return unsupported("its result is empty");
    result[i] = span / strides_[i] + 1;
  }
  const int64_t places = product_of(result), all = dims[0] * places, count = std::min(all, most);
  const int64_t plane = product_of(image);
  std::vector<float> rows(static_cast<size_t>(groups_ * count * depth_));
  std::vector<int64_t> offsets(static_cast<size_t>(taps));  // of the taps in a plane; -1: padding
  for (int64_t r = 0; r < count; ++r) {
    const int64_t number = spread(r, count, all);
    coordinates_of(number % places, result, place);
    for (int64_t t = 0; t < taps; ++t) {
      coordinates_of(t, kernel_, tap);
      int64_t offset = 0;
      for (size_t i = 0; i < axes && offset >= 0; ++i) {
        const int64_t at = place[i] * strides_[i] - pads_[i] + tap[i] * dilations_[i];
        offset = at < 0 || at >= image[i] ? -1 : offset * image[i] + at;
      }
      offsets[static_cast<size_t>(t)] = offset;
    }
    const float* sample = values.data() + number / places * dims[1] * plane;
    for (int64_t c = 0; c < dims[1]; ++c) {
      float* row = rows.data() + ((c / channels) * count + r) * depth_ + c % channels * taps;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t offset = offsets[static_cast<size_t>(t)];
        row[t] = offset < 0 ? 0.0f : sample[c * plane + offset];
      }
    }
  }
  return rows;
}

}  // namespace quarkq::planning
