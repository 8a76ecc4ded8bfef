// SPDX-License-Identifier: MIT
// quarkq convert: named conversions of a finished model, one after the other.
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "memory_ceiling.h"
#include "quarkq/convert.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct ConvertArgs {
  ConvertRequest request;
  ComputeOptions compute;
  std::string json;
};

std::string difference_text(const ConvertedPass& pass) {
  if (pass.difference) return cat(*pass.difference);
  return pass.changes == 0 ? "" : "not comparable";
}

void print_conversions(const ConvertReport& report) {
  Table table({{"Pass"}, {"changes", kRight}, {"nodes", kRight}, {"outputs"}, {"difference"}});
  for (const ConvertedPass& pass : report.passes) {
    table.add({pass.name, cat(pass.changes), cat(pass.nodes_before, " -> ", pass.nodes_after), pass.claim,
               difference_text(pass)});
  }
  table.print();
  constexpr size_t kShown = 5;
  for (const ConvertedPass& pass : report.passes) {
    const size_t shown = is_verbose() ? pass.left.size() : std::min(pass.left.size(), kShown);
    for (size_t i = 0; i < shown; ++i)
      say("left       %s by %s: %s\n", pass.left[i].node.c_str(), pass.name.c_str(), pass.left[i].reason.c_str());
    if (shown < pass.left.size()) say("left       %zu more (-v lists them)\n", pass.left.size() - shown);
  }
  for (const std::string& file : report.files) say("file       %s\n", file.c_str());
  if (report.output_path.empty()) return;
  say("written    %s (opset %lld, %s) in %.2f s\n", report.output_path.c_str(),
      static_cast<long long>(report.output_opset), bytes_text(static_cast<double>(report.bytes)).c_str(),
      report.seconds);
}

Status run_convert(ConvertArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  if (args.request.model_path.empty() && args.request.pass_list.empty())
    return invalid_argument("MODEL is missing: pass a model, or --passes with a list that names one");
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const ConvertReport report, convert(args.request));
  print_findings(report.findings);
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (prints_text(args.json)) print_conversions(report);
  return Status();
}

}  // namespace

Run setup_convert(CLI::App& app) {
  auto args = std::make_shared<ConvertArgs>();
  ConvertRequest& request = args->request;
  app.add_option("MODEL", request.model_path, "Float or quantized model, ONNX or text (.onnxtxt, .pbtxt)");
  app.add_option("-o,--output,OUTPUT", request.output_path, "The converted model, ONNX or text by its name");
  app.add_option("--pass", request.passes,
                 "NAME or NAME:option=value,...; may be repeated, runs in this order (quarkq list conversions)")
      ->allow_extra_args(false);
  app.add_option(
         "--passes", request.pass_list,
         "Instead of --pass: a list of passes in the format of ShapeShifter, a .yaml or .json file or a template "
         "such as xint8; it may name MODEL and OUTPUT")
      ->type_name("FILE|TEMPLATE");
  app.add_flag("--strict", request.strict, "Fail if a pass changes nothing, or skips a node that it applies to");
  app.add_flag("--external-data", request.external_data, "Store weights next to the model, in OUTPUT.data");
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  add_ceiling_option(app, request.memory_ceiling);
  return [args] { return run_convert(*args); };
}

}  // namespace quarkq::tool
