// SPDX-License-Identifier: MIT
// Promotion (ref:mixed-precision#promotion): changes the formats of one node. Works on the plan, so a trial is a copy.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pass/context.h"
#include "plan/quant_plan.h"
#include "planning/mixed_precision.h"

namespace quarkq::planning {

/// Returns a hash of the nodes of the graph and of the relevant options. Does not include the samples.
std::string sensitivity_key(const ir::Graph& graph, const config::MixedSettings& options);

class MixedPlan {
 public:
  MixedPlan(pass::PlanContext& context, const MixedOptions& options) : context_(context), options_(options) {}

  Status promote(ir::NodeId node, const MixedConfig& config);
  /// Applies the consequences of promotions: pairs between operators, and int32 biases at the current scales of their
  /// nodes.
  Status finish();
  /// Repeats decisions of phase constrain that depend on formats: pairs removed by RemoveQDQBetweenOps, and int16
  /// biases.
  Status refresh_constraints() const;

  const std::set<ir::ValueId>& tensors() const { return tensors_; }
  const std::set<ir::NodeId>& nodes() const { return nodes_; }

 private:
  Status encode_biases_again();
  Status promote_value(ir::ValueId value, const std::optional<MixedFormat>& format);
  std::optional<numeric::Range> range_of(const plan::QuantSlot& slot) const;
  Status promote_activation(plan::QuantSlot& slot, const MixedFormat& format);
  Status promote_constant(plan::QuantSlot& slot, const MixedFormat& format);
  void make_block(plan::QuantSlot& slot, const MixedFormat& format);
  /// The reference instead continues from the stored and measured values of each tensor.
  bool encodes_from_floats() const { return context_.settings.quirk(config::Quirk::kMixFromFloatValues); }
  Result<std::vector<float>> values_of(const plan::QuantSlot& slot) const;
  Status rescale_bias(const ir::Node& node);

  pass::PlanContext& context_;
  const MixedOptions& options_;
  std::set<ir::ValueId> tensors_;
  std::set<ir::NodeId> nodes_;
};

}  // namespace quarkq::planning
