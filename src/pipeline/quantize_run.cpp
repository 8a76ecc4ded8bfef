// SPDX-License-Identifier: MIT
#include "pipeline/quantize_run.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "config/preset.h"
#include "config/print.h"
#include "onnx_io/check_model.h"
#include "onnx_io/save.h"
#include "pipeline/compare_models.h"
#include "pipeline/inspect_quantized.h"
#include "pipeline/output_kinds.h"
#include "quarkq/status.h"

namespace quarkq::pipeline {

Status check_written(const Run& run) {
  constexpr size_t kShown = 300;  // the checker repeats itself node by node
  Status status = onnx_io::check_result(run.state.model, run.state.diagnostics);
  if (status.ok()) return status;
  const std::string found = status.message().substr(0, kShown);
  return Status(status.code(),
                cat(run.report.model_path, ": these settings give a model that ONNX does not allow at opset ",
                    run.state.model.opset(), " (", found, status.message().size() > kShown ? " ..." : "",
                    "); choose other types, raise the opset with --set ConvertOpsetVersion=21, or report this"));
}

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
  models.environment = run.state.environment;
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

namespace {

/// Settings of places, speed and messages, and of samples, whose ranges have a hash of their own: the same result has
/// the same hash on another machine.
constexpr std::array<std::string_view, 17> kNoResult = {
    "preprocess",         "CalibDataSize",       "calibration",    "TmpDir",
    "SaveAndRestore",     "TensorsRangeFile",    "CalibWorkerNum", "CalibOptimizeMem",
    "CalibOptimizeDisk",  "execution_providers", "print_summary",  "debug_mode",
    "ignore_warnings",    "EvalMetrics",         "EvalDataReader", "crypto_mode",
    "EncryptionAlgorithm"};
/// The same inside of options that are maps.
constexpr std::array<std::pair<std::string_view, const char*>, 5> kNoResultInside = {{
    {"FastFinetune", "MemoryBudgetMB"},
    {"FastFinetune", "MemOptLevel"},
    {"FastFinetune", "CacheDir"},
    {"FastFinetune", "NumWorkers"},
    {"AutoMixprecision", "SensitivityCacheFile"},
}};

std::string settings_hash(config::Settings settings) {
  settings.tool.threads.reset();
  settings.tool.info_csv.reset();
  settings.tool.on_collapse.reset();  // what it leads to shows in the result
  settings.tool.verify_samples.reset();
  ContentHash hash;
  for (const config::SettingLine& line : config::setting_lines(settings)) {
    if (std::ranges::find(kNoResult, line.name) != kNoResult.end()) continue;
    auto value = line.value;
    for (const auto& [option, key] : kNoResultInside)
      if (line.name == option && value.is_map()) value = value.without(key);
    hash.add(line.name);
    hash.add(config::to_flow(value));
  }
  return hash.text();
}

/// Of ranges, not of samples: the statistics of shards lead to the same ranges as the samples themselves.
std::string calibration_hash(const RunState& state) {
  ContentHash hash;
  const ir::Graph& graph = state.calibrated->graph;
  for (const auto& [value, range] : state.measured.ranges) {
    hash.add(graph.value(value).name);
    hash.add(&range.min, sizeof range.min);
    hash.add(&range.max, sizeof range.max);
  }
  return hash.text();
}

}  // namespace

void write_metadata(const RunState& state, ir::Model& model) {
  if (!state.settings.writes_metadata()) return;
  std::vector<std::pair<std::string, std::string>> pairs = {{"quarkq.version", version()},
                                                            {"quarkq.settings", settings_hash(state.settings)}};
  if (!state.measured.ranges.empty() && state.calibrated)
    pairs.emplace_back("quarkq.calibration", calibration_hash(state));
  onnx_io::set_metadata(model, pairs);
}

}  // namespace quarkq::pipeline

namespace quarkq {

const char* grade_name(Grade grade) {
  static constexpr const char* kNames[] = {"good", "fair", "poor"};
  return kNames[static_cast<int>(grade)];
}

namespace pipeline {
namespace {

// The rule of docs/report.md. Cosines of 0.99 on average go with a loss of about a percent of top-1 on the networks of
// docs/accuracy.md; below 0.95, or 0.9 on one sample, users see the difference.
constexpr double kGoodMean = 0.99, kGoodWorst = 0.98, kFairMean = 0.95;
constexpr size_t kFewSamples = 8;     // below, ranges of activations are chance
constexpr size_t kUsualSamples = 32;  // below, training fits the samples, not the data

std::string digits(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, value > 0.9999 && value < 1 ? "%.6f" : "%.4f", value);
  return text;
}

/// NaN is less than any number.
double lesser(double a, double b) { return std::isnan(a) || a <= b ? a : b; }

/// One argument of a command that can be pasted into a shell.
std::string argument(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+=:,@%").find(c) != std::string::npos;
  });
  if (is_plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// A setting as an argument: those that an option of their own sets appear as that option.
std::string setting_argument(const std::string& setting) {
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {{"target=", "--target "},
                                                                        {"preprocess=", "--preprocess "}};
  for (const auto& [key, option] : kOptions) {
    if (!setting.starts_with(key)) continue;
    std::string value = setting.substr(key.size());
    const bool is_quoted = value.size() > 2 && value.front() == '"' && value.back() == '"';
    if (is_quoted) value = value.substr(1, value.size() - 2);
    if (value.find_first_of("{[\"\\") == std::string::npos) return cat(option, argument(value));
  }
  return "--set " + argument(setting);
}

/// Training and analysis need samples, which statistics are not.
std::string command(const char* verb, const QuantizeRequest& request, const config::Settings& settings,
                    const std::string& config) {
  std::string text = cat("quarkq ", verb, " ", argument(request.model_path));
  if (!config.empty()) text += " --config " + argument(config);
  if (request.requantize) text += " --requantize";
  if (!request.calib_folder.empty()) {
    text += " --calib " + argument(request.calib_folder);
  } else if (!request.statistics_path.empty() && !settings.calibration.dir) {
    text += " --calib DIR";
  }
  for (const std::string& setting : request.settings) {
    const bool is_of_this_run =
        setting.starts_with("quarkq.on_collapse") || setting.starts_with("quarkq.verify_samples");
    if (!is_of_this_run) text += " " + setting_argument(setting);
  }
  return text;
}

/// The preset of the same formats that also trains the weights; empty: there is none, or it was used already.
std::string tuned_preset(const std::string& preset) {
  const std::string wanted = preset + "_ADAQUANT";
  const auto& all = config::presets();
  const bool is_there = std::ranges::any_of(all, [&](const config::PresetInfo& one) { return one.name == wanted; });
  return is_there ? wanted : "";
}

std::string next_step(const QuantizeReport& report, const QuantizeRequest& request, const config::Settings& settings,
                      Grade grade) {
  if (grade == Grade::kGood) {
    if (settings.traits().is_cnn_overlay) return "quarkq check " + argument(report.output_path);
    return cat("quarkq evaluate --float ", argument(request.model_path), " --quantized ", argument(report.output_path),
               " --data VALIDATION --labels FILE");
  }
  if (settings.ranges.use_random_data && request.calib_folder.empty())
    return "calibrate with real samples: --calib DIR";
  if (report.causes.empty() && report.samples > 0 && report.samples < kFewSamples)
    return cat("calibrate with more samples (", report.samples, " now; 100 or more are usual)");
  const bool may_train = report.tuned_layers.empty() && (report.samples == 0 || report.samples >= kUsualSamples);
  const std::string tuned = may_train ? tuned_preset(settings.preset) : "";
  if (report.causes.empty() && !tuned.empty()) return command("quantize", request, settings, tuned);
  return command("analyze", request, settings, request.config) + " --min-cos 0.98 --write better.yaml";
}

}  // namespace

std::optional<Verdict> judge(const QuantizeReport& report, const QuantizeRequest& request,
                             const config::Settings& settings, double collapse) {
  double worst = 1, mean = 1, choices = 1;
  size_t not_finite = 0;
  bool has_cosine = false;
  bool is_judged = false;
  for (const OutputAgreement& output : report.outputs) {
    if (output.near_zero) continue;
    is_judged = true;
    not_finite += output.different_not_finite;
    if (output.same_choices) {  // what is read of such an output
      choices = lesser(choices, *output.same_choices);
      continue;
    }
    has_cosine = true;
    worst = lesser(worst, output.min_cosine);
    mean = lesser(mean, output.cosine);
    if (output.minor) mean = lesser(mean, output.minor->cosine);
  }
  if (!is_judged) return std::nullopt;
  const double good_worst = std::max(kGoodWorst, collapse);
  Verdict verdict;
  const auto graded = [&](Grade grade, std::string why) {
    verdict.grade = grade;
    verdict.why = std::move(why);
    verdict.next = next_step(report, request, settings, grade);
    return verdict;
  };
  const auto below = [&](const char* what, double found, double limit) {
    return cat(what, " cosine ", digits(found), ", below ", digits(limit));
  };
  if (not_finite > 0)
    return graded(Grade::kPoor,
                  cat(not_finite, " values of the outputs are NaN or infinite in one of the models only"));
  const std::string same = cat("the same class in ", std::round(10000 * choices) / 100, " % of the rows");
  const auto fewer = [&](double limit) { return cat(same, ", below ", 100 * limit, " %"); };
  if (!(choices >= kEnoughChoices)) return graded(Grade::kPoor, fewer(kEnoughChoices));
  if (!(worst >= collapse)) return graded(Grade::kPoor, below("worst", worst, collapse));
  if (!(mean >= kFairMean)) return graded(Grade::kPoor, below("mean", mean, kFairMean));
  if (!(choices >= kGoodChoices)) return graded(Grade::kFair, fewer(kGoodChoices));
  if (!(mean >= kGoodMean)) return graded(Grade::kFair, below("mean", mean, kGoodMean));
  if (!(worst >= good_worst)) return graded(Grade::kFair, below("worst", worst, good_worst));
  if (!has_cosine) return graded(Grade::kGood, same);
  return graded(Grade::kGood, cat("mean cosine ", digits(mean), ", worst ", digits(worst)));
}

}  // namespace pipeline

}  // namespace quarkq
