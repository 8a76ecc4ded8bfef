// SPDX-License-Identifier: MIT
// quarkq optimize: the float model as quantize would quantize it, and what each pass changed.
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "quarkq/optimize.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct OptimizeArgs {
  OptimizeRequest request;
  ComputeOptions compute;
  bool json = false, quiet = false;
};

void print_passes(const OptimizeReport& report) {
  std::printf("%-40s %8s %8s %9s\n", "pass", "before", "after", "seconds");
  for (const PassTime& pass : report.passes) {
    if (!pass.changed) continue;
    std::printf("%-40s %8zu %8zu %9.4f\n", pass.name.c_str(), pass.nodes_before, pass.nodes_after, pass.seconds);
  }
  std::printf("written    %s (%zu of %zu nodes, %s) in %.2f s\n", report.output_path.c_str(), report.nodes_after,
              report.nodes_before, bytes_text(static_cast<double>(report.bytes)).c_str(), report.seconds);
}

Status run_optimize(OptimizeArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  if (args.request.config.empty()) args.request.settings.insert(args.request.settings.begin(), "quant_config={}");
  QQ_TRY(const OptimizeReport report, optimize(args.request));
  if (!args.quiet) print_findings(report.findings);
  if (args.json) {
    std::fputs(to_json(report).c_str(), stdout);
    return Status();
  }
  std::fputs(report.dump.c_str(), stdout);
  if (!args.quiet) print_passes(report);
  return Status();
}

}  // namespace

Run setup_optimize(CLI::App& app) {
  auto args = std::make_shared<OptimizeArgs>();
  OptimizeRequest& request = args->request;
  app.add_option("MODEL", request.model_path, "Float ONNX model")->required();
  app.add_option("-o,--output", request.output_path, "The optimized float model")->required();
  app.add_option("--config", request.config, "Settings file, or a preset (default: the settings' defaults)");
  app.add_option("--calib", request.calib_folder, "Samples; the first checks that outputs stay (default: random data)");
  app.add_option("--pass", request.only, "Only this pass; may be repeated (quarkq list passes)")
      ->allow_extra_args(false);
  app.add_option("--skip", request.skip, "Not this pass; may be repeated")->allow_extra_args(false);
  app.add_option("--dump-after", request.dump_after, "Print the model as text behind this pass");
  app.add_option("--set", request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--json", args->json, "Print the result as JSON, and nothing else, to stdout");
  app.add_flag("--quiet", args->quiet, "Print errors only");
  add_compute_options(app, args->compute);
  return [args] { return run_optimize(*args); };
}

}  // namespace quarkq::tool
