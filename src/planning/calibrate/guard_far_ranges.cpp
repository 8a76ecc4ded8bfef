// SPDX-License-Identifier: MIT
// Guard: a Concat gives all its inputs one scale. Where one input gets fewer than 16 steps of it (a detector's scores
// beside boxes in pixels) and only the model's outputs depend on the result, that Concat and the tail after
// it stay float, so that each input has its own scale. Before a layer, and with guards off, it is only reported.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "ir/stored_floats.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

using plan::QuantSlot;

constexpr double kLeastSteps = 16;  // 4 bits: with fewer the order of scores is lost
/// A float input does not help these: they compute in integers, and their weights fit what they are given.
constexpr std::string_view kLayers[] = {"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN"};

/// The share of one input in the common scale.
struct FarInput {
  ir::ValueId value;
  double width = 0, steps = 0;
};

bool has_integer_scale(const plan::QuantPlan& plan, const QuantSlot* slot) {
  return slot != nullptr && slot->stage.kind != plan::StageKind::kBlock && is_integer(slot->stage.spec.type) &&
         !plan.params[slot->stage.params].empty();
}

/// The range of the tensor's values: its own or its provider's, or a constant's values. Zero when it is not known.
double width_of(const pass::PlanContext& context, ir::ValueId value) {
  const ir::Value& found = context.model.graph.value(value);
  if (found.is_initializer()) {
    const Result<std::vector<float>> values = ir::float_values(*found.constant);
    if (!values.ok() || values.value().empty()) return 0;
    const auto [low, high] = std::minmax_element(values.value().begin(), values.value().end());
    return static_cast<double>(*high) - *low;
  }
  const QuantSlot* slot = context.plan.find(value);
  while (slot != nullptr && !slot->range && context.plan.shares(*slot)) slot = context.plan.find(slot->provider);
  return slot == nullptr || !slot->range ? 0 : static_cast<double>(slot->range->max) - slot->range->min;
}

std::optional<FarInput> worst_input(const pass::PlanContext& context, const ir::Node& concat) {
  const QuantSlot* output = context.plan.find(concat.output(0));
  if (!has_integer_scale(context.plan, output)) return std::nullopt;
  const double scale = context.plan.params[output->stage.params][0].scale;
  std::optional<FarInput> worst;
  for (const ir::ValueId input : concat.inputs) {
    const double width = width_of(context, input);
    if (width <= 0 || !std::isfinite(width)) continue;
    const FarInput found{input, width, width / scale};
    if (found.steps < kLeastSteps && (!worst || found.steps < worst->steps)) worst = found;
  }
  return worst;
}

/// The node and all nodes after it; nothing when one of them is a layer.
std::optional<std::set<ir::NodeId>> tail_of(const ir::Graph& graph, ir::NodeId first) {
  std::set<ir::NodeId> tail;
  std::vector<ir::NodeId> waiting = {first};
  while (!waiting.empty()) {
    const ir::Node& node = graph.node(waiting.back());
    waiting.pop_back();
    if (!tail.insert(node.id).second) continue;
    const bool is_layer = std::find(std::begin(kLayers), std::end(kLayers), node.op) != std::end(kLayers);
    if (is_layer || !node.captures.empty()) return std::nullopt;
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) waiting.push_back(use.node);
    }
  }
  return tail;
}

}  // namespace

Result<Changed> guard_far_ranges(pass::PlanContext& context) {
  const ir::Graph& graph = context.graph();
  std::set<ir::NodeId> left_float;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.is("Concat") || !context.selection.selects(node) || left_float.contains(id)) continue;
    const std::optional<FarInput> far = worst_input(context, node);
    if (!far) continue;
    const std::string found =
        cat("all inputs of ", graph.label(id), " share one scale, which leaves ", std::round(10 * far->steps) / 10,
            " quantization steps for ", graph.value(far->value).name, ", whose values span ", far->width);
    const auto tail = tail_of(graph, id);
    if (!tail || !context.settings.guards()) {
      context.diagnostics.add("far-ranges", graph.value(node.output(0)).name, found);
      continue;
    }
    left_float.insert(tail->begin(), tail->end());
    context.diagnostics.add("guard-far-ranges", graph.value(node.output(0)).name,
                            cat(found, "; it and the ", tail->size() - 1, " nodes after it stay float"));
  }
  if (left_float.empty()) return Changed::kNo;
  context.selection.left_float.insert(left_float.begin(), left_float.end());
  if (context.replan != nullptr) *context.replan = true;
  return Changed::kYes;
}

}  // namespace quarkq::planning
