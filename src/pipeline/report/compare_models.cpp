// SPDX-License-Identifier: MIT
#include "pipeline/report/compare_models.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "calib/reader/file_formats.h"
#include "calib/reader/fit_samples.h"
#include "calib/sample_readers.h"
#include "compare/run_models.h"
#include "compare/tensors.h"
#include "exec/layout.h"
#include "exec/session.h"
#include "ir/edit.h"
#include "onnx_io/infer.h"
#include "pipeline/report/inspect_quantized.h"
#include "pipeline/report/verify.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/model_interface.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/quantize_run.h"
#include "pipeline/run/use_backend.h"

namespace quarkq::pipeline {

void note_not_finite(EvaluateReport& report) {
  const auto differs = [](const PairMetrics& pair) { return pair.different_not_finite > 0; };
  const auto first = std::ranges::find_if(report.pairs, differs);
  if (first == report.pairs.end()) return;
  uint64_t values = 0;
  for (const PairMetrics& pair : report.pairs) values += pair.different_not_finite;
  const auto pairs = std::ranges::count_if(report.pairs, differs);
  report.findings.push_back(finding("output-not-finite", first->file,
                                    cat(values, " values in ", pairs, " of ", report.pairs.size(),
                                        " pairs are NaN or infinite on one side only; the first pair is named")));
}

namespace {

constexpr pass::Phase kCalibrate = pass::Phase::kCalibrate;  // the phase after those that rewrite the float model

Result<ir::Model> load_typed(const ModelFile& file, const exec::Environment& environment, Diagnostics& diagnostics) {
  onnx_io::LoadReport loaded;
  QQ_TRY(ir::Model model, load_whole(file, loaded));
  diagnostics.add(loaded.findings);
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  QQ_RETURN_IF_ERROR(type_user_operators(model, environment, diagnostics).context(file.path));
  return model;
}

/// Whether all inputs that may have a batch have one row.
bool has_batch_of_one(const ir::Graph& graph) {
  return std::ranges::all_of(graph.required_inputs(), [&](ir::ValueId id) {
    const ir::ValueType& type = graph.value(id).type;
    return type.dims.size() < 2 || type.dims[0].size == 1;
  });
}

/// Returns the shapes of inputs that only `quantized` fixes: photos then become what both models take.
config::LegalizeBlock shapes_of(const ir::Graph& quantized, const ir::Graph& graph) {
  config::LegalizeBlock fixed;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& input = graph.value(id);
    const ir::ValueId other = quantized.find(input.name);
    if (!other.valid() || !input.type.has_shape || input.type.is_static() || !quantized.value(other).type.is_static())
      continue;
    const std::vector<ir::Dim>&from = input.type.dims, &to = quantized.value(other).type.dims;
    const auto fits = [](const ir::Dim& a, const ir::Dim& b) { return !a.known() || a.size == b.size; };
    // A dimension of both, mostly the channels, shows that the layout is the same.
    if (!std::ranges::equal(from, to, fits) || std::ranges::none_of(from, &ir::Dim::known)) continue;
    for (const ir::Dim& dim : to) fixed.shapes[input.name].push_back(dim.size);
  }
  return fixed;
}

/// By name; by place when the names differ altogether.
Result<std::vector<OutputPair>> pair_outputs(const EvaluateModelsRequest& request, const ir::Graph& graph,
                                             const ir::Graph& quantized) {
  std::vector<OutputPair> pairs;
  size_t by_name = 0;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    OutputPair pair{graph.value(graph.outputs()[i]).name, i, i};
    for (size_t k = 0; k < quantized.outputs().size(); ++k) {
      if (quantized.value(quantized.outputs()[k]).name != pair.name) continue;
      pair.in_quantized = k;
      ++by_name;
    }
    pairs.push_back(std::move(pair));
  }
  if (by_name == pairs.size() || (by_name == 0 && pairs.size() == quantized.outputs().size())) return pairs;
  return invalid_argument(request.quantized_path, ": has ", quantized.outputs().size(), " outputs, of which ", by_name,
                          " have names of the ", pairs.size(), " outputs of ", request.float_path);
}

/// Inputs by name, whatever their order, as samples are found; by place where the names differ. The quantized model
/// gets the order of the float one.
Status pair_inputs(const EvaluateModelsRequest& request, const ir::Graph& graph, ir::Graph& quantized) {
  const std::vector<ir::ValueId> wanted = graph.required_inputs(), found = quantized.required_inputs();
  if (wanted.size() != found.size()) return Status();  // fit() refuses them
  std::vector<ir::ValueId> by_name;
  std::string moved;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string& name = graph.value(wanted[i]).name;
    const auto same = std::ranges::find(found, name, [&](ir::ValueId id) { return quantized.value(id).name; });
    if (same == found.end()) continue;
    by_name.push_back(*same);
    if (*same != found[i]) moved = name;
  }
  if (moved.empty()) return Status();
  if (by_name.size() != wanted.size()) {
    return invalid_argument(request.quantized_path, ": its input ", moved, " has another position than in ",
                            request.float_path,
                            ", and other inputs have other names; allowed are equal names or equal positions");
  }
  ir::GraphEdit edit(quantized);
  for (const ir::ValueId id : by_name) {
    edit.remove_graph_input(id);
    edit.add_graph_input(id);
  }
  return Status();
}

/// Inputs of rank 4 that `quantized` takes as [N, H, W, C] where `graph` has [N, C, H, W].
std::set<std::string> channels_last_inputs(const std::vector<calib::InputSpec>& specs,
                                           const std::vector<calib::InputSpec>& quantized) {
  std::set<std::string> names;
  for (size_t i = 0; i < specs.size(); ++i) {
    const ir::Shape &from = specs[i].dims, &to = quantized[i].dims;
    if (from.size() != 4 || to.size() != 4 || from == to) continue;
    if (to[1] == from[2] && to[2] == from[3] && to[3] == from[1]) names.insert(quantized[i].name);
  }
  return names;
}

/// Sets fitted and is_channels_last.
Status fit(const EvaluateModelsRequest& request, ModelPair& models) {
  const std::vector<calib::InputSpec> specs = calib::input_specs(models.float_model.graph);
  const std::vector<calib::InputSpec> quantized = calib::input_specs(models.quantized_model.graph);
  if (specs.size() != quantized.size()) {
    return invalid_argument(request.quantized_path, ": takes ", quantized.size(), " inputs, ", request.float_path,
                            " takes ", specs.size());
  }
  const std::set<std::string> moved = channels_last_inputs(specs, quantized);
  models.is_channels_last = !moved.empty();
  bool is_same = moved.empty();
  for (size_t i = 0; i < specs.size(); ++i) is_same = is_same && specs[i].type == quantized[i].type;
  if (!is_same) models.fitted = calib::fit_samples(*models.samples, quantized, moved);
  return Status();
}

/// The job's float model as its settings would have it calibrated, so that its tensors mean what the quantized model's
/// mean.
Result<ir::Model> rewrite(Job& job, std::unique_ptr<calib::DataReader>& data, Diagnostics& diagnostics) {
  Samples samples;
  samples.opened = std::move(data);
  RunState state{.model = std::move(job.model), .settings = job.settings, .environment = job.environment};
  std::vector<PassTime> times;
  const Result<ir::Model> converted = run_float_phases(state, samples, kCalibrate, times, {});
  data = std::move(samples.opened);
  diagnostics.add(state.diagnostics);
  if (!converted.ok()) return converted.status();
  return std::move(state.model);
}

Result<std::unique_ptr<calib::DataReader>> open_pair_samples(const EvaluateModelsRequest& request,
                                                             calib::DataOptions options, const ir::Graph& graph,
                                                             Diagnostics& diagnostics) {
  options.folder = request.data_folder;
  options.limit = request.limit;
  QQ_TRY(auto samples, calib::refuse_empty(open_samples(request.sample_source, options, graph)));
  report_notes(*samples, diagnostics);
  return samples;
}

}  // namespace

Status pair_models(const EvaluateModelsRequest& request, ModelPair& models, Diagnostics& diagnostics) {
  QQ_TRY(models.outputs, pair_outputs(request, models.float_model.graph, models.quantized_model.graph));
  QQ_RETURN_IF_ERROR(pair_inputs(request, models.float_model.graph, models.quantized_model.graph));
  QQ_RETURN_IF_ERROR(fit(request, models));
  QQ_RETURN_IF_ERROR(prepare_for_run(models.float_model, diagnostics).context(request.float_path));
  return prepare_for_run(models.quantized_model, diagnostics).context(request.quantized_path);
}

Result<ModelPair> open_models(const EvaluateModelsRequest& request, const exec::Environment& environment,
                              Diagnostics& diagnostics) {
  ModelPair models;
  models.environment = environment;
  std::optional<Job> job;
  QQ_TRY(const config::QuantConfig asked, load_sample_settings({request.config, request.settings}, models.environment));
  QQ_TRY(models.quantized_model,
         load_typed({request.quantized_path, request.quantized_bytes}, models.environment, diagnostics));
  const ModelFile float_file(request.float_path, request.float_bytes);
  if (config::selects_mode(request.config, request.settings)) {
    QQ_TRY(job, open_job(float_file, {request.config, request.settings}, environment, diagnostics));
    QQ_TRY(models.float_model, whole_model(job->model, job->tail));
  } else {
    QQ_TRY(models.float_model, load_typed(float_file, models.environment, diagnostics));
    QQ_RETURN_IF_ERROR(pin_shapes(models.float_model, asked.legalize, diagnostics).context(request.float_path));
  }
  if (has_batch_of_one(models.quantized_model.graph)) take_batch_of_one(models.float_model, environment, diagnostics);
  const config::LegalizeBlock fixed = shapes_of(models.quantized_model.graph, models.float_model.graph);
  const ir::Model whole = models.float_model;
  QQ_RETURN_IF_ERROR(pin_shapes(models.float_model, fixed, diagnostics).context(request.float_path));
  QQ_TRY(const calib::DataOptions options, data_options(asked));
  QQ_TRY(models.opened, open_pair_samples(request, options, models.float_model.graph, diagnostics));
  QQ_RETURN_IF_ERROR(check_cut_rows(whole, *models.opened, environment).context(request.float_path));
  models.samples = models.opened.get();
  QQ_RETURN_IF_ERROR(pair_models(request, models, diagnostics));
  if (request.layers && job) {
    QQ_RETURN_IF_ERROR(pin_shapes(job->model, fixed, diagnostics).context(request.float_path));
    QQ_TRY(models.rewritten, rewrite(*job, models.opened, diagnostics));
  } else if (request.layers && models.fitted != nullptr) {
    return invalid_argument(
        request.quantized_path,
        ": its inputs differ from the float model; --layers needs the --config of its quantization");
  }
  return models;
}

Result<std::vector<TensorAgreement>> compare_layers(const ModelPair& models, size_t samples) {
  const ir::Model& reference = models.rewritten ? *models.rewritten : models.float_model;
  std::vector<size_t> first(std::min(samples, models.for_quantized().size()));
  std::iota(first.begin(), first.end(), size_t{0});
  return compare::compare_tensors(reference, models.quantized_model, prepare_for_run,
                                  {models.for_quantized(), models.environment, std::move(first)});
}

namespace {

using metrics::AccuracyCount;
using metrics::Comparison;

/// Runs the samples and accumulates the metrics of the outputs.
class ModelComparison {
 public:
  ModelComparison(const EvaluateModelsRequest& request, const ModelPair& models, AccuracyCount* accuracy,
                  EvaluateReport& report)
      : request_(request), models_(models), accuracy_(accuracy), report_(report) {
    for (const OutputPair& output : models.outputs) report.outputs.push_back({.name = output.name});
    sums_.resize(models.outputs.size());
  }

  Status run() {
    const size_t count = models_.samples->size();
    compare::PairedSamples samples{.data = *models_.samples,
                                   .environment = models_.environment,
                                   .numbers = std::vector<size_t>(count),
                                   .fitted = models_.fitted.get(),
                                   .first_name = request_.float_path,
                                   .second_name = request_.quantized_path};
    std::iota(samples.numbers.begin(), samples.numbers.end(), size_t{0});
    size_t done = 0;
    const auto add = [&](const compare::PairedResults& results) -> Status {
      QQ_RETURN_IF_ERROR(add_sample(results).context(cat("sample ", results.sample)));
      if (!request_.progress || request_.progress({"evaluate", ++done, count})) return Status();
      return Status(Code::kInterrupted, "interrupted");
    };
    QQ_RETURN_IF_ERROR(compare::run_both(models_.float_model, models_.quantized_model, samples, add));
    if (!problems_.empty()) return bad_data(problems_.text("outputs cannot be compared"));
    finish_outputs();
    return Status();
  }

 private:
  Status add_sample(const compare::PairedResults& results) {
    if (request_.metric) QQ_RETURN_IF_ERROR(add_metric(results.number, results.first, results.second));
    for (size_t i = 0; i < models_.outputs.size(); ++i) {
      const OutputPair& output = models_.outputs[i];
      Result<metrics::ArrayPair> arrays = metrics::pair_arrays(
          results.first[output.in_float], cat("sample ", results.sample, ", float output ", output.name),
          in_float_order(results.second[output.in_quantized]),
          cat("sample ", results.sample, ", quantized output ", output.name));
      Status status = arrays.ok() ? add(results.sample, i, arrays.value()) : arrays.status();
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
    report_.metric_values.push_back(value);
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

namespace {

Result<EvaluateReport> compare_on_all(Run& run) {
  const calib::DataReader* samples =
      run.source.evaluation.opened != nullptr ? run.source.evaluation.opened.get() : run.source.samples.opened.get();
  if (samples == nullptr || samples->size() == 0)
    return bad_data("there are no samples; pass --eval DIR, EvalDataReader or calibration samples");
  EvaluateModelsRequest names;
  names.float_path = run.request.model_path;
  names.quantized_path = run.report.output_path;
  names.progress = [&run](const Progress& now) { return run.reports(now.done, now.total); };
  ModelPair models;
  models.environment = run.state.environment;
  QQ_TRY(models.float_model, whole_model(run.loaded, run.tail));
  QQ_TRY(models.quantized_model, whole_model(run.state.model, run.tail));
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
