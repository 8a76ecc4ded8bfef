// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "pass/gate_clip.h"
#include "pass/output_guard.h"
#include "qdq/pairs.h"
#include "qdq/passes.h"

namespace quarkq::qdq {

namespace {

/// The lower limit: an attribute, a constant, or a constant read through Identity.
std::optional<double> lower_limit(const ir::Graph& graph, const ir::Node& clip) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const ir::Node* source = clip.input(1).valid() ? graph.producer(clip.input(1)) : nullptr;
  if (source != nullptr && source->is("Identity")) return ir::number_of(graph, *source, 0, "", kNone);
  return ir::number_of(graph, clip, 1, "min", kNone);
}

/// Whether every reader of the Clip's output is a Q that saturates at the upper limit or below it, so that the integers
/// do not depend on the limit.
bool is_saturated_by_readers(const ir::Graph& graph, const ir::Node& clip) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const std::optional<double> high = ir::number_of(graph, clip, 2, "max", kNone);
  const ir::Value& output = graph.value(clip.output(0));
  if (!high || output.is_output || output.uses.empty()) return false;
  return std::ranges::all_of(output.uses, [&](const ir::Use& use) {
    const ir::Node& reader = graph.node(use.node);
    if (use.is_capture || use.input != 0 || !quantizes(reader)) return false;
    const std::optional<PairRange> range = range_of(graph, reader);
    if (!range || !is_integer(range->type)) return false;
    const auto largest = static_cast<double>(numeric::integer_range(range->type, numeric::RangeKind::kFull).max);
    return std::nearbyint(*high / range->scale) + static_cast<double>(range->zero_point) >= largest;
  });
}

/// A Relu with the links, the name and the origins of the Clip.
void replace_by_relu(const ir::Node& clip, ir::GraphEdit& edit) {
  const ir::NodeId relu = edit.add_node({"Relu", "", clip.name, {clip.input(0)}, {}, {}, clip.origins}, clip.id);
  edit.remove_node(clip.id);
  edit.set_output(relu, 0, clip.output(0));
}

}  // namespace

Result<Changed> saturate_clips(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node clip = graph.node(id);
    if (!clip.is("Clip") || lower_limit(graph, clip) != 0.0 || !is_saturated_by_readers(graph, clip)) continue;
    replace_by_relu(clip, edit);
    changed = Changed::kYes;
  }
  if (changed == Changed::kYes) edit.remove_dead();  // limits that no other node reads
  return changed;
}

Result<Changed> convert_clip_to_relu(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  const bool only_at_zero = context.settings.quirk(config::Quirk::kClipToReluAtZero);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node clip = graph.node(id);
    if (!clip.is("Clip") || !context.selection.selects(clip)) continue;
    const auto low = lower_limit(graph, clip);
    if (context.settings.guards() && pass::is_gate(graph, clip)) continue;
    if (!low || *low < 0.0 || (only_at_zero && *low > 0.0)) continue;
    replace_by_relu(clip, edit);
    changed = Changed::kYes;
  }
  if (changed == Changed::kYes) edit.remove_dead();  // limits that no other node reads
  return changed;
}

// DedicateDQNode (ref:writing#dedicated-dq-nodes): the second and later readers of an activation get a copy of its DQ
// node.

namespace {

/// Nodes that read the DQ's output, each once, in node order.
struct Readers {
  std::vector<ir::NodeId> nodes;
  bool original_is_taken = false;  ///< Used by a graph output or a nested graph.
};

Readers readers_of(const ir::Graph& graph, ir::ValueId value, const std::vector<size_t>& place) {
  Readers readers;
  readers.original_is_taken = graph.value(value).is_output;
  for (const ir::Use& use : graph.value(value).uses) {
    if (use.is_capture) {
      readers.original_is_taken = true;
    } else {
      readers.nodes.push_back(use.node);
    }
  }
  const auto place_of = [&](ir::NodeId id) { return place[static_cast<size_t>(id.index)]; };
  std::sort(readers.nodes.begin(), readers.nodes.end(),
            [&](ir::NodeId a, ir::NodeId b) { return place_of(a) < place_of(b); });
  readers.nodes.erase(std::unique(readers.nodes.begin(), readers.nodes.end()), readers.nodes.end());
  return readers;
}

/// A copy of `node` that reads `input` first; `suffix` tells it from the original.
ir::ValueId copy_node(ir::Graph& graph, const ir::Node& node, ir::ValueId input, const std::string& suffix) {
  ir::GraphEdit edit(graph);
  const ir::Value& output = graph.value(node.output(0));
  const ir::ValueId copy = edit.add_value(output.name + suffix, output.type);
  edit.mutable_value(copy).has_info = graph.value(node.output(0)).has_info;
  ir::NodeSpec spec{node.op, node.domain, node.name.empty() ? "" : node.name + suffix, node.inputs, {copy}};
  spec.inputs[0] = input;
  spec.attributes = node.attributes;
  spec.origins = node.origins;
  edit.add_node(std::move(spec));
  return copy;
}

size_t dedicate(ir::Graph& graph, const ir::Node& dq, const std::vector<size_t>& place) {
  const ir::Node q = *graph.producer(dq.input(0));
  const Readers readers = readers_of(graph, dq.output(0), place);
  ir::GraphEdit edit(graph);
  const size_t first = readers.original_is_taken ? 0 : 1;
  for (size_t i = first; i < readers.nodes.size(); ++i) {
    const std::string suffix = cat("_", i + (readers.original_is_taken ? 1 : 0));
    // The Q of a stored tensor is copied as well, so that a compiler can fold each pair by itself.
    const bool is_stored = graph.value(q.input(0)).is_initializer();
    const ir::ValueId codes = is_stored ? copy_node(graph, q, q.input(0), suffix) : dq.input(0);
    const ir::ValueId copy = copy_node(graph, dq, codes, suffix);
    const size_t inputs = graph.node(readers.nodes[i]).inputs.size();
    for (size_t input = 0; input < inputs; ++input) {
      if (graph.node(readers.nodes[i]).input(input) == dq.output(0)) edit.set_input(readers.nodes[i], input, copy);
    }
  }
  return readers.nodes.size() > first ? readers.nodes.size() - first : 0;
}

}  // namespace

Result<Changed> dedicate_dq_node(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  std::vector<size_t> place(graph.node_count(), 0);
  for (size_t i = 0; i < graph.order().size(); ++i) place[static_cast<size_t>(graph.order()[i].index)] = i;
  size_t copies = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node dq = graph.node(id);
    const ir::Node* q = ir::is_dq(dq) ? ir::source_of(graph, dq, 0) : nullptr;
    if (q != nullptr && ir::is_q(*q)) copies += dedicate(graph, dq, place);
  }
  if (copies > 0) context.diagnostics.add("dq-dedicated", "", cat(copies, " DQ nodes added, one per reader"));
  return pass::tidy_up(context.graph(), copies > 0 ? Changed::kYes : Changed::kNo);
}

// Int16Bias (ref:marking#biases): the opset that int16 biases need, and int16 codes for stored int32 biases that the
// plan did not narrow (imported models). Their scales stay, so large biases saturate.

namespace {

constexpr int64_t kOpsetWithInt16 = 21;

constexpr std::array<std::string_view, 6> kOpsWithBias = {
    "Conv", "ConvTranspose", "Gemm", "LayerNormalization", "InstanceNormalization", "BatchNormalization"};

bool is_stored(const ir::Graph& graph, ir::ValueId id, ElementType type) {
  return graph.value(id).is_initializer() && graph.value(id).constant->type() == type;
}

bool is_stored_int32(const ir::Graph& graph, ir::ValueId id) { return is_stored(graph, id, ElementType::kInt32); }

/// DQ nodes that make biases from integers of this type, in node order.
std::vector<ir::NodeId> bias_dequantizers(const ir::Graph& graph, ElementType type) {
  std::vector<ir::NodeId> found;
  std::set<ir::NodeId> seen;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (std::find(kOpsWithBias.begin(), kOpsWithBias.end(), node.op) == kOpsWithBias.end()) continue;
    const ir::Node* dq = ir::source_of(graph, node, 2);
    if (dq == nullptr || !ir::is_dq(*dq) || !dq->input(0).valid() || !dq->input(2).valid()) continue;
    if (!is_stored(graph, dq->input(0), type) || !is_stored(graph, dq->input(2), type)) continue;
    if (seen.insert(dq->id).second) found.push_back(dq->id);
  }
  return found;
}

struct Narrowed {
  ir::Tensor tensor;
  size_t saturated = 0;
};

Narrowed narrow(const ir::Tensor& wide) {
  Narrowed result{ir::Tensor::allocate(ElementType::kInt16, wide.dims())};
  auto codes = result.tensor.mutable_data<int16_t>();
  const auto from = wide.data<int32_t>();
  for (size_t i = 0; i < from.size(); ++i) {
    codes[i] = static_cast<int16_t>(std::clamp(from[i], -32768, 32767));
    if (codes[i] != from[i]) ++result.saturated;
  }
  return result;
}

/// True when no other node than the dequantizers reads the value.
bool is_read_by_them_only(const ir::Graph& graph, ir::ValueId id, const std::set<ir::NodeId>& dequantizers) {
  const ir::Value& value = graph.value(id);
  return !value.is_output && std::all_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
    return !use.is_capture && dequantizers.contains(use.node);
  });
}

}  // namespace

Result<Changed> int16_bias(pass::QdqContext& context) {
  const bool is_imported = context.plan.slots().empty();  // our own plan has narrowed what is to be narrow
  const bool has_wide = is_imported && !bias_dequantizers(context.graph(), ElementType::kInt32).empty();
  const bool has_narrow = !bias_dequantizers(context.graph(), ElementType::kInt16).empty();
  const bool needs_opset = context.model.opset() < kOpsetWithInt16;
  if (!has_wide && !(has_narrow && needs_opset)) return Changed::kNo;
  if (needs_opset) {
    // Origins stay, and with them what was selected.
    Result<ir::Model> raised = pass::convert_opset(context.model, context.environment, kOpsetWithInt16);
    if (!raised.ok()) {
      context.diagnostics.add("bias-not-narrowed", "Int16Bias",
                              cat("biases stay int32, the opset cannot be raised: ", raised.status().message()));
      return Changed::kNo;
    }
    raised.value().path = context.model.path;
    context.model = std::move(raised).value();
  }
  if (!has_wide) return Changed::kYes;
  ir::GraphEdit edit(context.graph());
  const std::vector<ir::NodeId> found = bias_dequantizers(context.graph(), ElementType::kInt32);
  const std::set<ir::NodeId> dequantizers(found.begin(), found.end());
  for (const ir::NodeId id : found) {
    for (const size_t input : {size_t{0}, size_t{2}}) {
      const ir::ValueId stored = context.graph().node(id).input(input);
      if (!is_stored_int32(context.graph(), stored)) continue;  // shared, and done
      const std::string name = context.graph().value(stored).name;
      Narrowed narrowed = narrow(*context.graph().value(stored).constant);
      if (narrowed.saturated > 0)
        context.diagnostics.add("bias-saturated", name,
                                cat(narrowed.saturated, " of ", narrowed.tensor.size(), " values do not fit int16"));
      if (is_read_by_them_only(context.graph(), stored, dequantizers)) {
        edit.set_constant(stored, std::move(narrowed.tensor));
      } else {
        edit.set_input(id, input, edit.add_initializer(name + "_int16", std::move(narrowed.tensor)));
      }
    }
  }
  return Changed::kYes;
}

}  // namespace quarkq::qdq
