// SPDX-License-Identifier: MIT
// score(): the metrics of one or two sides, models or folders of results.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "base/platform/files.h"
#include "calib/sample_readers.h"
#include "compare/intervals.h"
#include "exec/environment.h"
#include "metrics/metric_table.h"
#include "pipeline/report/compare_models.h"
#include "pipeline/report/json.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/model_interface.h"
#include "pipeline/run/pass_runner.h"
#include "pipeline/verbs/score_side.h"
#include "quarkq/evaluate.h"
#include "quarkq/status.h"

namespace quarkq::pipeline {

namespace {

/// A folder of its own that disappears with what is in it.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::string path;
    if (!platform::make_temporary_folder(path)) return io_error(path, ": cannot make this folder");
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    if (!path_.empty()) paths::remove_tree(path_);
  }

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

}  // namespace quarkq::pipeline

namespace quarkq {
namespace {

using metrics::ChosenMetric;
using pipeline::ModelSide;
using pipeline::ScoredSide;

bool has_models(const ScoreRequest& request) { return request.results_bytes || request.results.ends_with(".onnx"); }
bool has_baseline(const ScoreRequest& request) { return request.baseline_bytes || !request.baseline.empty(); }

EvaluateModelsRequest models_request(const ScoreRequest& request) {
  EvaluateModelsRequest models;
  models.float_path = request.baseline, models.quantized_path = request.results;
  models.float_bytes = request.baseline_bytes, models.quantized_bytes = request.results_bytes;
  models.data_folder = request.data_folder;
  models.sample_source = request.sample_source;
  models.config = request.config;
  models.settings = request.settings;
  models.limit = request.limit;
  models.threads = request.threads;
  models.memory_ceiling = request.memory_ceiling;
  models.metric = request.metric.function;
  models.progress = request.progress;
  return models;
}

/// Returns how samples are read according to the settings `asked`.
Result<calib::DataOptions> score_data_options(const ScoreRequest& request, const config::QuantConfig& asked) {
  QQ_TRY(calib::DataOptions options, pipeline::data_options(asked));
  options.folder = request.data_folder;
  options.limit = request.limit;
  return options;
}

struct Sides {
  std::optional<ScoredSide> baseline;
  ScoredSide results;
  Diagnostics findings;
};

Result<Sides> score_models(const ScoreRequest& request, exec::Environment environment,
                           const std::vector<ChosenMetric>& metrics) {
  QQ_TRY(const config::QuantConfig asked,
         pipeline::load_sample_settings({request.config, request.settings}, environment));
  QQ_TRY(const calib::DataOptions options, score_data_options(request, asked));
  Sides sides;
  if (has_baseline(request)) {
    QQ_TRY(const pipeline::ModelPair pair, pipeline::open_models(models_request(request), environment, sides.findings));
    const ModelSide baseline{request.baseline,  pair.float_model, *pair.samples, pair.environment, false,
                             options.preprocess};
    QQ_TRY(sides.baseline, pipeline::score_model(baseline, request, metrics));
    const ModelSide results{request.results,  pair.quantized_model,  pair.for_quantized(),
                            pair.environment, pair.is_channels_last, options.preprocess};
    QQ_TRY(sides.results, pipeline::score_model(results, request, metrics));
    return sides;
  }
  onnx_io::LoadReport loaded;
  QQ_TRY(ir::Model model, pipeline::load_whole({request.results, request.results_bytes}, loaded));
  sides.findings = std::move(loaded.findings);
  Diagnostics ignored;
  const auto is_static = [&](ir::ValueId input) { return model.graph.value(input).type.is_static(); };
  if (!std::ranges::all_of(model.graph.required_inputs(), is_static))
    QQ_RETURN_IF_ERROR(pipeline::pin_shapes(model, asked.legalize, ignored).context(request.results));
  QQ_RETURN_IF_ERROR(pipeline::prepare_for_run(model, ignored).context(request.results));
  QQ_TRY(const auto samples, calib::refuse_empty(pipeline::open_samples(request.sample_source, options, model.graph)));
  pipeline::report_notes(*samples, sides.findings);
  QQ_TRY(sides.results,
         pipeline::score_model({request.results, model, *samples, environment, false, options.preprocess}, request,
                               metrics));
  return sides;
}

Result<Sides> score_folders(const ScoreRequest& request, const std::vector<ChosenMetric>& metrics) {
  exec::Environment unused;  // nothing is run, but libraries that cannot be loaded are refused
  QQ_TRY(const config::QuantConfig asked, pipeline::load_sample_settings({request.config, request.settings}, unused));
  QQ_TRY(const calib::DataOptions options, score_data_options(request, asked));
  Sides sides;
  if (has_baseline(request)) {
    QQ_TRY(sides.baseline, pipeline::score_folder(request.baseline, request, metrics, options.preprocess));
  }
  QQ_TRY(sides.results, pipeline::score_folder(request.results, request, metrics, options.preprocess));
  return sides;
}

/// The figures that compare both sides, when one of the metrics is such.
Result<std::optional<EvaluateReport>> compare_sides(const ScoreRequest& request,
                                                    const std::vector<ChosenMetric>& metrics) {
  const auto compares = std::ranges::find_if(metrics, [](const ChosenMetric& m) { return m.info->compare != nullptr; });
  const bool has_function = static_cast<bool>(request.metric.function);
  if (compares == metrics.end() && !has_function) return std::optional<EvaluateReport>();
  if (has_function && !has_models(request)) return invalid_argument("a metric function compares models, found folders");
  if (!has_baseline(request)) {
    return invalid_argument("--metric ", has_function ? kFunctionMetric : compares->name,
                            ": compares two sides, found one; --float or a second folder");
  }
  if (has_models(request)) {
    QQ_TRY(EvaluateReport report, evaluate_models(models_request(request)));
    return std::optional(std::move(report));
  }
  EvaluateRequest folders{request.baseline, request.results};
  folders.threads = request.threads;
  folders.progress = request.progress;
  QQ_TRY(EvaluateReport report, evaluate(folders));
  return std::optional(std::move(report));
}

/// What the command says of one side; of a model its results are written to a folder for it.
Result<double> command_value(const ScoreRequest& request, const std::string& path,
                             const std::optional<std::string>& bytes) {
  const auto keep_going = [&] { return !request.progress || request.progress({"command", 0, 1}); };
  if (!has_models(request)) return pipeline::run_metric_command(request.metric, path, keep_going);
  QQ_TRY(const pipeline::TemporaryFolder folder, pipeline::TemporaryFolder::make());
  RunRequest run;
  run.model_path = path;
  run.model_bytes = bytes;
  run.input_folder = request.data_folder;
  run.sample_source = request.sample_source;
  run.config = request.config;
  run.settings = request.settings;
  run.output_folder = folder.path();
  run.threads = request.threads;
  run.memory_ceiling = request.memory_ceiling;
  run.limit = request.limit;
  run.progress = request.progress;
  QQ_RETURN_IF_ERROR(run_model(run).status());
  return pipeline::run_metric_command(request.metric, folder.path(), keep_going);
}

Result<MetricValue> score_by_command(const ScoreRequest& request) {
  MetricValue value{.name = kCommandMetric};
  if (has_baseline(request)) {
    QQ_TRY(value.baseline, command_value(request, request.baseline, request.baseline_bytes));
  }
  QQ_TRY(value.value, command_value(request, request.results, request.results_bytes));
  return value;
}

Status check_request(const ScoreRequest& request) {
  if (request.results.empty() && !request.results_bytes) {
    return invalid_argument("--metric: needs a model or a folder of results");
  }
  const bool is_model = request.baseline_bytes || request.baseline.ends_with(".onnx");
  if (has_baseline(request) && is_model != has_models(request)) {
    return invalid_argument("--metric: found ", request.baseline, " and ", request.results,
                            ", allowed are two models or two folders");
  }
  const bool has_samples = !request.data_folder.empty() || request.sample_source;
  if (has_models(request) && !has_samples) return invalid_argument("--metric: a model needs --data DIR");
  if (!has_models(request) && has_samples) return invalid_argument("--data: found a folder of results, needs a model");
  if (request.metric.names.empty() && request.metric.command.empty() && !request.metric.function) {
    return invalid_argument("--metric: found none, allowed are the names of `quarkq list metrics`");
  }
  return Status();
}

void set_intervals(MetricValue& value, Resamples samples, double confidence) {
  value.interval = compare::interval_of(samples, value.value, confidence);
  value.resamples = std::move(samples);
}

/// Returns metric number `i` of the results, with the baseline next to it if there is one.
MetricValue scored_value(const Sides& sides, size_t i, MetricValue value, double confidence) {
  const metrics::ScoredValue& results = *sides.results.values[i];
  value.value = results.value;
  set_intervals(value, results.samples, confidence);
  if (!sides.baseline) return value;
  const metrics::ScoredValue& baseline = *sides.baseline->values[i];
  value.baseline = baseline.value;
  value.baseline_interval = compare::interval_of(baseline.samples, baseline.value, confidence);
  if (sides.baseline->names == sides.results.names)
    value.difference =
        compare::difference_of({baseline.value, baseline.samples}, {value.value, value.resamples}, confidence);
  return value;
}

MetricValue compared_value(const compare::SampledScore& score, size_t samples, MetricValue value, double confidence) {
  value.value = score.once(samples);
  set_intervals(value, compare::resample(score, samples), confidence);
  return value;
}

/// The mean of the caller's metric over the samples.
MetricValue function_value(const EvaluateReport& compared, double confidence) {
  std::vector<compare::Parts> samples;
  samples.reserve(compared.metric_values.size());
  for (const double value : compared.metric_values) samples.push_back({value, 1});
  MetricValue value{.name = kFunctionMetric, .value = *compared.metric};
  set_intervals(value, compare::resample(compare::ratio_of(std::move(samples)), compared.metric_values.size()),
                confidence);
  return value;
}

}  // namespace

Result<ScoreReport> score(const ScoreRequest& request) {
  QQ_RETURN_IF_ERROR(check_request(request));
  const double confidence = request.metric.confidence;
  QQ_RETURN_IF_ERROR(compare::check_confidence(confidence));
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  QQ_TRY(const std::vector<ChosenMetric> metrics, metrics::choose_metrics(request.metric.names));
  QQ_TRY(const std::optional<EvaluateReport> compared, compare_sides(request, metrics));
  ScoreReport report;
  report.confidence = confidence;
  const bool has_truths =
      std::ranges::any_of(metrics, [](const ChosenMetric& metric) { return metric.info->open != nullptr; });
  Sides sides;
  if (has_truths) {
    QQ_TRY(sides, has_models(request) ? score_models(request, environment, metrics) : score_folders(request, metrics));
    report.samples = sides.results.samples;
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    const metrics::MetricInfo& info = *metrics[i].info;
    MetricValue value{metrics[i].name, std::string(info.unit), info.better == metrics::Better::kHigher};
    if (info.compare != nullptr) {
      value = compared_value(metrics::mean_of(*compared, info.compare), metrics::sample_count(*compared),
                             std::move(value), confidence);
      if (report.samples == 0) report.samples = compared->pairs.size();
    } else {
      value = scored_value(sides, i, std::move(value), confidence);
    }
    report.metrics.push_back(std::move(value));
  }
  if (!request.metric.command.empty()) {
    QQ_TRY(MetricValue value, score_by_command(request));
    report.metrics.push_back(std::move(value));
  }
  if (compared && compared->metric) {
    report.metrics.push_back(function_value(*compared, confidence));
    if (report.samples == 0) report.samples = compared->pairs.size();
  }
  report.findings = compared ? compared->findings : pipeline::findings_of(sides.findings);
  return report;
}

std::string to_json(const ScoreReport& report) {
  using pipeline::Json;
  Json metrics = Json::array();
  for (const MetricValue& metric : report.metrics) {
    metrics.push_back({{"name", metric.name},
                       {"unit", metric.unit},
                       {"better", metric.higher_is_better ? "higher" : "lower"},
                       {"baseline", metric.baseline ? pipeline::number(*metric.baseline) : Json(nullptr)},
                       {"value", pipeline::number(metric.value)},
                       {"interval", pipeline::interval_json(metric.interval)},
                       {"baseline_interval", pipeline::interval_json(metric.baseline_interval)},
                       {"difference", pipeline::difference_json(metric.difference)}});
  }
  Json json = Json::object();
  json["quarkq"] = version();
  json["samples"] = report.samples;
  json["confidence"] = report.confidence;
  json["metrics"] = std::move(metrics);
  json["findings"] = pipeline::findings_json(report.findings);
  return pipeline::text(json);
}

}  // namespace quarkq
