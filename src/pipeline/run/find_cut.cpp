// SPDX-License-Identifier: MIT
// Where legalize.tail ends a network.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "config/targets/target.h"
#include "ir/traversal.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/tail.h"
#include "plan/op_rules.h"
#include "targets/rules.h"

namespace quarkq::pipeline {

namespace {

// Which nodes of the ending the target refuses.

bool has_floats(const ir::Graph& graph, const ir::Node& node) {
  const auto is_float = [&](ir::ValueId value) {
    return value.valid() && graph.constant(value) == nullptr && is_floating(graph.value(value).type.element);
  };
  if (node.is("Shape") || node.is("Size")) return false;
  return std::ranges::any_of(node.inputs, is_float) || std::ranges::any_of(node.outputs, is_float);
}

/// Whether the settings quantize nodes of this operator.
class QuantizedOperators {
 public:
  QuantizedOperators(const ir::Model& model, const config::Settings& settings) : excluded_(settings.exclude_op_types) {
    std::vector<std::string> ops;
    for (const auto& [op, count] : count_ops(model.graph)) ops.push_back(op);
    set_ = plan::op_set(settings, ops);
  }
  bool contains(const ir::Node& node) const {
    return node.domain.empty() && set_.contains(node.op) && std::ranges::find(excluded_, node.op) == excluded_.end();
  }

 private:
  const std::vector<std::string>& excluded_;
  std::set<std::string, std::less<>> set_;
};

struct Refusals {
  std::set<ir::NodeId> nodes;
  std::string first;  ///< The first node and why.
};

/// Remedy of rules about nodes that run on the target, but are better cut off.
constexpr const char kSeparateTail[] = "separate-tail";

/// Adds nodes of the ending that rows of the target's file name with this remedy.
void add_separate_nodes(const targets::RuleInput& input, const config::Target& target, const ir::Tail& ending,
                        Refusals& refused) {
  for (const config::RuleRow& row : target.rules) {
    const targets::Rule rule = row.remedy == kSeparateTail ? targets::find_predicate(row.rule) : nullptr;
    if (rule == nullptr) continue;
    targets::Hits hits;
    rule(input, hits);
    for (const targets::Hit& hit : hits) {
      if (!hit.node.valid() || !ending.nodes.contains(hit.node)) continue;
      refused.nodes.insert(hit.node);
      if (refused.first.empty())
        refused.first = cat(input.view.graph().label(hit.node), ": ", row.rule, ", ", row.symptom);
    }
  }
}

/// Judges the float model as the target would judge its quantized form. Integers alone are not judged: shapes that are
/// computed at run time become constants later.
Result<Refusals> refused_nodes(const ir::Model& model, const ir::Tail& ending, const config::Settings& settings) {
  Refusals refused;
  const std::string name = settings.target.value_or("");
  if (name.empty() || ending.nodes.empty()) return refused;
  QQ_TRY(const config::Target target, config::load_target(name));
  QQ_TRY(const targets::QuantizedView view, targets::view_of(model));
  const config::TypeRow* type = target.find_type(targets::type_of_model(view));
  const targets::Groups groups = targets::group_operators(view, type != nullptr && type->as_if_quantized);
  const targets::Judgements judged = targets::judge(view, groups, target, type);
  const QuantizedOperators quantized(model, settings);
  for (const ir::NodeId id : model.graph.order()) {
    const ir::Node& node = model.graph.node(id);
    if (!ending.nodes.contains(id) || node.is("Constant") || !has_floats(model.graph, node)) continue;
    const targets::Judgement& one = judged.of[static_cast<size_t>(id.index)];
    const bool is_refused = one.blocks || one.verdict != NodeVerdict::kRuns;
    if (!is_refused && (quantized.contains(node) || settings.stays_float())) continue;
    refused.nodes.insert(id);
    if (!refused.first.empty()) continue;
    const TargetReason& reason = judged.reasons.rows[one.reason];
    refused.first = cat(model.graph.label(id), ": ",
                        !is_refused ? "these settings leave it float"
                                    : cat(reason.rule, ", ", reason.text.empty() ? "-" : reason.text));
  }
  add_separate_nodes({view, groups}, target, ending, refused);
  return refused;
}

// Decoding may begin with operators that only move values.

/// Where channels are in a tensor that was moved.
enum class Layout : uint8_t { kFirst, kLast, kUnknown };

bool only_moves(const ir::Node& node) {
  return node.is("Transpose") || node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") ||
         node.is("Unsqueeze") || node.is("Concat");
}

/// Returns the layout of a value that operators of only_moves() made of a layer's result.
Layout layout_of(const ir::Graph& graph, const ir::Tail& ending, ir::ValueId value) {
  bool is_last = false;
  for (const ir::Node* node = graph.producer(value); node != nullptr && ending.nodes.contains(node->id);
       node = graph.producer(node->input(0))) {
    if (!only_moves(*node)) return Layout::kUnknown;
    if (!node->is("Transpose")) continue;
    const std::vector<int64_t> order = node->ints_or("perm", {});
    if (order.empty()) return Layout::kUnknown;
    is_last = order.back() == 1 && !is_last;
  }
  return is_last ? Layout::kLast : Layout::kFirst;
}

/// Whether the Concat joins places of one kind of result (scores of several scales), which a common scale suits, and
/// not channels of several kinds (boxes and scores).
bool joins_places(const ir::Graph& graph, const ir::Tail& ending, const ir::Node& concat) {
  const auto rank = ir::rank_of(graph, concat.output(0)).value_or(0);
  const int64_t given = concat.int_or("axis", 0), axis = given < 0 ? given + rank : given;
  return std::ranges::all_of(concat.inputs, [&](ir::ValueId input) {
    const Layout layout = layout_of(graph, ending, input);
    return layout != Layout::kUnknown && axis > 0 && axis != (layout == Layout::kLast ? rank - 1 : 1);
  });
}

/// Returns the decoding without the moves at its start, if that makes its inputs fewer: each costs a Q/DQ pair that no
/// target places, and a transfer.
ir::Tail after_moves(const ir::Graph& graph, const ir::Tail& ending, std::set<ir::NodeId> first) {
  for (const ir::NodeId id : ending.nodes) {
    const ir::Node& node = graph.node(id);
    if (!has_floats(graph, node)) continue;  // the shape of a Reshape
    if (!only_moves(node) || (node.is("Concat") && !joins_places(graph, ending, node))) first.insert(id);
  }
  ir::Tail later = ir::part_from(graph, ending, first);
  return later.inputs.size() < ending.inputs.size() ? later : ending;
}

/// Two models can only pass tensors to each other.
bool has_only_tensors(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  return std::ranges::all_of(values, [&](ir::ValueId id) { return graph.value(id).type.is_tensor(); });
}

}  // namespace

Result<Cut> find_cut(const ir::Model& model, const config::Settings& settings) {
  if (settings.cuts_tail()) return Cut{ir::find_tail(model.graph), ""};
  const ir::Tail ending = ir::find_ending(model.graph);
  const bool decodes = ir::decodes(model.graph, ending);
  // If the target is not named, only decoding is cut, and only if it cannot stay float in the one file.
  const bool can_stay_float = settings.may_rescue_with("float_nodes");
  if (!settings.asks_for_target() && (!decodes || can_stay_float)) return Cut{};
  QQ_TRY(const Refusals refused, refused_nodes(model, ending, settings));
  if (refused.nodes.empty()) return Cut{};
  const size_t count = refused.nodes.size();
  const std::string why = cat("; ", count, count == 1 ? " node is" : " nodes are", " not for ",
                              settings.target.value_or(""), count == 1 ? ": " : ", first ", refused.first);
  // Eight bits lose boxes, so the arithmetic of decoding is cut as a whole.
  Cut cut{decodes ? after_moves(model.graph, ending, refused.nodes) : ir::part_from(model.graph, ending, refused.nodes),
          why};
  const bool can_pass =
      has_only_tensors(model.graph, cut.tail.inputs) && has_only_tensors(model.graph, model.graph.outputs());
  return can_pass ? std::move(cut) : Cut{};
}

}  // namespace quarkq::pipeline
