// SPDX-License-Identifier: MIT
// float16 is exact in float32, so only intermediate rounding changes.
#include "rewrite/convert/widen_halves.h"

#include <algorithm>

#include "ir/edit.h"
#include "ir/search.h"
#include "numeric/half.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "rewrite/convert/idle_casts.h"

namespace quarkq::rewrite {
namespace {

constexpr auto kHalfNumber = static_cast<int64_t>(ElementType::kFloat16);
constexpr auto kFloatNumber = static_cast<int64_t>(ElementType::kFloat);

/// Attributes that hold the number of an element type.
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
      reason_ = cat("attribute '", attribute.name, "' holds float16 in a form that cannot be converted");
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
