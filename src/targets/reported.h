// SPDX-License-Identifier: MIT
// Reported: the placement that a compiler reported, in one form for every kind of file. pipeline/ep_report reads it;
// compare_placement() compares it with the prediction.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/targets/target.h"
#include "ir/graph.h"
#include "quarkq/ep_report.h"
#include "targets/quantized_view.h"

namespace quarkq::targets {

/// A node of a compiler's report. It has no name: its outputs identify it.
struct ReportedNode {
  std::string op;  ///< Without a domain.
  std::string device;
  std::vector<std::string> inputs, outputs;  ///< Names of tensors; empty for absent ones.
};

struct Reported {
  std::vector<std::string> files;
  std::vector<ReportedNode> nodes;               ///< In execution order; empty if only counts are known.
  std::map<std::string, std::string> placed_on;  ///< Devices, keyed by the name of a node or of its first output.
  bool lists_npu_only = false;                   ///< Nodes that `placed_on` does not list are on the CPU.
  std::map<std::string, size_t> operators;       ///< Number of nodes by device.
  std::map<std::string, size_t> subgraphs;       ///< Number of subgraphs by device.
  size_t running = 0;                            ///< Number of subgraphs that run on the NPU; 0 if it is not stated.
  std::map<std::string, std::string> reasons;    ///< Why a node is on the CPU, by its name or that of an output.
  std::string compiled_model, compiler;

  bool has_nodes() const { return !nodes.empty() || !placed_on.empty() || lists_npu_only; }
};

/// Returns whether nodes of `device` run on an NPU.
bool is_npu(const std::string& device);

/// Nodes of a model by the entries of a report.
struct NodeMatch {
  static constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> entry_of;     ///< Index of the entry, by node id.
  std::vector<ir::NodeId> node_of;  ///< Indexed by entry; invalid if the model does not have the node.
};

/// Matches entries by operator and first output, then by the suffixes that ONNX Runtime adds to names of tensors, then
/// by the inputs and readers of nodes that are already matched. Copies of a DequantizeLinear match the same node.
/// Linear in nodes and links.
NodeMatch match_nodes(const QuantizedView& view, const std::vector<ReportedNode>& nodes);

/// Compares `predicted`, the report of assess(), with what was reported. Does not set goals. Fails with kBadData if the
/// report is about another model.
Result<EpReport> compare_placement(const ir::Model& model, TargetReport predicted, const Reported& reported);

/// Returns the rows that correct `target` by what the report shows, of grade kSeenGrade with this source. A row is
/// corrected if more nodes become right than wrong. Returns no rows if the prediction was right, or if nothing was
/// placed, because the cause may then be outside the model. Does not set `seen`.
config::LearnedFacts learned_facts(const EpReport& report, const config::Target& target, const std::string& source);

}  // namespace quarkq::targets
