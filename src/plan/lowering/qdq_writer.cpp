// SPDX-License-Identifier: MIT
#include "plan/lowering/qdq_writer.h"

#include <algorithm>

#include "ir/quantizing_ops.h"
#include "numeric/element_type.h"
#include "plan/constant_codes.h"

namespace quarkq::plan {

void QdqWriter::write_tensors() {
  for (const QuantSlot& slot : plan_.slots()) {
    if (slot.provider.valid() || slot.role == Role::kBias) continue;
    if (slot.role == Role::kWeight) {
      write_constant(slot);
    } else {
      write_activation(slot);
    }
  }
}

void QdqWriter::write_sharing() {
  for (const QuantSlot& slot : plan_.slots()) {
    if (slot.provider.valid()) write_activation(slot);
  }
}

void QdqWriter::write_biases() {
  for (const QuantSlot& slot : plan_.slots()) {
    if (slot.role == Role::kBias) write_bias(slot);
  }
}

const ParamList& QdqWriter::params_of(const QuantSlot& slot) const {
  static const ParamList kStandIn = {numeric::QuantParams{}};
  const ParamList& params = plan_.params[slot.stage.params];
  return params.empty() ? kStandIn : params;
}

ir::Tensor QdqWriter::scale_tensor(const QuantSlot& slot, const ir::Shape& dims) const {
  std::vector<float> scales;
  for (const numeric::QuantParams& params : params_of(slot)) scales.push_back(params.scale);
  if (!slot.stage.spec.half_scale) return ir::Tensor::from<float>(dims, scales);
  ir::Tensor halves = ir::Tensor::allocate(ElementType::kFloat16, dims);
  for (size_t i = 0; i < scales.size(); ++i) halves.mutable_data<uint16_t>()[i] = float16_from_float(scales[i]);
  return halves;
}

ir::Tensor QdqWriter::zero_point_tensor(const QuantSlot& slot, const ir::Shape& dims) const {
  std::vector<int32_t> zeros;
  for (const numeric::QuantParams& params : params_of(slot)) zeros.push_back(params.zero_point);
  return store_codes(zeros, slot.stage.spec.type, dims);  // zero points of floating types are 0, whose bits are also 0
}

ir::Shape QdqWriter::parameter_dims(const QuantSlot& slot) const {
  if (!slot.stage.spec.per_channel) return {};
  return {static_cast<int64_t>(params_of(slot).size())};
}

/// An absorbed slot has some only when another one shares them.
bool QdqWriter::has_parameters(const QuantSlot& slot) const {
  return slot.stage.kind != StageKind::kBlock && !params_of(slot).empty() && !parameters_.contains(slot.stage.params);
}

/// Activations: zero point first, then scale (the reference's order of initializers).
void QdqWriter::write_activation_parameters(const QuantSlot& slot) {
  const std::string name = name_of(slot.value);
  Parameters made;
  made.zeros_only = zeros_only(slot);
  made.zero_point = edit_.add_initializer(zero_point_name(name), zero_point_tensor(slot, {}));
  made.scale = edit_.add_initializer(scale_name(name), scale_tensor(slot, {}));
  parameters_[slot.stage.params] = made;
}

void QdqWriter::write_constant_parameters(const QuantSlot& slot) {
  const std::string name = name_of(slot.value);
  const ir::Shape dims = parameter_dims(slot);
  Parameters made;
  made.zeros_only = zeros_only(slot);
  made.scale = edit_.add_initializer(scale_name(name), scale_tensor(slot, dims));
  made.zero_point = edit_.add_initializer(zero_point_name(name), zero_point_tensor(slot, dims));
  parameters_[slot.stage.params] = made;
}

bool QdqWriter::zeros_only(const QuantSlot& slot) const {
  const ParamList& params = params_of(slot);
  return std::all_of(params.begin(), params.end(), [](const numeric::QuantParams& one) { return one.zero_point == 0; });
}

void QdqWriter::write_dequantize(const std::string& node_name, ir::ValueId codes, const Parameters& parameters,
                                 ir::ValueId output, const QuantSlot& slot) {
  const OperatorName name = plan_.operators.dequantize(slot.stage, parameters.zeros_only);
  ir::NodeSpec spec{name.op, name.domain, node_name, {codes, parameters.scale, parameters.zero_point}, {output}};
  if (slot.stage.spec.per_channel && !slot.stage.omits_axis)
    spec.attributes.push_back({"axis", slot.stage.spec.axis, {}, {}});
  edit_.add_node(std::move(spec));
}

void QdqWriter::write_pair(const Stage& stage, const QdqNames& names, const Parameters& parameters, ir::ValueId input,
                           ir::ValueId output) {
  const OperatorName quantize = plan_.operators.quantize(stage);
  const OperatorName dequantize = plan_.operators.dequantize(stage, parameters.zeros_only);
  std::vector<ir::Attribute> axis;
  if (stage.spec.per_channel) axis.push_back({"axis", stage.spec.axis, {}, {}});
  if (form_ == QdqForm::kSimulated) {
    ir::NodeSpec spec{kFakeQuantize,
                      kSimulationDomain,
                      names.quantize_node,
                      {input, parameters.scale, parameters.zero_point},
                      {output}};
    spec.attributes = {{kQuantizeOp, quantize.op, {}, {}},
                       {kQuantizeDomain, quantize.domain, {}, {}},
                       {kDequantizeOp, dequantize.op, {}, {}},
                       {kDequantizeDomain, dequantize.domain, {}, {}}};
    spec.attributes.insert(spec.attributes.end(), axis.begin(), axis.end());
    edit_.add_node(std::move(spec));
    return;
  }
  ir::ValueType coded = graph_.value(input).type;
  coded.element = stage.spec.type;
  const ir::ValueId codes = edit_.add_value(names.quantize_output, coded);
  const ir::ValueId scale = parameters.scale, zero_point = parameters.zero_point;
  edit_.add_node({quantize.op, quantize.domain, names.quantize_node, {input, scale, zero_point}, {codes}, axis});
  edit_.add_node({dequantize.op, dequantize.domain, names.dequantize_node, {codes, scale, zero_point}, {output}, axis});
}

void QdqWriter::write_block(const Stage& stage, const std::string& node_name, ir::ValueId input, ir::ValueId output) {
  ir::NodeSpec spec{stage.block->op, ir::kQuarkDomain, node_name, {input}, {output}};
  spec.attributes = stage.block->attributes;
  edit_.add_node(std::move(spec));
}

void QdqWriter::write_stage(const QuantSlot& slot, const QdqNames& names, ir::ValueId input, ir::ValueId output) {
  const Stage& stage = slot.stage;
  if (stage.kind == StageKind::kBlock) {
    write_block(stage, names.dequantize_node + (stage.is_mixed ? "_Mixed_fn" : ""), input, output);
    return;
  }
  write_pair(stage, names, parameters_.at(stage.params), input, output);
}

ir::ValueId QdqWriter::add_output(const std::string& name, ir::ValueId like) {
  return edit_.add_value(name, graph_.value(like).type);
}

void QdqWriter::move_node_uses(ir::ValueId from, ir::ValueId to) {
  for (const ir::Use& use : std::vector<ir::Use>(graph_.value(from).uses)) {
    const bool is_kept = use.is_capture || plan_.float_readers.contains(use.node);
    if (!is_kept) edit_.set_input(use.node, static_cast<size_t>(use.input), to);
  }
}

void QdqWriter::keep_float_readers(ir::ValueId from, ir::ValueId to) {
  for (const ir::Use& use : std::vector<ir::Use>(graph_.value(to).uses)) {
    if (!use.is_capture && plan_.float_readers.contains(use.node))
      edit_.set_input(use.node, static_cast<size_t>(use.input), from);
  }
}

void QdqWriter::rewire(const ir::Use& reader, ir::ValueId from, ir::ValueId to) {
  const size_t inputs = graph_.node(reader.node).inputs.size();
  for (size_t i = 0; i < inputs; ++i) {
    const bool is_own =
        plan_.pair_per_input ? i == static_cast<size_t>(reader.input) : graph_.node(reader.node).inputs[i] == from;
    if (is_own) edit_.set_input(reader.node, i, to);
  }
}

void QdqWriter::write_activation(const QuantSlot& slot) {
  if (has_parameters(slot)) write_activation_parameters(slot);
  if (slot.state == SlotState::kAbsorbed) return;
  const std::string name = name_of(slot.value);
  const auto& readers = plan_.dedicated_uses[static_cast<size_t>(slot.value.index)];
  if (plan_.has_dedicated_pairs(slot.value)) {
    for (size_t i = 0; i < readers.size(); ++i) {
      const QdqNames names(name, cat("_", i + 1));
      const ir::ValueId output = add_output(names.dequantize_output, slot.value);
      rewire(readers[i], slot.value, output);
      write_stage(slot, names, slot.value, output);
    }
    return;
  }
  const QdqNames names(name);
  const ir::ValueId output = add_output(names.dequantize_output, slot.value);
  const ir::Value& value = graph_.value(slot.value);
  if (value.is_output && !value.is_input) {   // an input that is also an output keeps its name and its exact values
    edit_.replace_value(slot.value, output);  // the last node takes the output's name
    edit_.rename(slot.value, names.quantize_input);
    keep_float_readers(slot.value, output);
  } else {
    move_node_uses(slot.value, output);
  }
  write_stage(slot, names, slot.value, output);
}

void QdqWriter::write_constant(const QuantSlot& slot) {
  const std::string name = name_of(slot.value);
  if (has_parameters(slot)) write_constant_parameters(slot);
  const QdqNames names(name);
  const ir::ValueId output = add_output(names.dequantize_output, slot.value);
  if (slot.stage.kind == StageKind::kStored) {
    const ir::ValueId codes = edit_.add_initializer(stored_name(name), codes_of(slot));
    move_node_uses(slot.value, output);
    write_dequantize(names.dequantize_node, codes, parameters_.at(slot.stage.params), output, slot);
    return;
  }
  if (slot.codes) edit_.set_constant(slot.value, *slot.codes);
  move_node_uses(slot.value, output);
  write_stage(slot, names, slot.value, output);
}

/// The DQ's output has the bias's own name, so its reader is not rewired.
void QdqWriter::write_bias(const QuantSlot& slot) {
  const std::string name = name_of(slot.value), stored = stored_name(name);
  const auto count = static_cast<int64_t>(params_of(slot).size());
  const ir::ValueId codes = edit_.add_initializer(stored, codes_of(slot));
  Parameters made;
  made.zeros_only = zeros_only(slot);
  made.scale = edit_.add_initializer(scale_name(stored), scale_tensor(slot, {count}));
  made.zero_point = edit_.add_initializer(zero_point_name(stored), zero_point_tensor(slot, parameter_dims(slot)));
  edit_.clear_constant(slot.value);
  write_dequantize(QdqNames(name).dequantize_node, codes, made, slot.value, slot);
}

void QdqWriter::replace_constants() {
  for (const auto& [value, tensor] : plan_.replaced_constants) edit_.set_constant(value, tensor);
}

void QdqWriter::remove_raw_pairs() {
  for (const ir::Use& read : plan_.raw_reads) {
    const auto input = static_cast<size_t>(read.input);
    ir::ValueId value = graph_.node(read.node).inputs[input];
    const int nodes = form_ == QdqForm::kSimulated ? 1 : 2;
    std::vector<ir::NodeId> pair;
    for (int i = 0; i < nodes; ++i) {
      const ir::Node* producer = graph_.producer(value);
      QQ_CHECK(producer != nullptr && graph_.use_count(value) == 1);
      pair.push_back(producer->id);
      value = producer->input(0);
    }
    edit_.set_input(read.node, input, value);
    for (const ir::NodeId id : pair) {
      const ir::ValueId made = graph_.node(id).output(0);
      edit_.remove_node(id);
      edit_.remove_value(made);
    }
  }
}

}  // namespace quarkq::plan
