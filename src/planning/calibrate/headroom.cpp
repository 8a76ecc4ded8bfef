// SPDX-License-Identifier: MIT
#include "planning/calibrate/headroom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string_view>

#include "ir/arguments.h"
#include "plan/data_types.h"

namespace quarkq::planning {
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
/// What comes out of these was their first input, or lies between its values.
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

/// How far the extreme of kEnoughSamples samples is expected to lie beyond the largest of these, relative to it.
double expected_factor(const std::vector<double>& extremes) {
  const double largest = *std::ranges::max_element(extremes);
  if (largest <= 0 || extremes.size() < 2) return 1;
  const auto n = static_cast<double>(extremes.size());
  const double mean = std::accumulate(extremes.begin(), extremes.end(), 0.0) / n;
  double squares = 0;
  for (const double one : extremes) squares += (one - mean) * (one - mean);
  const double scale = std::sqrt(6 * squares / (n - 1)) / std::numbers::pi;  // of the Gumbel distribution
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
