// SPDX-License-Identifier: MIT
// PartPlans: the calibrated plan with only some nodes quantized, run without writing it. analyze() and the rescue of a
// collapsed result use it to measure the error of single nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pipeline/compare.h"
#include "pipeline/run_state.h"
#include "quarkq/analyze.h"

namespace quarkq::pipeline {

using Nodes = std::set<ir::NodeId>;

/// Names that settings take: of the loaded nodes that `node` stands for, those that have one.
std::vector<std::string> loaded_names(const ir::Graph& loaded, const ir::Node& node);

class PartPlans {
 public:
  /// `planned`: as phase calibrate left it. Both must outlive this.
  PartPlans(const RunState& planned, const ExpectedOutputs& expected) : state_(planned), expected_(expected) {}

  /// Nodes that are quantized and touch a tensor with a pair, in node order.
  std::vector<ir::NodeId> candidates() const;

  /// The outputs when only `quantized` are: tensors that none of them reads or writes stay float. What follows from
  /// calibration (folded activations, positions) is determined again for what is left of the plan. Mixed precision and
  /// fine-tuning are left out.
  Result<Agreement> quantize_only(const Nodes& quantized) const;

 private:
  void leave(const Nodes& quantized, plan::QuantPlan& plan) const;

  const RunState& state_;
  const ExpectedOutputs& expected_;
};

/// Islands around the layers that cost the outputs most.
struct BlockLimits {
  size_t most = 0;       ///< blocks
  double mac_share = 1;  ///< of each, of the multiply-accumulates of the graph
};

/// Connected sets of nodes without holes that do not overlap. Each grows from the most harmful layer that no block has,
/// by other harmful layers that are near. `worst_first`: layers in the order of their harm.
std::vector<Nodes> harmful_blocks(const ir::Graph& graph, const std::vector<ir::NodeId>& worst_first,
                                  const BlockLimits& limits);

/// `loaded`: the graph that settings name nodes of.
LayerBlock described(const Nodes& block, const ir::Graph& loaded, const ir::Graph& graph);

}  // namespace quarkq::pipeline
