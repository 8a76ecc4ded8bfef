// SPDX-License-Identifier: MIT
// quarkq quantize: arguments to a QuantizeRequest, its report to a summary table or JSON.
#include <memory>

#include "base/isa.h"
#include "config/quant_config.h"
#include "memory_ceiling.h"
#include "quantize_summary.h"
#include "quarkq/quantize.h"
#include "run_control.h"
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

/// Fails unless the settings have a target, on which the deployment files depend.
Status check_has_target(const QuantizeRequest& request) {
  QQ_TRY(const config::QuantConfig asked, config::load_config(request.config, request.settings));
  if (asked.target && asked.target != config::kNoTarget) return Status();
  return invalid_argument("--deploy: found no target; pass --target NAME (quarkq list targets)");
}

Status run_quantize(QuantizeArgs& args) {
  QQ_RETURN_IF_ERROR(check_has_config(args.request.config, args.request.settings));
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  args.request.verify = !args.no_verify;
  args.request.resume = !args.no_resume;
  args.request.details = !args.report_path.empty();
  if (!args.compat.empty()) args.request.settings.push_back("--compat=" + args.compat);
  if (!args.on_collapse.empty()) args.request.settings.push_back("--on-collapse=" + args.on_collapse);
  if (args.verify_samples > 0) args.request.settings.push_back(cat("--verify=", args.verify_samples));
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  if (!args.deploy.empty()) QQ_RETURN_IF_ERROR(check_has_target(args.request));
  QQ_RETURN_IF_ERROR(check_is_file("--joined", args.request.joined_path));
  if (args.dry_run) return run_dry(args.request, args.json);
  QQ_TRY(TextOutput report_file, TextOutput::open(args.report_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_RETURN_IF_ERROR(fit_memory(args.request, args.max_memory));
  stop_beyond(args.max_memory);
  QQ_TRY(const QuantizeReport report, run_with_bar(args.request, quantize));
  if (report_file.is_open()) QQ_RETURN_IF_ERROR(report_file.write(to_json(report)));
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  const std::string all = args.report_path.empty() ? "--report FILE.json" : args.report_path;
  print_findings(report.findings, (all + " has them all").c_str());
  std::vector<std::string> deployed;
  if (!args.deploy.empty() && report.target) {
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
  app.add_option("-o,--output", args->request.output_path, "Result (default: <stem>_quantized.onnx next to the model)");
  app.add_option("--joined", args->request.joined_path,
                 "If the model is cut (legalize.tail): also write the result and its tail here, as one model")
      ->type_name("FILE");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, args->request.settings);
  add_backend_option(app, args->request.settings);
  add_target_options(app, args->request.settings);
  add_requantize_option(app, args->request.requantize);
  CLI::Option* report = app.add_option("--report", args->report_path, "Write the report here, as JSON");
  add_dry_run_option(app, args->dry_run)->excludes(report);
  app.add_option("--compat", args->compat, "Reproduce a release of the reference, defects included: quark-0.13");
  app.add_option("--require", args->request.requirements,
                 "cos>=X: write nothing and fail (exit code 5) when the cosine of an output is below X on any sample "
                 "it is compared on; deployable: when the target does not accept the result")
      ->type_name("GOAL")
      ->allow_extra_args(false);
  app.add_option("--eval", args->request.eval_folder,
                 "Samples for comparing the result with the float model (default: 8 samples of --calib)");
  app.add_option("--verify", args->verify_samples,
                 "Samples, spread over the folder, that the result is compared on (default: 8)")
      ->check(CLI::Range(1, 1000000));
  app.add_option(
         "--on-collapse", args->on_collapse,
         "When outputs differ strongly from the float ones: rescue (the default: wider formats where they help most), "
         "warn, or fail (exit code 5)")
      ->check(CLI::IsMember({"rescue", "warn", "fail"}));
  add_island_options(app, args->request.settings);
  add_weight_options(app, args->request.settings);
  app.add_flag("--no-verify", args->no_verify, "Do not check the result and compare it with the float model");
  CLI::Option* no_resume =
      app.add_flag("--no-resume", args->no_resume, "AdaRound, AdaQuant: restart fine-tuning instead of resuming");
  app.add_option("--workers-folder", args->request.workers_folder,
                 "AdaRound, AdaQuant: processes that get the same folder, on any machines, train the layers together "
                 "(docs/scaling.md)")
      ->type_name("DIR")
      ->excludes(no_resume);
  app.add_option("--deploy", args->deploy,
                 "Also write provider options of the target, the compiler's configuration and a page about them here")
      ->type_name("DIR");
  add_memory_option(app, args->max_memory);
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  return [args] { return run_quantize(*args); };
}

}  // namespace quarkq::tool
