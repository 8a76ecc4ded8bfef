// SPDX-License-Identifier: MIT
#include "plan/op_rules.h"

#include <cmath>

namespace quarkq::plan {
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
