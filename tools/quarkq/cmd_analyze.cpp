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
  char text[64];
  std::snprintf(text, sizeof text, "cosine %.6f, SQNR %.1f dB", agreement.cosine, agreement.sqnr_db);
  return text;
}

void print_summary(const AnalyzeArgs& args, const AnalyzeReport& report) {
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
  if (!report.leave_out.empty())
    std::printf("left out: %s: %s\n", join(report.leave_out, ", ").c_str(), agreement_text(report.left_out).c_str());
}

Status run_analyze(AnalyzeArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  args.request.mode = args.one_float ? AnalyzeMode::kOneFloat : AnalyzeMode::kOneQuantized;
  const bool wants_file = !args.settings_path.empty();
  args.request.min_cosine = args.min_cosine.value_or(wants_file ? 1 : 0);
  std::optional<AtomicFile> file;  // type and file come first: what is wrong with them must not cost a whole run
  if (wants_file) {
    QQ_RETURN_IF_ERROR(settings_file(args.request, {}, args.data_type).status());
    QQ_TRY(AtomicFile made, AtomicFile::create(args.settings_path));
    file.emplace(std::move(made));
  }
  Result<AnalyzeReport> report = Status(Code::kInternal, "not run");
  {
    ProgressBar bar(args.quiet || args.json);
    args.request.progress = [&](const Progress& progress) { return bar.update(progress); };
    report = analyze(args.request);
  }
  if (!report.ok()) return report.status();
  if (file) {
    QQ_TRY(const std::string text, settings_file(args.request, report.value(), args.data_type));
    QQ_RETURN_IF_ERROR(file->write(text.data(), text.size()));
    QQ_RETURN_IF_ERROR(file->commit());
  }
  if (!args.quiet) print_findings(report.value().findings);
  if (args.json) std::fputs(to_json(report.value()).c_str(), stdout);
  if (!args.json && !args.quiet) print_summary(args, report.value());
  if (!args.min_cosine || report.value().left_out.cosine >= *args.min_cosine) return Status();
  return quality_gate("analyze: ", agreement_text(report.value().left_out), " with ", report.value().leave_out.size(),
                      " node(s) left out, required is cosine ", *args.min_cosine, "; allow more with --most");
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
                 "Write a settings file here that leaves the worst layers float (or: --type)");
  app.add_option("--type", args->data_type, "With --write: compute those layers in this type instead, such as Int16");
  app.add_option("--min-cos", args->min_cosine,
                 "Leave out the worst layers until the outputs have this cosine; exit code 5 when that fails");
  app.add_option("--most", args->request.most_left_out, "Layers that are left out at most (default: 10)");
  app.add_flag("--json", args->json, "Print the result as JSON, and nothing else, to stdout");
  app.add_flag("--quiet", args->quiet, "Print errors only");
  add_compute_options(app, args->compute);
  return [args] { return run_analyze(*args); };
}

}  // namespace quarkq::tool
