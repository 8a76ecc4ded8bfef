// SPDX-License-Identifier: MIT
#include "tuning/judge.h"

#include <algorithm>
#include <cmath>

#include "base/stopwatch.h"
#include "metrics/metric_table.h"

namespace quarkq::tuning {
namespace {

/// Of the output that is farthest from the float one.
double worst_cosine(const QuantizeReport& report) {
  double worst = 1;
  for (const OutputAgreement& output : report.outputs) {
    if (!output.near_zero) worst = std::isnan(output.cosine) ? -1 : std::min(worst, output.cosine);
  }
  return worst;
}

}  // namespace

Result<Judge> Judge::make(const TuneRequest& request) {
  Judge judge(request);
  const MetricRequest& metric = request.metric;
  const bool has_command = !metric.command.empty(), has_function = static_cast<bool>(metric.function);
  const size_t count = metric.names.size() + (has_command ? 1 : 0) + (has_function ? 1 : 0);
  if (count != 1) {
    return invalid_argument("tune: found ", count,
                            " metrics, allowed is one --metric NAME (quarkq list metrics) or one --metric-cmd COMMAND");
  }
  if (request.eval_folder.empty())
    return invalid_argument("tune: needs --eval DIR, samples that are not calibrated with");
  if (has_command) {
    judge.scale_ = {kCommandMetric, "", !request.lower_is_better};
    return judge;
  }
  if (has_function) {
    if (!request.state_folder.empty())
      return invalid_argument("tune: found a state folder, ", request.state_folder,
                              ", which trials judged by a function cannot be kept in; --metric-cmd can");
    judge.scale_ = {kFunctionMetric, "", !request.lower_is_better};
    judge.compares_ = true;
    return judge;
  }
  QQ_TRY(const auto chosen, metrics::choose_metrics(metric.names));
  const metrics::MetricInfo& info = *chosen[0].info;
  judge.scale_ = {chosen[0].name, std::string(info.unit), info.better == metrics::Better::kHigher};
  judge.compares_ = info.compare != nullptr;
  if (!judge.compares_ && metric.truth_path.empty()) {
    return invalid_argument("tune: --metric ", chosen[0].name, " needs --labels, ", metrics::truth_name(info.truth));
  }
  return judge;
}

Result<double> Judge::value_of(const std::string& model, const KeepGoing& keep_going) const {
  ScoreRequest score_request;
  if (compares_) score_request.baseline = request_.model_path;
  score_request.results = model;
  score_request.data_folder = request_.eval_folder;
  score_request.config = request_.config;
  score_request.settings = request_.settings;
  score_request.limit = request_.limit;
  score_request.metric = request_.metric;
  score_request.threads = request_.threads;
  score_request.progress = keep_going;
  QQ_TRY(const ScoreReport report, score(score_request));
  return report.metrics[0].value;
}

Result<Trial> Judge::try_settings(const std::vector<std::string>& settings, const std::string& model,
                                  const KeepGoing& keep_going) const {
  const Stopwatch watch;
  QuantizeRequest request;
  request.model_path = request_.model_path;
  request.output_path = model;
  request.config = request_.config;
  request.settings = request_.settings;
  request.settings.insert(request.settings.end(), settings.begin(), settings.end());
  request.calib_folder = request_.calib_folder;
  request.threads = request_.threads;
  request.progress = keep_going;
  QQ_TRY(const QuantizeReport report, quantize(request));
  Trial trial;
  trial.settings = settings;
  trial.cosine = worst_cosine(report);
  trial.bytes = report.output_bytes;
  if (report.rescue) trial.wide_macs = std::max(report.rescue->float_macs, report.rescue->macs_in_16_bits);
  if (report.target) {
    trial.nodes = report.target->counts.total, trial.npu_nodes = report.target->counts.npu;
    trial.subgraphs = report.target->counts.regions;
  }
  QQ_TRY(trial.value, value_of(model, keep_going));
  trial.seconds = watch.seconds();
  return trial;
}

}  // namespace quarkq::tuning
