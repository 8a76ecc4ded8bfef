// SPDX-License-Identifier: MIT
// ConvertFP16ToFP32: the whole model, inputs and outputs included. The work is done on a copy, which takes the model's
// place when it is consistent.
#include <algorithm>

#include "ir/edit.h"
#include "rewrite/convert/float_tensors.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> convert_fp16_to_fp32(pass::FloatContext& context) {
  QQ_TRY(WidenedHalves made, widen_halves(context.model, {}, context.diagnostics));
  if (!made.has_halves) return Changed::kNo;
  if (!made.model) {
    context.diagnostics.add("float16-not-converted", "ConvertFP16ToFP32",
                            cat(made.why_not, "; the model stays in float16"));
    return Changed::kNo;
  }
  context.model = std::move(*made.model);
  return Changed::kYes;
}

// A float32 model may have parts in float16, as mixed precision exports do. Q and DQ nodes take float16 from opset 19
// on only, and a scale in float16 has few bits; so the parts compute in float32. Inputs and outputs keep their types.

namespace {

bool is_half(const ir::Graph& graph, ir::ValueId id) {
  return id.valid() && graph.value(id).type.element == ElementType::kFloat16;
}

/// Operators of other domains may have kernels for float16 only.
bool has_foreign_half(const ir::Graph& graph) {
  return std::ranges::any_of(graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    const auto is_own_half = [&](ir::ValueId value) { return is_half(graph, value); };
    const bool is_known = node.domain.empty() || node.domain == "com.microsoft";
    return !is_known &&
           (std::ranges::any_of(node.inputs, is_own_half) || std::ranges::any_of(node.outputs, is_own_half));
  });
}

/// Inserts Casts after float16 inputs and before float16 outputs, so that the values in between can be widened.
class Borders {
 public:
  explicit Borders(ir::Graph& graph) : graph_(graph), edit_(graph) {}

  /// The values that keep their type.
  std::set<ir::ValueId> add() {
    for (const ir::ValueId input : std::vector<ir::ValueId>(graph_.inputs())) {
      if (is_half(graph_, input)) widen_after(input);
    }
    for (const ir::ValueId output : std::vector<ir::ValueId>(graph_.outputs())) {
      if (is_half(graph_, output)) narrow_before(output);
    }
    return std::move(kept_);
  }

 private:
  ir::ValueId add_cast(ir::ValueId from, const std::string& name, const std::string& output, ElementType to) {
    ir::ValueType type = graph_.value(from).type;
    type.element = to;
    const ir::ValueId made = edit_.add_value(output, std::move(type));
    edit_.add_node({"Cast", "", name, {from}, {made}, {{"to", static_cast<int64_t>(to), {}, {}}}}, first_reader(from));
    return made;
  }

  /// The earliest reader in the list of nodes; invalid: there is none.
  ir::NodeId first_reader(ir::ValueId value) const {
    for (const ir::NodeId id : graph_.order()) {
      if (std::ranges::any_of(graph_.value(value).uses, [&](const ir::Use& use) { return use.node == id; })) return id;
    }
    return {};
  }

  void widen_after(ir::ValueId input) {
    kept_.insert(input);
    const std::vector<ir::Use> uses = graph_.value(input).uses;
    const std::string name = graph_.value(input).name;
    const ir::ValueId wide = add_cast(input, name + "_to_float32", name + "_float32", ElementType::kFloat);
    for (const ir::Use& use : uses) {
      if (!use.is_capture) edit_.set_input(use.node, static_cast<size_t>(use.input), wide);
    }
  }

  void narrow_before(ir::ValueId output) {
    if (!graph_.value(output).producer.valid()) {
      kept_.insert(output);
      return;
    }
    const std::string name = graph_.value(output).name;
    const std::vector<ir::Use> uses = graph_.value(output).uses;
    const ir::ValueId narrow = add_cast(output, name + "_to_float16", "", ElementType::kFloat16);
    const ir::NodeId cast = graph_.value(narrow).producer;
    edit_.replace_value(output, narrow);
    edit_.set_input(cast, 0, output);
    for (const ir::Use& use : uses) {
      if (!use.is_capture) edit_.set_input(use.node, static_cast<size_t>(use.input), output);
    }
    edit_.rename(output, name + "_float32");
    kept_.insert(narrow);
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
  std::set<ir::ValueId> kept_;
};

/// A nested graph that reads a float16 input or output would read it in another type than its own tensors.
bool captures_half_border(const ir::Graph& graph) {
  const auto is_captured = [&](ir::ValueId id) {
    const auto& uses = graph.value(id).uses;
    return is_half(graph, id) && std::ranges::any_of(uses, [](const ir::Use& use) { return use.is_capture; });
  };
  return std::ranges::any_of(graph.inputs(), is_captured) || std::ranges::any_of(graph.outputs(), is_captured);
}

size_t count_half_nodes(const ir::Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    return !node.is("Cast") &&
           std::ranges::any_of(node.outputs, [&](ir::ValueId value) { return is_half(graph, value); });
  }));
}

}  // namespace

Result<Changed> widen_float16_parts(pass::FloatContext& context) {
  const size_t nodes = count_half_nodes(context.graph());
  if (nodes == 0 || has_foreign_half(context.graph()) || captures_half_border(context.graph())) return Changed::kNo;
  ir::Model bordered = context.model;  // shares the weights
  const std::set<ir::ValueId> kept = Borders(bordered.graph).add();
  QQ_TRY(WidenedHalves made, widen_halves(bordered, kept, context.diagnostics));
  if (!made.model) return Changed::kNo;  // raise-opset makes room for float16 Q/DQ
  context.model = std::move(*made.model);
  context.diagnostics.add("float16-widened", "",
                          cat(nodes, nodes == 1 ? " node that computes" : " nodes that compute", " in float16 ",
                              nodes == 1 ? "computes" : "compute", " in float32 now"));
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
