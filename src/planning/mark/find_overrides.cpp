// SPDX-License-Identifier: MIT
// Settings of single tensors, from all their sources, weakest first (ref:settings#layer-settings,
// ref:settings#precedence).
#include <algorithm>
#include <map>

#include "config/format_settings.h"
#include "config/low_bit_weights.h"
#include "plan/stage.h"
#include "planning/passes.h"
#include "planning/select/selectors.h"

namespace quarkq::planning {
namespace {

class Collector {
 public:
  explicit Collector(pass::PlanContext& context) : context_(context), graph_(context.graph()) {
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const ir::ValueId id{static_cast<int32_t>(i)};
      if (graph_.is_alive(id)) by_name_.emplace(graph_.value(id).name, id);
    }
  }

  /// The tensor of this name, or the first output of the node of this name; invalid: none. In compat mode tensors only.
  ir::ValueId tensor_meant(const std::string& name) const {
    if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    const std::vector<ir::NodeId> nodes = nodes_meant(graph_, name, context_.settings);
    const bool is_meant = !nodes.empty() && context_.settings.quirk(config::Quirk::kOverrideByNode);
    return is_meant ? graph_.node(nodes.front()).output(0) : ir::ValueId();
  }

  Status take(const std::string& name, config::TensorOverride made) {
    const ir::ValueId meant = tensor_meant(name);
    if (!meant.valid()) {
      return unknown_name(graph_, name, "settings of single tensors", context_.settings, context_.diagnostics);
    }
    context_.selection.overrides[meant] = std::move(made);
    return Status();
  }

  Status take_mixed_precision() {
    QQ_TRY(const std::vector<config::NamedOverride> overrides, config::read_mixed_precision_tensor(context_.settings));
    for (const config::NamedOverride& own : overrides) QQ_RETURN_IF_ERROR(take(own.tensor, own.made));
    return Status();
  }

  Status take_layers() {
    for (const auto& [name, made] : context_.selection.named_overrides) QQ_RETURN_IF_ERROR(take(name, made));
    for (const ir::NodeId id : graph_.order()) {
      for (const plan::LayerChoice& layer : context_.selection.layers) {
        if (!layer.nodes.contains(graph_.node(id))) continue;
        plan::for_each_tensor(graph_, graph_.node(id), layer.spec,
                              [&](ir::ValueId value, const config::TensorSpec& spec) {
                                context_.selection.overrides[value] = config::override_of(spec);
                              });
      }
    }
    return Status();
  }

  Status take_tensors() {
    QQ_TRY(const std::vector<config::NamedOverride> overrides, config::read_tensor_overrides(context_.settings));
    for (const config::NamedOverride& own : overrides) QQ_RETURN_IF_ERROR(take(own.tensor, own.made));
    return Status();
  }

  /// Constants combined with activations get the activation type.
  void align_element_wise() {
    static const std::set<std::string, std::less<>> kTypes = {"Mul", "Add", "Sub", "Div", "Min", "Max"};
    if (!context_.settings.runtime.align_eltwise_quant_type || !context_.settings.traits().aligns_elementwise ||
        context_.settings.npu.enable_npu_cnn || context_.settings.npu.enable_npu_transformer) {
      return;
    }
    for (const ir::NodeId id : graph_.order()) {
      if (!kTypes.contains(graph_.node(id).op)) continue;
      for (const ir::ValueId input : graph_.node(id).inputs) {
        if (input.valid()) context_.selection.overrides[input].type = context_.settings.formats.activation_type;
      }
    }
  }

 private:
  pass::PlanContext& context_;
  const ir::Graph& graph_;
  std::map<std::string, ir::ValueId, std::less<>> by_name_;
};

/// 4 bits are for stored weights (config/resolve_checks.cpp checks the types of all tensors).
Status check_nibbles(const pass::PlanContext& context) {
  const char* why = config::refusal_of_4_bits(context.settings);
  for (const auto& [value, made] : context.selection.overrides) {
    const ir::Value& tensor = context.model.graph.value(value);
    if (!made.type || bits(plan::element_type(*made.type)) != 4) continue;
    if (!tensor.is_initializer()) {
      return invalid_argument("tensor ", tensor.name, ": found a 4-bit type of its own, which is for stored weights; ",
                              "allowed for activations are 8 bits and more");
    }
    if (why != nullptr) return invalid_argument("tensor ", tensor.name, ": found a 4-bit type of its own with ", why);
    if (context.model.opset() < config::kOpsetWith4Bits) {
      return invalid_argument("tensor ", tensor.name, ": found a 4-bit type of its own in a model of opset ",
                              context.model.opset(), ", needed is ", config::kOpsetWith4Bits,
                              "; the tensor appears in preprocessing only, so set ConvertOpsetVersion");
    }
  }
  return Status();
}

}  // namespace

Result<Changed> find_overrides(pass::PlanContext& context) {
  Collector collector(context);
  QQ_RETURN_IF_ERROR(collector.take_mixed_precision());
  QQ_RETURN_IF_ERROR(collector.take_layers());
  QQ_RETURN_IF_ERROR(collector.take_tensors());
  collector.align_element_wise();
  QQ_RETURN_IF_ERROR(check_nibbles(context));
  return context.selection.overrides.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning
