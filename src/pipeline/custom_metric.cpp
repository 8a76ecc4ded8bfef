// SPDX-License-Identifier: MIT
#include "pipeline/custom_metric.h"

#include <cmath>
#include <string_view>

#include "base/parse_number.h"
#include "exec/session.h"
#include "pipeline/compare.h"
#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {
namespace {

constexpr std::string_view kMetric = "metric>=";

Result<ir::Model> ready_to_run(const ir::Model& model) {
  ir::Model copy = model;  // shares the weights
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(prepare_for_run(copy, ignored));
  return copy;
}

/// The mean over the samples that the models are compared on.
Result<double> mean_of(const Metric& metric, const ir::Model& original, const ir::Model& quantized,
                       const Judgement& judgement) {
  QQ_TRY(const ir::Model expected_model, ready_to_run(original));
  QQ_TRY(const ir::Model found_model, ready_to_run(quantized));
  exec::Session expected(expected_model, {}), found(found_model, {});
  double sum = 0;
  const std::vector<size_t> numbers = spread_samples(judgement.data->size(), judgement.samples);
  for (const size_t number : numbers) {
    QQ_TRY(const calib::Sample sample, judgement.data->read(number));
    QQ_TRY(const auto* expected_results, expected.run(sample.inputs));
    QQ_TRY(const auto* found_results, found.run(sample.inputs));
    QQ_TRY(const std::vector<SampleTensor> exact, views_of(expected_model.graph, *expected_results));
    QQ_TRY(const std::vector<SampleTensor> coarse, views_of(found_model.graph, *found_results));
    QQ_TRY(const double value, metric(number, exact, coarse));
    sum += value;
  }
  return sum / static_cast<double>(numbers.size());
}

}  // namespace

Result<SampleTensor> view_of(const std::string& name, const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kString)
    return unsupported(name, ": is a tensor of strings, which cannot be handed out");
  return SampleTensor{name, std::string(quarkq::name(tensor.type())), tensor.dims(), tensor.raw(),
                      static_cast<size_t>(tensor.bytes())};
}

Result<std::vector<SampleTensor>> views_of(const ir::Graph& graph, const std::vector<ir::Tensor>& results) {
  std::vector<SampleTensor> views;
  views.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    QQ_TRY(SampleTensor view, view_of(graph.value(graph.outputs()[i]).name, results[i]));
    views.push_back(std::move(view));
  }
  return views;
}

Result<std::optional<double>> required_metric(const std::vector<std::string>& requirements) {
  std::optional<double> most;
  for (const std::string& text : requirements) {
    if (!text.starts_with(kMetric)) continue;
    const std::optional<double> value = parse_finite(std::string_view(text).substr(kMetric.size()));
    if (!value) return invalid_argument("--require ", text, ": allowed is metric>=X with a number X");
    most = std::max(most.value_or(*value), *value);
  }
  return most;
}

Status judge_by_metric(const QuantizeRequest& request, const ir::Model& original, const ir::Model& quantized,
                       const Judgement& judgement, QuantizeReport& report) {
  QQ_TRY(const std::optional<double> required, required_metric(request.requirements));
  if (!request.metric) return Status();
  if (judgement.data == nullptr) {
    if (required) return quality_gate("metric: there are no samples to compute it on, ", *required, " is required");
    return Status();
  }
  QQ_TRY(report.metric, mean_of(request.metric, original, quantized, judgement));
  if (!required || *report.metric >= *required) return Status();  // NaN is not enough
  return quality_gate("metric: found ", *report.metric, ", required is ", *required);
}

}  // namespace quarkq::pipeline
