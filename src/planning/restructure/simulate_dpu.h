// SPDX-License-Identifier: MIT
// The fixed-point numbers that the DPU computes with (ref:npu#pools).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/edit.h"
#include "ir/node.h"
#include "pass/context.h"

namespace quarkq::planning {

/// The factor that the mean of k x k values is multiplied by: the DPU multiplies by m / 2^n instead of dividing by k^2.
double average_pool_factor(int64_t kernel);
/// Returns the factor for a mean over `count` values, without the hand-made numbers of average_pool_factor(). REQUIRES:
/// count > 0.
double mean_factor(int64_t count);
/// Steps of 1/256.
float dpu_leaky_relu_alpha(float alpha);
/// HardSigmoid with alpha 1/6 and beta 1/2 is the DPU's; its product with 1/6 is one with 2731/16384 there.
bool has_dpu_hard_sigmoid_attributes(const ir::Node& node);
constexpr float kHardSigmoidFactor = 1.0001220703125f;

/// Helpers of the conversions of simulate_dpu: each gets a node of its operator and rewrites it, or leaves it with a
/// warning.
class Simulation {
 public:
  explicit Simulation(pass::RestructureContext& context) : context_(context), edit_(context.model.graph) {}

  const ir::Graph& graph() const { return context_.model.graph; }
  ir::GraphEdit& edit() { return edit_; }
  pass::RestructureContext& context() { return context_; }
  int64_t opset() const { return context_.model.opset(); }
  bool is_compat() const { return !context_.settings.quirk(config::Quirk::kSimulateByDefinition); }

  /// A Mul by `factor` after the node's first output takes over that value's id, and with it its slot.
  void rescale(ir::NodeId id, float factor);
  /// Puts an existing node where the reference would append its successor: at the end of the list.
  void move_to_end(ir::NodeId id);
  /// Readers with pairs of their own: `to` reads `value` in the place of `from`.
  void hand_over_read(ir::ValueId value, ir::NodeId from, ir::NodeId to);
  /// Sizes of the value, -1 where unknown; nothing when its rank is not known.
  std::optional<std::vector<int64_t>> sizes(ir::ValueId value) const;
  /// The name of the value before its pair in the written model.
  std::string written_name(ir::ValueId value) const;
  void leave(const ir::Node& node, const std::string& why);

  bool changed = false;

 private:
  pass::RestructureContext& context_;
  ir::GraphEdit edit_;
};

using Convert = void (*)(Simulation&, ir::NodeId);
void convert_leaky_relu(Simulation& simulation, ir::NodeId id);
void convert_sigmoid(Simulation& simulation, ir::NodeId id);
void convert_hard_sigmoid(Simulation& simulation, ir::NodeId id);
void convert_average_pool(Simulation& simulation, ir::NodeId id);
void convert_reduce_mean(Simulation& simulation, ir::NodeId id);
void convert_softmax(Simulation& simulation, ir::NodeId id);
void convert_instance_norm(Simulation& simulation, ir::NodeId id);
void convert_clip(Simulation& simulation, ir::NodeId id);

}  // namespace quarkq::planning
