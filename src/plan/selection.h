// SPDX-License-Identifier: MIT
// Selection: which nodes may be quantized, and which tensors have their own settings. Computed on the model as the user
// knows it, before anything is renamed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/format_settings.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "plan/decisions.h"
#include "plan/quant_plan.h"
#include "plan/stage.h"

namespace quarkq::plan {

// TensorFormats: the format of a marked tensor, from the types of the settings or from its override.

using TensorOverrides = std::map<ir::ValueId, config::TensorOverride>;

/// Returns null if the tensor has no override.
const config::TensorOverride* find_override(const TensorOverrides& overrides, ir::ValueId value);

class TensorFormats {
 public:
  /// Fails if BFPAttributes or MXAttributes contain invalid attribute values. Both arguments must outlive the result.
  static Result<TensorFormats> make(const config::Settings& settings, const TensorOverrides& overrides);

  /// Return the stage, without parameters, of an activation, and of a constant of rank `rank` quantized per tensor.
  Stage activation(ir::ValueId value) const;
  Stage constant(ir::ValueId value, int64_t rank) const;

  const config::TensorOverride* override_of(ir::ValueId value) const { return find_override(overrides_, value); }

 private:
  explicit TensorFormats(const config::Settings& settings, const TensorOverrides& overrides)
      : settings_(settings), overrides_(overrides) {}
  Stage stage(config::DataType type, StageKind kind) const;

  const config::Settings& settings_;
  const TensorOverrides& overrides_;
  BlockFormat bfp_, mx_;
};

/// A set of nodes of the loaded model. Later it contains the nodes that replace them, in compat mode the nodes that
/// have one of their names (quirk NodesKeepOrigins).
class NodeMarks {
 public:
  NodeMarks() = default;
  NodeMarks(const ir::Graph& loaded, bool by_name) : marks_(loaded.node_count()), by_name_(by_name) {}

  void add(const ir::Node& node);
  bool contains(const ir::Node& node) const;
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }

 private:
  std::vector<bool> marks_;
  std::set<std::string, std::less<>> names_;
  bool by_name_ = false;
  size_t count_ = 0;
};

/// One entry of specific_layer_config and its nodes.
struct LayerChoice {
  config::LayerSpec spec;
  NodeMarks nodes;
};

/// Nodes that mixed precision promotes together (SubgraphJson).
struct PromotionGroup {
  std::string name;
  NodeMarks nodes;
};

struct Selection {
  std::set<std::string, std::less<>> op_types;
  NodeMarks included;  ///< Empty: every node.
  NodeMarks excluded;
  std::set<ir::NodeId> left_float;   ///< Nodes excluded by a guard of phase calibrate, by id in the current graph.
  std::set<ir::NodeId> reads_float;  ///< Nodes of `left_float` whose inputs have no pairs either.
  std::vector<LayerChoice> layers;
  NodeMarks layered;                             ///< The nodes of all layers.
  std::vector<PromotionGroup> promotion_groups;  ///< Disjoint groups; empty: each node alone.
  /// In compat mode: the layer configs by the names of the loaded model.
  std::vector<std::pair<std::string, config::TensorOverride>> named_overrides;
  TensorOverrides overrides;  ///< Overrides of quantized tensors; computed in phase mark.

  /// Returns nullopt if the node's operator is in the op set and the node is included and not excluded
  /// (ref:marking#visited-nodes); otherwise returns the decision that prevents its quantization.
  std::optional<DecisionKind> refusal(const ir::Node& node) const;
  bool selects(const ir::Node& node) const { return !refusal(node); }
  /// Returns whether the node is included and not excluded, by names alone. For formats with their own operators.
  bool takes(const ir::Node& node) const {
    return !excluded.contains(node) && (included.empty() || included.contains(node));
  }
};

/// Calls `visit` for each tensor of `node` that `spec` configures (ref:settings#layer-settings): the leading inputs
/// that are not constants, the first constant as weight, the next input as bias, and the outputs.
void for_each_tensor(const ir::Graph& graph, const ir::Node& node, const config::LayerSpec& spec,
                     const std::function<void(ir::ValueId, const config::TensorSpec&)>& visit);

}  // namespace quarkq::plan
