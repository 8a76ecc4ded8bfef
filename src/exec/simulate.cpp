// SPDX-License-Identifier: MIT
#include "exec/simulate.h"

#include <algorithm>
#include <span>

#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/element_type.h"
#include "plan/lowering/lower.h"

namespace quarkq::exec {

namespace {

constexpr auto kHalfNumber = static_cast<int64_t>(ElementType::kFloat16);
constexpr auto kFloatNumber = static_cast<int64_t>(ElementType::kFloat);

/// Attributes that say which type a node makes.
constexpr const char* kTypeAttributes[] = {"to", "dtype", "output_dtype", "output_datatype"};

bool makes_half(const ir::Node& node) {
  return std::any_of(std::begin(kTypeAttributes), std::end(kTypeAttributes),
                     [&](const char* name) { return node.int_or(name, 0) == kHalfNumber; });
}

bool is_half(const ir::Tensor& tensor) { return tensor.type() == ElementType::kFloat16; }

bool has_half(const ir::Graph& graph);

bool has_half(const ir::Attribute& attribute) {
  if (const auto* tensor = std::get_if<ir::Tensor>(&attribute.value)) return is_half(*tensor);
  const auto* nested = std::get_if<ir::GraphPtr>(&attribute.value);
  return nested != nullptr && has_half(**nested);
}

bool has_half(const ir::Graph& graph) {
  const auto& initializers = graph.initializers();
  const auto& inputs = graph.inputs();
  const auto& order = graph.order();
  return std::any_of(initializers.begin(), initializers.end(),
                     [&](ir::ValueId value) { return is_half(*graph.value(value).constant); }) ||
         std::any_of(inputs.begin(), inputs.end(),
                     [&](ir::ValueId value) { return graph.value(value).type.element == ElementType::kFloat16; }) ||
         std::any_of(order.begin(), order.end(), [&](ir::NodeId id) {
           const ir::Node& node = graph.node(id);
           return makes_half(node) || std::any_of(node.attributes.begin(), node.attributes.end(),
                                                  [](const ir::Attribute& attribute) { return has_half(attribute); });
         });
}

/// Inputs of a node that contain what com.amd.quark calls codes: float16 is a format there, not a precision. BitCast
/// reads the bits of its input.
std::span<const size_t> code_inputs(const ir::Node& node) {
  constexpr static size_t kQuantize[] = {2}, kDequantize[] = {0, 2}, kBits[] = {0};
  if (node.is("BitCast")) return kBits;
  if (node.domain.empty() || node.domain == ir::kMicrosoftDomain) return {};
  const ir::QuantizingPart part = ir::quantizing_part(&node);
  if (part == ir::QuantizingPart::kQuantize || node.op == plan::kFakeQuantize) return kQuantize;
  return part == ir::QuantizingPart::kDequantize ? std::span<const size_t>(kDequantize) : std::span<const size_t>();
}

ir::Tensor to_float(const ir::Tensor& half) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, half.dims());
  std::transform(half.data<uint16_t>().begin(), half.data<uint16_t>().end(), tensor.mutable_data<float>().begin(),
                 float_from_float16);
  return tensor;
}

class Promotion {
 public:
  explicit Promotion(ir::Graph& graph) : graph_(graph), edit_(graph) {}

  /// What holds at every depth: constants are float32, and so is what leaves a node that makes float16.
  void promote_inside() {
    const std::vector<ir::ValueId> initializers = graph_.initializers();
    for (const ir::NodeId id : graph_.order()) keep_codes(id);
    for (const ir::ValueId value : initializers) {
      const ir::Tensor& constant = *graph_.value(value).constant;
      const bool is_read = graph_.use_count(value) > 0;
      if (is_half(constant) && is_read && !graph_.value(value).is_output) edit_.set_constant(value, to_float(constant));
    }
    const std::vector<ir::NodeId> order = graph_.order();
    for (const ir::NodeId id : order) {
      for (ir::Attribute& attribute : edit_.node(id).attributes) promote(attribute);
      if (graph_.node(id).is("BitCast")) narrow_input(id);
      if (makes_half(graph_.node(id)) && graph_.node(id).output(0).valid()) widen_output(id);
    }
  }

  /// The graph's own inputs and outputs keep their type.
  void keep_boundary() {
    for (const ir::ValueId input : std::vector<ir::ValueId>(graph_.inputs())) {
      const bool half = graph_.value(input).is_initializer()
                            ? is_half(*graph_.value(input).constant)
                            : graph_.value(input).type.element == ElementType::kFloat16;
      if (half) widen_uses(input);
    }
    for (const ir::ValueId output : std::vector<ir::ValueId>(graph_.outputs())) {
      const ir::Value& value = graph_.value(output);
      if (value.is_initializer() && is_half(*value.constant)) widen_uses(output);
      if (value.producer.valid() && value.type.element == ElementType::kFloat16) narrow_output(output);
    }
  }

 private:
  /// Stored codes and zero points become values of their own, which are not promoted.
  void keep_codes(ir::NodeId id) {
    for (const size_t i : code_inputs(graph_.node(id))) {
      const ir::ValueId code = graph_.node(id).input(i);
      if (!code.valid() || !graph_.value(code).is_initializer() || !is_half(*graph_.value(code).constant)) continue;
      edit_.set_input(id, i, edit_.add_initializer(graph_.value(code).name + "_codes", *graph_.value(code).constant));
    }
  }

  static void promote(ir::Attribute& attribute) {
    if (auto* tensor = std::get_if<ir::Tensor>(&attribute.value); tensor != nullptr && is_half(*tensor)) {
      *tensor = to_float(*tensor);
    } else if (const auto* nested = std::get_if<ir::GraphPtr>(&attribute.value); nested && has_half(**nested)) {
      auto copy = std::make_shared<ir::Graph>(**nested);
      Promotion(*copy).promote_inside();
      attribute.value = ir::GraphPtr(std::move(copy));
    }
  }

  void add_cast(ir::ValueId from, ir::ValueId to, int64_t type) {
    const ir::NodeId cast = edit_.add_node({"Cast", "", "", {from}, {to}});
    edit_.node(cast).set("to", type);
  }

  void widen_uses(ir::ValueId value) {
    const ir::ValueId wide = edit_.add_value(graph_.value(value).name + "_as_float");
    edit_.replace_uses(value, wide);
    add_cast(value, wide, kFloatNumber);
  }

  /// The node makes float16 into a new value; its old output is that value in float32.
  void widen_output(ir::NodeId id) {
    const ir::ValueId wide = graph_.node(id).output(0);
    const ir::ValueId half = edit_.add_value(graph_.value(wide).name + "_as_half");
    edit_.set_output(id, 0, half);
    add_cast(half, wide, kFloatNumber);
  }

  /// A BitCast reads float16 as it is stored.
  void narrow_input(ir::NodeId id) {
    const ir::ValueId input = graph_.node(id).input(0);
    if (!input.valid() || graph_.value(input).constant || graph_.value(input).type.element != ElementType::kFloat16)
      return;
    const ir::ValueId half = edit_.add_value(graph_.value(input).name + "_bits");
    edit_.set_input(id, 0, half);
    const ir::NodeId cast = edit_.add_node({"Cast", "", "", {input}, {half}}, id);
    edit_.node(cast).set("to", kHalfNumber);
  }

  void narrow_output(ir::ValueId output) {
    const ir::NodeId producer = graph_.value(output).producer;
    const auto& outputs = graph_.node(producer).outputs;
    const auto place = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), output) - outputs.begin());
    const ir::ValueId wide = edit_.add_value(graph_.value(output).name + "_as_float");
    edit_.replace_uses(output, wide);
    edit_.set_output(producer, place, wide);
    add_cast(wide, output, kHalfNumber);
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
};

}  // namespace

std::unique_ptr<const ir::Graph> with_half_as_float(const ir::Graph& graph) {
  if (!has_half(graph)) return nullptr;
  auto copy = std::make_unique<ir::Graph>(graph);
  Promotion promotion(*copy);
  promotion.promote_inside();
  promotion.keep_boundary();
  return copy;
}

Result<ir::Model> simulate(const ir::Model& model, const plan::QuantPlan& plan) {
  ir::Model simulated = model;  // shares the weights
  QQ_TRY(simulated.graph, plan::lower(model.graph, plan, plan::QdqForm::kSimulated));
  return simulated;
}

}  // namespace quarkq::exec
