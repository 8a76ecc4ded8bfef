// SPDX-License-Identifier: MIT
#include "pipeline/compare_models.h"

#include <limits>
#include <numeric>

#include "calib/read_ahead.h"
#include "calib/reader/file_formats.h"
#include "exec/layout_convert.h"
#include "exec/session.h"
#include "pipeline/custom_metric.h"
#include "pipeline/not_finite.h"
#include "pipeline/problem_list.h"

namespace quarkq::pipeline {
namespace {

using metrics::AccuracyCount;
using metrics::Comparison;

constexpr size_t kReadingThreads = 1, kSamplesAhead = 4;

/// Runs the samples and accumulates the metrics of the outputs.
class ModelComparison {
 public:
  ModelComparison(const EvaluateModelsRequest& request, const ModelPair& models, AccuracyCount* accuracy,
                  EvaluateReport& report)
      : request_(request),
        models_(models),
        accuracy_(accuracy),
        report_(report),
        float_(models.float_model, {}),
        quantized_(models.quantized_model, {}) {
    for (const OutputPair& output : models.outputs) report.outputs.push_back({.name = output.name});
    sums_.resize(models.outputs.size());
  }

  Status run() {
    const size_t count = models_.samples->size();
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    calib::ReadAhead ahead(*models_.samples, order, kReadingThreads, kSamplesAhead);
    for (size_t i = 0; i < count; ++i) {
      QQ_TRY(const calib::Sample sample, ahead.next());
      QQ_RETURN_IF_ERROR(run_one(i, sample).context(cat("sample ", sample.name)));
      if (request_.progress && !request_.progress({"evaluate", i + 1, count})) {
        return Status(Code::kInterrupted, "interrupted");
      }
    }
    if (!problems_.empty()) return bad_data(problems_.text("outputs cannot be compared"));
    finish_outputs();
    return Status();
  }

 private:
  Status run_one(size_t number, const calib::Sample& sample) {
    QQ_TRY(const auto* expected, float_.run(sample.inputs).context(request_.float_path));
    calib::Sample fitted;
    if (models_.fitted != nullptr) {
      QQ_TRY(fitted, models_.fitted->read(number));
    }
    const calib::Sample& given = models_.fitted != nullptr ? fitted : sample;
    QQ_TRY(const auto* found, quantized_.run(given.inputs).context(request_.quantized_path));
    if (request_.metric) QQ_RETURN_IF_ERROR(add_metric(number, *expected, *found));
    for (size_t i = 0; i < models_.outputs.size(); ++i) {
      const OutputPair& output = models_.outputs[i];
      Result<metrics::ArrayPair> arrays = metrics::pair_arrays(
          (*expected)[output.in_float], cat("sample ", sample.name, ", float output ", output.name),
          in_float_order((*found)[output.in_quantized]),
          cat("sample ", sample.name, ", quantized output ", output.name));
      Status status = arrays.ok() ? add(sample.name, i, arrays.value()) : arrays.status();
      if (!status.ok()) problems_.add(status.message());
      ++results_;
    }
    return Status();
  }

  Status add_metric(size_t number, const std::vector<ir::Tensor>& expected, const std::vector<ir::Tensor>& found) {
    std::vector<ir::Tensor> ordered;
    ordered.reserve(found.size());
    for (const ir::Tensor& result : found) ordered.push_back(in_float_order(result));
    QQ_TRY(const std::vector<SampleTensor> exact, views_of(models_.float_model.graph, expected));
    QQ_TRY(const std::vector<SampleTensor> coarse, views_of(models_.quantized_model.graph, ordered));
    QQ_TRY(const double value, request_.metric(number, exact, coarse));
    metric_sum_ += value;
    return Status();
  }

  ir::Tensor in_float_order(const ir::Tensor& result) const {
    const bool moves = models_.is_channels_last && result.rank() == 4;
    return moves ? exec::in_onnx_order(result, exec::Layout::kChannelsLast) : result;
  }

  Status add(const std::string& sample, size_t output, metrics::ArrayPair& arrays) {
    const std::string name =
        models_.outputs.size() == 1 ? sample : calib::file_spelling(models_.outputs[output].name) + "/" + sample;
    if (accuracy_ != nullptr) {
      Result<std::optional<Accuracy>> scored = accuracy_->score(results_, sample, arrays);
      if (!scored.ok()) return scored.status().context(name);
      if (scored.value()) QQ_RETURN_IF_ERROR(accuracy_->add(*scored.value(), name));
    }
    Comparison comparison = metrics::compare_arrays(arrays, /*compat=*/false);
    comparison.metrics.file = name;
    report_.pairs.push_back(std::move(comparison.metrics));
    if (report_.outputs[output].samples++ == 0) {
      sums_[output] = comparison.sums;
    } else {
      numeric::add(comparison.sums, sums_[output]);
    }
    return Status();
  }

  void finish_outputs() {
    if (request_.metric) report_.metric = metric_sum_ / static_cast<double>(models_.samples->size());
    for (size_t i = 0; i < sums_.size(); ++i) {
      OutputMetrics& output = report_.outputs[i];
      output.cosine = numeric::cosine(sums_[i]);
      output.sqnr_db = numeric::sqnr_db(sums_[i]);
      output.l2 = numeric::l2_distance(sums_[i]);
      output.max_abs = sums_[i].max_distance;
      output.same_not_finite = sums_[i].same;
      output.different_not_finite = sums_[i].differing;
      if (sums_[i].differing > 0)
        output.sqnr_db = output.l2 = output.max_abs = std::numeric_limits<double>::quiet_NaN();
    }
  }

  const EvaluateModelsRequest& request_;
  const ModelPair& models_;
  AccuracyCount* accuracy_;
  EvaluateReport& report_;
  exec::Session float_, quantized_;
  std::vector<numeric::PairSums> sums_;
  ProblemList problems_;
  double metric_sum_ = 0;
  size_t results_ = 0;  ///< so far: sample by sample, the outputs of each
};

}  // namespace

Status compare_models(const EvaluateModelsRequest& request, const ModelPair& models, AccuracyCount* accuracy,
                      EvaluateReport& report) {
  QQ_RETURN_IF_ERROR(ModelComparison(request, models, accuracy, report).run());
  metrics::aggregate(report, /*compat=*/false);
  note_not_finite(report);
  return Status();
}

}  // namespace quarkq::pipeline
