// SPDX-License-Identifier: MIT
// Selection: which nodes may be quantized, and which tensors have settings of their own. Made on the model as the user
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

// TensorFormats: the format of a marked tensor: the types of the settings, or those of its override.

using TensorOverrides = std::map<ir::ValueId, config::TensorOverride>;

/// Null when the tensor has no settings of its own.
const config::TensorOverride* find_override(const TensorOverrides& overrides, ir::ValueId value);

class TensorFormats {
 public:
  /// Fails when BFPAttributes or MXAttributes hold invalid attribute values. Both arguments must outlive the result.
  static Result<TensorFormats> make(const config::Settings& settings, const TensorOverrides& overrides);

  /// Stage without parameters of an activation, and of a constant of rank `rank`, quantized per tensor.
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

/// A set of nodes of the model as loaded. Later it means the nodes that stand for one of them; in compat mode those
/// that have one of their names (quirk NodesKeepOrigins).
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

/// One entry of specific_layer_config and the nodes it means.
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
  NodeMarks included;  ///< empty: every node
  NodeMarks excluded;
  std::set<ir::NodeId> left_float;   ///< what a guard of the phase calibrate excluded, by id in the graph as it then is
  std::set<ir::NodeId> reads_float;  ///< nodes among them whose inputs have no pairs, either
  std::vector<LayerChoice> layers;
  NodeMarks layered;                             ///< the nodes of all layers
  std::vector<PromotionGroup> promotion_groups;  ///< a node is in one at most; none: each node alone
  /// In compat mode: what the layer configs mean, by the names of the model as loaded.
  std::vector<std::pair<std::string, config::TensorOverride>> named_overrides;
  TensorOverrides overrides;  ///< on the tensors that are quantized; phase `mark` makes them

  /// Nothing when the node's operator is in the op set, it is included, and it is not excluded
  /// (ref:marking#visited-nodes); else what keeps it from being quantized.
  std::optional<DecisionKind> refusal(const ir::Node& node) const;
  bool selects(const ir::Node& node) const { return !refusal(node); }
  /// By names alone, for formats with operators of their own: included, and not excluded.
  bool takes(const ir::Node& node) const {
    return !excluded.contains(node) && (included.empty() || included.contains(node));
  }
};

/// Calls `visit` for each tensor of `node` that `spec` says something about (ref:settings#layer-settings): the leading
/// inputs that are no constants, the first constant as weight, the input after it as bias, the outputs.
void for_each_tensor(const ir::Graph& graph, const ir::Node& node, const config::LayerSpec& spec,
                     const std::function<void(ir::ValueId, const config::TensorSpec&)>& visit);

}  // namespace quarkq::plan
