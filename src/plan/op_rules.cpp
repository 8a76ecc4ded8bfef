// SPDX-License-Identifier: MIT
#include "plan/op_rules.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "config/format_settings.h"
#include "ir/constants.h"

namespace quarkq::plan {

namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// Where a tensor is marked as a bias and as a weight (ref:marking#biases).
bool bias_is_stronger(const config::Settings& settings) { return settings.quirk(config::Quirk::kWideSharedBiases); }

bool is_float(ElementType type) { return type == ElementType::kFloat || type == ElementType::kFloat16; }

}  // namespace

std::optional<DecisionKind> Marker::refusal(ir::ValueId value) const {
  const ir::Value& found = graph_.value(value);
  const ElementType element = found.is_initializer() ? found.constant->type() : found.type.element;
  if (!is_float(element)) return DecisionKind::kNotFloat;
  // Guard: ExtendedDequantizeLinear, which half formats need, computes float32, and readers of float16 values next to
  // float32 values accept only float16.
  const bool needs_float32 =
      settings_.guards() && !settings_.formats.quantize_fp16 && config::is_half(settings_.formats.activation_type);
  if (needs_float32 && element == ElementType::kFloat16) return DecisionKind::kNotFloat;
  if (found.is_initializer()) return std::nullopt;
  if (weights_only_) return DecisionKind::kWeightsOnly;
  const ir::Node* producer = graph_.producer(value);
  const bool is_excluded = producer != nullptr && excludes_output(*producer);
  return is_excluded ? std::optional(DecisionKind::kOutputExcluded) : std::nullopt;
}

/// The reference marks the output all the same if a quantized node reads it, and not all of its quantizers read names.
bool Marker::excludes_output(const ir::Node& producer) const {
  const bool reads_types = settings_.quirk(config::Quirk::kExcludeOutputs);
  const bool reads_names = reads_types || settings_.traits().excludes_outputs_by_name;
  return (reads_names && contains(settings_.qdq.nodes_to_exclude_output_quantization, producer.name)) ||
         (reads_types && !marks_outputs(producer));
}

bool Marker::accepts(ir::ValueId value) {
  if (!value.valid()) return false;
  const std::optional<DecisionKind> why_not = refusal(value);
  if (why_not) decide(value, *why_not);
  return !why_not;
}

bool Marker::marks_outputs(const ir::Node& node) const {
  return !contains(settings_.qdq.op_types_to_exclude_output_quantization, node.op);
}

/// UseUnsignedReLU: values of Relu, and of Clip from 0 on, use the whole type. The reference only reads the option.
bool Marker::is_unsigned(ir::ValueId value) const {
  if (!settings_.quirk(config::Quirk::kUnsignedRelu) || !settings_.formats.use_unsigned_relu ||
      settings_.traits().is_cnn_overlay)
    return false;
  const ir::Node* producer = graph_.producer(value);
  if (producer == nullptr) return false;
  return producer->is("Relu") || (producer->is("Clip") && ir::number_of(graph_, *producer, 1, "min", -1.0) == 0.0);
}

Stage Marker::activation_stage(ir::ValueId value) const {
  Stage stage = formats_.activation(value);
  const config::TensorOverride* own = formats_.override_of(value);
  const bool is_given = own != nullptr && own->symmetric;
  if (stage.kind != StageKind::kBlock && is_integer(stage.spec.type) && !is_given && is_unsigned(value))
    stage.spec.symmetric = false;
  return stage;
}

QuantSlot& Marker::place(ir::ValueId value, Role role, Stage stage) {
  QuantSlot& slot = plan_.add(value);
  slot.role = role;
  slot.provider = {};
  slot.bias.reset();
  const ir::Value& found = graph_.value(value);
  const ElementType element = found.is_initializer() ? found.constant->type() : found.type.element;
  // Guard: scales that UseFP32Scale converts later are not rounded to float16, whose smallest normal number 16-bit
  // activations and int32 biases would fall below; the reference uses 1 there.
  const bool widened = settings_.guards() && settings_.formats.quantize_fp16 && settings_.formats.use_fp32_scale;
  stage.spec.half_scale = element == ElementType::kFloat16 && !widened;
  slot.stage = std::move(stage);
  return slot;
}

void Marker::activation(ir::ValueId value) {
  if (is_initializer(value)) {
    weight_per_tensor(value);
    return;
  }
  if (is_marked(value) || !accepts(value)) return;
  decide(value, DecisionKind::kMarkedActivation);
  place(value, Role::kActivation, activation_stage(value));
}

void Marker::same_as(ir::ValueId value, ir::ValueId provider) {
  if (!accepts(value)) return;
  decide(value, DecisionKind::kMarkedSame, provider);
  place(value, Role::kActivation, activation_stage(value)).provider = provider;
}

void Marker::weight_per_tensor(ir::ValueId value) {
  const QuantSlot* earlier = plan_.find(value);
  const bool replaces_bias = earlier != nullptr && earlier->role == Role::kBias && !bias_is_stronger(settings_);
  if ((earlier != nullptr && !replaces_bias) || !accepts(value)) return;
  decide(value, DecisionKind::kMarkedWeight);
  place(value, Role::kWeight, formats_.constant(value, graph_.value(value).constant->rank()));
}

std::optional<int64_t> Marker::channel_axis(ir::ValueId value, int64_t axis, const ir::Node& node, bool axis_option) {
  const config::TensorOverride* own = formats_.override_of(value);
  if (own != nullptr ? !own->is_per_channel() : !settings_.formats.per_channel) return {};
  if (axis_option) axis = config::channel_axis_of(settings_, node.op).value_or(axis);
  if (own != nullptr && own->axis) axis = *own->axis;
  const std::string& name = graph_.value(value).name;
  const int64_t rank = graph_.value(value).constant->rank();
  const Result<int64_t> normalized = ir::normalize_axis(axis, rank);
  if (!normalized.ok()) {
    if (rank > 1) {
      diagnostics_.add("per-channel-axis", name,
                       cat("axis ", axis, " is outside of rank ", rank, "; it is quantized per tensor"));
    }
    return {};
  }
  const Stage stage = formats_.constant(value, rank);
  if (stage.kind == StageKind::kBlock || !stage.spec.needs_range()) {
    diagnostics_.add("per-channel-float", name,
                     "per-channel scales do not apply to float or block formats; using per-tensor");
    return {};
  }
  return normalized.value();
}

void Marker::weight(ir::ValueId value, int64_t axis, const ir::Node& node, bool axis_option) {
  if (!is_initializer(value)) {
    activation(value);
    return;
  }
  const auto along = is_quantizable(value) ? channel_axis(value, axis, node, axis_option) : std::nullopt;
  if (!along) {
    weight_per_tensor(value);
    return;
  }
  if (const QuantSlot* earlier = plan_.find(value);
      earlier != nullptr && earlier->stage.spec.per_channel && earlier->stage.spec.axis != *along) {
    diagnostics_.add("per-channel-axis-shared", graph_.value(value).name,
                     "is read by nodes that require different channel axes; the last reader decides");
  }
  Stage stage = formats_.constant(value, graph_.value(value).constant->rank());
  // ref:marking#channels: the reference takes INT8 for per-channel weights whenever activations are UINT8. It has no 4
  // bits.
  if (settings_.formats.activation_type == config::DataType::kUInt8 && bits(stage.spec.type) != 4) {
    stage.spec.type = ElementType::kInt8;
  }
  stage.spec.per_channel = true;
  stage.spec.axis = *along;
  decide(value, DecisionKind::kMarkedWeight);
  place(value, Role::kWeight, std::move(stage));
}

namespace {

/// 4 bits are for weights: they are too few for a bias.
void widen_nibbles(QuantSlot* slot) {
  if (slot == nullptr) return;
  ElementType& type = slot->stage.spec.type;
  if (type == ElementType::kInt4) type = ElementType::kInt8;
  if (type == ElementType::kUInt4) type = ElementType::kUInt8;
}

}  // namespace

void Marker::bias(const ir::Node& node, ir::ValueId bias, ir::ValueId input, ir::ValueId weight, float beta) {
  if (!bias.valid()) return;
  if (formats_.override_of(bias) != nullptr && is_quantizable(bias)) {
    this->weight(bias, 0, node);
    return;
  }
  if (!is_initializer(bias) || !is_quantizable(bias)) {
    diagnostics_.add("bias-not-constant", graph_.value(bias).name,
                     cat("is the bias of ", graph_.label(node.id), ", but not a float constant; it stays float"));
    decide(bias, DecisionKind::kBiasNotConstant);
    return;
  }
  if (!settings_.bias.quantize_bias || (settings_.bias.int32_bias && weights_only_)) {
    decide(bias, DecisionKind::kBiasOption);
    return;
  }
  if (const QuantSlot* earlier = plan_.find(bias); earlier != nullptr && earlier->role == Role::kBias) {
    diagnostics_.add("bias-shared", graph_.value(bias).name,
                     cat("is the bias of several nodes, ", graph_.label(node.id), " shares the scale of the first"));
    return;
  }
  if (!settings_.bias.int32_bias) {
    if (settings_.formats.per_channel && settings_.traits().per_channel_bias) {
      this->weight(bias, 0, node);
    } else {
      weight_per_tensor(bias);
    }
    widen_nibbles(plan_.find(bias));
    return;
  }
  if (is_marked(bias) && !bias_is_stronger(settings_)) return;
  decide(bias, DecisionKind::kMarkedBias);
  Stage stage{StageKind::kStored, {}, {}, {}};
  stage.spec.type = ElementType::kInt32;
  QuantSlot& slot = place(bias, Role::kBias, std::move(stage));
  slot.bias = BiasSource{node.id, input, weight, beta};
}

bool Marker::fold_into_producer(const ir::Node& node) {
  if (settings_.formats.activation_symmetric || settings_.qdq.qdq_keep_removable_activations) return false;
  const config::QuantizerTraits& traits = settings_.traits();
  if (!traits.folds_removable || (traits.folds_need_option && !settings_.preprocessing.fold_relu)) return false;
  const ir::ValueId input = node.input(0);
  const ir::Value& value = graph_.value(input);
  if (value.uses.size() != 1 || value.is_input || value.is_output || !value.producer.valid()) return false;
  if (!is_quantizable(node.output(0))) return false;
  plan_.remove(input);
  decide(input, DecisionKind::kFolded);
  plan_.folded.push_back(node.id);
  return true;
}

void Marker::outputs(const ir::Node& node) {
  const bool is_marked = marks_outputs(node);
  for (const ir::ValueId output : node.outputs) {
    if (is_marked) activation(output);
    if (!is_marked && output.valid()) decide(output, DecisionKind::kOutputExcluded);
  }
}

namespace {

void generic(Marker& m, const ir::Node& node) {
  for (const ir::ValueId input : node.inputs) m.activation(input);
  m.outputs(node);
}

void conv(Marker& m, const ir::Node& node) {
  m.activation(node.input(0));
  m.outputs(node);
  m.weight(node.input(1), node.op == "ConvTranspose" ? 1 : 0, node);
  if (node.inputs.size() == 3) m.bias(node, node.input(2), node.input(0), node.input(1), 1.0f);
}

void gemm(Marker& m, const ir::Node& node) {
  m.activation(node.input(0));
  m.outputs(node);
  m.weight(node.input(1), node.int_or("transB", 0) != 0 ? 0 : 1, node);
  if (node.inputs.size() == 3) {
    m.bias(node, node.input(2), node.input(0), node.input(1), node.float_or("beta", 1.0f));
  }
}

void matmul(Marker& m, const ir::Node& node) {
  for (const ir::ValueId input : node.inputs) m.weight(input, 1, node, /*axis_option=*/true);
  m.outputs(node);
}

/// Relu and Clip: nothing without a marked input.
void removable(Marker& m, const ir::Node& node) {
  if (!m.is_marked(node.input(0))) return;
  if (!m.fold_into_producer(node)) m.activation(node.input(0));
  m.outputs(node);
}

void pass_through(Marker& m, const ir::Node& node) {
  if (m.settings().qdq.force_quantize_no_input_check) m.activation(node.input(0));
  if (m.is_marked(node.input(0)) && m.marks_outputs(node)) m.same_as(node.output(0), node.input(0));
}

void resize(Marker& m, const ir::Node& node) {
  if (m.opset() >= 11) pass_through(m, node);
}

void max_pool(Marker& m, const ir::Node& node) {
  if (m.opset() >= 12) pass_through(m, node);
}

void split(Marker& m, const ir::Node& node) {
  m.activation(node.input(0));
  if (!m.is_marked(node.input(0)) || !m.marks_outputs(node)) return;
  for (const ir::ValueId output : node.outputs) m.same_as(output, node.input(0));
}

void gather(Marker& m, const ir::Node& node) {
  const ir::ValueId data = node.input(0);
  if (m.settings().qdq.force_quantize_no_input_check || (m.is_initializer(data) && m.is_quantizable(data)))
    m.activation(data);
  if (m.is_marked(data)) m.same_as(node.output(0), data);
}

void where(Marker& m, const ir::Node& node) {
  if (m.settings().qdq.force_quantize_no_input_check) {
    m.activation(node.input(1));
    m.activation(node.input(2));
    m.outputs(node);
  } else if (m.is_marked(node.input(1)) && m.is_marked(node.input(2))) {
    m.outputs(node);
  }
}

void instance_norm(Marker& m, const ir::Node& node) {
  m.activation(node.input(0));
  m.weight(node.input(1), 1, node, /*axis_option=*/true);
  m.bias(node, node.input(2), node.input(0), node.input(1), 1.0f);
  m.outputs(node);
}

void layer_norm(Marker& m, const ir::Node& node) {
  if (m.settings().qdq.force_quantize_no_input_check) {
    m.activation(node.input(0));
  } else if (!m.is_marked(node.input(0)) || !m.marks_outputs(node)) {
    return;
  }
  m.outputs(node);
  m.weight(node.input(1), 1, node, /*axis_option=*/true);
  const bool leaves_bias = !m.settings().bias.quantize_bias && m.settings().quirk(config::Quirk::kFloatNormBiases);
  if (!leaves_bias) m.activation(node.input(2));
}

void prelu(Marker& m, const ir::Node& node) {
  m.activation(node.input(0));
  m.outputs(node);
  m.weight(node.input(1), 0, node);
}

/// Only the form that the NPU computes: alpha 1/6, beta 1/2 (ref:marking#op-rules).
void hard_sigmoid(Marker& m, const ir::Node& node) {
  const auto* alpha = node.get<float>("alpha");
  if (alpha == nullptr || std::abs(*alpha - 1.0f / 6.0f) >= 1e-6f) return;
  if (std::abs(node.float_or("beta", 0.5f) - 0.5f) >= 1e-6f) return;
  m.activation(node.input(0));
  m.outputs(node);
}

}  // namespace

const std::vector<OpRuleRow>& op_rules() {
  // op, cpu rule, npu rule (null: as cpu), in the default sets of CPU / NPU-CNN and EXT / NPU-transformer, summary
  static const std::vector<OpRuleRow> kRules = {
      {"Add", generic, nullptr, true, true, false, "inputs and output"},
      {"ArgMax", generic, nullptr, true, true, false, "input"},
      {"AveragePool", pass_through, generic, true, true, false, "CPU: output shares the input's scale; NPU: both"},
      {"Clip", removable, nullptr, true, true, false, "when its input is quantized"},
      {"Concat", generic, nullptr, true, true, false, "inputs and output"},
      {"Conv", conv, nullptr, true, true, false, "input, output, weight (axis 0), bias"},
      {"ConvTranspose", conv, nullptr, true, true, false, "input, output, weight (axis 1), bias"},
      {"DepthToSpace", generic, nullptr, false, true, false, "input and output"},
      {"Div", generic, nullptr, false, true, false, "inputs and output"},
      {"EmbedLayerNormalization", generic, nullptr, true, true, false, "inputs and outputs"},
      {"Erf", generic, nullptr, false, true, false, "input and output"},
      {"Gather", gather, nullptr, true, true, false, "output shares the table's scale"},
      {"Gelu", generic, nullptr, true, true, false, "input and output"},
      {"Gemm", gemm, nullptr, true, true, true, "input, output, weight, bias"},
      {"GlobalAveragePool", generic, nullptr, true, true, false, "input and output"},
      {"HardSigmoid", generic, hard_sigmoid, false, true, false, "the form with alpha 1/6"},
      {"InstanceNormalization", instance_norm, nullptr, true, true, false, "input, output, scale, bias"},
      {"LayerNormalization", layer_norm, nullptr, true, true, false, "when its input is quantized"},
      {"LeakyRelu", generic, nullptr, true, true, false, "input and output"},
      {"LpNormalization", generic, nullptr, false, true, false, "input and output"},
      {"MatMul", matmul, nullptr, true, true, true, "operands and output"},
      {"Max", generic, nullptr, false, true, false, "inputs and output"},
      {"MaxPool", max_pool, nullptr, true, true, false, "output shares the input's scale (opset >= 12)"},
      {"Min", generic, nullptr, false, true, false, "inputs and output"},
      {"Mul", generic, nullptr, true, true, false, "inputs and output"},
      {"PRelu", generic, prelu, false, true, false, "input, output, slope as weight"},
      {"Pad", generic, nullptr, true, true, false, "input and output"},
      {"ReduceMean", generic, nullptr, false, true, false, "input and output"},
      {"Relu", removable, nullptr, true, true, false, "when its input is quantized"},
      {"Reshape", pass_through, nullptr, true, true, false, "output shares the input's scale"},
      {"Resize", resize, nullptr, true, true, false, "output shares the input's scale (opset >= 11)"},
      {"Sigmoid", generic, nullptr, true, true, false, "input and output"},
      {"Slice", generic, nullptr, false, true, false, "input and output"},
      {"Softmax", generic, nullptr, true, true, false, "input and output; the output's range is [0, 1]"},
      {"SpaceToDepth", generic, nullptr, false, true, false, "input and output"},
      {"Split", split, nullptr, true, true, false, "outputs share the input's scale"},
      {"Squeeze", pass_through, nullptr, true, true, false, "output shares the input's scale"},
      {"Sub", generic, nullptr, false, true, false, "inputs and output"},
      {"Tanh", generic, nullptr, true, true, false, "input and output"},
      {"Transpose", pass_through, nullptr, true, true, false, "output shares the input's scale"},
      {"Unsqueeze", pass_through, nullptr, true, true, false, "output shares the input's scale"},
      {"Where", where, nullptr, true, true, false, "both data inputs and the output"},
  };
  return kRules;
}

OpRule rule_for(const std::string& op, config::Registry registry) {
  for (const OpRuleRow& row : op_rules()) {
    if (row.op != op) continue;
    if (registry == config::Registry::kNpuTransformer && !row.in_transformer_set) return generic;
    return registry == config::Registry::kNpuCnn && row.npu != nullptr ? row.npu : row.cpu;
  }
  return generic;
}

/// Operators with a form on integers (ref:writing#dynamic-quantization). Gemm counts as the MatMul that it becomes.
constexpr const char* kDynamicOps[] = {
    "Conv", "MatMul", "Attention", "LSTM", "Gather", "Transpose", "EmbedLayerNormalization"};

std::set<std::string, std::less<>> op_set(const config::Settings& settings, const std::vector<std::string>& model_ops) {
  std::set<std::string, std::less<>> ops(settings.selection.op_types_to_quantize.begin(),
                                         settings.selection.op_types_to_quantize.end());
  const bool wide = settings.npu.enable_npu_cnn || settings.asked_quant_format == config::QuantFormat::kExtendedQdq;
  if (ops.empty() && settings.traits().form == config::ResultForm::kDynamicOperators) {
    ops.insert(std::begin(kDynamicOps), std::end(kDynamicOps));
  } else if (ops.empty()) {
    for (const OpRuleRow& row : op_rules()) {
      if (settings.npu.enable_npu_transformer ? row.in_transformer_set : wide ? row.in_npu_set : row.in_cpu_set)
        ops.insert(row.op);
    }
  }
  ops.insert(settings.selection.extra_op_types_to_quantize.begin(),
             settings.selection.extra_op_types_to_quantize.end());
  if (settings.selection.quantize_all_op_types) ops.insert(model_ops.begin(), model_ops.end());
  return ops;
}

}  // namespace quarkq::plan
