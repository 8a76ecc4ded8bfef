// SPDX-License-Identifier: MIT
// UseFP32Scale (ref:writing#float16-scales): a quantized float16 model computes in float32, for runtimes without
// float16 scales. Graph inputs and outputs stay float16; so do nodes that are not quantized because they were excluded.
#include <algorithm>
#include <map>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "pass/output_guard.h"
#include "plan/constant_codes.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

ir::Tensor widened(const ir::Tensor& tensor) {
  return ir::Tensor::from<float>(tensor.dims(), ir::float_values(tensor).value());
}

class Widening {
 public:
  explicit Widening(pass::QdqContext& context) : context_(context), graph_(context.graph()), edit_(context.graph()) {}

  Changed run() {
    const std::vector<ir::NodeId> nodes = graph_.order();
    stays_.assign(graph_.node_count(), false);
    for (const ir::NodeId id : nodes) stays_[static_cast<size_t>(id.index)] = stays_half(graph_.node(id));
    for (const ir::NodeId id : nodes) {
      if (only_narrows(graph_.node(id))) stays_[static_cast<size_t>(id.index)] = true;
    }
    find_halves();
    if (!any_) return Changed::kNo;
    split_initializers();
    for (const ir::NodeId id : nodes) {
      if (!stays(id)) widen_node(id);
    }
    for (const ir::NodeId id : nodes) cast_inputs(id);
    for (const ir::ValueId output : std::vector<ir::ValueId>(graph_.outputs())) cast_output(output);
    return Changed::kYes;
  }

 private:
  bool is_half_type(ir::ValueId id) const {
    return id.valid() && graph_.value(id).type.element == ElementType::kFloat16;
  }
  /// A Cast that only serves graph outputs and nodes that stay in float16: it is what this pass makes.
  bool only_narrows(const ir::Node& node) const {
    if (!node.is("Cast") || !is_half_type(node.output(0)) || is_half_type(node.input(0))) return false;
    const std::vector<ir::Use>& uses = graph_.value(node.output(0)).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return stays(use.node); });
  }
  /// Excluded nodes, and those with nested graphs, whose bodies are not converted.
  bool stays_half(const ir::Node& node) const {
    if (ir::is_q(node) || ir::is_dq(node)) return false;
    for (const ir::Attribute& attribute : node.attributes) {
      if (std::holds_alternative<ir::GraphPtr>(attribute.value)) return true;
    }
    const plan::Selection& selection = context_.selection;
    if (selection.excluded.contains(node)) return true;
    return !selection.included.empty() && !node.origins.empty() && !selection.included.contains(node);
  }
  bool stays(ir::NodeId id) const { return stays_[static_cast<size_t>(id.index)]; }
  bool is_half(ir::ValueId id) const { return id.valid() && half_[static_cast<size_t>(id.index)]; }

  /// float16 that is a format, not what is computed in: codes and their zero points.
  std::vector<bool> find_codes() const {
    std::vector<bool> codes(graph_.value_count(), false);
    if (!context_.settings.quirk(config::Quirk::kKeepHalfCodes)) return codes;
    for (const ir::NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      const bool is_q = ir::is_q(node), is_dq = ir::is_dq(node);
      if (!is_q && !is_dq) continue;
      for (const ir::ValueId value : {is_q ? node.output(0) : node.input(0), node.input(2)})
        if (value.valid()) codes[static_cast<size_t>(value.index)] = true;
    }
    return codes;
  }

  void find_halves() {
    const std::vector<bool> codes = find_codes();
    half_.assign(graph_.value_count(), false);
    for (size_t i = 0; i < half_.size(); ++i) {
      const ir::ValueId id{static_cast<int32_t>(i)};
      half_[i] = graph_.is_alive(id) && is_half_type(id) && !codes[i];
      const ir::Node* producer = half_[i] ? graph_.producer(id) : nullptr;
      const bool widens = producer != nullptr ? !stays(producer->id) : graph_.value(id).is_initializer();
      any_ = any_ || (half_[i] && widens);
    }
  }

  /// Stored tensors become float32 for the nodes that do; a node that stays gets one of its own.
  void split_initializers() {
    for (const ir::ValueId id : std::vector<ir::ValueId>(graph_.initializers())) {
      const ir::Value& value = graph_.value(id);
      if (!is_half(id) || value.is_input || value.is_output) continue;
      const std::vector<ir::Use> uses = value.uses;
      const ir::Tensor tensor = *value.constant;
      ir::ValueId kept;
      bool is_captured = false, is_widened = false;
      for (const ir::Use& use : uses) {
        is_captured |= use.is_capture;
        is_widened |= !use.is_capture && !stays(use.node);
      }
      if (!is_widened) continue;
      if (is_captured) {
        give_wide_copy(id, tensor, uses);
        continue;
      }
      for (const ir::Use& use : uses) {
        if (!stays(use.node)) continue;
        if (!kept.valid()) kept = edit_.add_initializer(value.name + "_fp16", tensor);
        edit_.set_input(use.node, static_cast<size_t>(use.input), kept);
      }
      edit_.set_constant(id, widened(tensor));
      half_[static_cast<size_t>(id.index)] = false;
    }
  }

  void give_wide_copy(ir::ValueId id, const ir::Tensor& tensor, const std::vector<ir::Use>& uses) {
    const ir::ValueId wide = edit_.add_initializer(graph_.value(id).name + "_fp32", widened(tensor));
    half_.resize(graph_.value_count(), false);
    for (const ir::Use& use : uses) {
      if (!use.is_capture && !stays(use.node)) edit_.set_input(use.node, static_cast<size_t>(use.input), wide);
    }
  }

  void widen_node(ir::NodeId id) {
    constexpr auto kHalf = static_cast<int64_t>(ElementType::kFloat16);
    for (ir::Attribute& attribute : edit_.node(id).attributes) {
      if (auto* tensor = std::get_if<ir::Tensor>(&attribute.value)) {
        if (tensor->type() == ElementType::kFloat16) *tensor = widened(*tensor);
      } else if (attribute.name == "to" || attribute.name == "dtype" || attribute.name == "output_dtype") {
        auto* type = std::get_if<int64_t>(&attribute.value);
        if (type != nullptr && *type == kHalf) *type = static_cast<int64_t>(ElementType::kFloat);
      }
    }
    for (const ir::ValueId output : graph_.node(id).outputs) {
      if (!is_half(output)) continue;
      edit_.mutable_value(output).type.element = ElementType::kFloat;
      half_[static_cast<size_t>(output.index)] = false;
      widened_.resize(graph_.value_count(), false);
      widened_[static_cast<size_t>(output.index)] = true;
    }
  }

  ir::ValueId add_cast(ir::ValueId from, const std::string& name, const std::string& output, ElementType to,
                       ir::NodeId before) {
    ir::ValueType type = graph_.value(from).type;
    type.element = to;
    const ir::ValueId cast = edit_.add_value(output, std::move(type));
    edit_.add_node({"Cast", "", name, {from}, {cast}, {{"to", static_cast<int64_t>(to), {}, {}}}}, before);
    half_.resize(graph_.value_count(), false);
    return cast;
  }

  /// Casts the inputs of the node to the type in which it computes.
  void cast_inputs(ir::NodeId id) {
    if (graph_.node(id).is("Cast")) return;  // it takes any type
    std::map<ir::ValueId, ir::ValueId> made;
    const auto fitting = [&](ir::ValueId from) {
      const bool narrows = stays(id) && is_widened(from), widens = !stays(id) && is_half(from);
      if (!narrows && !widens) return from;
      ir::ValueId& cast = made[from];
      if (!cast.valid()) {
        const std::string name = cat(graph_.value(from).name, "_Cast_", casts_[from]++);
        cast = add_cast(from, name, name + "_output", narrows ? ElementType::kFloat16 : ElementType::kFloat, id);
      }
      return cast;
    };
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ir::ValueId from = graph_.node(id).input(i);
      if (!from.valid()) continue;
      const ir::ValueId to = fitting(from);
      if (to != from) edit_.set_input(id, i, to);
    }
    std::vector<ir::Capture> captures = graph_.node(id).captures;
    if (captures.empty()) return;
    for (ir::Capture& capture : captures) capture.outer = fitting(capture.outer);
    edit_.set_captures(id, std::move(captures));
  }
  bool is_widened(ir::ValueId id) const {
    const auto index = static_cast<size_t>(id.index);
    return index < widened_.size() && widened_[index];
  }

  void cast_output(ir::ValueId output) {
    if (!is_widened(output)) return;
    const std::string name = graph_.value(output).name;
    const std::vector<ir::Use> uses = graph_.value(output).uses;
    const ir::ValueId cast = add_cast(output, name + "_Cast", "", ElementType::kFloat16, {});
    const ir::NodeId node = graph_.value(cast).producer;
    edit_.replace_value(output, cast);
    // Readers inside the graph go on reading the float32 value, as the Cast itself does.
    edit_.set_input(node, 0, output);
    for (const ir::Use& use : uses) {
      if (!use.is_capture) edit_.set_input(use.node, static_cast<size_t>(use.input), output);
    }
    edit_.rename(output, name + "_Cast_input");
  }

  pass::QdqContext& context_;
  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  std::vector<bool> stays_;    ///< Whether it continues to compute in float16, by node.
  std::vector<bool> half_;     ///< Whether it is float16, by value.
  std::vector<bool> widened_;  ///< Whether it was float16 and is now float32, by value.
  std::map<ir::ValueId, int> casts_;
  bool any_ = false;
};

}  // namespace

Result<Changed> use_fp32_scale(pass::QdqContext& context) {
  const Changed changed = Widening(context).run();
  return changed == Changed::kYes ? pass::tidy_up(context.graph(), changed) : changed;
}

}  // namespace quarkq::qdq
