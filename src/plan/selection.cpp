// SPDX-License-Identifier: MIT
#include "plan/selection.h"

#include <algorithm>

#include "ir/quantizing_ops.h"
#include "plan/stage.h"

namespace quarkq::plan {

Result<TensorFormats> TensorFormats::make(const config::Settings& settings, const TensorOverrides& overrides) {
  TensorFormats formats(settings, overrides);
  QQ_TRY(formats.bfp_, block_format(config::DataType::kBfp, settings));
  QQ_TRY(formats.mx_, block_format(config::DataType::kMx, settings));
  return formats;
}

const config::TensorOverride* find_override(const TensorOverrides& overrides, ir::ValueId value) {
  const auto found = overrides.find(value);
  return found == overrides.end() ? nullptr : &found->second;
}

Stage TensorFormats::stage(config::DataType type, StageKind kind) const {
  Stage made;
  made.kind = config::is_block(type) ? StageKind::kBlock : kind;
  made.spec.type = element_type(type);
  if (config::is_block(type)) made.block = type == config::DataType::kBfp ? bfp_ : mx_;
  return made;
}

Stage TensorFormats::activation(ir::ValueId value) const {
  const config::TensorOverride* own = override_of(value);
  const config::DataType type = own != nullptr && own->type ? *own->type : settings_.formats.activation_type;
  Stage made = stage(type, StageKind::kPair);
  const bool is_float = config::is_half(type) || config::is_block(type);
  made.spec.symmetric = settings_.formats.activation_symmetric || (own != nullptr && is_float);
  if (own != nullptr && own->symmetric) made.spec.symmetric = *own->symmetric;
  made.spec.reduce_range = own != nullptr && own->reduce_range.value_or(false);
  made.spec.scale = activation_scale_kind(settings_);
  made.spec.scaled = settings_.formats.activation_scaled && config::is_half(type);
  return made;
}

Stage TensorFormats::constant(ir::ValueId value, int64_t rank) const {
  const config::TensorOverride* own = override_of(value);
  const config::DataType type = own != nullptr && own->type ? *own->type : settings_.formats.weight_type;
  Stage made = stage(type, settings_.qdq.add_qdq_pair_to_weight ? StageKind::kPair : StageKind::kStored);
  if (made.block) made.block = for_constant(*made.block, rank);
  made.spec.symmetric = own != nullptr && own->symmetric ? *own->symmetric : settings_.formats.weight_symmetric;
  made.spec.reduce_range = own != nullptr && own->reduce_range ? *own->reduce_range : settings_.formats.reduce_range;
  made.spec.scale = weight_scale_kind(settings_);
  made.spec.scaled = settings_.formats.weight_scaled && config::is_half(type);
  return made;
}

void NodeMarks::add(const ir::Node& node) {
  const auto index = static_cast<size_t>(node.id.index);
  if (marks_[index]) return;
  marks_[index] = true;
  ++count_;
  if (!node.name.empty()) names_.insert(node.name);
}

bool NodeMarks::contains(const ir::Node& node) const {
  if (by_name_) return !node.name.empty() && names_.contains(node.name);
  return std::any_of(node.origins.begin(), node.origins.end(), [&](ir::NodeId origin) {
    return static_cast<size_t>(origin.index) < marks_.size() && marks_[static_cast<size_t>(origin.index)];
  });
}

std::optional<DecisionKind> Selection::refusal(const ir::Node& node) const {
  if (ir::is_standard_q(node) || ir::is_standard_dq(node)) return DecisionKind::kAlreadyQuantized;
  if (!op_types.contains(node.op)) return DecisionKind::kOperatorNotSelected;
  if (excluded.contains(node)) return DecisionKind::kNodeExcluded;
  if (left_float.contains(node.id)) return DecisionKind::kNodeLeftFloat;
  if (!included.empty() && !included.contains(node)) return DecisionKind::kNodeNotIncluded;
  return std::nullopt;
}

void for_each_tensor(const ir::Graph& graph, const ir::Node& node, const config::LayerSpec& spec,
                     const std::function<void(ir::ValueId, const config::TensorSpec&)>& visit) {
  size_t weight = 0;
  while (weight < node.inputs.size() &&
         (!node.inputs[weight].valid() || !graph.value(node.inputs[weight]).is_initializer())) {
    if (spec.input_tensors && node.inputs[weight].valid()) visit(node.inputs[weight], *spec.input_tensors);
    ++weight;
  }
  if (spec.weight && node.input(weight).valid()) visit(node.input(weight), *spec.weight);
  if (spec.bias && node.input(weight + 1).valid()) visit(node.input(weight + 1), *spec.bias);
  if (!spec.output_tensors) return;
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) visit(output, *spec.output_tensors);
  }
}

}  // namespace quarkq::plan
