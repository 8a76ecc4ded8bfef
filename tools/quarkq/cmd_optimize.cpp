// SPDX-License-Identifier: MIT
// quarkq optimize: the float model as quantize would quantize it, and what each pass changed.
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "memory_ceiling.h"
#include "quarkq/convert.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct OptimizeArgs {
  OptimizeRequest request;
  ComputeOptions compute;
  std::string json, passes;
};

void print_passes(const OptimizeReport& report) {
  Table table({{"Pass"}, {"before", kRight}, {"after", kRight}, {"seconds", kRight}});
  for (const PassTime& pass : report.passes) {
    if (pass.changed || is_verbose())
      table.add({pass.name, cat(pass.nodes_before), cat(pass.nodes_after), fixed(pass.seconds, 4)});
  }
  table.print();
  say("written    %s (%zu of %zu nodes, %s) in %.2f s\n", report.output_path.c_str(), report.nodes_after,
      report.nodes_before, bytes_text(static_cast<double>(report.bytes)).c_str(), report.seconds);
  if (!report.tail_path.empty()) say("tail       %s: decodes the outputs\n", report.tail_path.c_str());
}

Status run_optimize(OptimizeArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  if (!args.passes.empty()) args.request.settings.push_back("ShapeShifterYaml=" + args.passes);
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const OptimizeReport report, optimize(args.request));
  print_findings(report.findings);
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (args.json != kStdout) print_lines(report.dump);
  if (prints_text(args.json)) print_passes(report);
  return Status();
}

}  // namespace

Run setup_optimize(CLI::App& app) {
  auto args = std::make_shared<OptimizeArgs>();
  OptimizeRequest& request = args->request;
  app.add_option("MODEL", request.model_path, "Float ONNX model")->required();
  app.add_option("-o,--output", request.output_path, "The optimized float model")->required();
  app.add_option("-c,--config", request.config, "Settings file, or a preset (default: the settings' defaults)");
  app.add_option("--calib", request.calib_folder, "Samples; the first checks that outputs stay (default: random data)");
  app.add_option("--pass", request.only, "Only this pass; may be repeated (quarkq list passes)")
      ->allow_extra_args(false);
  app.add_option("--skip", request.skip, "Not this pass; may be repeated")->allow_extra_args(false);
  app.add_option("--dump-after", request.dump_after, "Print the model as text after this pass");
  app.add_option(
         "--passes", args->passes,
         "A list of passes in the format of ShapeShifter, a .yaml or .json file or a template such as xint8, instead "
         "of the settings' rewrites")
      ->type_name("FILE|TEMPLATE");
  app.add_option("--set", request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, request.settings);
  add_backend_option(app, request.settings);
  add_target_options(app, request.settings);
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  add_ceiling_option(app, request.memory_ceiling);
  return [args] { return run_optimize(*args); };
}

}  // namespace quarkq::tool
