// SPDX-License-Identifier: MIT
// quarkq quantize: arguments to a QuantizeRequest, its report to a summary table or JSON.
#include <cstdio>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "base/isa.h"
#include "progress.h"
#include "quarkq/quantize.h"
#include "table.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct QuantizeArgs {
  QuantizeRequest request;
  ComputeOptions compute;
  std::string report_path, compat, on_collapse;
  bool json = false, quiet = false, no_verify = false, no_resume = false;
};

std::string counts_text(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(cat(count, " x ", name));
  return parts.empty() ? "none" : join(parts, ", ");
}

/// "output     y: cosine 0.991234 (worst 0.978901), SQNR 21.4 dB against float (8 samples)"
void print_output(const OutputAgreement& output, size_t samples) {
  const std::string worst = samples > 1 ? cat(" (worst ", fixed(output.min_cosine, 6), ")") : "";
  std::printf("output     %s: cosine %s%s, SQNR %s dB against float (%zu sample%s)\n", output.name.c_str(),
              fixed(output.cosine, 6).c_str(), worst.c_str(), fixed(output.sqnr_db, 1).c_str(), samples,
              samples == 1 ? "" : "s");
}

/// "rescued    cosine 0.070 -> 0.981 (4 samples): per-channel weights, 34 activations in 16 bits; 3.2 s"
void print_rescue(const RescueReport& rescue) {
  std::vector<std::string> changes;
  if (rescue.channel_scales) changes.push_back("per-channel weights");
  if (!rescue.tensors_in_16_bits.empty())
    changes.push_back(cat(rescue.tensors_in_16_bits.size(), " activations in 16 bits"));
  if (!rescue.float_nodes.empty())
    changes.push_back(
        cat(rescue.float_nodes.size(), " float nodes (", fixed(100 * rescue.float_macs, 1), " % of MACs)"));
  std::printf("rescued    cosine %s -> %s (%zu samples): %s; %.2f s\n", fixed(rescue.before.cosine, 6).c_str(),
              fixed(rescue.after.cosine, 6).c_str(), rescue.samples, join(changes, ", ").c_str(), rescue.seconds);
}

void print_summary(const QuantizeReport& report) {
  std::printf("model      %s (opset %ld, %zu nodes, %s)\n", report.model_path.c_str(),
              static_cast<long>(report.input_opset), report.nodes_total,
              bytes_text(static_cast<double>(report.model_bytes)).c_str());
  std::printf("settings   %s, %s, %zu samples, %d threads, %s\n",
              report.preset.empty() ? "file" : report.preset.c_str(), report.quantizer.c_str(), report.samples,
              report.threads, report.isa.c_str());
  std::printf("quantized  %zu of %zu nodes; tensors: %s\n", report.nodes_quantized, report.nodes_total,
              counts_text(report.tensors_by_type).c_str());
  for (const OutputAgreement& output : report.outputs) print_output(output, report.compared_samples);
  if (report.rescue) print_rescue(*report.rescue);
  for (const TensorAgreement& tensor : report.worst_tensors) {
    std::printf("noisiest   %s: SQNR %s dB (%s)\n", tensor.name.c_str(), fixed(tensor.sqnr_db, 1).c_str(),
                tensor.node.c_str());
  }
  std::printf("written    %s (opset %ld, %s%s) in %.2f s\n", report.output_path.c_str(),
              static_cast<long>(report.output_opset), bytes_text(static_cast<double>(report.output_bytes)).c_str(),
              report.external_data ? ", weights in a file beside it" : "", report.seconds);
}

Status run_quantize(QuantizeArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  args.request.verify = !args.no_verify;
  args.request.resume = !args.no_resume;
  args.request.details = !args.report_path.empty();
  if (!args.compat.empty()) args.request.settings.push_back("quarkq.compat=" + args.compat);
  if (!args.on_collapse.empty()) args.request.settings.push_back("quarkq.on_collapse=" + args.on_collapse);
  QQ_RETURN_IF_ERROR(check_not_input(args.report_path, {args.request.model_path, args.request.config}));
  std::optional<AtomicFile> report_file;  // made first: a report that cannot be written must not cost a whole run
  if (!args.report_path.empty()) {
    QQ_TRY(AtomicFile made, AtomicFile::create(args.report_path));
    report_file.emplace(std::move(made));
  }
  QQ_TRY(const QuantizeReport report, run_with_bar(args.quiet || args.json, args.request, quantize));
  if (report_file) {
    const std::string text = to_json(report);
    QQ_RETURN_IF_ERROR(report_file->write(text.data(), text.size()));
    QQ_RETURN_IF_ERROR(report_file->commit());
  }
  if (!args.quiet) print_findings(report.findings, "--report FILE.json has them all");
  if (args.json) std::fputs(to_json(report).c_str(), stdout);
  if (!args.json && !args.quiet) print_summary(report);
  return Status();
}

}  // namespace

Run setup_quantize(CLI::App& app) {
  auto args = std::make_shared<QuantizeArgs>();
  app.add_option("MODEL", args->request.model_path, "Float ONNX model")->required();
  app.add_option("--config", args->request.config, "Settings file, or a preset such as xint8 (quarkq list presets)")
      ->required();
  app.add_option("--calib", args->request.calib_folder, "Calibration samples (docs/calibration-data.md)");
  app.add_option("--stats", args->request.statistics_path,
                 "Statistics of quarkq calibrate or merge, instead of samples");
  app.add_option("-o,--output", args->request.output_path, "Result (default: <stem>_quantized.onnx beside the model)");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--report", args->report_path, "Write the report here, as JSON");
  app.add_option("--compat", args->compat, "Reproduce a release of the reference, defects included: quark-0.13");
  app.add_option("--require", args->request.requirements,
                 "cos>=X: fail (exit code 5) and write nothing when an output is less like the float one on any sample "
                 "it is compared on")
      ->allow_extra_args(false);
  app.add_option("--eval", args->request.eval_folder,
                 "Samples to compare the result with the float model on (default: 8 of those of --calib)");
  app.add_option("--on-collapse", args->on_collapse,
                 "When outputs are unlike the float ones: rescue (the default: wider formats where they help most), "
                 "warn, or fail (exit code 5)")
      ->check(CLI::IsMember({"rescue", "warn", "fail"}));
  app.add_flag("--no-verify", args->no_verify, "Do not check the result and compare it with the float model");
  app.add_flag("--no-resume", args->no_resume, "AdaRound, AdaQuant: begin anew instead of going on after a kill");
  app.add_flag("--json", args->json, "Print the report as JSON, and nothing else, to stdout");
  app.add_flag("--quiet", args->quiet, "Print errors only");
  add_compute_options(app, args->compute);
  return [args] { return run_quantize(*args); };
}

}  // namespace quarkq::tool
