// SPDX-License-Identifier: MIT
// quarkq quantize: arguments to a QuantizeRequest, its report to a summary table or JSON.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "forecast_text.h"
#include "memory_ceiling.h"
#include "progress.h"
#include "quarkq/deploy.h"
#include "quarkq/quantize.h"
#include "table.h"
#include "target_text.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct QuantizeArgs {
  QuantizeRequest request;
  ComputeOptions compute;
  std::string report_path, compat, on_collapse, json;
  size_t verify_samples = 0;  ///< 0: the settings'
  std::string deploy;
  int64_t max_memory = 0;  ///< 0: no ceiling
  bool no_verify = false, no_resume = false, dry_run = false;
};

constexpr size_t kShownFallbacks = 4;

std::string share_text(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 0) + " %";
}

std::string cosine_text(double value) { return fixed(value, value > 0.9999 && value < 1 ? 6 : 4); }

void print_agreement(const QuantizeReport& report) {
  if (report.outputs.empty()) return;
  say("\nagainst the float model on %zu sample%s:\n", report.compared_samples, report.compared_samples == 1 ? "" : "s");
  Table table({{"Output"}, {"mean cos", kRight}, {"worst cos", kRight}, {"SQNR dB", kRight}, {"Worst sample"}});
  for (const OutputAgreement& output : report.outputs) {
    table.add({output.name, cosine_text(output.cosine), cosine_text(output.min_cosine), fixed(output.sqnr_db, 1),
               output.near_zero ? "all almost zero, not judged" : output.worst_sample});
    if (const auto& minor = output.minor)
      table.add({"  small channels", cosine_text(minor->cosine), "", fixed(minor->sqnr_db, 1), ""});
  }
  table.print_fitting();
}

void print_noisiest(const QuantizeReport& report) {
  constexpr size_t kShown = 5;
  if (report.worst_tensors.empty()) return;
  say("\n");
  Table table({{"Noisiest tensors"}, {"SQNR dB", kRight}, {"inputs dB", kRight}, {"Node"}});
  for (size_t i = 0; i < std::min(kShown, report.worst_tensors.size()); ++i) {
    const TensorAgreement& tensor = report.worst_tensors[i];
    table.add({tensor.name, fixed(tensor.sqnr_db, 1), fixed(tensor.inputs_db, 1), tensor.node});
  }
  table.print_fitting();
}

/// Operators of the model as loaded: how many there are, how many of them are quantized, and what was written.
void print_operators(const QuantizeReport& report) {
  std::map<std::string, OperatorCount> rows = report.operators;
  for (const auto& [op, count] : report.quantized_ops) rows.try_emplace(op);
  say("\n");
  Table table({{"Operator"}, {"loaded", kRight}, {"quantized", kRight}, {"written", kRight}});
  for (const auto& [op, count] : rows) {
    const auto written = report.quantized_ops.find(op);
    table.add(
        {op, cat(count.total), cat(count.quantized), cat(written == report.quantized_ops.end() ? 0 : written->second)});
  }
  table.print_fitting();
}

void print_tuning(const QuantizeReport& report) {
  if (report.tuned_layers.empty()) return;
  const auto kept = std::ranges::count_if(report.tuned_layers, &TunedLayer::kept);
  std::string line = cat("tuned      ", report.tuned_layers.size(), " layers, ", kept, " kept");
  if (const auto others = std::ranges::count_if(report.tuned_layers, &TunedLayer::resumed); others > 0)
    line += cat(", ", others, " trained by other processes");
  if (const auto& outputs = report.tuned_outputs) {
    line += cat("; mean cosine ", cosine_text(outputs->cosine_before), " -> ", cosine_text(outputs->cosine_after),
                " on ", outputs->samples, " samples not trained with");
  }
  print_line(line);
  if (!is_verbose()) return;
  Table table({{"Tuned layer"}, {"error before", kRight}, {"error after", kRight}, {"kept"}});
  for (const TunedLayer& layer : report.tuned_layers)
    table.add({layer.node, significant(layer.error_before), significant(layer.error_after), layer.kept ? "yes" : "no"});
  table.print_fitting();
}

void print_phases(const QuantizeReport& report) {
  if (!is_verbose()) return;
  say("\n");
  Table table({{"Pass"}, {"seconds", kRight}, {"changed"}});
  for (const PassTime& pass : report.phases) table.add({pass.name, fixed(pass.seconds, 3), pass.changed ? "yes" : ""});
  table.print_fitting();
}

void print_verdict(const QuantizeReport& report) {
  if (const auto& verdict = report.verdict) {
    print_line(cat("verdict    ", grade_name(verdict->grade), ": ", verdict->why));
    say("next       %s\n", verdict->next.c_str());  // a command in one piece can be pasted
  } else if (!report.outputs.empty()) {
    print_line("verdict    none: the float outputs are almost zero on these samples; give others with --eval DIR");
  }
}

/// "rescued    cosine 0.070 -> 0.981 (4 samples): per-channel weights, 34 activations in 16 bits (12.0 % of MACs, 2
/// islands); 3.2 s"
void print_rescue(const RescueReport& rescue) {
  std::vector<std::string> changes;
  changes = rescue.float_changes;
  if (!rescue.rounding.empty()) changes.push_back("compensated rounding of weights");
  if (rescue.channel_scales) changes.push_back("per-channel weights");
  const auto where = [&](double macs) {
    return cat(" (", fixed(100 * macs, 1), " % of MACs, ", rescue.islands,
               rescue.islands == 1 ? " island)" : " islands)");
  };
  if (!rescue.tensors_in_16_bits.empty())
    changes.push_back(cat(rescue.tensors_in_16_bits.size(), " activations in 16 bits", where(rescue.macs_in_16_bits)));
  if (!rescue.float_nodes.empty())
    changes.push_back(cat(rescue.float_nodes.size(), " float nodes", where(rescue.float_macs)));
  print_line(cat("rescued    cosine ", fixed(rescue.before.cosine, 6), " -> ", fixed(rescue.after.cosine, 6), " (",
                 rescue.samples, " samples): ", join(changes, ", "), "; ", fixed(rescue.seconds, 2), " s"));
}

std::string short_numbers(const std::vector<double>& values) {
  std::vector<std::string> texts;
  char text[32];
  for (const double value : values) {
    std::snprintf(text, sizeof text, "%.4g", value);
    texts.emplace_back(text);
  }
  return join(texts, " ");
}

/// "input      x FLOAT[1,3,224,224]: min -2.118, max 2.64, mean 0.03 0.1 0.2, std 1 1 1 (128 samples)"
void print_input(const InputReport& input) {
  std::vector<std::string> dims;
  for (const int64_t dim : input.shape) dims.push_back(dim < 0 ? "?" : cat(dim));
  print_line(cat("input      ", input.name, " ", input.type, "[", join(dims, ","), "]: min ",
                 short_numbers({input.least}), ", max ", short_numbers({input.most}), ", mean ",
                 short_numbers(input.mean), ", std ", short_numbers(input.deviation), " (", input.samples,
                 input.samples == 1 ? " sample)" : " samples)"));
}

/// "target     x2: runs partly: 53 of 55 nodes on the NPU, 2 regions; not there: 1 x Flatten, 1 x Softmax"
void print_target(const QuantizeReport& report) {
  const TargetReport& target = *report.target;
  const std::string why = report.target_is_default ? cat(" (what ", report.preset, " is for)") : "";
  std::string line = cat("target     ", target.target, why, ": ", target_verdict(target));
  std::vector<std::string> rest;
  for (const TargetFallback& one : target.fallbacks) rest.push_back(cat(one.count, " x ", one.op));
  if (rest.size() > kShownFallbacks) rest.resize(kShownFallbacks, "");
  if (!rest.empty())
    line += cat("; not there: ", join(rest, ", "), target.fallbacks.size() > rest.size() ? ", ..." : "");
  print_line(line);
  if (report.target_is_default)
    print_line(cat("           --target ", target.target, " adapts the model to that compiler"));
  say("           quarkq check --target %s %s\n", target.target.c_str(), target.model_path.c_str());
}

void print_summary(const QuantizeReport& report, const std::vector<std::string>& deployed) {
  if (!report.sample_cautions.empty()) print_line("caution    " + join(report.sample_cautions, "; "));
  print_line(cat("model      ", report.model_path, " (opset ", report.input_opset, ", ", report.nodes_total, " nodes, ",
                 bytes_text(static_cast<double>(report.model_bytes)), ")"));
  const std::string why = report.threads_why.empty() ? "" : cat(" (", report.threads_why, ")");
  const std::string target = report.target && !report.target_is_default ? " for " + report.target->target : "";
  print_line(cat("settings   ", report.preset.empty() ? "file" : report.preset, target, ", ", report.quantizer, ", ",
                 report.threads, report.threads == 1 ? " thread" : " threads", why, ", ", report.isa));
  print_line(cat("calibrated ", report.calibrated_tensors, " activations on ", report.samples, " samples"));
  for (const InputReport& input : report.inputs) print_input(input);
  print_line(cat("quantized  ", report.nodes_quantized, " of ", report.nodes_total, " nodes",
                 report.tensors_by_type.empty() ? "" : "; tensors: " + counts_text(report.tensors_by_type)));
  if (report.rescue) print_rescue(*report.rescue);
  print_tuning(report);
  print_operators(report);
  print_agreement(report);
  print_noisiest(report);
  print_phases(report);
  say("\n");
  print_line(cat("written    ", report.output_path, " (opset ", report.output_opset, ", ",
                 bytes_text(static_cast<double>(report.output_bytes)), ", ",
                 share_text(report.output_bytes, report.model_bytes), " of the float model",
                 report.external_data ? ", weights in a file beside it" : "", ") in ", fixed(report.seconds, 2), " s"));
  if (!report.tail_path.empty()) print_line(cat("tail       ", report.tail_path, ": decodes the outputs"));
  if (report.target) print_target(report);
  if (!deployed.empty()) print_line("deployment " + join(deployed, ", "));
  print_verdict(report);
}

Status run_quantize(QuantizeArgs& args) {
  QQ_RETURN_IF_ERROR(check_has_config(args.request.config, args.request.settings));
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  args.request.verify = !args.no_verify;
  args.request.resume = !args.no_resume;
  args.request.details = !args.report_path.empty();
  if (!args.compat.empty()) args.request.settings.push_back("quarkq.compat=" + args.compat);
  if (!args.on_collapse.empty()) args.request.settings.push_back("quarkq.on_collapse=" + args.on_collapse);
  if (args.verify_samples > 0) args.request.settings.push_back(cat("quarkq.verify_samples=", args.verify_samples));
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  if (args.dry_run) return run_dry(args.request, args.json);
  const std::vector<std::string> inputs = {args.request.model_path, args.request.config};
  QQ_TRY(TextOutput report_file, TextOutput::open(args.report_path, inputs));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json, inputs));
  QQ_RETURN_IF_ERROR(fit_memory(args.request, args.max_memory));
  stop_beyond(args.max_memory);
  QQ_TRY(const QuantizeReport report, run_with_bar(args.request, quantize));
  if (report_file.is_open()) QQ_RETURN_IF_ERROR(report_file.write(to_json(report)));
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  print_findings(report.findings, "--report FILE.json has them all");
  std::vector<std::string> deployed;
  if (!args.deploy.empty()) {
    QQ_TRY(deployed, write_deployment(report.output_path, report.target->target, args.deploy));
  }
  if (prints_text(args.json) && args.report_path != kStdout) print_summary(report, deployed);
  return Status();
}

}  // namespace

Run setup_quantize(CLI::App& app) {
  auto args = std::make_shared<QuantizeArgs>();
  app.add_option("MODEL", args->request.model_path, "Float ONNX model")->required();
  app.add_option("-c,--config", args->request.config,
                 "Settings file, or a preset such as xint8 (quarkq list presets); default: the preset of --target");
  app.add_option("--calib", args->request.calib_folder, "Calibration samples (docs/calibration-data.md)");
  app.add_option("--stats", args->request.statistics_path,
                 "Statistics of quarkq calibrate or merge, instead of samples");
  app.add_option("-o,--output", args->request.output_path, "Result (default: <stem>_quantized.onnx beside the model)");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, args->request.settings);
  add_target_options(app, args->request.settings);
  add_requantize_option(app, args->request.requantize);
  CLI::Option* report = app.add_option("--report", args->report_path, "Write the report here, as JSON");
  add_dry_run_option(app, args->dry_run)->excludes(report);
  app.add_option("--compat", args->compat, "Reproduce a release of the reference, defects included: quark-0.13");
  app.add_option("--require", args->request.requirements,
                 "cos>=X: write nothing and fail (exit code 5) when the cosine of an output is below X on any sample "
                 "it is compared on")
      ->allow_extra_args(false);
  app.add_option("--eval", args->request.eval_folder,
                 "Samples to compare the result with the float model on (default: 8 of those of --calib)");
  app.add_option("--verify", args->verify_samples,
                 "Samples, spread over the folder, that the result is compared on (default: 8)")
      ->check(CLI::Range(1, 1000000));
  app.add_option(
         "--on-collapse", args->on_collapse,
         "When outputs differ strongly from the float ones: rescue (the default: wider formats where they help most), "
         "warn, or fail (exit code 5)")
      ->check(CLI::IsMember({"rescue", "warn", "fail"}));
  add_island_options(app, args->request.settings);
  app.add_flag("--no-verify", args->no_verify, "Do not check the result and compare it with the float model");
  CLI::Option* no_resume =
      app.add_flag("--no-resume", args->no_resume, "AdaRound, AdaQuant: restart fine-tuning instead of resuming");
  app.add_option("--workers-folder", args->request.workers_folder,
                 "AdaRound, AdaQuant: processes that get the same folder, on any machines, train the layers together "
                 "(docs/scaling.md)")
      ->type_name("DIR")
      ->excludes(no_resume);
  app.add_option("--deploy", args->deploy,
                 "With --target: also write provider options, the compiler's configuration and a page about them here")
      ->type_name("DIR")
      ->needs(app.get_option("--target"));
  add_memory_option(app, args->max_memory);
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  return [args] { return run_quantize(*args); };
}

}  // namespace quarkq::tool
