// SPDX-License-Identifier: MIT
// Weights while they are equalized: float32 working copies, seen channel by channel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/edit.h"

namespace quarkq::rewrite {

/// A weight tensor as [outer, channels, inner]: what is scaled by one factor per channel.
struct ChannelView {
  int64_t channels = 0;
  int64_t inner = 1;
  int64_t channel_of(int64_t element) const { return element / inner % channels; }
};

/// The view along the channels a layer writes, or nothing when its weight has no such form.
std::optional<ChannelView> output_channels(const ir::Node& layer, const ir::Shape& weight_dims);
/// The same along the channels it reads. Conv with group 1: rank 4 or 5 only, as in the reference.
std::optional<ChannelView> input_channels(const ir::Node& layer, const ir::Shape& weight_dims);

/// Largest magnitude of each channel.
std::vector<float> channel_ranges(std::span<const float> weights, const ChannelView& view);
/// Every element times the factor of its channel, rounded once.
void scale_channels(std::span<float> weights, const ChannelView& view, std::span<const float> factors);
/// 1 / x for each.
std::vector<float> reciprocals(std::span<const float> values);

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

}  // namespace quarkq::rewrite
