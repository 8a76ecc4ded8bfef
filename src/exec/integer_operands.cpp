// SPDX-License-Identifier: MIT
#include "exec/integer_operands.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/isa.h"
#include "ir/quantizing_ops.h"
#include "numeric/linear_quant.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kLongestSum = 65536;  ///< 255 * 128 * 65536 is below 2^31.
/// Products of one element of the source. With fewer, making its code costs what integers save.
constexpr int64_t kFewProducts = 16;

/// Returns the DQ or FakeQuantize node with constant parameters that computes input `i`, or null.
const ir::Node* quantizer_of(const ir::Graph& graph, const ir::Node& node, size_t i) {
  const ir::Node* producer = ir::source_of(graph, node, i);
  if (producer == nullptr || producer->inputs.size() != 3 || producer->outputs.size() != 1) return nullptr;
  if (!is_fake_quantize(*producer) && !ir::is_dq(*producer)) return nullptr;
  if (producer->int_or("block_size", 0) != 0 || producer->int_or("output_dtype", 0) != 0) return nullptr;
  const ir::Tensor *scale = graph.constant(producer->inputs[1]), *zero = graph.constant(producer->inputs[2]);
  if (scale == nullptr || zero == nullptr || scale->type() != ElementType::kFloat) return nullptr;
  const bool is_byte = zero->type() == ElementType::kInt8 || zero->type() == ElementType::kUInt8;
  return is_byte && scale->size() == zero->size() ? producer : nullptr;
}

/// Constant weights with the parameters of their quantizer.
struct StoredWeights {
  const ir::Tensor* tensor = nullptr;  ///< Integers that a DQ reads, or floats that a FakeQuantize rounds.
  const ir::Tensor* scale = nullptr;
  std::vector<int64_t> zero_points;
  int64_t inner = 1;  ///< Elements in a row that share a parameter, if there are several parameters.
  numeric::LinearParams rounding;

  size_t parameter(int64_t element) const {
    const auto count = static_cast<int64_t>(zero_points.size());
    return count == 1 ? 0 : static_cast<size_t>(element / inner % count);
  }
  float scale_of(size_t output) const { return scale->data<float>()[zero_points.size() == 1 ? 0 : output]; }
  /// Returns the integer of an element without its zero point.
  int64_t code(int64_t element) const {
    const size_t place = parameter(element);
    if (tensor->type() == ElementType::kInt8)
      return tensor->data<int8_t>()[static_cast<size_t>(element)] - zero_points[place];
    if (tensor->type() == ElementType::kUInt8)
      return tensor->data<uint8_t>()[static_cast<size_t>(element)] - zero_points[place];
    numeric::LinearParams own = rounding;
    own.scale = scale->data<float>()[place];
    own.zero_point = zero_points[place];
    return numeric::quantize(tensor->data<float>()[static_cast<size_t>(element)], own) - own.zero_point;
  }
};

/// Returns the weights of input 1 with one scale, or one per index of axis `outputs`.
std::optional<StoredWeights> stored_weights(const ir::Graph& graph, const ir::Node& node, size_t outputs) {
  const ir::Node* quantizer = quantizer_of(graph, node, 1);
  const ir::Tensor* tensor = quantizer == nullptr ? nullptr : graph.constant(quantizer->inputs[0]);
  if (tensor == nullptr || tensor->dims().size() <= outputs) return std::nullopt;
  const ir::Tensor &scale = *graph.constant(quantizer->inputs[1]), &zero = *graph.constant(quantizer->inputs[2]);
  if (tensor->type() != (is_fake_quantize(*quantizer) ? ElementType::kFloat : zero.type())) return std::nullopt;
  StoredWeights weights{tensor, &scale, ir::to_int64(zero).value(), 1, {}};
  weights.rounding.range = numeric::integer_range(zero.type(), numeric::RangeKind::kFull);
  weights.rounding.overflow = saturates(*quantizer) ? numeric::Overflow::kSaturate : numeric::Overflow::kLowest;
  if (scale.size() == 1) return weights;
  const ir::Shape& dims = tensor->dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t axis = quantizer->int_or("axis", 1);
  if ((axis < 0 ? axis + rank : axis) != static_cast<int64_t>(outputs) || scale.size() != dims[outputs])
    return std::nullopt;
  for (size_t d = outputs + 1; d < dims.size(); ++d) weights.inner *= dims[d];
  return weights;
}

/// Stores the weights as bytes, outputs first. Returns false if one does not fit.
bool store(const StoredWeights& from, size_t outputs, std::vector<int8_t>& bytes) {
  const int64_t count = from.tensor->size(), rows = from.tensor->dims()[0], columns = count / rows;
  bytes.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t code = from.code(i);
    if (code < -128 || code > 127) return false;
    const int64_t to = outputs == 0 ? i : i % columns * rows + i / columns;
    bytes[static_cast<size_t>(to)] = static_cast<int8_t>(code);
  }
  return true;
}

/// Fills in the products of both scales. Returns false if one is not a normal number.
bool multiply_scales(const StoredWeights& weights, int64_t outputs, IntegerOperands& operands) {
  for (int64_t i = 0; i < outputs; ++i) {
    operands.scales.push_back(operands.source.scale * weights.scale_of(static_cast<size_t>(i)));
    if (!std::isnormal(operands.scales.back()) || operands.scales.back() < 0) return false;
  }
  return std::isnormal(operands.source.scale) && operands.source.scale > 0;
}

/// Axis of the outputs in the weights of an operator that is summed in integers; nullopt for others.
std::optional<size_t> output_axis(const ir::Node& node) {
  if (!node.domain.empty() || node.inputs.size() < 2) return std::nullopt;
  if (node.op == "Conv") return 0;
  if (node.op == "MatMul") return 1;
  if (node.op != "Gemm" || node.int_or("transA", 0) != 0) return std::nullopt;
  if (node.float_or("alpha", 1.0f) != 1.0f || node.float_or("beta", 1.0f) != 1.0f) return std::nullopt;
  return node.int_or("transB", 0) != 0 ? 0 : 1;
}

/// Returns whether integers are faster than float32, and their sums fit into 32 bits.
bool gains(const ir::Node& node, const ir::Shape& weights, size_t outputs) {
  const bool is_conv = node.op == "Conv";
  if (is_conv ? weights.size() < 3 || weights.size() > 5 : weights.size() != 2) return false;
  int64_t all = 1;
  for (const int64_t dim : weights) all *= dim;
  const int64_t made = weights[outputs], groups = is_conv ? node.int_or("group", 1) : 1;
  if (all == 0 || groups < 1 || made % groups != 0) return false;
  const int64_t depth = all / made, inputs = is_conv ? weights[1] : depth;
  if (depth > kLongestSum || (groups > 1 && inputs < 8)) return false;
  return depth / inputs * (made / groups) >= kFewProducts;
}

std::unique_ptr<const IntegerOperands> operands_of(const ir::Graph& graph, const ir::Node& node) {
  const std::optional<size_t> axis = output_axis(node);
  const ir::Node* quantizer = axis ? quantizer_of(graph, node, 0) : nullptr;
  if (quantizer == nullptr || graph.constant(quantizer->inputs[0]) != nullptr) return nullptr;
  const std::optional<PairParams> source =
      read_pair_params(graph.constant(quantizer->inputs[1]), graph.constant(quantizer->inputs[2]));
  const std::optional<StoredWeights> weights = source ? stored_weights(graph, node, *axis) : std::nullopt;
  if (!weights || !gains(node, weights->tensor->dims(), *axis)) return nullptr;
  auto operands = std::make_unique<IntegerOperands>();
  operands->source = *source;
  if (!store(*weights, *axis, operands->weights)) return nullptr;
  if (!multiply_scales(*weights, weights->tensor->dims()[*axis], *operands)) return nullptr;
  return operands;
}

}  // namespace

const IntegerOperands* IntegerNodes::find(const ir::Node& node) {
  if (!has_vnni()) return nullptr;
  const auto [place, is_new] = found_.try_emplace(node.id.index);
  if (is_new) place->second = operands_of(graph_, node);
  return place->second.get();
}

bool IntegerNodes::has_reader(ir::ValueId value) {
  return std::ranges::any_of(graph_.value(value).uses, [&](const ir::Use& use) {
    return !use.is_capture && use.input == 0 && find(graph_.node(use.node)) != nullptr;
  });
}

}  // namespace quarkq::exec
