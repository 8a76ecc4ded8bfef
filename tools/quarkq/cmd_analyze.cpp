// SPDX-License-Identifier: MIT
// quarkq analyze: which layers cost the outputs most, and a settings file that leaves those out.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "base/isa.h"
#include "progress.h"
#include "quarkq/analyze.h"
#include "table.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct AnalyzeArgs {
  AnalyzeRequest request;
  ComputeOptions compute;
  std::string settings_path, data_type;
  std::optional<double> min_cosine;
  size_t top = 20;
  bool one_float = false, json = false, quiet = false;
};

std::string agreement_text(const Agreement& agreement) {
  return cat("cosine ", fixed(agreement.cosine, 6), ", SQNR ", fixed(agreement.sqnr_db, 1), " dB");
}

void print_ranking(const AnalyzeArgs& args, const AnalyzeReport& report) {
  std::printf("%s, %zu samples; the worst output counts\n", report.model_path.c_str(), report.samples);
  std::printf("everything quantized: %s; nothing: %s\n", agreement_text(report.all_quantized).c_str(),
              agreement_text(report.nothing_quantized).c_str());
  Table table({{"cosine", Table::Align::kRight},
               {"SQNR dB", Table::Align::kRight},
               {args.one_float ? "only this one float" : "only this one quantized"}});
  for (size_t i = 0; i < std::min(args.top, report.layers.size()); ++i) {
    const LayerEffect& layer = report.layers[i];
    table.add({fixed(layer.outputs.cosine, 6), fixed(layer.outputs.sqnr_db, 1), layer.node});
  }
  table.print();
  if (report.layers.size() > args.top) std::printf("and %zu more (--top N)\n", report.layers.size() - args.top);
  if (report.leave_out.empty()) return;
  std::printf("left float: %s: %s\n", join(report.leave_out, ", ").c_str(), agreement_text(report.left_out).c_str());
  if (args.data_type.empty()) return;
  std::printf("what they are as %s, a run with %s tells\n", args.data_type.c_str(), args.settings_path.c_str());
}

Status check_arguments(const AnalyzeArgs& args) {
  const bool wants_file = !args.settings_path.empty();
  if (wants_file && !args.min_cosine)
    return invalid_argument("--write: needs --min-cos X, the cosine that the outputs shall have");
  if (!args.data_type.empty() && !wants_file) return invalid_argument("--type: needs --write FILE");
  if (!wants_file) return Status();
  QQ_RETURN_IF_ERROR(check_not_input(args.settings_path, {args.request.model_path, args.request.config}));
  return settings_file(args.request, {}, args.data_type).status();
}

/// Another data type than float may do less or more than leaving the layers out, so that decides nothing then.
Status check_gate(const AnalyzeArgs& args, const AnalyzeReport& report) {
  if (!args.min_cosine || !args.data_type.empty() || report.left_out.cosine >= *args.min_cosine) return Status();
  const bool has_more = report.leave_out.size() >= args.request.most_left_out;
  return quality_gate("analyze: cosine ", fixed(report.left_out.cosine, 9), " with ", report.leave_out.size(),
                      " node(s) left float, required is ", fixed(*args.min_cosine, 9),
                      has_more ? "; allow more with --most" : "; no other node can be left out by its name");
}

Status run_analyze(AnalyzeArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  args.request.mode = args.one_float ? AnalyzeMode::kOneFloat : AnalyzeMode::kOneQuantized;
  args.request.min_cosine = args.min_cosine.value_or(-1);
  QQ_RETURN_IF_ERROR(check_arguments(args));
  std::optional<AtomicFile> file;  // made first: a file that cannot be written must not cost a whole run
  if (!args.settings_path.empty()) {
    QQ_TRY(AtomicFile made, AtomicFile::create(args.settings_path));
    file.emplace(std::move(made));
  }
  QQ_TRY(const AnalyzeReport report, run_with_bar(args.quiet || args.json, args.request, analyze));
  if (file) {
    QQ_TRY(const std::string text, settings_file(args.request, report, args.data_type));
    QQ_RETURN_IF_ERROR(file->write(text.data(), text.size()));
    QQ_RETURN_IF_ERROR(file->commit());
  }
  if (!args.quiet) print_findings(report.findings, "--json has them all");
  if (args.json) std::fputs(to_json(report).c_str(), stdout);
  if (!args.json && !args.quiet) print_ranking(args, report);
  return check_gate(args, report);
}

}  // namespace

Run setup_analyze(CLI::App& app) {
  auto args = std::make_shared<AnalyzeArgs>();
  app.add_option("MODEL", args->request.model_path, "Float ONNX model")->required();
  app.add_option("--config", args->request.config, "Settings file, or a preset such as xint8")->required();
  app.add_option("--calib", args->request.calib_folder, "Calibration samples (docs/calibration-data.md)");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
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
  app.add_option("--most", args->request.most_left_out, "Layers that are left out at most (default: 10)");
  app.add_flag("--json", args->json, "Print the result as JSON, and nothing else, to stdout");
  app.add_flag("--quiet", args->quiet, "Print errors only");
  add_compute_options(app, args->compute);
  return [args] { return run_analyze(*args); };
}

}  // namespace quarkq::tool
