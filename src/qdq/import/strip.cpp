// SPDX-License-Identifier: MIT
#include "qdq/import/strip.h"

#include <algorithm>
#include <cmath>

#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "qdq/import/lift.h"

namespace quarkq::qdq {
namespace {

/// Operators whose results have both signs, so that a range from 0 on means that something clamped them.
constexpr const char* kSigned[] = {"Conv",
                                   "ConvTranspose",
                                   "Gemm",
                                   "MatMul",
                                   "Add",
                                   "Sub",
                                   "Mul",
                                   "Div",
                                   "BatchNormalization",
                                   "Einsum",
                                   "LayerNormalization",
                                   "InstanceNormalization"};
constexpr int64_t kOpsetOfClipInputs = 11;

class Stripper {
 public:
  explicit Stripper(LiftedModel lifted) : lifted_(std::move(lifted)), edit_(lifted_.model.graph) {}

  ir::Model run() {
    for (const plan::QuantSlot& slot : lifted_.plan.slots()) restore_clamp(slot);
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph().order())) remove_block_format(id);
    edit_.remove_unused_initializers();
    return std::move(lifted_.model);
  }

 private:
  const ir::Graph& graph() const { return lifted_.model.graph; }

  void restore_clamp(const plan::QuantSlot& slot) {
    const plan::ParamList& params = lifted_.plan.params[slot.stage.params];
    const ir::Node* producer = graph().producer(slot.value);
    if (producer == nullptr || slot.stage.kind != plan::StageKind::kPair || params.size() != 1) return;
    const bool is_signed = std::ranges::any_of(kSigned, [&](const char* op) { return producer->is(op); });
    const auto [qmin, qmax] = numeric::integer_range(slot.stage.spec.type, numeric::RangeKind::kFull);
    if (!is_signed || params[0].zero_point != qmin) return;
    const double step = static_cast<double>(params[0].scale);
    const double most = step * (static_cast<double>(qmax) - static_cast<double>(qmin));
    constexpr double kMostOfClip6 = 6;
    add_clamp(producer->id, slot.value, std::abs(most - kMostOfClip6) <= step);
  }

  void add_clamp(ir::NodeId producer, ir::ValueId value, bool is_clip6) {
    const std::vector<ir::NodeId>& order = graph().order();
    const auto next = std::ranges::find(order, producer) + 1;
    const ir::NodeId before = next == order.end() ? ir::NodeId{} : *next;
    const ir::ValueId unclamped = edit_.add_value(graph().value(value).name + "_unclamped", graph().value(value).type);
    const auto& outputs = graph().node(producer).outputs;
    const auto index = static_cast<size_t>(std::ranges::find(outputs, value) - outputs.begin());
    edit_.set_output(producer, index, unclamped);
    ir::NodeSpec spec{is_clip6 ? "Clip" : "Relu", "", graph().value(value).name + "_clamp", {unclamped}, {value}};
    spec.origins = graph().node(producer).origins;
    if (is_clip6 && lifted_.model.opset() < kOpsetOfClipInputs) {
      spec.attributes = {ir::Attribute{"min", 0.0f, {}, {}}, ir::Attribute{"max", 6.0f, {}, {}}};
    } else if (is_clip6) {
      spec.inputs.push_back(edit_.add_initializer("clip_min", ir::Tensor::scalar(0.0f)));
      spec.inputs.push_back(edit_.add_initializer("clip_max", ir::Tensor::scalar(6.0f)));
    }
    edit_.add_node(std::move(spec), before);
  }

  /// A node that rounds its input to a block format: its readers read the input.
  void remove_block_format(ir::NodeId id) {
    const ir::Node node = graph().node(id);
    if (ir::quantizing_part(node.op) != ir::QuantizingPart::kBoth) return;
    if (!node.input(0).valid() || !node.output(0).valid()) return;
    const ir::Value& input = graph().value(node.input(0));
    if (graph().value(node.output(0)).is_output && (input.is_output || !input.producer.valid())) return;
    edit_.remove_node(id);
    edit_.replace_value(node.output(0), node.input(0));
    edit_.remove_value(node.output(0));
  }

  LiftedModel lifted_;
  ir::GraphEdit edit_;
};

}  // namespace

Result<ir::Model> strip(const ir::Model& written) {
  QQ_TRY(LiftedModel lifted, lift(written));
  return strip(std::move(lifted));
}

ir::Model strip(LiftedModel lifted) { return Stripper(std::move(lifted)).run(); }

}  // namespace quarkq::qdq
