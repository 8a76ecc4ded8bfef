// SPDX-License-Identifier: MIT
// Guard: all inputs of a Concat share one scale. If one input gets fewer than 16 steps of it (a detector's scores next
// to boxes in pixels) and only the model's outputs depend on the result, that Concat, the nodes after it and the nodes
// between the last layers and it stay float. Before a layer, and with guards off, the case is only reported. The same
// nodes stay float if they compute boxes from a table of cells or anchors: 8 bits cannot represent box coordinates,
// because one step is several pixels.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/constants.h"
#include "ir/graph.h"
#include "ir/parts.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

// The part of a detector that converts the outputs of its last layers to coordinates (ir/parts.h).

constexpr std::string_view kPlacing[] = {"Add", "Sub", "Mul", "Div"};
constexpr int64_t kFewestElements = 64;
constexpr int64_t kMostElements = int64_t{1} << 24;  // Larger tensors are not coordinates and not worth reading.
constexpr size_t kFewestValues = 16;

bool has_many_values(const ir::Tensor& constant) {
  if (constant.type() != ElementType::kFloat || constant.size() < kFewestElements || constant.size() > kMostElements)
    return false;
  const Result<std::vector<float>> values = ir::float_values(constant);
  if (!values.ok()) return false;
  std::set<float> different;
  for (const float value : values.value()) {
    if (value == value) different.insert(value);
    if (different.size() >= kFewestValues) return true;
  }
  return false;
}

/// The node scales or moves float values by a constant that differs from place to place: 64 elements or more with 16
/// values or more, such as the cells of a grid, anchors or prior boxes.
bool places_boxes(const ir::Graph& graph, const ir::Node& node) {
  if (!node.domain.empty() || std::ranges::find(kPlacing, node.op) == std::end(kPlacing)) return false;
  return std::ranges::any_of(node.inputs, [&](ir::ValueId input) {
    const ir::Tensor* constant = input.valid() ? graph.constant(input) : nullptr;
    return constant != nullptr && has_many_values(*constant);
  });
}

/// The nodes of the tail that are connected with `seed` through nodes of the tail, with it; empty where it is not one.
std::set<ir::NodeId> part_around(const ir::Graph& graph, const ir::Tail& tail, ir::NodeId seed) {
  std::set<ir::NodeId> part;
  std::vector<ir::NodeId> waiting = {seed};
  while (!waiting.empty()) {
    const ir::NodeId id = waiting.back();
    waiting.pop_back();
    if (!tail.nodes.contains(id) || !part.insert(id).second) continue;
    const ir::Node& node = graph.node(id);
    for (const ir::ValueId input : node.inputs) {
      const ir::Node* source = input.valid() ? graph.producer(input) : nullptr;
      if (source != nullptr) waiting.push_back(source->id);
    }
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) waiting.push_back(use.node);
    }
  }
  return part;
}

using plan::QuantSlot;

constexpr double kLeastSteps = 16;  // 4 bits: with fewer the order of scores is lost

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

/// The node and all nodes after it; nothing when one of them is a layer, which a float input does not help: layers
/// compute in integers, and their weights fit what they are given.
std::optional<std::set<ir::NodeId>> tail_of(const ir::Graph& graph, ir::NodeId first) {
  std::set<ir::NodeId> tail;
  std::vector<ir::NodeId> waiting = {first};
  while (!waiting.empty()) {
    const ir::Node& node = graph.node(waiting.back());
    waiting.pop_back();
    if (!tail.insert(node.id).second) continue;
    if (ir::has_layer_op(node) || !node.captures.empty()) return std::nullopt;
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) waiting.push_back(use.node);
    }
  }
  return tail;
}

/// Finds the nodes that stay float, and reports them.
class FarRanges {
 public:
  explicit FarRanges(pass::PlanContext& context) : context_(context), tail_(ir::find_tail(context.graph())) {}

  std::set<ir::NodeId> find() {
    const ir::Graph& graph = context_.graph();
    for (const ir::NodeId id : graph.order()) {
      const ir::Node& node = graph.node(id);
      if (left_float_.contains(id)) continue;
      if (node.is("Concat")) look_at_concat(node);
      if (has_narrow_boxes(node)) found_boxes(node);
    }
    return std::move(left_float_);
  }

 private:
  void look_at_concat(const ir::Node& node) {
    const std::optional<FarInput> far = worst_input(context_, node);
    if (!far) return;
    const ir::Graph& graph = context_.graph();
    const std::string found =
        cat("all inputs of ", graph.label(node.id), " share one scale, which leaves ", std::round(10 * far->steps) / 10,
            " quantization steps for ", graph.value(far->value).name, ", whose values span ", far->width);
    const auto after = tail_of(graph, node.id);
    if (after && may_leave_float()) return keep(node, found, *after);
    context_.diagnostics.add("far-ranges", graph.value(node.output(0)).name, found);
  }

  void found_boxes(const ir::Node& node) {
    const ir::Graph& graph = context_.graph();
    const std::string found = cat(
        graph.label(node.id), " computes box coordinates, which 8 bits cannot represent: one step is several pixels");
    if (may_leave_float()) return keep(node, found, {});
    if (!context_.settings.guards() || has_reported_boxes_) return;
    has_reported_boxes_ = true;
    context_.diagnostics.add("far-ranges", graph.value(node.output(0)).name, found);
  }

  /// Not where the user wants the tail quantized, nor for a compiler that refuses models with a float part.
  bool may_leave_float() const {
    const config::Settings& settings = context_.settings;
    return settings.guards() && settings.may_rescue_with("float_nodes") && settings.legalize.tail != "keep";
  }

  bool has_narrow_boxes(const ir::Node& node) const {
    const plan::QuantSlot* slot = context_.plan.find(node.output(0));
    return tail_.nodes.contains(node.id) && has_integer_scale(context_.plan, slot) &&
           bits(slot->stage.spec.type) <= 8 && places_boxes(context_.graph(), node);
  }

  void keep(const ir::Node& node, const std::string& found, const std::set<ir::NodeId>& after) {
    std::set<ir::NodeId> nodes = part_around(context_.graph(), tail_, node.id);
    nodes.insert(after.begin(), after.end());
    context_.diagnostics.add(
        "guard-far-ranges", context_.graph().value(node.output(0)).name,
        cat(found, "; it and the ", nodes.size() - 1, " nodes around it, after the last layers, stay float"));
    left_float_.merge(nodes);
  }

  pass::PlanContext& context_;
  const ir::Tail tail_;
  std::set<ir::NodeId> left_float_;
  bool has_reported_boxes_ = false;
};

}  // namespace

Result<Changed> guard_far_ranges(pass::PlanContext& context) {
  const std::set<ir::NodeId> left_float = FarRanges(context).find();
  if (left_float.empty()) return Changed::kNo;
  context.selection.left_float.insert(left_float.begin(), left_float.end());
  if (context.replan != nullptr) *context.replan = true;
  return Changed::kYes;
}

}  // namespace quarkq::planning
