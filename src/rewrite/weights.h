// SPDX-License-Identifier: MIT
// Weights as channels, and float32 working copies of weights during equalization.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "ir/edit.h"

namespace quarkq::rewrite {

/// A weight tensor as [groups, outer, channels / groups, inner], to be scaled by one factor per channel.
struct ChannelView {
  int64_t channels = 0;
  int64_t inner = 1;
  int64_t groups = 1;
};

/// Calls visit(channel, elements) for each contiguous run of elements of one channel, in memory order. REQUIRES: one
/// group.
template <typename Real, typename Visit>
void for_each_run(std::span<Real> weights, const ChannelView& view, const Visit& visit) {
  const auto channels = static_cast<size_t>(view.channels), inner = static_cast<size_t>(view.inner);
  for (size_t at = 0; at < weights.size();) {
    for (size_t channel = 0; channel < channels; ++channel, at += inner) visit(channel, weights.subspan(at, inner));
  }
}

/// Returns the view along the output channels of a Conv, ConvTranspose or Gemm, or nullopt if its weight cannot be
/// viewed so.
std::optional<ChannelView> written_channels(const ir::Node& layer, const ir::Shape& weight_dims);
/// Returns the view along the output channels of a Conv or Gemm, with one group.
std::optional<ChannelView> output_channels(const ir::Node& layer, const ir::Shape& weight_dims);
/// Returns the view along the input channels. Conv with group 1: only rank 4 or 5, as in the reference.
std::optional<ChannelView> input_channels(const ir::Node& layer, const ir::Shape& weight_dims);

/// Returns the view along the input channels of a layer that written_channels() supports, of any rank and with any
/// number of groups.
ChannelView read_channels(const ir::Node& layer, const ir::Shape& weight_dims);

/// Returns 0 for an empty list. Ignores NaN.
float largest_magnitude(std::span<const float> values);
/// Returns the largest magnitude of each channel. REQUIRES: one group.
std::vector<float> channel_ranges(std::span<const float> weights, const ChannelView& view);
/// Multiplies every element by the factor of its channel, rounded once to the type of the weights.
template <typename Real = float, typename Weight = float>
void scale_channels(std::type_identity_t<std::span<Weight>> weights, const ChannelView& view,
                    std::type_identity_t<std::span<const Real>> factors);
/// Returns 1 / x for each element.
template <typename Real>
std::vector<Real> reciprocals(const std::vector<Real>& values) {
  std::vector<Real> result;
  result.reserve(values.size());
  for (const Real value : values) result.push_back(1 / value);
  return result;
}
/// Returns each element rounded to float32.
std::vector<float> to_floats(std::span<const double> values);

class WorkingWeights {
 public:
  explicit WorkingWeights(ir::Graph& graph) : graph_(graph) {}

  /// Returns the values of a float initializer (ir::stored_floats()). The reference is valid until commit().
  std::vector<float>& at(ir::ValueId value);
  /// Records that `value` was rewritten. Rewritten initializers are moved to the end, in the order of their last
  /// rewrite.
  void touch(ir::ValueId value) { touched_[value] = ++clock_; }
  /// Stores all recorded values, rounded to their type in the graph. Returns true if there were any.
  bool commit();

 private:
  ir::Graph& graph_;
  std::map<ir::ValueId, std::vector<float>> values_;
  std::map<ir::ValueId, int64_t> touched_;
  int64_t clock_ = 0;
};

template <typename Real, typename Weight>
void scale_channels(std::type_identity_t<std::span<Weight>> weights, const ChannelView& view,
                    std::type_identity_t<std::span<const Real>> factors) {
  const auto groups = static_cast<size_t>(view.groups);
  const size_t group_size = weights.size() / groups, per_group = factors.size() / groups;
  size_t at = 0;
  for (size_t group = 0; group < groups; ++group) {
    const std::span<const Real> own = factors.subspan(group * per_group, per_group);
    while (at < (group + 1) * group_size) {
      for (const Real factor : own) {
        for (int64_t i = 0; i < view.inner; ++i, ++at) weights[at] = static_cast<Weight>(weights[at] * factor);
      }
    }
  }
}

}  // namespace quarkq::rewrite
