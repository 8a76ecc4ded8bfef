// SPDX-License-Identifier: MIT
#include "rewrite/weights.h"

#include <algorithm>
#include <cmath>

#include "ir/constants.h"
#include "numeric/encode.h"
#include "plan/constant_codes.h"

namespace quarkq::rewrite {
namespace {

int64_t product_from(const ir::Shape& dims, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < dims.size(); ++i) product *= dims[i];
  return product;
}

}  // namespace

std::optional<ChannelView> written_channels(const ir::Node& layer, const ir::Shape& dims) {
  if (!layer.is("ConvTranspose")) return output_channels(layer, dims);
  const int64_t groups = layer.int_or("group", 1);  // which share the input channels; the output channels come second
  if (dims.size() < 3 || groups < 1 || dims[0] % groups != 0) return std::nullopt;
  return ChannelView{dims[1] * groups, product_from(dims, 2), groups};
}

std::optional<ChannelView> output_channels(const ir::Node& layer, const ir::Shape& dims) {
  if (layer.is("Conv") && dims.size() >= 3) return ChannelView{dims[0], product_from(dims, 1)};
  if (!layer.is("Gemm") || dims.size() != 2) return std::nullopt;
  return layer.int_or("transB", 0) != 0 ? ChannelView{dims[0], dims[1]} : ChannelView{dims[1], 1};
}

std::optional<ChannelView> input_channels(const ir::Node& layer, const ir::Shape& dims) {
  if (layer.is("Gemm") && dims.size() == 2) {
    return layer.int_or("transB", 0) != 0 ? ChannelView{dims[1], 1} : ChannelView{dims[0], dims[1]};
  }
  if (!layer.is("Conv") || dims.size() < 3) return std::nullopt;
  if (layer.int_or("group", 1) != 1) return ChannelView{dims[0], product_from(dims, 1)};  // depthwise: reads = writes
  if (dims.size() != 4 && dims.size() != 5) return std::nullopt;
  return ChannelView{dims[1], product_from(dims, 2)};
}

ChannelView read_channels(const ir::Node& layer, const ir::Shape& dims) {
  const bool is_output_major = layer.is("Conv") || (layer.is("Gemm") && layer.int_or("transB", 0) != 0);
  if (!is_output_major) return {dims[0], product_from(dims, 1)};  // the groups share no input channel
  const int64_t groups = layer.is("Conv") ? layer.int_or("group", 1) : 1;
  return {dims[1] * groups, product_from(dims, 2), groups};
}

float largest_magnitude(std::span<const float> values) {
  const numeric::Extremes found = numeric::extremes_of(values);
  if (!found.has_nan) return std::max(std::abs(found.min), std::abs(found.max));
  float largest = 0.0f;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

std::vector<float> channel_ranges(std::span<const float> weights, const ChannelView& view) {
  std::vector<float> ranges(static_cast<size_t>(view.channels), 0.0f);
  for_each_run(weights, view, [&](size_t channel, std::span<const float> run) {
    ranges[channel] = std::max(ranges[channel], largest_magnitude(run));
  });
  return ranges;
}

std::vector<float> to_floats(std::span<const double> values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

std::vector<float>& WorkingWeights::at(ir::ValueId value) {
  const auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  return values_.emplace(value, ir::float_values(*graph_.value(value).constant).value()).first->second;
}

bool WorkingWeights::commit() {
  std::vector<std::pair<int64_t, ir::ValueId>> order;
  for (const auto& [value, time] : touched_) order.emplace_back(time, value);
  std::sort(order.begin(), order.end());
  ir::GraphEdit edit(graph_);
  for (const auto& [time, value] : order) {
    const ir::Tensor& old = *graph_.value(value).constant;
    ir::Tensor stored = ir::store_floats(at(value), old.type(), old.dims());
    edit.clear_constant(value);
    edit.set_constant(value, std::move(stored));
  }
  values_.clear();
  touched_.clear();
  return !order.empty();
}

}  // namespace quarkq::rewrite
