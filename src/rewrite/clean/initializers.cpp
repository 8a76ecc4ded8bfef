// SPDX-License-Identifier: MIT
// Initializers listed among the graph's inputs leave that list (ref:rewrites#initializers): what is fed from outside
// cannot be stored.
#include <algorithm>
#include <map>

#include "ir/edit.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> remove_input_initializers(pass::FloatContext& context) {
  constexpr int64_t kFirstIrWithFreeInitializers = 4, kIrWritten = 7;
  ir::GraphEdit edit(context.graph());
  bool changed = false;
  for (const ir::ValueId input : std::vector<ir::ValueId>(context.graph().inputs())) {
    if (!context.graph().value(input).is_initializer()) continue;
    edit.remove_graph_input(input);
    changed = true;
  }
  if (changed && context.model.ir_version < kFirstIrWithFreeInitializers) {
    context.diagnostics.add(
        "ir-version", "",
        cat("IR version ", context.model.ir_version, " becomes ", kIrWritten, ": initializers are no longer inputs"));
    context.model.ir_version = kIrWritten;
  }
  return changed ? Changed::kYes : Changed::kNo;
}

// Both passes that give each reader of an initializer its own copy; the copies share the bytes until one is rewritten.

namespace {

/// Use number n >= 2 of `name` by these op types reads "duplicated<name><n>". `only_input` < 0: all inputs.
Changed copy_uses(ir::Graph& graph, const std::vector<std::string>& op_types, int64_t only_input) {
  ir::GraphEdit edit(graph);
  std::map<ir::ValueId, int64_t> uses;
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!op_types.empty() && std::find(op_types.begin(), op_types.end(), node.op) == op_types.end()) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId input = node.inputs[i];
      if (only_input >= 0 && static_cast<int64_t>(i) != only_input) continue;
      if (!input.valid() || !graph.value(input).is_initializer() || ++uses[input] == 1) continue;
      const ir::Tensor data = *graph.value(input).constant;
      const std::string name = cat("duplicated", graph.value(input).name, uses[input]);
      edit.set_input(id, i, edit.add_initializer(name, data));
      changed = Changed::kYes;
    }
  }
  return changed;
}

bool is_small_integer(config::DataType type) {
  using enum config::DataType;
  return type == kInt8 || type == kUInt8 || type == kInt16 || type == kUInt16;
}

/// Returns whether the method exists in ONNX Runtime, which the reference requires, or is the additional one of the
/// default mode.
bool is_runtime_method(config::CalibrateMethod method) {
  using enum config::CalibrateMethod;
  return method == kMinMax || method == kEntropy || method == kPercentile || method == kDistribution ||
         method == kFloatMinMSE;
}

}  // namespace

Result<Changed> copy_shared_init(pass::FloatContext& context) {
  if (!context.settings.runtime.copy_shared_init) return Changed::kNo;
  return copy_uses(context.graph(), *context.settings.runtime.copy_shared_init, -1);
}

Result<Changed> copy_bias_init(pass::FloatContext& context) {
  constexpr int64_t kBias = 2;
  const config::Settings& settings = context.settings;
  if (!settings.runtime.copy_bias_init || !is_small_integer(settings.formats.weight_type) ||
      !is_small_integer(settings.formats.activation_type) || !is_runtime_method(settings.ranges.calibrate_method))
    return Changed::kNo;
  return copy_uses(context.graph(), *settings.runtime.copy_bias_init, kBias);
}

}  // namespace quarkq::rewrite
