// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "base/platform/memory.h"
#include "base/stopwatch.h"
#include "config/print.h"
#include "config/quant_config.h"
#include "config/resolve.h"
#include "exec/environment.h"
#include "ir/graph_analysis.h"
#include "pipeline/report/json.h"
#include "pipeline/rescue/remedies.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/part_plans.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/verbs/forecast.h"
#include "quarkq/analyze.h"
#include "quarkq/status.h"

namespace quarkq {

namespace {

using pipeline::Nodes;

constexpr pass::Phase kPlanned = pass::Phase::kRestructure;  // the phase that trials begin with

/// State shared by all trials: the calibrated plan, and the float model that results are compared with.
class Analyzer {
 public:
  /// `state`: begun by the job whose loaded graph this is. All must outlive the analyzer.
  Analyzer(const AnalyzeRequest& request, const ir::Graph& loaded, pipeline::RunState& state)
      : request_(request), state_(state), loaded_(loaded) {}

  Status prepare(pipeline::Source source) {
    source_ = std::move(source);
    pipeline::RunnerOptions options;
    std::vector<PassTime> times;
    if (request_.progress) {
      options.phase = [&](const std::string& name) {
        return request_.progress(pipeline::progress_of(name, 0, 0, state_.settings));
      };
    }
    state_.progress = [&](size_t done, size_t total) {
      clock_.saw(done);
      return !request_.progress || request_.progress(pipeline::progress_of("calibrate", done, total, state_.settings));
    };
    QQ_TRY(original_, pipeline::plan_model(source_, state_, kPlanned, times, options));
    state_.progress = nullptr;
    samples_ = std::min(std::max<size_t>(request_.samples, 1), source_.samples.get()->size());
    QQ_TRY(const ir::Model whole, pipeline::whole_model(original_, state_.tail));
    QQ_TRY(expected_, compare::ExpectedOutputs::make(whole, pipeline::prepare_for_run, state_.environment,
                                                     *source_.samples.get(), samples_));
    candidates_ = pipeline::PartPlans(state_, expected_).candidates();
    return Status();
  }

  /// Instead of run(): what the plan is, and how long run() would take. REQUIRES: prepare() returned ok.
  Status forecast(Forecast& forecast) const {
    constexpr size_t kTrials = 3;
    pipeline::describe_plan(state_, loaded_, state_.calibrated->graph, forecast);
    const Stopwatch watch;
    const std::vector<size_t> tried = compare::spread_samples(candidates_.size(), kTrials);
    for (const size_t i : tried) QQ_RETURN_IF_ERROR(trial(nodes_of(candidates_[i])).status());
    const double each = watch.seconds() / static_cast<double>(std::max<size_t>(tried.size(), 1));
    constexpr size_t kNothingAndAll = 2;
    forecast.seconds = each * static_cast<double>(candidates_.size() + kNothingAndAll - tried.size()) +
                       clock_.seconds_per_sample() * static_cast<double>(forecast.samples - forecast.tried_samples);
    if (request_.min_cosine > -1)
      forecast.not_included.push_back(cat("the search for --min-cos, up to ", request_.most_left_out, " trials of ",
                                          std::round(1000 * each) / 1000, " s"));
    return Status();
  }

  Status run(AnalyzeReport& report) {
    report.samples = samples_;
    QQ_TRY(report.nothing_quantized, trial({}));
    if (report.nothing_quantized.cosine < compare::kRewrittenCosine) {
      state_.diagnostics.add("rewritten-float", request_.model_path,
                             cat("the hardware conversions alone, before quantization, reduce the outputs to cosine ",
                                 report.nothing_quantized.cosine, ways_to_keep()));
    }
    QQ_TRY(report.all_quantized, trial(Nodes(candidates_.begin(), candidates_.end())));
    std::vector<Tried> tried;
    for (const ir::NodeId id : candidates_) {
      if (!reports(tried.size())) return interrupted();
      QQ_TRY(const Agreement found, trial(nodes_of(id)));
      tried.push_back({id,
                       {pipeline::loaded_label(loaded_, state_.graph(), id),
                        pipeline::loaded_names(loaded_, state_.graph().node(id)), found, tried.size(),
                        ir::mac_share(state_.graph(), {id})}});
    }
    // The worst first: lowest agreement when quantized alone, highest when kept in float alone.
    const bool gains = request_.mode == AnalyzeMode::kOneFloat;
    std::stable_sort(tried.begin(), tried.end(), [&](const Tried& a, const Tried& b) {
      const double x = a.effect.outputs.sqnr_db, y = b.effect.outputs.sqnr_db;
      return gains ? x > y : x < y;
    });
    std::vector<ir::NodeId> worst_first;
    for (const Tried& layer : tried) {
      report.layers.push_back(layer.effect);
      worst_first.push_back(layer.node);
    }
    const ir::Graph& graph = state_.graph();
    for (const Nodes& block :
         pipeline::harmful_blocks(graph, worst_first, {request_.most_blocks, request_.most_block_macs}))
      report.blocks.push_back(pipeline::described(block, loaded_, graph));
    return leave_out(tried, report);
  }

 private:
  struct Tried {
    ir::NodeId node;
    LayerEffect effect;
  };

  bool reports(size_t done) const {
    return !request_.progress || request_.progress({"analyze", done, candidates_.size(), "layers"});
  }
  /// Settings that keep operators which the conversions replaced in this model.
  std::string ways_to_keep() const {
    std::vector<std::string> ways;
    for (const pipeline::FloatRemedy& remedy : pipeline::float_remedies()) {
      const std::string setting = remedy.setting;
      if (setting.ends_with("=false") && remedy.is_open(state_, loaded_)) ways.push_back("--set " + setting);
    }
    return ways.empty() ? "" : cat("; ", join(ways, " or "), " keeps what they replaced");
  }
  static Status interrupted() { return Status(Code::kInterrupted, "interrupted"); }

  /// The nodes that are quantized when `id` is tried.
  Nodes nodes_of(ir::NodeId id) const {
    if (request_.mode == AnalyzeMode::kOneQuantized) return {id};
    Nodes all(candidates_.begin(), candidates_.end());
    all.erase(id);
    return all;
  }

  Result<Agreement> trial(const Nodes& quantized) const {
    return pipeline::PartPlans(state_, expected_).quantize_only(quantized);
  }

  /// The most harmful layers one after the other, until the outputs reach the required cosine.
  Status leave_out(const std::vector<Tried>& worst, AnalyzeReport& report) {
    report.left_out = report.all_quantized;
    Nodes quantized(candidates_.begin(), candidates_.end());
    for (const auto& [id, effect] : worst) {
      if (report.left_out.cosine >= request_.min_cosine ||
          quantized.size() + request_.most_left_out <= candidates_.size())
        break;
      if (!reports(candidates_.size())) return interrupted();
      const std::vector<std::string>& names = effect.names;
      if (names.empty()) {
        state_.diagnostics.add("unnamed-node", effect.node,
                               "has no name, so that settings cannot exclude it; it stays quantized");
        continue;
      }
      quantized.erase(id);
      report.leave_out.insert(report.leave_out.end(), names.begin(), names.end());
      QQ_TRY(report.left_out, trial(quantized));
    }
    return Status();
  }

  const AnalyzeRequest& request_;
  pipeline::RunState& state_;
  pipeline::Source source_;
  const ir::Graph& loaded_;
  ir::Model original_;  ///< whose function the quantized model has
  compare::ExpectedOutputs expected_;
  size_t samples_ = 0;
  std::vector<ir::NodeId> candidates_;
  pipeline::SampleClock clock_;
};

/// What analyze() and its forecast begin with.
struct Opened {
  pipeline::Job job;
  pipeline::Source source;
};

Result<Opened> open(const AnalyzeRequest& request, const pipeline::ModelFile& file, size_t most_samples,
                    Diagnostics& diagnostics) {
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  QQ_TRY(pipeline::Job job, pipeline::open_job(file, {request.config, request.settings}, environment, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  if (!job.settings.inserts_qdq()) {
    return invalid_argument(request.config, ": writes no Q/DQ nodes (", config::quantizer_name(job.settings.quantizer),
                            "), so layers cannot be compared; choose a preset that does");
  }
  pipeline::SourceRequest asked{file, request.sample_source, request.calib_folder};
  asked.most_samples = most_samples;
  QQ_TRY(pipeline::Source source, pipeline::open_source(asked, job, diagnostics));
  if (job.settings.tunes()) {
    diagnostics.add("trials-are-plain", request.model_path,
                    "trials are run without mixed precision and fine-tuning, and so are these figures");
  }
  if (source.samples.opened == nullptr) {
    return invalid_argument("analyze: needs samples to compare outputs on, pass --calib DIR");
  }
  return Opened{std::move(job), std::move(source)};
}

Result<AnalyzeReport> analyze(const AnalyzeRequest& request, pipeline::RunState& state) {
  const Stopwatch watch;
  const pipeline::ModelFile file = pipeline::ModelFile::of(request);
  QQ_TRY(Opened opened, open(request, file, /*most_samples=*/0, state.diagnostics));
  AnalyzeReport report;
  report.model_path = request.model_path;
  report.preset = opened.job.settings.preset;
  report.mode = request.mode;
  pipeline::begin(state, opened.job);
  Analyzer analyzer(request, opened.job.model.graph, state);
  QQ_RETURN_IF_ERROR(analyzer.prepare(std::move(opened.source)).context(request.model_path));
  QQ_RETURN_IF_ERROR(analyzer.run(report).context(request.model_path));
  report.findings = pipeline::findings_of(state.diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace

Result<AnalyzeReport> analyze(const AnalyzeRequest& request) {
  pipeline::RunState state;
  Result<AnalyzeReport> report = analyze(request, state);
  if (!report.ok() && request.on_failure) request.on_failure(pipeline::findings_of(state.diagnostics));
  return report;
}

Result<Forecast> forecast(const AnalyzeRequest& request) {
  const Stopwatch watch;
  pipeline::RunState state;
  const pipeline::ModelFile file = pipeline::ModelFile::of(request);
  QQ_TRY(Opened opened, open(request, file, pipeline::kTriedSamples, state.diagnostics));
  Forecast forecast;
  forecast.model_path = request.model_path;
  forecast.preset = opened.job.settings.preset;
  forecast.quantizer = config::quantizer_name(opened.job.settings.quantizer);
  forecast.model_bytes = opened.job.bytes;
  forecast.samples = opened.source.available;
  forecast.tried_samples = opened.source.size();
  pipeline::begin(state, opened.job);
  Analyzer analyzer(request, opened.job.model.graph, state);
  QQ_RETURN_IF_ERROR(analyzer.prepare(std::move(opened.source)).context(request.model_path));
  QQ_RETURN_IF_ERROR(analyzer.forecast(forecast).context(request.model_path));
  forecast.findings = pipeline::findings_of(state.diagnostics);
  forecast.memory_bytes = platform::peak_memory();
  forecast.tried_seconds = watch.seconds();
  forecast.seconds += forecast.tried_seconds;
  return forecast;
}

// The result of analyze(), as JSON and as a settings file.

using pipeline::agreement_json;
using pipeline::Json;

namespace {

/// In a file a name that begins with ^ reads as a pattern, so it becomes a pattern that matches only it.
config::Selector selector_of(const std::string& name) {
  if (!name.starts_with('^')) return {config::Selector::Kind::kName, name, {}, {}};
  std::string pattern = "^";
  for (const char c : name) {
    if (std::string_view("^$\\.*+?()[]{}|/").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return {config::Selector::Kind::kPattern, pattern + "(.*){0}$", {}, {}};  // a pattern must contain .*
}

Result<config::TensorSpec> spec_of(const std::string& data_type) {
  std::vector<std::string> known;
  for (const config::SpecClass& row : config::spec_classes()) {
    if (row.data_type == data_type)
      return config::TensorSpec{row.data_type, row.type, row.symmetric, row.scale_type, row.calibration_method};
    known.emplace_back(row.data_type);
  }
  return invalid_argument(data_type, ": unknown data type, known are ", join(known, ", "));
}

}  // namespace

std::string to_json(const AnalyzeReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["preset"] = report.preset;
  json["mode"] = report.mode == AnalyzeMode::kOneQuantized ? "one-quantized" : "one-float";
  json["samples"] = report.samples;
  json["nothing_quantized"] = agreement_json(report.nothing_quantized);
  json["all_quantized"] = agreement_json(report.all_quantized);
  json["layers"] = Json::array();
  for (const LayerEffect& layer : report.layers) {
    Json entry = {{"node", layer.node}, {"names", layer.names}};
    entry.update(agreement_json(layer.outputs));
    json["layers"].push_back(std::move(entry));
  }
  json["leave_out"] = report.leave_out;
  json["left_out"] = agreement_json(report.left_out);
  json["findings"] = pipeline::findings_json(report.findings);
  json["seconds"] = report.seconds;
  return pipeline::text(json);
}

Result<std::string> settings_file(const AnalyzeRequest& request, const AnalyzeReport& report,
                                  const std::string& data_type) {
  QQ_TRY(config::QuantConfig asked, config::load_config(request.config, request.settings));
  Diagnostics ignored;
  const Result<config::Settings> settings = config::resolve(asked, config::ModelFacts{}, ignored);
  if (data_type.empty() && settings.ok() && !settings.value().may_rescue_with("float_nodes")) {
    return invalid_argument("--write: the target ", asked.target.value_or(""),
                            " accepts no float nodes; pass --allow-float, --target none or --type");
  }
  std::vector<config::Selector> layers;
  for (const std::string& name : report.leave_out) layers.push_back(selector_of(name));
  std::string does = "are left float";
  if (data_type.empty()) {
    asked.exclude.insert(asked.exclude.end(), layers.begin(), layers.end());
  } else {
    QQ_TRY(const config::TensorSpec spec, spec_of(data_type));
    config::LayerSpec wider;
    wider.input_tensors = wider.weight = spec;
    if (!layers.empty()) asked.specific_layer_config.push_back({wider, layers, {}});
    does = "compute in " + data_type;
  }
  const size_t count = report.leave_out.size();
  const std::string what =
      count == 0 ? cat("the outputs of ", report.model_path, " are close enough with every layer quantized")
                 : cat(count, count == 1 ? " node " : " nodes ", does, ": those that degrade the outputs of ",
                       report.model_path, " most");
  return cat("# ", what, " (quarkq analyze).\n", config::to_yaml(asked));
}

}  // namespace quarkq
