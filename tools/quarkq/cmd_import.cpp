// SPDX-License-Identifier: MIT
// quarkq import: a quantized model of another tool, written for a target with its own scales.
#include <cstdio>
#include <memory>

#include "memory_ceiling.h"
#include "quarkq/convert.h"
#include "target_text.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct ImportArgs {
  ImportRequest request;
  ComputeOptions compute;
  std::string json;
};

std::string ops_text(const std::map<std::string, int>& ops) { return ops.empty() ? "none" : counts_text(ops); }

void print_import(const ImportReport& report) {
  say("model      %s (%s, opset %lld)\n", report.model_path.c_str(),
      report.producer.empty() ? "no producer named" : report.producer.c_str(),
      static_cast<long long>(report.input_opset));
  say("found      %s\n", ops_text(report.before).c_str());
  say("read       scales of %zu tensors\n", report.tensors);
  say("written    %s (opset %lld, %s) in %.2f s\n", report.output_path.c_str(),
      static_cast<long long>(report.output_opset), bytes_text(static_cast<double>(report.bytes)).c_str(),
      report.seconds);
  say("holds      %s\n", ops_text(report.after).c_str());
  if (report.difference)
    say("outputs    largest difference %.3g of their range, on a random sample\n", *report.difference);
  if (report.target) say("target     %s: %s\n", report.target->target.c_str(), target_verdict(*report.target).c_str());
}

Status run_import(ImportArgs& args) {
  args.request.threads = args.compute.threads;
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const ImportReport report, import_model(args.request));
  print_findings(report.findings);
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (prints_text(args.json)) print_import(report);
  return Status();
}

}  // namespace

Run setup_import(CLI::App& app) {
  auto args = std::make_shared<ImportArgs>();
  ImportRequest& request = args->request;
  app.add_option("MODEL", request.model_path, "Quantized ONNX model, of whatever tool")->required();
  app.add_option("-o,--output", request.output_path, "The model with the same scales")->required();
  app.add_flag("--float", request.to_float, "Remove Q/DQ instead (the default for targets that accept float models)");
  app.add_option("--set", request.settings, "key=value, stronger than what --target sets; may be repeated")
      ->allow_extra_args(false);
  add_target_options(app, request.settings);
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  add_ceiling_option(app, request.memory_ceiling);
  return [args] { return run_import(*args); };
}

}  // namespace quarkq::tool
