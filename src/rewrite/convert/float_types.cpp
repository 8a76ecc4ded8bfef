// SPDX-License-Identifier: MIT
// Conversions between the float types, a row each.
#include <algorithm>
#include <utility>

#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "onnx_io/schemas.h"
#include "pass/pass_info.h"
#include "rewrite/convert/conversions.h"
#include "rewrite/convert/float_tensors.h"

namespace quarkq::rewrite {

namespace {

/// Nodes that compute in another float type, with Casts where they meet those that do not.
struct FloatChange {
  ElementType from = ElementType::kFloat, to = ElementType::kFloat16;
};

/// Operators of ai.onnx that ONNX Runtime computes in float32 only, or whose results float16 would spoil: counts.
constexpr std::string_view kComputeInFloat[] = {"NonMaxSuppression", "TopK", "RoiAlign", "Range",   "CumSum",
                                                "RandomUniformLike", "Min",  "Max",      "Upsample"};

/// Operators that multiply or divide by what they store: a value that is cut off there spoils the result. In others, as
/// in limits and masks, the largest value of the type serves as well.
constexpr std::string_view kScaling[] = {"BatchNormalization", "Conv", "ConvTranspose", "Gemm", "MatMul", "Mul", "Div"};

std::string suffix_of(ElementType type) { return "_" + lower_case(name(type)); }

class Changer {
 public:
  Changer(pass::ConvertContext& context, FloatChange change, std::vector<bool> chosen, bool keep_io)
      : context_(context),
        graph_(context.graph()),
        edit_(graph_),
        change_(change),
        chosen_(std::move(chosen)),
        keep_io_(keep_io) {}

  size_t run() {
    const std::vector<ir::NodeId> nodes = graph_.order();
    const std::vector<bool> selected = std::exchange(chosen_, std::vector<bool>(graph_.node_count(), false));
    const auto choose = [&](bool are_casts, auto can_be) {
      for (const ir::NodeId id : nodes) {
        const auto index = static_cast<size_t>(id.index);
        if (selected[index] && graph_.node(id).is("Cast") == are_casts) chosen_[index] = can_be(id);
      }
    };
    choose(/*are_casts=*/false, [&](ir::NodeId id) { return can_change(id); });
    choose(/*are_casts=*/true, [&](ir::NodeId id) { return is_cast_to_change(id); });
    const auto changed = static_cast<size_t>(std::ranges::count(chosen_, true));
    if (changed == 0) return 0;
    const size_t values = graph_.value_count();
    for (size_t i = 0; i < values; ++i) {
      const ir::ValueId value{static_cast<int32_t>(i)};
      if (graph_.is_alive(value) && graph_.value(value).type.element == change_.from) change(value);
    }
    for (const ir::NodeId id : nodes) {
      if (chosen_[static_cast<size_t>(id.index)]) change_attributes(edit_.node(id));
    }
    remove_idle_casts(graph_);
    return changed;
  }

 private:
  bool takes(const ir::Node& node, bool is_input, size_t index) const {
    return onnx_io::takes_type(node.op, context_.model.opset(), {is_input, index}, change_.to);
  }
  bool keeps_type(const ir::Node& node, size_t output) const {
    return onnx_io::has_stash_type(node.op, context_.model.opset(), output);
  }
  /// True if a node that changes makes the value in the new type.
  bool is_made_new(ir::ValueId id) const {
    const ir::NodeId producer = graph_.value(id).producer;
    if (!producer.valid() || !chosen_[static_cast<size_t>(producer.index)]) return false;
    const auto& outputs = graph_.node(producer).outputs;
    return !keeps_type(graph_.node(producer), static_cast<size_t>(std::ranges::find(outputs, id) - outputs.begin()));
  }
  bool is_from(ir::ValueId value) const { return value.valid() && graph_.value(value).type.element == change_.from; }

  /// Has floats of the type that all may change; leaves it with the reason where the operator does not take the other.
  bool can_change(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    const auto touches = [&](const std::vector<ir::ValueId>& values) {
      return std::ranges::any_of(values, [&](ir::ValueId value) { return is_from(value); });
    };
    if (!node.domain.empty() || ir::quantizing_part(&node) != ir::QuantizingPart::kNone) return false;
    if (!touches(node.inputs) && !touches(node.outputs)) return false;
    if (std::ranges::find(kComputeInFloat, node.op) != std::end(kComputeInFloat)) {
      context_.leave(id, cat("is computed in ", name(change_.from)));
      return false;
    }
    if (const std::string reason = why_not_typed(node); !reason.empty()) {
      context_.leave(id, reason);
      return false;
    }
    const bool has_graphs = std::ranges::any_of(node.attributes, [](const ir::Attribute& attribute) {
      return std::holds_alternative<ir::GraphPtr>(attribute.value) ||
             std::holds_alternative<std::vector<ir::GraphPtr>>(attribute.value);
    });
    if (has_graphs) {
      context_.leave(id, "it contains graphs of its own");
      return false;
    }
    return fits_constants(id) && takes_floats(id);
  }

  /// Sequences and optionals hold floats of their own, and where a type is not known a Cast cannot be placed.
  std::string why_not_typed(const ir::Node& node) const {
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ir::ValueId value : *values) {
        if (!value.valid() || graph_.constant(value) != nullptr) continue;
        const ir::ValueType& type = graph_.value(value).type;
        if (!type.other_type.empty()) return cat(graph_.value(value).name, " is a sequence or an optional");
        if (type.element == ElementType::kUndefined)
          return cat("the type of ", graph_.value(value).name, " is not known");
      }
    }
    return {};
  }

  bool is_scaling(ir::NodeId id) const { return std::ranges::find(kScaling, graph_.node(id).op) != std::end(kScaling); }
  bool is_cut_off(ir::ValueId value) const {
    const ir::Tensor* stored = is_from(value) ? graph_.constant(value) : nullptr;
    return stored != nullptr && stored->type() == change_.from && !fits_float_type(*stored, change_.to);
  }

  /// False for a node that scales by a stored value beyond the type's largest, and for the Constant that holds it.
  bool fits_constants(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.is("Constant") && is_cut_off(node.output(0))) {
      return std::ranges::none_of(graph_.value(node.output(0)).uses,
                                  [&](const ir::Use& use) { return is_scaling(use.node); });
    }
    const auto found = std::ranges::find_if(node.inputs, [&](ir::ValueId input) { return is_cut_off(input); });
    if (!is_scaling(id) || found == node.inputs.end()) return true;
    context_.leave(
        id, cat("its ", graph_.value(*found).name, " contains values that ", name(change_.to), " cannot represent"));
    return false;
  }

  /// A Cast to the old type; one from the new type only where its result is wanted in that.
  bool is_cast_to_change(ir::NodeId id) const {
    const ir::Node& cast = graph_.node(id);
    if (!cast.domain.empty() || !is_from(cast.output(0)) || !cast.input(0).valid()) return false;
    if (graph_.value(cast.input(0)).type.element != change_.to) return true;
    const ir::Value& made = graph_.value(cast.output(0));
    return (made.is_output && !keep_io_) ||
           std::ranges::any_of(made.uses, [&](const ir::Use& use) { return wants_new(use, /*is_made=*/true); });
  }

  bool takes_floats(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    bool can = !is_from(node.input(0)) || takes(node, true, 0), any = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) any |= is_from(node.inputs[i]) && takes(node, true, i);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!is_from(node.outputs[i]) || keeps_type(node, i)) continue;
      can &= takes(node, false, i);
      any = true;
    }
    if (can) return any;
    context_.leave(id, cat(node.op, " of opset ", context_.model.opset(), " does not accept ", name(change_.to),
                           " (convert-opset-version to a newer one before)"));
    return false;
  }

  /// The use reads the new type. A Cast reads any, so it takes what its producer makes.
  bool wants_new(const ir::Use& use, bool is_made) const {
    if (use.is_capture) return false;
    if (graph_.node(use.node).is("Cast")) return is_made;
    if (!chosen_[static_cast<size_t>(use.node.index)]) return false;
    return takes(graph_.node(use.node), true, static_cast<size_t>(use.input));
  }

  void change(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    const bool is_made = is_made_new(id);
    const bool is_fed = value.is_input && !value.is_initializer() && !keep_io_;
    const bool keeps_output = value.is_output && (keep_io_ || !(is_made || is_fed));
    const std::vector<ir::Use> uses = value.uses;
    std::vector<ir::Use> new_uses, old_uses;
    for (const ir::Use& use : uses) (wants_new(use, is_made || is_fed) ? new_uses : old_uses).push_back(use);
    if (is_made || is_fed) {
      if (old_uses.empty() && !keeps_output) {
        edit_.mutable_value(id).type.element = change_.to;
      } else if (is_made) {
        split_made(id, new_uses);
      } else {
        split_fed(id, old_uses);
      }
    } else if (!new_uses.empty()) {
      split_other(id, new_uses, old_uses.empty() && !value.is_output && !value.is_input);
    }
  }

  ir::ValueId new_value(ir::ValueId like, ElementType type) {
    ir::ValueType made = graph_.value(like).type;
    made.element = type;
    return edit_.add_value(graph_.value(like).name + suffix_of(type), std::move(made));
  }

  void add_cast(ir::ValueId from, ir::ValueId to) {
    const ElementType type = graph_.value(to).type.element;
    const std::string name = graph_.value(from).name + "_Cast" + suffix_of(type);
    edit_.add_node({"Cast", "", name, {from}, {to}, {{"to", static_cast<int64_t>(type), {}, {}}}});
  }

  void read(const std::vector<ir::Use>& uses, ir::ValueId value) {
    for (const ir::Use& use : uses) {
      if (!use.is_capture) edit_.set_input(use.node, static_cast<size_t>(use.input), value);
    }
  }

  /// The producer writes a value of the new type; the old one, which outputs and other nodes go on reading, is cast.
  void split_made(ir::ValueId id, const std::vector<ir::Use>& new_uses) {
    const ir::NodeId producer = graph_.value(id).producer;
    const auto& outputs = graph_.node(producer).outputs;
    const auto index = static_cast<size_t>(std::ranges::find(outputs, id) - outputs.begin());
    const ir::ValueId made = new_value(id, change_.to);
    edit_.set_output(producer, index, made);
    add_cast(made, id);
    read(new_uses, made);
  }

  /// An input of the graph gets the new type; nodes that go on with the old one read a Cast of it.
  void split_fed(ir::ValueId id, const std::vector<ir::Use>& old_uses) {
    const ir::ValueId old = new_value(id, change_.from);
    edit_.mutable_value(id).type.element = change_.to;
    read(old_uses, old);
    add_cast(id, old);
  }

  /// Stored, fed or made by a node that does not change.
  void split_other(ir::ValueId id, const std::vector<ir::Use>& new_uses, bool is_free) {
    const ir::Value& value = graph_.value(id);
    if (!value.is_initializer() || value.is_input) {
      const ir::ValueId made = new_value(id, change_.to);
      read(new_uses, made);
      add_cast(id, made);
      return;
    }
    ir::Tensor stored = as_float_type(*value.constant, change_.to);
    if (is_free) {
      edit_.set_constant(id, std::move(stored));
      edit_.mutable_value(id).type.element = change_.to;
    } else {
      read(new_uses, edit_.add_initializer(value.name + suffix_of(change_.to), std::move(stored)));
    }
  }

  /// Types and tensors that attributes hold.
  void change_attributes(ir::Node& node) {
    if (node.is("ConstantOfShape") && node.find("value") == nullptr)
      node.set("value", as_float_type(ir::Tensor::zeros(ElementType::kFloat, {1}), change_.to));
    if (node.is("Constant")) node = with_tensor(node);
    for (ir::Attribute& attribute : node.attributes) {
      auto* tensor = std::get_if<ir::Tensor>(&attribute.value);
      if (tensor != nullptr && tensor->type() == change_.from) *tensor = as_float_type(*tensor, change_.to);
      auto* number = std::get_if<int64_t>(&attribute.value);
      const bool is_type = attribute.name == "to" || attribute.name == "dtype";
      if (number != nullptr && is_type && *number == static_cast<int64_t>(change_.from))
        *number = static_cast<int64_t>(change_.to);
    }
    const bool is_random = node.is("RandomNormal") || node.is("RandomUniform");
    if (is_random && node.find("dtype") == nullptr) node.set("dtype", static_cast<int64_t>(change_.to));
  }

  /// value_float and value_floats are float32 by definition.
  ir::Node with_tensor(ir::Node node) const {
    const ir::Tensor* held = graph_.constant(node.output(0));
    if (held == nullptr || held->type() != ElementType::kFloat) return node;
    const ir::Tensor tensor = *held;
    for (const char* name : {"value_float", "value_floats"}) {
      if (node.find(name) == nullptr) continue;
      node.erase(name);
      node.set("value", tensor);
    }
    return node;
  }

  pass::ConvertContext& context_;
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  const FloatChange change_;
  std::vector<bool> chosen_;
  const bool keep_io_;
};

/// Stored tensors that the chosen nodes read, in the new type with a Cast after them.
size_t store_in(pass::ConvertContext& context, FloatChange change, const std::vector<bool>& chosen) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  size_t changed = 0;
  for (const ir::ValueId id : std::vector<ir::ValueId>(graph.initializers())) {
    const ir::Value& value = graph.value(id);
    if (value.constant->type() != change.from || value.constant->size() < 2 || value.is_input || value.is_output)
      continue;
    const bool is_read = std::ranges::all_of(value.uses, [&](const ir::Use& use) {
      const bool is_quantizing = ir::quantizing_part(graph.node(use.node).op) != ir::QuantizingPart::kNone;
      return !use.is_capture && !is_quantizing && chosen[static_cast<size_t>(use.node.index)];
    });
    if (!is_read) continue;
    const std::string stored_name = value.name + suffix_of(change.to);
    const ir::ValueId stored = edit.add_initializer(stored_name, as_float_type(*value.constant, change.to));
    edit.clear_constant(id);
    edit.add_node(
        {"Cast", "", stored_name + "_Cast", {stored}, {id}, {{"to", static_cast<int64_t>(change.from), {}, {}}}});
    ++changed;
  }
  return changed;
}

/// Options `subgraphs` (conversions.h), `keep_io` (inputs and outputs of the graph keep their type) and `weights_only`
/// (stored tensors in the new type with a Cast after them, nodes compute as before). Returns the number of nodes, or of
/// stored tensors, that changed. Nodes whose operator does not take the type are left; Q/DQ nodes and nodes of other
/// domains stay as they are.
Result<size_t> change_float_type(pass::ConvertContext& context, FloatChange change) {
  constexpr int64_t kOpsetOfBFloat16 = 13;  // First opset of Cast with it.
  const bool is_bfloat = change.to == ElementType::kBFloat16 || change.from == ElementType::kBFloat16;
  if (is_bfloat && context.model.opset() < kOpsetOfBFloat16)
    return unsupported("bfloat16 needs opset 13, this model has ", context.model.opset(),
                       " (convert-opset-version before)");
  QQ_TRY(std::vector<bool> chosen, chosen_nodes(context.graph(), context.options));
  QQ_TRY(const bool keep_io, context.options.flag("keep_io"));
  QQ_TRY(const bool weights_only, context.options.flag("weights_only"));
  if (weights_only) return store_in(context, change, chosen);
  return Changer(context, change, std::move(chosen), keep_io).run();
}

}  // namespace

using enum ElementType;

Result<size_t> fp32_to_fp16(pass::ConvertContext& context) { return change_float_type(context, {kFloat, kFloat16}); }
Result<size_t> fp16_to_fp32(pass::ConvertContext& context) { return change_float_type(context, {kFloat16, kFloat}); }
Result<size_t> fp32_to_bf16(pass::ConvertContext& context) { return change_float_type(context, {kFloat, kBFloat16}); }
Result<size_t> bf16_to_fp32(pass::ConvertContext& context) { return change_float_type(context, {kBFloat16, kFloat}); }
Result<size_t> fp16_to_bf16(pass::ConvertContext& context) { return change_float_type(context, {kFloat16, kBFloat16}); }
Result<size_t> bf16_to_fp16(pass::ConvertContext& context) { return change_float_type(context, {kBFloat16, kFloat16}); }

}  // namespace quarkq::rewrite
