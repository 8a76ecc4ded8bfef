// SPDX-License-Identifier: MIT
// The table from operator and registry to rule: which tensors of a node are marked (ref:marking#op-rules). An operator
// without a row uses the generic rule: all inputs and all outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "plan/quant_plan.h"
#include "plan/selection.h"

namespace quarkq::plan {

/// Marker: the operations available to a rule of the op table. It marks tensors for quantization with the precedence of
/// ref:marking#quantizable-tensors: a plain mark never overwrites, shared-parameter and per-channel marks always do,
/// the first position is kept.
class Marker {
 public:
  Marker(const ir::Model& model, const config::Settings& settings, const TensorFormats& formats, QuantPlan& plan,
         Diagnostics& diagnostics)
      : graph_(model.graph),
        opset_(model.opset()),
        settings_(settings),
        formats_(formats),
        plan_(plan),
        diagnostics_(diagnostics),
        weights_only_(settings.selection.weights_only || settings.algorithms.use_gptq) {}

  const ir::Graph& graph() const { return graph_; }
  const config::Settings& settings() const { return settings_; }
  int64_t opset() const { return opset_; }

  /// Sets the node whose rule runs next, for the recorded decisions.
  void begin(const ir::Node& node) { node_ = node.id; }

  bool is_marked(ir::ValueId value) const { return plan_.has(value); }
  /// Returns true for float tensors with a known type, and for float initializers (ref:marking#quantizable-tensors).
  bool is_quantizable(ir::ValueId value) const { return value.valid() && !refusal(value); }
  bool is_initializer(ir::ValueId value) const { return value.valid() && graph_.value(value).is_initializer(); }
  /// Returns false if the node's op type is in OpTypesToExcludeOutputQuantization.
  bool marks_outputs(const ir::Node& node) const;

  /// Marks an activation; an initializer gets the weight type (ref:marking#quantizable-tensors). Ignores other tensors.
  void activation(ir::ValueId value);
  /// Marks `value` to share the parameters of `provider`.
  void same_as(ir::ValueId value, ir::ValueId provider);
  /// Marks a weight: per channel along `axis` if the settings request it and the value allows it, otherwise per tensor.
  void weight(ir::ValueId value, int64_t axis, const ir::Node& node, bool axis_option = false);
  void weight_per_tensor(ir::ValueId value);
  /// Marks the bias of `node` by the rules of ref:marking#biases.
  void bias(const ir::Node& node, ir::ValueId bias, ir::ValueId input, ir::ValueId weight, float beta);
  void outputs(const ir::Node& node);
  /// Folds a Relu or Clip into the range of its output if activations have a zero point and no other node reads its
  /// input (ref:marking#op-rules). Returns false if it is kept.
  bool fold_into_producer(const ir::Node& node);

 private:
  bool excludes_output(const ir::Node& producer) const;
  bool is_unsigned(ir::ValueId value) const;
  Stage activation_stage(ir::ValueId value) const;
  /// Returns why the value cannot be quantized at all, or nullopt if it can. REQUIRES: value.valid().
  std::optional<DecisionKind> refusal(ir::ValueId value) const;
  /// Returns false and records the decision if the value cannot be quantized.
  bool accepts(ir::ValueId value);
  void decide(ir::ValueId value, DecisionKind kind, ir::ValueId other = {}) {
    plan_.decisions.push_back({value, kind, node_, other});
  }
  QuantSlot& place(ir::ValueId value, Role role, Stage stage);
  /// Returns the axis along which a constant is quantized, or nullopt if it is quantized per tensor
  /// (ref:marking#channels).
  std::optional<int64_t> channel_axis(ir::ValueId value, int64_t axis, const ir::Node& node, bool axis_option);

  const ir::Graph& graph_;
  int64_t opset_;
  const config::Settings& settings_;
  const TensorFormats& formats_;
  QuantPlan& plan_;
  Diagnostics& diagnostics_;
  bool weights_only_;
  ir::NodeId node_;
};

/// Marks the tensors of `node` to quantize.
using OpRule = void (*)(Marker&, const ir::Node&);

struct OpRuleRow {
  const char* op;
  OpRule cpu;                                       ///< Rule of the QDQ registry; null: the generic rule.
  OpRule npu;                                       ///< Rule of the NPU-CNN registry; null: the same as `cpu`.
  bool in_cpu_set, in_npu_set, in_transformer_set;  ///< Membership in the default op sets.
  const char* summary;
};

const std::vector<OpRuleRow>& op_rules();
OpRule rule_for(const std::string& op, config::Registry registry);

/// Returns the default op set of the settings (ref:marking#op-sets) after applying the user's lists. `model_ops` are
/// the operators of the loaded model.
std::set<std::string, std::less<>> op_set(const config::Settings& settings, const std::vector<std::string>& model_ops);

}  // namespace quarkq::plan
