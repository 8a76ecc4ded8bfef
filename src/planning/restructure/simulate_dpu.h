// SPDX-License-Identifier: MIT
// The fixed-point numbers of the DPU (ref:npu#pools).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/edit.h"
#include "ir/node.h"
#include "pass/context.h"

namespace quarkq::planning {

/// Returns the factor for the mean of k x k values: the DPU multiplies by m / 2^n instead of dividing by k^2.
double average_pool_factor(int64_t kernel);
/// Returns the factor for a mean over `count` values, without the special values of average_pool_factor(). REQUIRES:
/// count > 0.
double mean_factor(int64_t count);
/// Rounds to steps of 1/256.
float dpu_leaky_relu_alpha(float alpha);
/// Returns whether a HardSigmoid has alpha 1/6 and beta 1/2, the attributes of the DPU. The DPU computes a product with
/// 1/6 as 2731/16384.
bool has_dpu_hard_sigmoid_attributes(const ir::Node& node);
constexpr float kHardSigmoidFactor = 1.0001220703125f;

/// Helpers for the conversions of simulate_dpu. Each takes a node of its operator and rewrites it, or keeps it with a
/// warning.
class Simulation {
 public:
  explicit Simulation(pass::RestructureContext& context) : context_(context), edit_(context.model.graph) {}

  const ir::Graph& graph() const { return context_.model.graph; }
  ir::GraphEdit& edit() { return edit_; }
  pass::RestructureContext& context() { return context_; }
  int64_t opset() const { return context_.model.opset(); }
  bool is_compat() const { return !context_.settings.quirk(config::Quirk::kSimulateByDefinition); }

  /// Inserts a Mul by `factor` after the node's first output. The Mul takes over the id of that value, and with it its
  /// slot.
  void rescale(ir::NodeId id, float factor);
  /// Moves an existing node to the end of the list, where the reference would append its successor.
  void move_to_end(ir::NodeId id);
  /// For readers with their own pairs: `to` reads `value` instead of `from`.
  void hand_over_read(ir::ValueId value, ir::NodeId from, ir::NodeId to);
  /// Returns the dimensions of the value, -1 for unknown ones, or nullopt if its rank is unknown.
  std::optional<std::vector<int64_t>> sizes(ir::ValueId value) const;
  /// Returns the name of the value before its pair in the written model.
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
