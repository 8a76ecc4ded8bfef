// SPDX-License-Identifier: MIT
#include "tuning/goal.h"

#include <algorithm>
#include <cmath>

#include "base/parse_text.h"
#include "base/stopwatch.h"
#include "compare/intervals.h"
#include "config/quant_config.h"
#include "metrics/metric_table.h"

namespace quarkq::tuning {

namespace {

/// The text to the left of the sign, the sign, and the text to the right.
struct Parts {
  std::string left;
  bool is_at_most = false;
  double bound = 0;
  bool is_percent = false;
};

std::optional<Parts> parts_of(std::string text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || (text[sign - 1] != '<' && text[sign - 1] != '>')) return std::nullopt;
  Parts parts{text.substr(0, sign - 1), text[sign - 1] == '<'};
  text.erase(0, sign + 1);
  parts.is_percent = text.ends_with('%');
  if (parts.is_percent) text.pop_back();
  const std::optional<double> bound = parse_finite(text);
  if (!bound) return std::nullopt;
  parts.bound = *bound;
  return parts;
}

}  // namespace

bool Scale::is_better(double a, double b) const {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  return higher_is_better ? a > b : a < b;
}

Result<Goal> Goal::read(const std::string& text, const Scale& scale) {
  constexpr double kPercent = 100;
  Goal goal;
  goal.scale_ = scale;
  if (text.empty()) return goal;
  const std::optional<Parts> parts = parts_of(text);
  const bool is_drop = parts && parts->left == "drop" && parts->is_at_most && parts->bound >= 0;
  const bool is_share = scale.unit == "share";
  const bool is_value = parts && (parts->left == "value" || parts->left == scale.name) &&
                        parts->is_at_most != scale.higher_is_better && (!parts->is_percent || is_share);
  if (!is_drop && !is_value) {
    return invalid_argument("--goal: found ", text, ", allowed is drop<=X, drop<=X% or value",
                            scale.higher_is_better ? ">=X" : "<=X", " (", scale.name,
                            scale.higher_is_better ? ": higher" : ": lower", " is better)");
  }
  goal.kind_ = is_drop ? Kind::kDrop : Kind::kValue;
  goal.bound_ = parts->is_percent ? parts->bound / kPercent : parts->bound;
  goal.is_relative_ = is_drop && parts->is_percent && !is_share;
  return goal;
}

bool Goal::is_met(double value, std::optional<double> float_value) const {
  if (kind_ == Kind::kNone || std::isnan(value)) return false;
  if (kind_ == Kind::kValue) return scale_.higher_is_better ? value >= bound_ : value <= bound_;
  constexpr double kRounding = 1e-9;  // 0.8125 - 0.8075 is more than 0.005 in binary
  const double drop = scale_.higher_is_better ? *float_value - value : value - *float_value;
  return drop <= (is_relative_ ? bound_ * std::abs(*float_value) : bound_) + kRounding;
}

bool Goal::is_met_surely(const Trial& trial, const std::optional<Measure>& float_value, double confidence) const {
  if (kind_ == Kind::kNone) return false;
  if (kind_ == Kind::kValue) {
    const auto interval = compare::interval_of(trial.resamples, trial.value, confidence);
    return interval && is_met(scale_.worse_end(*interval), std::nullopt);
  }
  const auto change =
      compare::difference_of({float_value->value, float_value->samples}, {trial.value, trial.resamples}, confidence);
  return change && is_met(float_value->value + scale_.worse_end(change->interval), float_value->value);
}

namespace {

/// Sizes of models differ by some bytes without a reason.
constexpr double kSameSize = 0.01;

/// Returns whether `a` is cheaper than `b` in wide formats or in size, and not more expensive in the other.
bool is_cheaper(const Trial& a, const Trial& b) {
  const double size = static_cast<double>(a.bytes), other = static_cast<double>(b.bytes);
  const bool is_larger = size > (1 + kSameSize) * other, is_smaller = size < (1 - kSameSize) * other;
  return (a.wide_macs < b.wide_macs && !is_larger) || (is_smaller && a.wide_macs <= b.wide_macs);
}

}  // namespace

bool Judge::replaces(const Trial& trial, const Trial& best) const {
  if (refuses(trial) != refuses(best)) return refuses(best);
  if (!scale_.is_better(best.value, trial.value) && is_cheaper(trial, best)) return true;
  if (!trial.gain) return scale_.is_better(trial.value, best.value);
  return scale_.higher_is_better ? trial.gain->is_above() : trial.gain->is_below();
}

namespace {

/// Returns the cosine of the output that differs most from the float output.
double worst_cosine(const QuantizeReport& report) {
  double worst = 1;
  for (const OutputAgreement& output : report.outputs) {
    if (!output.near_zero) worst = std::isnan(output.cosine) ? -1 : std::min(worst, output.cosine);
  }
  return worst;
}

}  // namespace

Result<Judge> Judge::make(const TuneRequest& request) {
  if (request.goal_confidence != 0) QQ_RETURN_IF_ERROR(compare::check_confidence(request.goal_confidence));
  Judge judge(request);
  const Result<config::QuantConfig> asked = config::load_config(request.config, request.settings);
  judge.allows_float_ = asked.ok() && asked.value().tool.allow_float.value_or(false);
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
  const bool needs_truth = !judge.compares_ && info.truth != metrics::TruthKind::kIds;
  if (needs_truth && metric.truth_path.empty()) {
    return invalid_argument("tune: --metric ", chosen[0].name, " needs --labels, ", metrics::truth_name(info.truth));
  }
  return judge;
}

Result<Measure> Judge::value_of(const std::string& model, const KeepGoing& keep_going) const {
  ScoreRequest score_request;
  if (compares_) score_request.baseline = request_.model_path;
  score_request.results = model;
  score_request.data_folder = request_.eval_folder;
  score_request.config = request_.config;
  score_request.settings = request_.settings;
  score_request.limit = request_.limit;
  score_request.metric = request_.metric;
  score_request.threads = request_.threads;
  score_request.memory_ceiling = request_.memory_ceiling;
  score_request.progress = keep_going;
  QQ_TRY(ScoreReport report, score(score_request));
  return Measure{report.metrics[0].value, std::move(report.metrics[0].resamples)};
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
  request.memory_ceiling = request_.memory_ceiling;
  request.progress = keep_going;
  QQ_TRY(const QuantizeReport report, quantize(request));
  Trial trial;
  trial.settings = settings;
  trial.cosine = worst_cosine(report);
  trial.bytes = report.output_bytes;
  if (report.rescue) trial.wide_macs = std::max(report.rescue->float_macs, report.rescue->macs_in_16_bits);
  trial.deployable = report.deployable;
  QQ_TRY(Measure measure, value_of(model, keep_going));
  trial.value = measure.value, trial.resamples = std::move(measure.samples);
  trial.seconds = watch.seconds();
  return trial;
}

Result<Sensitivity> find_sensitivity(const TuneRequest& request, const std::vector<std::string>& settings,
                                     double block_macs, const Judge::KeepGoing& keep_going) {
  constexpr size_t kSamples = 2, kBlocks = 3;
  AnalyzeRequest asked;
  asked.model_path = request.model_path;
  asked.config = request.config;
  asked.settings = request.settings;
  asked.settings.insert(asked.settings.end(), settings.begin(), settings.end());
  asked.calib_folder = request.calib_folder;
  asked.samples = kSamples, asked.min_cosine = -1;
  asked.most_blocks = kBlocks, asked.most_block_macs = block_macs;
  asked.threads = request.threads;
  asked.memory_ceiling = request.memory_ceiling;
  asked.progress = keep_going;
  QQ_TRY(AnalyzeReport found, analyze(asked));
  std::ranges::sort(found.layers, {}, &LayerEffect::place);
  Sensitivity sensitivity;
  sensitivity.layers.reserve(found.layers.size());
  for (LayerEffect& layer : found.layers) {
    sensitivity.layers.push_back({std::move(layer.node), layer.outputs.cosine, layer.outputs.sqnr_db, layer.mac_share});
  }
  sensitivity.blocks = std::move(found.blocks);
  return sensitivity;
}

}  // namespace quarkq::tuning
