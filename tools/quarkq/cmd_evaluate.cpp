// SPDX-License-Identifier: MIT
// quarkq evaluate: prints the eight lines of ref:evaluation#output, then everything else that was requested, then the
// required values. Output, names and order of the eight lines are a contract: scripts of the reference's users read
// them. With --metric only the requested metrics are printed (evaluate_metrics.h).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "base/isa.h"
#include "compare/intervals.h"
#include "evaluate_metrics.h"
#include "memory_ceiling.h"
#include "pipeline/report/check_target.h"
#include "quarkq/check.h"
#include "quarkq/evaluate.h"
#include "run_control.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct EvaluateArgs {
  EvaluateRequest folders;
  EvaluateModelsRequest models;
  std::vector<std::string> places;
  ComputeOptions compute;
  MetricArgs metric;
  std::optional<double> min_cosine, max_l2, min_psnr, min_ssim, min_top1;
  std::string json, csv_path, layers_csv_path, compat;
  bool details = false, worst_first = false;

  bool has_models() const { return !models.float_path.empty(); }
};

/// The shortest decimal that reads back as `value`, spelled as Python does: 1.0, 1e-05, nan, inf.
std::string decimal(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double magnitude = std::abs(value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, value, plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string result(text, end.ptr);
  if (plain && result.find('.') == std::string::npos) result += ".0";
  return result;
}

/// To six significant digits: JSON and CSV have all of them.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

void print_aggregates(const EvaluateReport& report) {
  const std::pair<const char*, double> lines[] = {
      {"Mean cos similarity", report.mean_cosine},
      {"Min cos similarity", report.min_cosine},
      {"Mean l2 distance", report.mean_l2},
      {"Max l2 distance", report.max_l2},
      {"Mean psnr", report.mean_psnr},
      {"Min psnr", report.min_psnr},
      {"Mean ssim", report.mean_ssim},
      {"Min ssim", report.min_ssim},
  };
  for (const auto& [name, value] : lines) say("%s: %s\n", name, decimal(rounded(value)).c_str());
  if (!report.cosine_interval) return;
  say("%s %% intervals of the means: cos %s, l2 %s, psnr %s, ssim %s\n", six_digits(100 * report.confidence).c_str(),
      interval_text(report.cosine_interval).c_str(), interval_text(report.l2_interval).c_str(),
      interval_text(report.psnr_interval).c_str(), interval_text(report.ssim_interval).c_str());
}

std::string magnitude(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

void print_accuracy(const Accuracy& accuracy) {
  const auto share = [&](size_t hits, const std::optional<Interval>& interval) {
    const std::string ends = interval ? cat(", ", six_digits(100 * accuracy.confidence), " % interval ",
                                            fixed(100 * interval->low, 2), " to ", fixed(100 * interval->high, 2), " %")
                                      : "";
    return cat(fixed(100 * static_cast<double>(hits) / static_cast<double>(accuracy.decisions), 2), " % (", hits,
               " of ", accuracy.decisions, ")", ends);
  };
  for (const TopHits& hits : accuracy.top) {
    say("Top-%d baseline: %s\n", hits.k, share(hits.baseline, hits.baseline_interval).c_str());
    say("Top-%d quantized: %s\n", hits.k, share(hits.quantized, hits.quantized_interval).c_str());
    if (hits.difference) say("Top-%d difference: %s\n", hits.k, change_text(hits.difference).c_str());
  }
  say("Top-1 agreement: %s\n", share(accuracy.agreements, accuracy.agreement_interval).c_str());
}

void print_outputs(const EvaluateReport& report) {
  say("\n");
  Table table(
      {{"Output"}, {"samples", kRight}, {"cos", kRight}, {"SQNR dB", kRight}, {"l2", kRight}, {"max abs", kRight}});
  for (const OutputMetrics& output : report.outputs) {
    table.add({output.name, cat(output.samples), fixed(output.cosine, 6), fixed(output.sqnr_db, 2),
               magnitude(output.l2), magnitude(output.max_abs)});
  }
  table.print();
  for (const OutputMetrics& output : report.outputs) {
    if (output.same_not_finite > 0)
      say("%s: %llu values are the same NaN or infinity in both models, which the figures leave out\n",
          output.name.c_str(), static_cast<unsigned long long>(output.same_not_finite));
    if (output.different_not_finite > 0)
      say("%s: %llu values are NaN or infinite in one of the models only\n", output.name.c_str(),
          static_cast<unsigned long long>(output.different_not_finite));
  }
}

/// Returns the loss of a node relative to its noisiest input; empty if that input is exact or has no signal.
std::string lost(const TensorAgreement& layer) {
  return std::isfinite(layer.inputs_db) && std::isfinite(layer.sqnr_db) ? fixed(layer.inputs_db - layer.sqnr_db, 2)
                                                                        : "-";
}

void print_layers(const EvaluateReport& report) {
  say("\n");
  Table table({{"SQNR dB", kRight}, {"cos", kRight}, {"inputs dB", kRight}, {"lost dB", kRight}, {"Tensor"}, {"Node"}});
  for (const TensorAgreement& layer : report.layers) {
    table.add({fixed(layer.sqnr_db, 2), fixed(layer.cosine, 6), fixed(layer.inputs_db, 2), lost(layer), layer.name,
               layer.node});
  }
  table.print();
}

void print_pairs(const EvaluateArgs& args, std::vector<PairMetrics> pairs) {
  say("\n");
  if (args.worst_first) {  // sorted by cosine, then by distance; NaN is worst
    const auto likeness = [](const PairMetrics& pair) { return std::isnan(pair.cosine) ? -2 : pair.cosine; };
    std::ranges::stable_sort(pairs, [&](const PairMetrics& a, const PairMetrics& b) {
      return std::pair(likeness(a), -a.l2) < std::pair(likeness(b), -b.l2);
    });
  }
  Table table({{"File"}, {"cos", kRight}, {"l2", kRight}, {"psnr", kRight}, {"ssim", kRight}});
  for (const PairMetrics& pair : pairs) {
    table.add({pair.file, fixed(pair.cosine, 6), magnitude(pair.l2), fixed(pair.psnr, 2), fixed(pair.ssim, 6)});
  }
  table.print();
}

/// Returns why the top-1 of the quantized side misses the gate, or an empty text.
std::string why_top1_missed(const EvaluateArgs& args, const Accuracy& accuracy) {
  const auto hits = std::ranges::find(accuracy.top, 1, &TopHits::k);
  const double share = static_cast<double>(hits->quantized) / static_cast<double>(accuracy.decisions);
  return compare::why_missed({*args.min_top1, true, args.metric.confidence}, {share, accuracy.quantized_top1},
                             hits->quantized_interval);
}

/// In few digits, unless these hide that `limit` was missed.
std::string found_text(double found, double limit) { return decimal(rounded(found) == limit ? found : rounded(found)); }

Status check_required(const EvaluateArgs& args, const EvaluateReport& report) {
  std::vector<std::string> missed;
  auto at_least = [&](const char* name, double found, const std::optional<double>& required) {
    // Written so that NaN misses.
    if (required && !(found >= *required))
      missed.push_back(cat(name, " is ", found_text(found, *required), ", required is at least ", decimal(*required)));
  };
  at_least("min cos similarity", report.min_cosine, args.min_cosine);
  if (args.max_l2 && !(report.max_l2 <= *args.max_l2)) {
    missed.push_back(cat("max l2 distance is ", found_text(report.max_l2, *args.max_l2), ", required is at most ",
                         decimal(*args.max_l2)));
  }
  at_least("min psnr", report.min_psnr, args.min_psnr);
  at_least("min ssim", report.min_ssim, args.min_ssim);
  const std::string why = args.min_top1 ? why_top1_missed(args, *report.accuracy) : "";
  if (!why.empty()) missed.push_back(cat("top-1 of the quantized model is ", why));
  if (missed.empty()) return Status();
  return quality_gate("evaluate: ", join(missed, "; "));
}

/// Flags determine the meaning of a path; paths without a flag fill the remaining places, baseline first. --float
/// selects models.
Status assign_places(EvaluateArgs& args) {
  std::string &baseline = args.has_models() ? args.models.float_path : args.folders.baseline_folder,
              &quantized = args.folders.quantized_folder;
  if (args.has_models() && !args.folders.baseline_folder.empty()) {
    return invalid_argument("evaluate: found --float and --baseline_results_folder, allowed is one of them");
  }
  size_t next = 0;
  for (std::string* place : {&baseline, &quantized}) {
    if (place->empty() && next < args.places.size()) *place = args.places[next++];
  }
  if (baseline.empty() || quantized.empty()) {
    return invalid_argument(
        "evaluate: two folders are needed, --baseline_results_folder and --quantized_results_folder, or two models, "
        "--float and --quantized, with --data");
  }
  if (next != args.places.size()) return invalid_argument("evaluate: ", args.places[next], " is one argument too many");
  if (!args.has_models() && file_exists(baseline) && baseline.ends_with(".onnx")) {
    return invalid_argument("evaluate: ", baseline,
                            " is a model; models are given as --float A.onnx --quantized B.onnx "
                            "--data DIR");
  }
  args.models.quantized_path = quantized;
  return Status();
}

Status check_options(EvaluateArgs& args) {
  args.folders.compat = !args.compat.empty();
  if (args.folders.compat && args.compat != "quark-0.13") {
    return invalid_argument("--compat: found ", args.compat, ", allowed is quark-0.13");
  }
  EvaluateModelsRequest& models = args.models;
  models.layers = models.layers || !args.layers_csv_path.empty();
  if (args.has_models() && models.data_folder.empty()) return invalid_argument("evaluate: --float needs --data DIR");
  if (args.has_models() && args.folders.compat) return invalid_argument("--compat: compares folders, not models");
  const bool asks_models = !models.data_folder.empty() || models.layers || models.limit > 0 || !models.config.empty() ||
                           !models.settings.empty();
  if (!args.has_models() && asks_models) {
    return invalid_argument(
        "evaluate: --data, --limit, --layers, --config, --preprocess, --shape and --set need models, --float A.onnx");
  }
  AccuracyRequest& accuracy = models.accuracy;
  if (accuracy.labels_path.empty() && (args.min_top1 || !accuracy.top.empty() || !accuracy.output.empty())) {
    return invalid_argument("evaluate: --top, --min-top1 and --labels-output need --labels FILE");
  }
  if (args.min_top1 && !accuracy.top.empty()) accuracy.top.push_back(1);
  accuracy.confidence = args.metric.confidence.value_or(kConfidence);
  args.folders.accuracy = accuracy;
  return Status();
}

Status open_outputs(const EvaluateArgs& args, EvaluateFiles& outputs) {
  QQ_RETURN_IF_ERROR(outputs.open(args.json, to_json));
  QQ_RETURN_IF_ERROR(outputs.open(args.csv_path, pairs_csv));
  return outputs.open(args.layers_csv_path, layers_csv);
}

Result<EvaluateReport> compare(EvaluateArgs& args) {
  ProgressBar bar;
  args.folders.threads = args.models.threads = args.compute.threads;
  args.folders.progress = args.models.progress = [&](const Progress& progress) { return bar.update(progress); };
  return args.has_models() ? evaluate_models(args.models) : evaluate(args.folders);
}

void print_comparison(const EvaluateArgs& args, const EvaluateReport& report) {
  print_aggregates(report);
  if (report.accuracy) print_accuracy(*report.accuracy);
  if (args.has_models()) print_outputs(report);
  if (args.models.layers) print_layers(report);
  if (args.details || args.worst_first) print_pairs(args, report.pairs);
}

/// The options that compare two sides, and have no meaning when only metrics are computed.
Status check_metric_options(const EvaluateArgs& args) {
  const AccuracyRequest& accuracy = args.models.accuracy;
  const std::pair<const char*, bool> comparing[] = {
      {"--min-cos", args.min_cosine.has_value()}, {"--max-l2", args.max_l2.has_value()},
      {"--min-psnr", args.min_psnr.has_value()},  {"--min-ssim", args.min_ssim.has_value()},
      {"--min-top1", args.min_top1.has_value()},  {"--top", !accuracy.top.empty()},
      {"--csv", !args.csv_path.empty()},          {"--layers-csv", !args.layers_csv_path.empty()},
      {"--layers", args.models.layers},           {"--details", args.details},
      {"--worst-first", args.worst_first},        {"--compat", !args.compat.empty()},
  };
  for (const auto& [option, is_given] : comparing) {
    if (is_given) return invalid_argument(option, ": cannot be combined with --metric, which prints only metrics");
  }
  return Status();
}

/// One place is what is scored; of two the first is the baseline.
Result<ScoreRequest> score_request(const EvaluateArgs& args) {
  QQ_RETURN_IF_ERROR(check_metric_options(args));
  const EvaluateModelsRequest& models = args.models;
  ScoreRequest request;
  request.baseline = args.has_models() ? models.float_path : args.folders.baseline_folder;
  request.results = args.folders.quantized_folder;
  size_t next = 0;
  if (request.baseline.empty() && args.places.size() + (request.results.empty() ? 0 : 1) > 1) {
    request.baseline = args.places[next++];
  }
  if (request.results.empty() && next < args.places.size()) request.results = args.places[next++];
  if (next != args.places.size()) return invalid_argument("evaluate: ", args.places[next], " is one argument too many");
  if (request.results.empty()) std::swap(request.baseline, request.results);  // --float alone
  request.data_folder = models.data_folder;
  request.config = models.config;
  request.settings = models.settings;
  request.limit = models.limit;
  request.threads = args.compute.threads;
  request.memory_ceiling = models.memory_ceiling;
  request.metric = args.metric.request;
  request.metric.truth_path = models.accuracy.labels_path;
  request.metric.output = models.accuracy.output;
  return request;
}

/// `model` is the quantized side. The target is the one that fits the type of the model.
Status check_deployable(const std::string& model) {
  if (!file_exists(model)) return invalid_argument("--require deployable: found ", model, ", allowed is a model");
  QQ_TRY(const CheckReport report, check(model));
  return pipeline::check_deployable(report.deployable);
}

Status run_evaluate(EvaluateArgs& args) {
  const bool must_deploy = std::erase(args.metric.required, pipeline::kDeployable) > 0;
  if (args.metric.is_asked()) {
    QQ_TRY(ScoreRequest request, score_request(args));
    QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
    QQ_RETURN_IF_ERROR(run_metrics(request, args.metric, args.json));
    return must_deploy ? check_deployable(request.results) : Status();
  }
  if (!args.metric.required.empty()) return invalid_argument("--require: needs --metric or --metric-cmd");
  QQ_RETURN_IF_ERROR(assign_places(args));
  QQ_RETURN_IF_ERROR(check_options(args));
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  EvaluateFiles outputs;
  QQ_RETURN_IF_ERROR(open_outputs(args, outputs));
  QQ_TRY(const EvaluateReport report, compare(args));
  QQ_RETURN_IF_ERROR(outputs.write(report));
  print_findings(report.findings);
  const bool has_text = args.json != kStdout && args.csv_path != kStdout && args.layers_csv_path != kStdout;
  if (has_text) print_comparison(args, report);
  std::fflush(stdout);
  if (must_deploy) QQ_RETURN_IF_ERROR(check_deployable(args.folders.quantized_folder));
  return check_required(args, report);
}

void add_gates(CLI::App& app, EvaluateArgs& args) {
  app.add_option("--min-cos", args.min_cosine, "Fail (exit 5) when the smallest cosine is below this");
  app.add_option("--max-l2", args.max_l2, "Fail (exit 5) when the largest distance is above this");
  app.add_option("--min-psnr", args.min_psnr, "Fail (exit 5) when the smallest PSNR, in dB, is below this");
  app.add_option("--min-ssim", args.min_ssim, "Fail (exit 5) when the smallest SSIM is below this");
  app.add_option("--min-top1", args.min_top1, "Fail (exit 5) when the quantized top-1, from 0 to 1, is below this")
      ->check(CLI::Range(0.0, 1.0));
  add_confidence_option(app, args.metric.confidence,
                        "Of the intervals (0.95); if given, --min-top1 and --require apply to the end of the interval "
                        "instead of the value");
}

void add_models(CLI::App& app, EvaluateArgs& args) {
  EvaluateModelsRequest& models = args.models;
  app.add_option("--float", models.float_path, "Compare models instead: the float one; --quantized is the other");
  app.add_option("--data", models.data_folder, "Samples for both models");
  app.add_option("--limit", models.limit, "Only the first N samples");
  app.add_option("-c,--config", models.config,
                 "Preset or file that the model was quantized with: preprocessing, rewrites before --layers");
  app.add_option("--set", models.settings, "key=value, stronger than --config and --preprocess; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, models.settings);
  add_shape_option(app, models.settings);
  app.add_flag("--layers", models.layers, "Also compare inner tensors, the worst first");
  app.add_option("--layers-csv", args.layers_csv_path, "Write the table of --layers here, as CSV");
}

}  // namespace

Run setup_evaluate(CLI::App& app) {
  auto args = std::make_shared<EvaluateArgs>();
  app.add_option("--baseline_results_folder,--baseline", args->folders.baseline_folder,
                 "Results of the float model: .npy, .png, .jpg files, at any depth");
  app.add_option("--quantized_results_folder,--quantized", args->folders.quantized_folder,
                 "Results of the quantized model, same names; with --float the quantized model");
  app.add_option("PLACES", args->places, "Baseline and quantized, without flags")->expected(0, 2);
  add_models(app, *args);
  AccuracyRequest& accuracy = args->models.accuracy;
  app.add_option(
      "--labels", accuracy.labels_path,
      "Right classes, for top-k accuracy: .npy, or text with \"label\" or \"name,label\" lines; with --metric "
      "the truth that it needs");
  app.add_option("--top", accuracy.top, "Count labels among the K highest (repeatable; default 1 and 5)")
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1000000));
  app.add_option("--labels-output", accuracy.output, "The output that contains the scores, if there are several");
  add_metric_options(app, args->metric);
  add_gates(app, *args);
  add_json_option(app, args->json);
  app.add_option("--csv", args->csv_path, "Write one row per pair here, as CSV");
  app.add_option("--compat", args->compat, "The definitions of a release of the reference: quark-0.13");
  app.add_flag("--details", args->details, "Print a table with a row for each pair");
  app.add_flag("--worst-first", args->worst_first, "The same, the smallest cosine first");
  add_compute_options(app, args->compute);
  add_ceiling_option(app, args->models.memory_ceiling);
  return [args] { return run_evaluate(*args); };
}

}  // namespace quarkq::tool
