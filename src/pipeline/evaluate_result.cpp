// SPDX-License-Identifier: MIT
#include "pipeline/evaluate_result.h"

#include <algorithm>

#include "pipeline/compare_models.h"
#include "pipeline/inspect_quantized.h"

namespace quarkq::pipeline {
namespace {

Result<EvaluateReport> compare_on_all(Run& run) {
  const calib::DataReader* samples =
      run.source.evaluation.opened != nullptr ? run.source.evaluation.opened.get() : run.source.samples.opened.get();
  if (samples == nullptr || samples->size() == 0)
    return bad_data("there are no samples; give --eval DIR, EvalDataReader or calibration samples");
  EvaluateModelsRequest names;
  names.float_path = run.request.model_path;
  names.quantized_path = run.report.output_path;
  names.progress = [&run](const Progress& now) { return run.reports(now.done, now.total); };
  ModelPair models;
  models.float_model = run.loaded;  // shares the weights
  models.quantized_model = run.state.model;
  models.samples = samples;
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(pair_models(names, models, ignored));
  EvaluateReport found;
  QQ_RETURN_IF_ERROR(compare_models(names, models, /*accuracy=*/nullptr, found));
  return found;
}

}  // namespace

Status evaluate_result(Run& run) {
  const auto& asked = run.state.settings.evaluation;
  if (asked.debug_mode) run.report.nodes = node_formats(run.state.model.graph);
  if (!asked.eval_metrics) return Status();
  run.phase = "evaluate";
  const Result<EvaluateReport> found = compare_on_all(run);
  if (!found.ok() && found.status().code() == Code::kInterrupted) return found.status();
  if (!found.ok()) {
    run.state.diagnostics.add("not-evaluated", "EvalMetrics", found.status().message());
    return Status();
  }
  const EvaluateReport& report = found.value();
  EvalMetrics metrics;
  metrics.samples = report.pairs.size() / std::max<size_t>(1, report.outputs.size());
  metrics.mean_cosine = report.mean_cosine;
  metrics.min_cosine = report.min_cosine;
  metrics.mean_l2 = report.mean_l2;
  metrics.max_l2 = report.max_l2;
  metrics.mean_psnr = report.mean_psnr;
  metrics.min_psnr = report.min_psnr;
  metrics.mean_ssim = report.mean_ssim;
  metrics.min_ssim = report.min_ssim;
  metrics.folder = run.source.evaluation_folder;
  run.report.metrics = metrics;
  return Status();
}

}  // namespace quarkq::pipeline
