// SPDX-License-Identifier: MIT
#include "planning/calibrate/measured_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>
#include <string_view>

#include "ir/constants.h"
#include "plan/stage.h"

namespace quarkq::planning {

namespace {

/// The first value upwards of `node`, through its inputs in order, that no passthrough node makes
/// (ref:calibration#passthrough).
ir::ValueId passthrough_source(const ir::Graph& graph, const ir::Node& node, const std::vector<std::string>& types) {
  const ir::Node* current = &node;
  while (current->input(0).valid()) {
    const ir::ValueId input = current->input(0);
    const ir::NodeId producer = graph.value(input).producer;
    if (!producer.valid()) return input;
    current = &graph.node(producer);
    if (std::find(types.begin(), types.end(), current->op) == types.end()) return input;
  }
  return {};
}

/// CalibPassthroughOpTypes: the outputs of these operators have the range of their inputs.
void pass_ranges_through(const pass::PlanContext& context, RangeSources& sources) {
  const std::vector<std::string>& types = context.settings.ranges.calib_passthrough_op_types;
  if (types.empty()) return;
  const ir::Graph& graph = context.model.graph;
  const std::vector<ir::ValueId> calibrated = calibrated_tensors(context);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (std::find(types.begin(), types.end(), node.op) == types.end()) continue;
    const ir::ValueId source = passthrough_source(graph, node, types);
    if (!std::binary_search(calibrated.begin(), calibrated.end(), source)) continue;
    for (const ir::ValueId output : node.outputs) {
      if (output.valid()) sources.source[static_cast<size_t>(output.index)] = source;
    }
  }
}

}  // namespace

RangeSources find_range_sources(const pass::PlanContext& context) {
  const ir::Graph& graph = context.model.graph;
  RangeSources sources;
  sources.source.resize(graph.value_count());
  sources.unit.resize(graph.value_count());
  for (size_t i = 0; i < sources.source.size(); ++i) sources.source[i] = {static_cast<int32_t>(i)};
  pass_ranges_through(context, sources);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!context.selection.selects(node)) continue;
    const ir::ValueId input = node.input(0), output = node.output(0);
    if (!input.valid() || !output.valid()) continue;
    const auto in = static_cast<size_t>(input.index), out = static_cast<size_t>(output.index);
    if (node.is("Softmax")) sources.unit[out] = true;
    if (!node.is("Relu") && !node.is("Clip")) continue;
    if (graph.value(input).uses.size() != 1 || graph.value(input).is_initializer()) continue;
    sources.source[in] = sources.source[out];
    sources.unit[in] = sources.unit[out];
  }
  return sources;
}

namespace {

bool is_calibrated(const ir::Graph& graph, ir::ValueId id) {
  if (!id.valid() || graph.value(id).is_initializer()) return false;
  const ElementType type = graph.value(id).type.element;
  return type == ElementType::kFloat || type == ElementType::kFloat16;
}

}  // namespace

std::vector<plan::QuantSlot*> slots_to_measure(plan::QuantPlan& plan) {
  std::set<ir::ValueId> providers;
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (plan.shares(slot)) providers.insert(slot.provider);
  }
  std::vector<plan::QuantSlot*> slots;
  for (plan::QuantSlot& slot : plan.slots()) {
    const bool provides = providers.contains(slot.value);
    const bool needs_range = slot.stage.spec.needs_range() || slot.always_measured;
    if (slot.role != plan::Role::kActivation || plan.shares(slot) || !needs_range) continue;
    if (slot.state != plan::SlotState::kAbsorbed || provides) slots.push_back(&slot);
  }
  return slots;
}

std::vector<ir::ValueId> calibrated_tensors(const pass::PlanContext& context) {
  const ir::Graph& graph = context.model.graph;
  std::set<ir::ValueId> tensors;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!context.selection.op_types.contains(node.op)) continue;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ir::ValueId value : *values) {
        if (is_calibrated(graph, value)) tensors.insert(value);
      }
    }
  }
  return {tensors.begin(), tensors.end()};
}

std::vector<ir::ValueId> tensors_to_measure(const pass::PlanContext& context, const RangeSources& sources) {
  const config::Settings& settings = context.settings;
  std::set<ir::ValueId> tensors;
  for (const plan::QuantSlot* slot : slots_to_measure(context.plan)) {
    const auto index = static_cast<size_t>(slot->value.index);
    if (!sources.unit[index]) tensors.insert(sources.source[index]);
  }
  if (!tensors.empty() && (!settings.quirk(config::Quirk::kMeasureNeededOnly) || settings.ranges.save_and_restore ||
                           settings.ranges.save_tensor_hist_fig)) {
    const std::vector<ir::ValueId> all = calibrated_tensors(context);
    tensors.insert(all.begin(), all.end());
  }
  return {tensors.begin(), tensors.end()};
}

namespace {

using numeric::Range;
using OptRange = std::optional<Range>;

/// Sigmoid is 4e-4 from its limits there, within a fifth of half a step, and Tanh 7e-4; just inside of the power of two
/// that their scales then have.
constexpr Range kSigmoid{-7.9f, 7.9f}, kTanh{-3.95f, 3.95f};
constexpr std::string_view kCarriers[] = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice",
                                          "Split",   "Concat",    "Gather",  "Expand",  "Tile",      "Identity"};

OptRange own_range(const ir::Node& node) {
  if (!node.domain.empty()) return {};
  if (node.is("Sigmoid")) return kSigmoid;
  if (node.is("Tanh")) return kTanh;
  if (!node.is("HardSigmoid")) return {};
  const float alpha = node.float_or("alpha", 0.2f), beta = node.float_or("beta", 0.5f);
  if (!(alpha > 0) || !(beta >= 0) || !(beta <= 1)) return {};
  return Range{-beta / alpha, (1 - beta) / alpha};
}

bool moves(const ir::Node& node, int32_t input) {
  const bool is_mover = node.domain.empty() && std::ranges::find(kCarriers, node.op) != std::end(kCarriers);
  return is_mover && (input == 0 || node.is("Concat"));
}

/// Returns the smallest range that contains both, or nullopt if one is unknown.
OptRange around(const OptRange& a, const OptRange& b) {
  if (!a || !b) return {};
  return Range{std::min(a->min, b->min), std::max(a->max, b->max)};
}

/// Returns the range that one reader needs of the tensor.
OptRange range_for(const ir::Graph& graph, const ir::Use& use, const std::vector<OptRange>& known) {
  const ir::Node& reader = graph.node(use.node);
  if (use.is_capture) return {};
  if (!moves(reader, use.input)) return use.input == 0 ? own_range(reader) : OptRange();
  OptRange found = known[static_cast<size_t>(reader.output(0).index)];
  for (const ir::ValueId output : reader.outputs)
    if (output.valid()) found = around(found, known[static_cast<size_t>(output.index)]);
  return found;
}

}  // namespace

std::vector<OptRange> ranges_before_saturation(const ir::Graph& graph) {
  std::vector<OptRange> known(graph.value_count());
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    for (const ir::ValueId output : graph.node(*id).outputs) {
      if (!output.valid()) continue;
      const ir::Value& value = graph.value(output);
      if (value.is_output || value.uses.empty()) continue;
      OptRange found = range_for(graph, value.uses[0], known);
      for (const ir::Use& use : value.uses) found = around(found, range_for(graph, use, known));
      known[static_cast<size_t>(output.index)] = found;
    }
  }
  return known;
}

namespace {

constexpr size_t kEnoughSamples = 32;
constexpr double kGreatestFactor = 1.5;
constexpr double kWideFactor = 2;  // one bit of sixteen

struct Bounds {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

struct BoundedOp {
  std::string_view op;
  Bounds bounds;
};
constexpr BoundedOp kBounded[] = {{"Sigmoid", {0, 1}}, {"HardSigmoid", {0, 1}}, {"Softmax", {0, 1}}, {"Tanh", {-1, 1}},
                                  {"Erf", {-1, 1}},    {"Softsign", {-1, 1}},   {"Sin", {-1, 1}},    {"Cos", {-1, 1}}};
/// The results of these operators are values of their first input, or between its values.
constexpr std::string_view kMovers[] = {"Relu",    "MaxPool",   "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
                                        "Reshape", "Transpose", "Flatten",     "Squeeze",           "Unsqueeze",
                                        "Slice",   "Split",     "Gather",      "Identity",          "ReduceMean"};

Bounds bounds_of(const ir::Graph& graph, ir::ValueId value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ir::Node* producer = graph.producer(value);
  while (producer != nullptr && std::ranges::find(kMovers, producer->op) != std::end(kMovers))
    producer = graph.producer(producer->input(0));
  if (producer == nullptr) return {};
  if (producer->is("Clip")) {
    return {ir::number_of(graph, *producer, 1, "min", -kInfinity).value_or(-kInfinity),
            ir::number_of(graph, *producer, 2, "max", kInfinity).value_or(kInfinity)};
  }
  const auto* found = std::ranges::find(kBounded, std::string_view(producer->op), &BoundedOp::op);
  return found == std::end(kBounded) ? Bounds{} : found->bounds;
}

bool has_few_samples(const pass::PlanContext& context) {
  using enum config::CalibrateMethod;
  const config::Settings& settings = context.settings;
  const pass::CalibrationSource& source = context.source;
  const size_t samples = source.statistics != nullptr ? source.statistics->samples.size()
                         : source.data != nullptr     ? source.data->size()
                                                      : 0;
  const bool takes_extremes =
      settings.ranges.calibrate_method == kMinMax || settings.ranges.calibrate_method == kPercentile;
  return settings.guards() && takes_extremes && samples > 0 && samples < kEnoughSamples;
}

/// Returns how far the extreme of kEnoughSamples samples is expected to exceed the largest of these, as a factor.
double expected_factor(const std::vector<double>& extremes) {
  const double largest = *std::ranges::max_element(extremes);
  if (largest <= 0 || extremes.size() < 2) return 1;
  const auto n = static_cast<double>(extremes.size());
  const double mean = std::accumulate(extremes.begin(), extremes.end(), 0.0) / n;
  double squares = 0;
  for (const double one : extremes) squares += (one - mean) * (one - mean);
  const double scale = std::sqrt(6 * squares / (n - 1)) / std::numbers::pi;  // scale of the Gumbel distribution
  return std::clamp((mean + scale * std::log(static_cast<double>(kEnoughSamples))) / largest, 1.0, kGreatestFactor);
}

/// `end` times `factor`, not beyond `bound` unless it is there already.
float moved(float end, double factor, double bound) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const double wanted = std::clamp(static_cast<double>(end) * factor, -kMost, kMost);
  const double allowed = end > 0 ? std::min(wanted, std::max(bound, static_cast<double>(end)))
                                 : std::max(wanted, std::min(bound, static_cast<double>(end)));
  return static_cast<float>(allowed);
}

/// Each end by its factor, within what the producer of `value` can give. Inputs of the model stay: they are data of one
/// kind, images of all grey levels for example.
numeric::Range widened(const ir::Graph& graph, ir::ValueId value, numeric::Range range, double low, double high) {
  if (!graph.value(value).producer.valid()) return range;
  const Bounds bounds = bounds_of(graph, value);
  return {moved(range.min, low, bounds.low), moved(range.max, high, bounds.high)};
}

}  // namespace

numeric::Range expected_range(const pass::PlanContext& context, ir::ValueId value, const calib::ValueStatistics& seen,
                              numeric::Range range) {
  if (context.settings.tool.range_headroom || !has_few_samples(context)) return range;
  if (bits(plan::element_type(context.settings.formats.activation_type)) > 8 && seen.count() > 0)
    return widened(context.graph(), value, range, kWideFactor, kWideFactor);
  std::vector<double> below, above;
  for (const calib::SampleRecord& record : seen.records()) {
    if (record.finite == 0) continue;
    below.push_back(-static_cast<double>(record.range.min));
    above.push_back(record.range.max);
  }
  if (below.empty()) return range;
  return widened(context.graph(), value, range, expected_factor(below), expected_factor(above));
}

numeric::Range with_headroom(const pass::PlanContext& context, ir::ValueId value, const numeric::QuantSpec& spec,
                             numeric::Range range) {
  const double factor = is_integer(spec.type) ? context.settings.tool.range_headroom.value_or(1) : 1;
  return factor == 1 ? range : widened(context.graph(), value, range, factor, factor);
}

}  // namespace quarkq::planning
