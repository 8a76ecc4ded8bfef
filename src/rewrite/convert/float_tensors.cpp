// SPDX-License-Identifier: MIT
#include "rewrite/convert/float_tensors.h"

#include <algorithm>
#include <cmath>

#include "ir/edit.h"
#include "ir/traversal.h"
#include "numeric/element_type.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"

namespace quarkq::rewrite {

namespace {

constexpr float kMostFloat16 = 65504, kStepFloat16 = 5.9604645e-08f;  // 2^-24
constexpr float kMostBFloat16 = 3.38953139e38f;

float widened(uint16_t bits, ElementType type) {
  return type == ElementType::kFloat16 ? float_from_float16(bits) : float_from_bfloat16(bits);
}

uint16_t narrowed(float value, ElementType type) {
  const bool is_half = type == ElementType::kFloat16;
  if (std::isfinite(value)) {
    const float most = is_half ? kMostFloat16 : kMostBFloat16;
    value = std::clamp(value, -most, most);
    if (is_half && value != 0 && std::abs(value) < kStepFloat16) value = std::copysign(kStepFloat16, value);
  }
  return is_half ? float16_from_float(value) : bfloat16_from_float(value);
}

}  // namespace

ir::Tensor as_float_type(const ir::Tensor& tensor, ElementType to) {
  const ElementType from = tensor.type();
  if (from == to) return tensor;
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  if (from == ElementType::kFloat) {
    std::ranges::copy(tensor.data<float>(), values.begin());
  } else {
    std::ranges::transform(tensor.data<uint16_t>(), values.begin(), [&](uint16_t code) { return widened(code, from); });
  }
  if (to == ElementType::kFloat) return ir::Tensor::from<float>(tensor.dims(), values);
  ir::Tensor result = ir::Tensor::allocate(to, tensor.dims());
  std::ranges::transform(values, result.mutable_data<uint16_t>().begin(), [&](float v) { return narrowed(v, to); });
  return result;
}

bool fits_float_type(const ir::Tensor& tensor, ElementType to) {
  if (to != ElementType::kFloat16) return true;  // the others reach as far as float32
  const ir::Tensor wide = as_float_type(tensor, ElementType::kFloat);
  return std::ranges::none_of(wide.data<float>(),
                              [](float value) { return std::isfinite(value) && std::abs(value) > kMostFloat16; });
}

namespace {

bool is_idle_cast(const ir::Graph& graph, const ir::Node& node) {
  return node.is("Cast") && node.input(0).valid() &&
         node.int_or("to", 0) == static_cast<int64_t>(graph.value(node.input(0)).type.element);
}

}  // namespace

void remove_idle_casts(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& node = graph.node(id);
    if (!is_idle_cast(graph, node)) continue;
    const ir::ValueId from = node.input(0), to = node.output(0);
    const bool is_made_inside = graph.value(from).producer.valid() && !graph.value(from).is_output;
    if (graph.value(to).is_output && !is_made_inside) continue;
    edit.remove_node(id);
    edit.replace_value(to, from);
    edit.remove_value(to);
  }
}

// float16 is exact in float32, so only intermediate rounding changes.

namespace {

constexpr auto kHalfNumber = static_cast<int64_t>(ElementType::kFloat16);
constexpr auto kFloatNumber = static_cast<int64_t>(ElementType::kFloat);

/// Attributes that contain the number of an element type.
constexpr const char* kTypeAttributes[] = {"to",         "dtype",     "output_dtype",     "output_datatype",
                                           "stash_type", "precision", "softmax_precision"};

/// A serialized TypeProto or TensorProto names float16 by these two bytes, as a sequence's element for example. Other
/// fields may hold them by chance: what they are in is then refused, not damaged.
bool may_name_half(const std::string& bytes) { return bytes.find("\x08\x0A") != std::string::npos; }

ir::Tensor to_float(const ir::Tensor& half) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, half.dims());
  const auto halves = half.data<uint16_t>();
  std::transform(halves.begin(), halves.end(), tensor.mutable_data<float>().begin(), float_from_float16);
  return tensor;
}

class Widening {
 public:
  Widening(ir::Graph& graph, const std::set<ir::ValueId>& kept) : graph_(graph), edit_(graph), kept_(kept) {}

  /// Converts the graph and its nested graphs. Returns true if any tensor was float16.
  bool run() {
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const ir::ValueId id{static_cast<int32_t>(i)};
      if (graph_.is_alive(id) && !kept_.contains(id)) widen(id);
    }
    for (const ir::NodeId id : graph_.order()) {
      if (kept_.contains(graph_.node(id).output(0))) continue;
      for (ir::Attribute& attribute : edit_.node(id).attributes) widen(attribute);
    }
    return found_;
  }

  /// Returns why the graph cannot be converted, or an empty string if it can.
  const std::string& reason() const { return reason_; }

 private:
  void widen(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    if (value.constant && value.constant->type() == ElementType::kFloat16) {
      edit_.set_constant(id, to_float(*value.constant));
      found_ = true;
    } else if (value.type.element == ElementType::kFloat16) {
      edit_.mutable_value(id).type.element = ElementType::kFloat;
      found_ = true;
    }
    if (!may_name_half(value.type.other_type)) return;
    if (value.is_input || value.is_output) {
      reason_ = cat("'", value.name, "' is a sequence or optional of float16");
    } else {
      edit_.set_type(id, {});  // inference finds it again
    }
    found_ = true;
  }

  void widen(ir::Tensor& tensor) {
    if (tensor.type() != ElementType::kFloat16) return;
    tensor = to_float(tensor);
    found_ = true;
  }

  void widen(ir::GraphPtr& nested) {
    auto copy = std::make_shared<ir::Graph>(*nested);
    const std::set<ir::ValueId> none;
    Widening inside(*copy, none);
    if (!inside.run()) return;
    if (!inside.reason().empty()) reason_ = inside.reason();
    nested = std::move(copy);
    found_ = true;
  }

  void widen(ir::Attribute& attribute) {
    if (auto* tensor = std::get_if<ir::Tensor>(&attribute.value)) widen(*tensor);
    ir::change_nested(attribute, [&](ir::GraphPtr& nested) { widen(nested); });
    if (auto* tensors = std::get_if<std::vector<ir::Tensor>>(&attribute.value)) {
      for (ir::Tensor& tensor : *tensors) widen(tensor);
    }
    if (const auto* opaque = std::get_if<ir::OpaqueAttribute>(&attribute.value); opaque && may_name_half(opaque->bytes))
      reason_ = cat("attribute '", attribute.name, "' contains float16 in a form that cannot be converted");
    auto* number = std::get_if<int64_t>(&attribute.value);
    const bool is_type = std::any_of(std::begin(kTypeAttributes), std::end(kTypeAttributes),
                                     [&](const char* name) { return attribute.name == name; });
    if (number == nullptr || !is_type || *number != kHalfNumber) return;
    *number = kFloatNumber;
    found_ = true;
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
  const std::set<ir::ValueId>& kept_;
  bool found_ = false;
  std::string reason_;
};

}  // namespace

Result<WidenedHalves> widen_halves(const ir::Model& model, const std::set<ir::ValueId>& kept,
                                   Diagnostics& diagnostics) {
  WidenedHalves made;
  ir::Model wide = model;  // shares the weights
  Widening widening(wide.graph, kept);
  made.has_halves = widening.run();
  if (!made.has_halves) return made;
  made.why_not = widening.reason();
  if (!made.why_not.empty()) return made;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(wide, diagnostics));
  remove_idle_casts(wide.graph);
  if (const Status status = onnx_io::check_model(wide); !status.ok()) {
    made.why_not = status.message();
    return made;
  }
  made.model = std::move(wide);
  return made;
}

}  // namespace quarkq::rewrite
