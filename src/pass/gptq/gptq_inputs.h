// SPDX-License-Identifier: MIT
// What GPTQ needs of a run: its options as they were set, and the Hessians of the matrices' inputs.
#pragma once

#include <vector>

#include "pass/context.h"
#include "pass/gptq/gptq.h"

namespace quarkq::pass {

/// GPTQParams. `bits` are those of the caller, who stores the codes. Fails when a value makes no sense.
Result<GptqOptions> gptq_options(const config::Settings& settings, int bits);

/// A MatMul of a float graph with a stored matrix.
struct GptqTarget {
  std::vector<ir::ValueId> inputs;  ///< what is multiplied with it: one per MatMul that reads it
  ir::ValueId weight;
};
/// MatMul nodes with a stored, unshared or shared, matrix that `takes` accepts, by matrix in node order.
template <typename Takes>
std::vector<GptqTarget> gptq_targets(const ir::Graph& graph, const Takes& takes) {
  std::vector<GptqTarget> targets;
  std::vector<size_t> place(graph.value_count(), 0);  // 1 + index of the target
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.is("MatMul") || !takes(node)) continue;
    size_t& at = place[static_cast<size_t>(node.input(1).index)];
    if (at == 0) {
      targets.push_back({{}, node.input(1)});
      at = targets.size();
    }
    targets[at - 1].inputs.push_back(node.input(0));
  }
  return targets;
}

/// A stored float matrix.
Dense<float> dense_of(const ir::Tensor& matrix);

/// The samples that Hessians are taken from.
struct GptqSamples {
  const calib::DataReader& data;
  size_t count = 0;  ///< the first ones
  Progress progress = {};
};
/// All samples; the reference stops after one (quirk UseAllGptqSamples).
GptqSamples gptq_samples(const config::Settings& settings, const calib::DataReader& data, Progress progress);

using UseHessian = std::function<Status(const GptqTarget&, const Dense<double>&)>;
/// Calls `use` with each target and the Hessian of its inputs over the samples, as many targets at a time as fit.
Status for_each_hessian(const GptqSamples& samples, const ir::Model& model, const std::vector<GptqTarget>& targets,
                        const UseHessian& use);

}  // namespace quarkq::pass
