// SPDX-License-Identifier: MIT
// PartPlans: the calibrated plan with only some nodes quantized, run without writing it. analyze() and the rescue of a
// collapsed result use it to measure the error of single nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compare/expected_outputs.h"
#include "ir/graph.h"
#include "pipeline/run/run_state.h"
#include "quarkq/analyze.h"

namespace quarkq::pipeline {

using Nodes = std::set<ir::NodeId>;

/// Names that settings take: of the loaded nodes that `node` stands for, those that have one.
std::vector<std::string> loaded_names(const ir::Graph& loaded, const ir::Node& node);

class PartPlans {
 public:
  /// `planned`: as phase calibrate left it. Both must outlive this.
  PartPlans(const RunState& planned, const compare::ExpectedOutputs& expected) : state_(planned), expected_(expected) {}

  /// Returns the quantized nodes that read or write a tensor with a pair, in node order.
  std::vector<ir::NodeId> candidates() const;

  /// Returns the agreement if only `quantized` are quantized: tensors that none of them reads or writes stay float.
  /// Results that depend on calibration (folded activations, positions) are determined again for the remaining plan.
  /// Mixed precision and fine-tuning do not run.
  Result<Agreement> quantize_only(const Nodes& quantized) const;

 private:
  void leave(const Nodes& quantized, plan::QuantPlan& plan) const;

  const RunState& state_;
  const compare::ExpectedOutputs& expected_;
};

/// Islands around the layers that cost the outputs most.
struct BlockLimits {
  size_t most = 0;       ///< Upper bound on the number of blocks.
  double mac_share = 1;  ///< Upper bound on the share of each in the graph's multiply-accumulates.
};

/// Returns disjoint connected sets of nodes without holes. Each grows from the most harmful layer outside all blocks,
/// by other harmful layers nearby. `worst_first` contains layers in the order of their harm.
std::vector<Nodes> harmful_blocks(const ir::Graph& graph, const std::vector<ir::NodeId>& worst_first,
                                  const BlockLimits& limits);

/// `loaded` is the graph whose node names are used in settings.
LayerBlock described(const Nodes& block, const ir::Graph& loaded, const ir::Graph& graph);

}  // namespace quarkq::pipeline
