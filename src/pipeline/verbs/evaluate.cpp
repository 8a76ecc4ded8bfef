// SPDX-License-Identifier: MIT
// evaluate(): pairs are read and compared by several threads; everything is summed up in their order afterwards.
#include <atomic>
#include <mutex>
#include <new>

#include "base/parallel.h"
#include "calib/reader/file_formats.h"
#include "compare/intervals.h"
#include "compare/tensors.h"
#include "exec/environment.h"
#include "metrics/array_metrics.h"
#include "pipeline/report/compare_models.h"
#include "pipeline/run/facts.h"
#include "pipeline/verbs/score_side.h"

namespace quarkq {

namespace {

using metrics::AccuracyCount;
using pipeline::ResultPair;

constexpr int64_t kChunk = 16;  // pairs that a thread takes at once: few enough to share the last ones evenly

struct Outcome {
  Status status = {};
  PairMetrics metrics = {};
  std::optional<Accuracy> accuracy = {};
  bool is_left_out = false;
};

class FolderComparison {
 public:
  FolderComparison(const EvaluateRequest& request, std::vector<ResultPair> pairs, const AccuracyCount* accuracy)
      : request_(request), pairs_(std::move(pairs)), accuracy_(accuracy), outcomes_(pairs_.size()) {}

  Status run() {
    const auto count = static_cast<int64_t>(pairs_.size());
    parallel_pieces(count, kChunk, {.share = Share::kAsFree}, [&](int64_t begin, int64_t end) {
      if (is_stopped_) return;
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        outcomes_[i] = compare_within_memory(i);
      report_progress(static_cast<size_t>(end - begin));
    });
    return is_stopped_ ? Status(Code::kInterrupted, "interrupted") : Status();
  }

  const std::vector<ResultPair>& pairs() const { return pairs_; }
  std::vector<Outcome>& outcomes() { return outcomes_; }

 private:
  void report_progress(size_t pairs) {
    if (!request_.progress) return;
    const std::lock_guard lock(progress_mutex_);
    done_ += pairs;
    if (!request_.progress({"evaluate", done_, pairs_.size(), "pairs"})) is_stopped_ = true;
  }

  /// An array that is too large fails its pair.
  Outcome compare_within_memory(size_t i) const {
    try {
      return compare(i);
    } catch (const std::bad_alloc&) {
      return Outcome{.status = resource_error(pairs_[i].baseline_path, ": not enough memory to compare this array")};
    }
  }

  Outcome compare(size_t i) const {
    const ResultPair& pair = pairs_[i];
    Outcome outcome;
    Result<pipeline::ResultArrays> files = pipeline::read_result_pair(pair);
    if (!files.ok()) {
      outcome.is_left_out = request_.compat && pair.is_image;
      outcome.status = files.status();
      return outcome;
    }
    pipeline::ResultArrays& read = files.value();
    Result<metrics::ArrayPair> arrays =
        metrics::pair_arrays(read.baseline, pair.baseline_path, read.quantized, pair.quantized_path);
    read = {};
    outcome.status = arrays.status();
    if (!outcome.status.ok()) return outcome;
    if (accuracy_ != nullptr) {
      Result<std::optional<Accuracy>> scored = accuracy_->score(i, pair.name, arrays.value());
      outcome.status = scored.status().context(pair.baseline_path);
      if (!outcome.status.ok()) return outcome;
      outcome.accuracy = std::move(scored).value();
    }
    outcome.metrics = metrics::compare_arrays(arrays.value(), request_.compat).metrics;
    outcome.metrics.file = pair.name;
    return outcome;
  }

  const EvaluateRequest& request_;
  const std::vector<ResultPair> pairs_;
  const AccuracyCount* accuracy_;
  std::vector<Outcome> outcomes_;
  std::atomic<bool> is_stopped_ = false;
  std::mutex progress_mutex_;
  size_t done_ = 0;
};

/// The successful pairs in order. Pairs that the reference only reports and skips give a finding; other errors fail.
Status collect(FolderComparison& comparison, AccuracyCount* accuracy, EvaluateReport& report) {
  pipeline::ProblemList problems;
  Code code = Code::kOk;
  for (size_t i = 0; i < comparison.pairs().size(); ++i) {
    Outcome& outcome = comparison.outcomes()[i];
    if (outcome.is_left_out) {
      report.findings.push_back(pipeline::finding("left-out", comparison.pairs()[i].name, outcome.status.message()));
      continue;
    }
    if (outcome.status.ok() && outcome.accuracy) {
      outcome.status = accuracy->add(*outcome.accuracy, comparison.pairs()[i].baseline_path);
    }
    if (!outcome.status.ok()) {
      if (code == Code::kOk) code = outcome.status.code();
      problems.add(outcome.status.message());
      continue;
    }
    report.pairs.push_back(std::move(outcome.metrics));
  }
  if (!problems.empty()) {
    return Status(code, problems.text(cat("of ", comparison.pairs().size(), " pairs cannot be compared")));
  }
  return report.pairs.empty() ? bad_data("no pair of images could be read") : Status();
}

void note_extra(const std::vector<std::string>& extra, const std::string& folder, EvaluateReport& report) {
  if (extra.empty()) return;
  report.findings.push_back(pipeline::finding("extra-results", folder,
                                              cat(extra.size(), extra.size() == 1 ? " file is" : " files are",
                                                  " not in the baseline folder and ignored, the first is ", extra[0])));
}

}  // namespace

Result<EvaluateReport> evaluate(const EvaluateRequest& request) {
  QQ_RETURN_IF_ERROR(compare::check_confidence(request.accuracy.confidence));
  exec::set_threads(request.threads);
  QQ_TRY(pipeline::ResultPairs found,
         pipeline::find_result_pairs(request.baseline_folder, request.quantized_folder, request.compat));
  std::optional<AccuracyCount> accuracy;
  if (!request.accuracy.labels_path.empty()) {
    const std::string& output = request.accuracy.output;
    std::vector<bool> is_scored;
    for (const ResultPair& pair : found.pairs) {
      is_scored.push_back(output.empty() || pair.name.starts_with(calib::file_spelling(output) + "/"));
    }
    QQ_TRY(accuracy, AccuracyCount::open(request.accuracy, is_scored, /*is_part=*/false));
  }
  EvaluateReport report;
  report.confidence = request.accuracy.confidence;
  if (!request.compat) note_extra(found.extra, request.quantized_folder, report);
  FolderComparison comparison(request, std::move(found.pairs), accuracy ? &*accuracy : nullptr);
  QQ_RETURN_IF_ERROR(comparison.run());
  QQ_RETURN_IF_ERROR(collect(comparison, accuracy ? &*accuracy : nullptr, report));
  metrics::aggregate(report, request.compat);
  pipeline::note_not_finite(report);
  if (accuracy) report.accuracy = accuracy->counted();
  return report;
}

// evaluate_models(): both models over the same samples.

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
  QQ_RETURN_IF_ERROR(compare::check_confidence(request.accuracy.confidence));
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  Diagnostics diagnostics;
  QQ_TRY(const ModelPair models, pipeline::open_models(request, environment, diagnostics));
  QQ_TRY(std::optional<AccuracyCount> accuracy, open_accuracy(request, models));
  EvaluateReport report;
  report.confidence = request.accuracy.confidence;
  QQ_RETURN_IF_ERROR(pipeline::compare_models(request, models, accuracy ? &*accuracy : nullptr, report));
  if (accuracy) report.accuracy = accuracy->counted();
  if (request.layers) {
    QQ_TRY(const std::vector<TensorAgreement> layers, pipeline::compare_layers(models, kLayerSamples));
    report.layers = compare::noisiest_first(layers);
  }
  report.findings = pipeline::findings_of(diagnostics);
  return report;
}

}  // namespace quarkq
