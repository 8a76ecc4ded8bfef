// SPDX-License-Identifier: MIT
// evaluate_models(): both models over the same samples.
#include "exec/threads.h"
#include "metrics/accuracy.h"
#include "pipeline/compare_tensors.h"
#include "pipeline/compare_models.h"
#include "pipeline/facts.h"

namespace quarkq {
namespace {

using metrics::AccuracyCount;
using pipeline::ModelPair;

constexpr size_t kLayerSamples = 4;  // that are kept of each tensor, in parts

Result<std::optional<AccuracyCount>> open_accuracy(const EvaluateModelsRequest& request, const ModelPair& models) {
  if (request.accuracy.labels_path.empty()) return std::optional<AccuracyCount>();
  const std::string& output = request.accuracy.output;
  std::vector<bool> is_scored;
  for (size_t i = 0; i < models.samples->size(); ++i) {
    for (const pipeline::OutputPair& pair : models.outputs) {
      is_scored.push_back(output.empty() || output == pair.name);
    }
  }
  QQ_TRY(AccuracyCount count, AccuracyCount::open(request.accuracy, is_scored, /*is_part=*/request.limit > 0));
  return std::optional(std::move(count));
}

}  // namespace

Result<EvaluateReport> evaluate_models(const EvaluateModelsRequest& request) {
  exec::set_threads(request.threads);
  Diagnostics diagnostics;
  QQ_TRY(const ModelPair models, pipeline::open_models(request, diagnostics));
  QQ_TRY(std::optional<AccuracyCount> accuracy, open_accuracy(request, models));
  EvaluateReport report;
  QQ_RETURN_IF_ERROR(pipeline::compare_models(request, models, accuracy ? &*accuracy : nullptr, report));
  if (accuracy) report.accuracy = accuracy->counted();
  if (request.layers) {
    QQ_TRY(const std::vector<TensorAgreement> layers, pipeline::compare_layers(models, kLayerSamples));
    report.layers = pipeline::noisiest_first(layers);
  }
  report.findings = pipeline::findings_of(diagnostics);
  return report;
}

}  // namespace quarkq
