// SPDX-License-Identifier: MIT
// quarkq analyze: which layers cost the outputs most, and a settings file that leaves those out.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "base/isa.h"
#include "memory_ceiling.h"
#include "quantize_summary.h"
#include "quarkq/analyze.h"
#include "run_control.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct AnalyzeArgs {
  AnalyzeRequest request;
  ComputeOptions compute;
  int64_t max_memory = 0;  ///< 0: no ceiling
  std::string settings_path, data_type, json;
  std::optional<double> min_cosine;
  size_t top = 20;
  bool one_float = false, dry_run = false;
};

std::string agreement_text(const Agreement& agreement) {
  return cat("cosine ", fixed(agreement.cosine, 6), ", SQNR ", fixed(agreement.sqnr_db, 1), " dB");
}

void print_ranking(const AnalyzeArgs& args, const AnalyzeReport& report) {
  say("%s, %zu samples; figures of the worst output\n", report.model_path.c_str(), report.samples);
  say("everything quantized: %s; nothing: %s\n", agreement_text(report.all_quantized).c_str(),
      agreement_text(report.nothing_quantized).c_str());
  Table table({{"cosine", Table::Align::kRight},
               {"SQNR dB", Table::Align::kRight},
               {args.one_float ? "only this one float" : "only this one quantized"}});
  for (size_t i = 0; i < std::min(args.top, report.layers.size()); ++i) {
    const LayerEffect& layer = report.layers[i];
    table.add({fixed(layer.outputs.cosine, 6), fixed(layer.outputs.sqnr_db, 1), layer.node});
  }
  table.print();
  if (report.layers.size() > args.top) say("and %zu more (--top N)\n", report.layers.size() - args.top);
  const bool is_met = args.min_cosine && report.all_quantized.cosine >= *args.min_cosine;
  if (is_met)
    say("the outputs have cosine %s already: no layer is left float\n", significant(*args.min_cosine).c_str());
  if (report.leave_out.empty()) return;
  say("left float: %s: %s\n", join(report.leave_out, ", ").c_str(), agreement_text(report.left_out).c_str());
  if (args.data_type.empty()) return;
  say("run quarkq quantize --config %s to see their effect as %s\n", args.settings_path.c_str(),
      args.data_type.c_str());
}

Status check_arguments(const AnalyzeArgs& args) {
  const bool wants_file = !args.settings_path.empty();
  if (wants_file && !args.min_cosine)
    return invalid_argument("--write: needs --min-cos X, the cosine that the outputs must reach");
  if (!args.data_type.empty() && !wants_file) return invalid_argument("--type: needs --write FILE");
  if (!wants_file) return Status();
  return settings_file(args.request, {}, args.data_type).status();
}

/// Another data type than float may do less or more than leaving the layers out, so that decides nothing then.
Status check_gate(const AnalyzeArgs& args, const AnalyzeReport& report) {
  if (!args.min_cosine || !args.data_type.empty() || report.left_out.cosine >= *args.min_cosine) return Status();
  const bool has_more = report.leave_out.size() >= args.request.most_left_out;
  return quality_gate("analyze: cosine ", fixed(report.left_out.cosine, 9), " with ", report.leave_out.size(),
                      report.leave_out.size() == 1 ? " node" : " nodes", " left float, required is ",
                      fixed(*args.min_cosine, 9),
                      has_more ? "; allow more with --most" : "; no other node has a name by which it can be excluded");
}

Status run_analyze(AnalyzeArgs& args) {
  QQ_RETURN_IF_ERROR(check_has_config(args.request.config, args.request.settings));
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  args.request.mode = args.one_float ? AnalyzeMode::kOneFloat : AnalyzeMode::kOneQuantized;
  args.request.min_cosine = args.min_cosine.value_or(-1);
  QQ_RETURN_IF_ERROR(check_arguments(args));
  if (args.dry_run) return run_dry(args.request, args.json);
  QQ_TRY(TextOutput file, TextOutput::open(args.settings_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_RETURN_IF_ERROR(fit_memory(args.request, args.max_memory));
  stop_beyond(args.max_memory);
  QQ_TRY(const AnalyzeReport report, run_with_bar(args.request, analyze));
  if (file.is_open()) {
    QQ_TRY(const std::string text, settings_file(args.request, report, args.data_type));
    QQ_RETURN_IF_ERROR(file.write(text));
  }
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  print_findings(report.findings);
  if (prints_text(args.json) && args.settings_path != kStdout) print_ranking(args, report);
  return check_gate(args, report);
}

}  // namespace

Run setup_analyze(CLI::App& app) {
  auto args = std::make_shared<AnalyzeArgs>();
  app.add_option("MODEL", args->request.model_path, "Float ONNX model")->required();
  app.add_option("-c,--config", args->request.config, "Settings file, or a preset such as xint8");
  app.add_option("--calib", args->request.calib_folder, "Calibration samples (docs/calibration-data.md)");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, args->request.settings);
  add_backend_option(app, args->request.settings);
  add_target_options(app, args->request.settings);
  add_requantize_option(app, args->request.requantize);
  app.add_flag("--all-but-one", args->one_float, "Keep one layer float at a time, instead of quantizing one");
  app.add_option("--samples", args->request.samples, "Samples that outputs are compared on (default: 4)")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--top", args->top, "Layers that are printed (default: 20)");
  app.add_option("--write", args->settings_path,
                 "With --min-cos: write a settings file here that leaves those layers float");
  app.add_option("--type", args->data_type, "With --write: compute those layers in this type instead, such as Int16");
  app.add_option("--min-cos", args->min_cosine,
                 "Leave out the worst layers until the outputs have this cosine; exit code 5 when that fails")
      ->check(CLI::Range(-1.0, 1.0));
  app.add_option("--most", args->request.most_left_out, "Leave out at most this many layers (default: 10)");
  add_dry_run_option(app, args->dry_run)->excludes(app.get_option("--write"));
  add_memory_option(app, args->max_memory);
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  return [args] { return run_analyze(*args); };
}

}  // namespace quarkq::tool
