// SPDX-License-Identifier: MIT
// Weights seen channel by channel, and float32 working copies of them while they are equalized.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "ir/edit.h"

namespace quarkq::rewrite {

/// A weight tensor as [groups, outer, channels / groups, inner]: what is scaled by one factor per channel.
struct ChannelView {
  int64_t channels = 0;
  int64_t inner = 1;
  int64_t groups = 1;
};

/// Calls visit(channel, elements) for the elements of one channel that lie together, in the order of memory. REQUIRES:
/// one group.
template <typename Real, typename Visit>
void for_each_run(std::span<Real> weights, const ChannelView& view, const Visit& visit) {
  const auto channels = static_cast<size_t>(view.channels), inner = static_cast<size_t>(view.inner);
  for (size_t at = 0; at < weights.size();) {
    for (size_t channel = 0; channel < channels; ++channel, at += inner) visit(channel, weights.subspan(at, inner));
  }
}

/// The view along the channels that a Conv, ConvTranspose or Gemm writes, or nothing when its weight has no such form.
std::optional<ChannelView> written_channels(const ir::Node& layer, const ir::Shape& weight_dims);
/// The same for Conv and Gemm only: one group.
std::optional<ChannelView> output_channels(const ir::Node& layer, const ir::Shape& weight_dims);
/// The view along the channels that they read. Conv with group 1: rank 4 or 5 only, as in the reference.
std::optional<ChannelView> input_channels(const ir::Node& layer, const ir::Shape& weight_dims);

/// 0 when there is none. NaN does not count.
float largest_magnitude(std::span<const float> values);
/// Largest magnitude of each channel. REQUIRES: one group.
std::vector<float> channel_ranges(std::span<const float> weights, const ChannelView& view);
/// Every element times the factor of its channel, rounded once.
template <typename Real = float>
void scale_channels(std::span<float> weights, const ChannelView& view,
                    std::type_identity_t<std::span<const Real>> factors);
/// 1 / x for each.
std::vector<float> reciprocals(std::span<const float> values);
/// Each rounded to float32.
std::vector<float> to_floats(std::span<const double> values);

class WorkingWeights {
 public:
  explicit WorkingWeights(ir::Graph& graph) : graph_(graph) {}

  /// The numbers of a float initializer (ir::stored_floats()). The reference stays valid until commit().
  std::vector<float>& at(ir::ValueId value);
  /// Notes that `value` was rewritten: rewritten initializers end up last, in the order of their last rewrite.
  void touch(ir::ValueId value) { touched_[value] = ++clock_; }
  /// Stores what was touched, rounded to the type that the graph has. True when there was something.
  bool commit();

 private:
  ir::Graph& graph_;
  std::map<ir::ValueId, std::vector<float>> values_;
  std::map<ir::ValueId, int64_t> touched_;
  int64_t clock_ = 0;
};

template <typename Real>
void scale_channels(std::span<float> weights, const ChannelView& view,
                    std::type_identity_t<std::span<const Real>> factors) {
  const auto groups = static_cast<size_t>(view.groups);
  const size_t group_size = weights.size() / groups, per_group = factors.size() / groups;
  size_t at = 0;
  for (size_t group = 0; group < groups; ++group) {
    const std::span<const Real> own = factors.subspan(group * per_group, per_group);
    while (at < (group + 1) * group_size) {
      for (const Real factor : own) {
        for (int64_t i = 0; i < view.inner; ++i, ++at) weights[at] = static_cast<float>(weights[at] * factor);
      }
    }
  }
}

}  // namespace quarkq::rewrite
