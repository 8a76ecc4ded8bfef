// SPDX-License-Identifier: MIT
#include "quarkq/analyze.h"

#include <algorithm>
#include <set>

#include "base/stopwatch.h"
#include "exec/threads.h"
#include "pipeline/facts.h"
#include "pipeline/part_plans.h"
#include "pipeline/plan_model.h"

namespace quarkq {
namespace {

using pipeline::Nodes;

constexpr pass::Phase kPlanned = pass::Phase::kRestructure;  // the phase that trials begin with

/// Everything that trials share: the calibrated plan, and the float model that results are compared with.
class Analyzer {
 public:
  Analyzer(const AnalyzeRequest& request, pipeline::Job& job, Diagnostics& diagnostics)
      : request_(request), state_{.model = job.model, .settings = job.settings, .diagnostics = diagnostics} {}

  Status prepare(pipeline::Source source) {
    source_ = std::move(source);
    pipeline::RunnerOptions options;
    std::vector<PassTime> times;
    loaded_ = state_.model.graph;
    if (request_.progress) {
      options.phase = [&](const std::string& name) { return request_.progress({name, 0, 0}); };
      state_.progress = [&](size_t done, size_t total) { return request_.progress({"calibrate", done, total}); };
    }
    QQ_TRY(original_, pipeline::plan_model(source_, state_, kPlanned, times, options));
    state_.progress = nullptr;
    samples_ = std::min(std::max<size_t>(request_.samples, 1), source_.samples.get()->size());
    QQ_TRY(expected_, pipeline::ExpectedOutputs::make(original_, *source_.samples.get(), samples_));
    candidates_ = pipeline::PartPlans(state_, expected_).candidates();
    return Status();
  }

  Status run(AnalyzeReport& report) {
    report.samples = samples_;
    QQ_TRY(report.nothing_quantized, trial({}));
    if (report.nothing_quantized.cosine < pipeline::kRewrittenCosine) {
      state_.diagnostics.warn(
          "rewritten-float", request_.model_path,
          cat("before anything is quantized, the conversions for the hardware alone bring the outputs down to cosine ",
              report.nothing_quantized.cosine,
              "; look at the passes of the phases adapt and restructure (quarkq list passes) and their options"));
    }
    QQ_TRY(report.all_quantized, trial(Nodes(candidates_.begin(), candidates_.end())));
    std::vector<Tried> tried;
    for (const ir::NodeId id : candidates_) {
      if (!reports(tried.size())) return interrupted();
      QQ_TRY(const Agreement found, trial(nodes_of(id)));
      tried.push_back({id, {state_.graph().label(id), loaded_names(id), found}});
    }
    // The worst first: alone quantized the lowest agreement, alone float the highest.
    const bool gains = request_.mode == AnalyzeMode::kOneFloat;
    std::stable_sort(tried.begin(), tried.end(), [&](const Tried& a, const Tried& b) {
      const double x = a.effect.outputs.sqnr_db, y = b.effect.outputs.sqnr_db;
      return gains ? x > y : x < y;
    });
    for (const Tried& layer : tried) report.layers.push_back(layer.effect);
    return leave_out(tried, report);
  }

 private:
  struct Tried {
    ir::NodeId node;
    LayerEffect effect;
  };

  bool reports(size_t done) const {
    return !request_.progress || request_.progress({"analyze", done, candidates_.size()});
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

  std::vector<std::string> loaded_names(ir::NodeId id) const {
    std::vector<std::string> names;
    for (const ir::NodeId origin : state_.model.graph.node(id).origins) {
      if (!loaded_.node(origin).name.empty()) names.push_back(loaded_.node(origin).name);
    }
    return names;
  }

  /// The most harmful layers one after the other, until the outputs are as they shall be.
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
        state_.diagnostics.warn("unnamed-node", effect.node, "has no name to be left out by; it stays quantized");
        continue;
      }
      quantized.erase(id);
      report.leave_out.insert(report.leave_out.end(), names.begin(), names.end());
      QQ_TRY(report.left_out, trial(quantized));
    }
    return Status();
  }

  const AnalyzeRequest& request_;
  pipeline::RunState state_;
  pipeline::Source source_;
  ir::Graph loaded_;
  ir::Model original_;  ///< whose function the quantized model has
  pipeline::ExpectedOutputs expected_;
  size_t samples_ = 0;
  std::vector<ir::NodeId> candidates_;
};

}  // namespace

Result<AnalyzeReport> analyze(const AnalyzeRequest& request) {
  const Stopwatch watch;
  exec::set_threads(request.threads);
  Diagnostics diagnostics;
  const pipeline::ModelFile file(request.model_path, request.model_bytes);
  QQ_TRY(pipeline::Job job, pipeline::open_job(file, request.config, request.settings, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  if (!job.settings.inserts_qdq()) {
    return invalid_argument(request.config, ": writes no Q/DQ nodes (", config::quantizer_name(job.settings.quantizer),
                            "), so layers cannot be told apart; take a preset that does");
  }
  QQ_TRY(pipeline::Source source, pipeline::open_source({file, request.sample_source, request.calib_folder}, job));
  if (job.settings.tunes()) {
    diagnostics.warn("trials-are-plain", request.model_path,
                     "mixed precision and finetuning are left out of the trials; the figures are those without them");
  }
  if (source.samples.opened == nullptr) {
    return invalid_argument("analyze: needs samples to compare outputs on, give --calib DIR");
  }
  AnalyzeReport report;
  report.model_path = request.model_path;
  report.preset = job.settings.preset;
  report.mode = request.mode;
  Analyzer analyzer(request, job, diagnostics);
  QQ_RETURN_IF_ERROR(analyzer.prepare(std::move(source)).context(request.model_path));
  QQ_RETURN_IF_ERROR(analyzer.run(report).context(request.model_path));
  report.findings = pipeline::findings_of(diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq
