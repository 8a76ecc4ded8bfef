// SPDX-License-Identifier: MIT
#include "plan/marker.h"

#include <algorithm>

#include "base/strings.h"

namespace quarkq::plan {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_float(ElementType type) { return type == ElementType::kFloat || type == ElementType::kFloat16; }

}  // namespace

bool Marker::is_quantizable(ir::ValueId value) const {
  if (!value.valid()) return false;
  const ir::Value& found = graph_.value(value);
  if (found.is_initializer()) return is_float(found.constant->type());
  if (settings_.weights_only || !is_float(found.type.element)) return false;
  const ir::Node* producer = graph_.producer(value);
  return producer == nullptr || !flavor_.honours_output_exclusion_by_name ||
         !contains(settings_.nodes_to_exclude_output_quantization, producer->name);
}

bool Marker::marks_outputs(const ir::Node& node) const {
  return !contains(settings_.op_types_to_exclude_output_quantization, node.op);
}

numeric::QuantSpec Marker::activation_spec() const {
  numeric::QuantSpec spec;
  spec.type = element_type(settings_.activation_type);
  spec.symmetric = settings_.activation_symmetric;
  spec.scale = activation_scale_kind(settings_);
  return spec;
}

numeric::QuantSpec Marker::weight_spec() const {
  numeric::QuantSpec spec;
  spec.type = element_type(settings_.weight_type);
  spec.symmetric = settings_.weight_symmetric;
  spec.reduce_range = settings_.reduce_range;
  spec.scale = weight_scale_kind(settings_);
  return spec;
}

QuantSlot& Marker::place(ir::ValueId value, Role role, StageKind kind, numeric::QuantSpec spec) {
  QuantSlot& slot = plan_.add(value);
  slot.role = role;
  slot.provider = {};
  slot.stages = {{kind, spec, {}}};
  return slot;
}

void Marker::activation(ir::ValueId value) {
  if (is_initializer(value)) {
    weight_per_tensor(value);
    return;
  }
  if (is_marked(value) || !is_quantizable(value)) return;
  place(value, Role::kActivation, StageKind::kPair, activation_spec());
}

void Marker::same_as(ir::ValueId value, ir::ValueId provider) {
  if (!is_quantizable(value)) return;
  place(value, Role::kActivation, StageKind::kPair, activation_spec()).provider = provider;
}

void Marker::weight_per_tensor(ir::ValueId value) {
  if (is_marked(value) || !is_quantizable(value)) return;
  place(value, Role::kWeight, StageKind::kStored, weight_spec());
}

void Marker::weight(ir::ValueId value, int64_t axis, const ir::Node& node, bool axis_option) {
  if (!is_initializer(value)) {
    activation(value);
    return;
  }
  if (!settings_.per_channel || !is_quantizable(value)) {
    weight_per_tensor(value);
    return;
  }
  if (axis_option) {
    if (const config::Node* chosen = settings_.qdq_op_type_per_channel_support_to_axis.node.find(node.op);
        chosen != nullptr && chosen->kind() == config::Node::Kind::kInt) {
      axis = chosen->as_int();
    }
  }
  const int64_t rank = graph_.value(value).constant->rank();
  Result<int64_t> normalized = ir::normalize_axis(axis, rank);
  if (!normalized.ok()) {
    if (rank > 1) {
      diagnostics_.warn("per-channel-axis", graph_.value(value).name,
                        cat("axis ", axis, " is outside of rank ", rank, ", quantized per tensor"));
    }
    weight_per_tensor(value);
    return;
  }
  if (const QuantSlot* earlier = plan_.find(value);
      earlier != nullptr && earlier->stages[0].spec.per_channel && earlier->stages[0].spec.axis != normalized.value()) {
    diagnostics_.notice("per-channel-axis", graph_.value(value).name,
                        "is shared by nodes that want different channel axes, the last one holds");
  }
  numeric::QuantSpec spec = weight_spec();
  // Spec 02 A.5: the reference takes INT8 for per-channel weights whenever activations are UINT8.
  if (settings_.activation_type == config::DataType::kUInt8) spec.type = ElementType::kInt8;
  spec.per_channel = true;
  spec.axis = normalized.value();
  place(value, Role::kWeight, StageKind::kStored, spec);
}

void Marker::bias(const ir::Node& node, ir::ValueId bias, ir::ValueId input, ir::ValueId weight, float beta) {
  if (!bias.valid()) return;
  if (!is_initializer(bias) || !is_quantizable(bias)) {
    diagnostics_.warn("bias-not-constant", graph_.value(bias).name,
                      cat("is the bias of ", graph_.label(node.id), " but no float constant, stays float"));
    return;
  }
  if (!settings_.quantize_bias) return;
  if (const QuantSlot* earlier = plan_.find(bias); earlier != nullptr && earlier->role == Role::kBias) {
    diagnostics_.warn("bias-shared", graph_.value(bias).name,
                      cat("is the bias of several nodes, ", graph_.label(node.id), " shares the scale of the first"));
    return;
  }
  if (!settings_.int32_bias) {
    if (settings_.per_channel && flavor_.per_channel_bias) {
      this->weight(bias, 0, node);
    } else {
      weight_per_tensor(bias);
    }
    return;
  }
  if (settings_.weights_only) return;
  numeric::QuantSpec spec;
  spec.type = ElementType::kInt32;
  QuantSlot& slot = place(bias, Role::kBias, StageKind::kStored, spec);
  slot.bias = BiasSource{node.id, input, weight, beta};
}

void Marker::outputs(const ir::Node& node) {
  if (!marks_outputs(node)) return;
  for (const ir::ValueId output : node.outputs) activation(output);
}

}  // namespace quarkq::plan
