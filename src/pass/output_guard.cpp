// SPDX-License-Identifier: MIT
#include "pass/output_guard.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/session.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "onnx_io/infer.h"
#include "onnx_io/opset_convert.h"

namespace quarkq::pass {

namespace {

std::vector<ir::ValueType> types_of(const ir::Graph& graph) {
  std::vector<ir::ValueType> types;
  for (size_t i = 0; i < graph.value_count(); ++i) types.push_back(graph.value({static_cast<int32_t>(i)}).type);
  return types;
}

}  // namespace

Result<Changed> infer_types_again(ir::Model& model, Diagnostics& diagnostics) {
  const std::vector<ir::ValueType> before = types_of(model.graph);
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  return types_of(model.graph) == before ? Changed::kNo : Changed::kYes;
}

Result<Changed> tidy_up(ir::Graph& graph, Changed so_far) {
  const std::vector<ir::NodeId> before = graph.order();
  const size_t removed = ir::GraphEdit(graph).remove_unused_initializers();
  QQ_RETURN_IF_ERROR(ir::sort_topologically(graph).status());
  return removed > 0 || before != graph.order() ? Changed::kYes : so_far;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFloatTolerance = 1e-4, kHalfTolerance = 1e-2;
constexpr double kUsualLayers = 16;  // that the tolerance is for; errors of rounding add up like random walks

/// Returns the factor of the tolerance for the depth of a model: 1.8 for ResNet-50 with 54 layers.
double depth_factor(const ir::Graph& graph) {
  const auto layers = std::ranges::count_if(graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul");
  });
  return std::sqrt(std::max(1.0, static_cast<double>(layers) / kUsualLayers));
}

/// Upper bound on the iterations of a loop: random numbers may never meet its condition.
constexpr int64_t kMostTrips = 1000;

/// Largest difference, relative to the largest finite magnitude expected. Non-finite values must not change.
double relative_difference(const std::vector<double>& expected, const std::vector<double>& found) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(expected[i])) {
      const bool is_same = expected[i] == found[i] || (std::isnan(expected[i]) && std::isnan(found[i]));
      if (!is_same) return kInfinity;
      continue;
    }
    if (!std::isfinite(found[i])) return kInfinity;
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(expected[i] - found[i]));
  }
  return difference == 0 ? 0 : difference / std::max(largest, static_cast<double>(std::numeric_limits<float>::min()));
}

double output_distance(const ir::Tensor& expected, const ir::Tensor& found) {
  if (expected.type() != found.type() || expected.dims() != found.dims()) return kInfinity;
  // Indices and classes may flip between values that are almost equal.
  if (!is_floating(expected.type())) return 0;
  const Result<std::vector<double>> a = ir::to_double(expected), b = ir::to_double(found);
  return a.ok() && b.ok() ? relative_difference(a.value(), b.value()) : kInfinity;
}

}  // namespace

Result<std::vector<ir::Tensor>> OutputGuard::run(const ir::Model& model) const {
  exec::Session session(model, environment_, {.fetches = {}, .taps = {}, .limits = {.loop_trips = loop_trips_}});
  QQ_TRY(const std::vector<ir::Tensor>* const results, session.run(sample_.inputs));
  return *results;
}

Result<OutputGuard> OutputGuard::make(const ir::Model& model, const exec::Environment& environment,
                                      calib::Sample sample, int64_t loop_trips) {
  OutputGuard guard(environment, std::move(sample), loop_trips);
  QQ_TRY(guard.outputs_, guard.run(model));
  const bool is_half = std::ranges::any_of(
      guard.outputs_, [](const ir::Tensor& output) { return is_floating(output.type()) && bits(output.type()) < 32; });
  guard.tolerance_ = (is_half ? kHalfTolerance : kFloatTolerance) * depth_factor(model.graph);
  return guard;
}

Result<OutputGuard> OutputGuard::on_random_sample(const ir::Model& model, const exec::Environment& environment,
                                                  const ir::Graph& inputs) {
  QQ_TRY(const auto random, calib::make_random_reader(calib::input_specs(inputs), {}));
  QQ_TRY(calib::Sample sample, random->read(0));
  return make(model, environment, std::move(sample), kMostTrips);
}

double OutputGuard::distance(const ir::Model& model) const {
  const Result<std::vector<ir::Tensor>> found = run(model);
  return found.ok() ? distance_to(found.value()) : kInfinity;
}

double OutputGuard::distance_to(const std::vector<ir::Tensor>& outputs) const {
  if (outputs.size() != outputs_.size()) return kInfinity;
  double worst = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) worst = std::max(worst, output_distance(outputs_[i], outputs[i]));
  return worst;
}

void OutputGuard::accept(const ir::Model& model) {
  Result<std::vector<ir::Tensor>> outputs = run(model);
  if (outputs.ok()) outputs_ = std::move(outputs).value();
}

Result<ir::Model> convert_opset(const ir::Model& model, const exec::Environment& environment, int64_t target) {
  QQ_TRY(ir::Model converted, onnx_io::convert_opset(model, target));
  const Result<OutputGuard> guard = OutputGuard::on_random_sample(model, environment, model.graph);
  if (!guard.ok()) return converted;
  const double distance = guard.value().distance(converted);
  if (distance <= guard.value().tolerance()) return converted;
  return unsupported("conversion from opset ", model.opset(), " to ", target,
                     ": the converted model computes other outputs, they differ by ", distance,
                     " of their range; convert the model with its exporter");
}

}  // namespace quarkq::pass
