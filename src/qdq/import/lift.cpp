// SPDX-License-Identifier: MIT
#include "qdq/import/lift.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "plan/lowering/lower.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {

namespace {

bool is_power_of_two(float scale) {
  int exponent = 0;
  return scale > 0 && std::frexp(scale, &exponent) == 0.5f;
}

/// The information of a Q or DQ node about its tensor.
struct Reading {
  numeric::QuantSpec spec;
  plan::ParamList params;
};

class Lifter {
 public:
  explicit Lifter(const ir::Model& written) : edit_(result_.model.graph) {
    result_.model = written;
    result_.plan = plan::QuantPlan(written.graph.value_count());
    result_.plan.dedicated_uses.resize(written.graph.value_count());
  }

  Result<LiftedModel> run() {
    const std::vector<ir::NodeId> order = graph().order();
    for (const ir::NodeId id : order) {
      if (!graph().is_alive(id)) continue;
      if (quantizes(graph().node(id))) QQ_RETURN_IF_ERROR(lift_pairs_of(graph().node(id).input(0)));
    }
    for (const ir::NodeId id : order) {
      if (graph().is_alive(id) && dequantizes(graph().node(id))) QQ_RETURN_IF_ERROR(lift_stored(id));
    }
    for (plan::QuantSlot& slot : result_.plan.slots()) find_bias_source(slot);
    edit_.remove_unused_initializers();
    return std::move(result_);
  }

 private:
  const ir::Graph& graph() const { return result_.model.graph; }

  std::optional<Reading> read(const ir::Node& node) const {
    const ir::Tensor* scale = node.input(1).valid() ? graph().constant(node.input(1)) : nullptr;
    if (scale == nullptr || scale->size() == 0 || scale->rank() > 1) return {};
    const Result<std::vector<double>> scales = ir::to_double(*scale);
    if (!scales.ok()) return {};
    Reading reading;
    std::vector<double> zeros(scales.value().size(), 0);
    reading.spec.type = code_type(graph(), node);
    if (node.input(2).valid()) {
      const ir::Tensor* zero_point = graph().constant(node.input(2));
      if (zero_point == nullptr || !is_integer(zero_point->type()) || zero_point->size() != scale->size()) return {};
      const Result<std::vector<double>> given = ir::to_double(*zero_point);
      if (!given.ok()) return {};
      zeros = given.value();
    }
    if (!is_integer(reading.spec.type)) return {};
    reading.spec.scale = numeric::ScaleKind::kPowerOfTwo;
    for (size_t i = 0; i < zeros.size(); ++i) {
      constexpr std::numeric_limits<int32_t> kHeld;  // types of 32 bits and more have others
      if (zeros[i] < kHeld.min() || zeros[i] > kHeld.max()) return {};
      reading.params.push_back({static_cast<float>(scales.value()[i]), static_cast<int32_t>(zeros[i])});
      if (!is_power_of_two(reading.params[i].scale)) reading.spec.scale = numeric::ScaleKind::kFloat;
    }
    reading.spec.per_channel = scale->rank() > 0 && scale->size() > 1;
    reading.spec.axis = node.int_or("axis", 1);
    return reading;
  }

  plan::ParamId id_of(const ir::Node& node, const Reading& reading) {
    const auto [found, is_new] = ids_.try_emplace({node.input(1), node.input(2), reading.spec.type});
    if (is_new) found->second = result_.plan.params.add(reading.params);
    return found->second;
  }

  /// The only DQ after a Q, with the same parameters and nothing else reading the integers.
  const ir::Node* partner(const ir::Node& q, const Reading& reading) const {
    if (!q.output(0).valid()) return nullptr;
    const auto use = graph().sole_use(q.output(0));
    if (!use || use->input != 0 || !dequantizes(graph().node(use->node))) return nullptr;
    if (!graph().node(use->node).output(0).valid()) return nullptr;
    const std::optional<Reading> other = read(graph().node(use->node));
    const bool agrees = other && other->params == reading.params && other->spec.type == reading.spec.type &&
                        (!reading.spec.per_channel || other->spec.axis == reading.spec.axis);
    return agrees ? &graph().node(use->node) : nullptr;
  }

  /// Returns whether all readers in the main graph are Q nodes with a partner and equal parameters.
  bool has_pairs_only(ir::ValueId value) const {
    const ir::Value& read_value = graph().value(value);
    const auto& uses = read_value.uses;
    if (read_value.is_output || result_.plan.has(value)) return false;
    std::optional<Reading> first;
    size_t outputs = 0;
    for (const ir::Use& use : uses) {
      if (use.is_capture) continue;
      const ir::Node& q = graph().node(use.node);
      if (use.input != 0 || !quantizes(q)) return false;
      const std::optional<Reading> reading = read(q);
      if (!reading || partner(q, *reading) == nullptr || (first && first->params != reading->params)) return false;
      // A plan has one scale for an activation: pairs with one for each channel stay the nodes that they are.
      if (reading->spec.per_channel && !read_value.is_initializer()) return false;
      if (!first) first = reading;
      outputs += graph().value(partner(q, *reading)->outputs[0]).is_output ? 1 : 0;
    }
    // A value can take the name of one output, and only when a node makes it.
    return first.has_value() && (outputs == 0 || (outputs == 1 && read_value.producer.valid()));
  }

  Status lift_pairs_of(ir::ValueId value) {
    if (!value.valid() || !has_pairs_only(value)) return Status();
    std::vector<ir::NodeId> quantizers;
    for (const ir::Use& use : graph().value(value).uses) {
      if (!use.is_capture) quantizers.push_back(use.node);
    }
    std::vector<ir::Use> readers;
    for (const ir::NodeId id : quantizers) {
      const ir::Node q = graph().node(id);
      const Reading reading = *read(q);
      add_slot(value, plan::StageKind::kPair, reading, id_of(q, reading));
      const ir::Node dq = *partner(q, reading);
      for (const ir::Use& use : graph().value(dq.outputs[0]).uses) readers.push_back(use);
      edit_.remove_node(dq.id);
      edit_.remove_node(id);
      edit_.replace_value(dq.outputs[0], value);
      edit_.remove_value(dq.outputs[0]);
      edit_.remove_value(q.outputs[0]);
    }
    if (quantizers.size() > 1) {
      result_.plan.dedicated_pairs = true;
      result_.plan.dedicated_uses[static_cast<size_t>(value.index)] = readers;
    }
    return Status();
  }

  plan::QuantSlot& add_slot(ir::ValueId value, plan::StageKind kind, const Reading& reading, plan::ParamId params) {
    if (plan::QuantSlot* known = result_.plan.find(value)) return *known;
    plan::QuantSlot& slot = result_.plan.add(value);
    slot.role = graph().value(value).is_initializer() ? plan::Role::kWeight : plan::Role::kActivation;
    slot.state = plan::SlotState::kCalibrated;
    slot.stage.kind = kind;
    slot.stage.spec = reading.spec;
    slot.stage.params = params;
    return slot;
  }

  /// A DQ of stored integers: its output becomes the constant that they stand for.
  Status lift_stored(ir::NodeId id) {
    const ir::Node dq = graph().node(id);
    if (!dq.input(0).valid() || !dq.output(0).valid() || !graph().value(dq.input(0)).is_initializer()) return Status();
    const ir::Tensor codes = *graph().value(dq.input(0)).constant;
    const std::optional<Reading> reading = read(dq);
    if (!reading || graph().value(dq.outputs[0]).is_output || codes.type() != reading->spec.type) return Status();
    const plan::ParamId params = id_of(dq, *reading);
    QQ_TRY(ir::Tensor values, dequantize(codes, *reading));
    const std::string stored = graph().value(dq.input(0)).name;
    edit_.remove_node(id);
    edit_.set_constant(dq.outputs[0], std::move(values));
    const std::string suffix = plan::stored_name("");
    if (stored.ends_with(suffix)) edit_.rename(dq.outputs[0], stored.substr(0, stored.size() - suffix.size()));
    add_slot(dq.outputs[0], plan::StageKind::kStored, *reading, params).codes = codes;
    return Status();
  }

  static Result<ir::Tensor> dequantize(const ir::Tensor& codes, const Reading& reading) {
    QQ_TRY(const std::vector<double> integers, ir::to_double(codes));
    const auto channels = static_cast<int64_t>(reading.params.size());
    int64_t inner = 1;
    if (reading.spec.per_channel) {
      QQ_TRY(const int64_t axis, ir::normalize_axis(reading.spec.axis, codes.rank()));
      if (codes.dims()[static_cast<size_t>(axis)] != channels) {
        return corrupt_model("a DequantizeLinear has ", channels, " scales for ",
                             codes.dims()[static_cast<size_t>(axis)], " channels");
      }
      for (size_t i = static_cast<size_t>(axis) + 1; i < codes.dims().size(); ++i) inner *= codes.dims()[i];
    }
    ir::Tensor values = ir::Tensor::allocate(ElementType::kFloat, codes.dims());
    auto data = values.mutable_data<float>();
    for (size_t i = 0; i < data.size(); ++i) {
      const int64_t channel = reading.spec.per_channel ? static_cast<int64_t>(i) / inner % channels : 0;
      const numeric::QuantParams& own = reading.params[static_cast<size_t>(channel)];
      data[i] = static_cast<float>(integers[i] - own.zero_point) * own.scale;
    }
    return values;
  }

  /// An int32 constant in the third place is a bias, whose scale comes from the two before it.
  void find_bias_source(plan::QuantSlot& slot) {
    if (slot.role != plan::Role::kWeight || slot.stage.spec.type != ElementType::kInt32) return;
    for (const ir::Use& use : graph().value(slot.value).uses) {
      const ir::Node& node = graph().node(use.node);
      if (use.is_capture || use.input != 2) continue;
      slot.role = plan::Role::kBias;
      slot.bias = plan::BiasSource{node.id, node.inputs[0], node.inputs[1], node.float_or("beta", 1.0f)};
      return;
    }
  }

  LiftedModel result_;
  ir::GraphEdit edit_;
  /// Parameter ids by scale, zero point and (the zero point may be omitted) type.
  std::map<std::tuple<ir::ValueId, ir::ValueId, ElementType>, plan::ParamId> ids_;
};

}  // namespace

Result<LiftedModel> lift(const ir::Model& written) { return Lifter(written).run(); }

namespace {

class Stripper {
 public:
  explicit Stripper(LiftedModel lifted) : lifted_(std::move(lifted)), edit_(lifted_.model.graph) {}

  ir::Model run() {
    for (const plan::QuantSlot& slot : lifted_.plan.slots()) restore_clamp_of(slot);
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph().order())) remove_block_format(id);
    edit_.remove_unused_initializers();
    return std::move(lifted_.model);
  }

 private:
  const ir::Graph& graph() const { return lifted_.model.graph; }

  void restore_clamp_of(const plan::QuantSlot& slot) {
    const plan::ParamList& params = lifted_.plan.params[slot.stage.params];
    if (slot.stage.kind != plan::StageKind::kPair || params.size() != 1) return;
    restore_clamp(lifted_.model, slot.value, {slot.stage.spec.type, params[0].scale, params[0].zero_point});
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
