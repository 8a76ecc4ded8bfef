// SPDX-License-Identifier: MIT
#include "quarkq/convert.h"

#include "base/file_system.h"
#include "base/paths.h"
#include "base/stopwatch.h"
#include "exec/environment.h"
#include "ir/check_graph.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/save.h"
#include "onnx_io/text.h"
#include "pipeline/report/json.h"
#include "pipeline/run/conversions.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/plan_model.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

using pipeline::ConversionStep;

Result<ir::Model> load_any(const ConvertRequest& request, Diagnostics& diagnostics) {
  const auto file = pipeline::ModelFile::of(request);
  const bool is_text = !file.is_in_memory() && onnx_io::is_text_path(request.model_path);
  onnx_io::LoadReport loaded;
  QQ_TRY(ir::Model model,
         is_text ? onnx_io::load_text(request.model_path, &loaded) : pipeline::load_model(file, &loaded));
  diagnostics.add(loaded.findings);
  QQ_RETURN_IF_ERROR(onnx_io::check_model(model).context(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  QQ_RETURN_IF_ERROR(ir::check_attributes(model.graph, model.opsets).context(request.model_path));
  return model;
}

Status write(const ConvertRequest& request, const ir::Model& model, const std::vector<pass::SideFile>& files,
             ConvertReport& report) {
  if (request.in_memory) {
    report.model = onnx_io::to_bytes(model);
    report.bytes = report.model.size();
  } else if (onnx_io::is_text_path(request.output_path)) {
    QQ_TRY(const std::string text, onnx_io::model_as_text(model));
    QQ_RETURN_IF_ERROR(write_file(request.output_path, text));
    report.bytes = text.size();
  } else if (!request.output_path.empty()) {
    QQ_TRY(const onnx_io::SaveReport saved,
           onnx_io::save(model, request.output_path, {.external_data = request.external_data}));
    report.bytes = saved.model_bytes + saved.data_bytes;
  }
  for (const pass::SideFile& file : files) {
    static_cast<void>(paths::make_folders(paths::folder_of(file.path)));  // write_file() reports a missing folder
    QQ_RETURN_IF_ERROR(write_file(file.path, file.content));
    report.files.push_back(file.path);
  }
  return Status();
}

/// Takes paths from the list where the request has none.
Result<std::vector<ConversionStep>> read_steps(ConvertRequest& request, Diagnostics& diagnostics) {
  std::vector<ConversionStep> steps;
  for (const std::string& text : request.passes) {
    QQ_TRY(ConversionStep step, pipeline::read_step(text));
    steps.push_back(std::move(step));
  }
  if (request.pass_list.empty()) return steps;
  if (!steps.empty()) return invalid_argument("--passes: found together with --pass, give only one of them");
  QQ_TRY(config::PassList list, config::load_pass_list(request.pass_list).context("--passes"));
  if (request.model_path.empty()) request.model_path = list.input_path.value_or("");
  if (request.output_path.empty() && !request.in_memory) request.output_path = list.output_path.value_or("");
  if (request.model_path.empty()) return invalid_argument("--passes: the list has no input_model_path; pass a model");
  std::vector<config::ListedPass> passes = std::move(list.before);
  passes.insert(passes.end(), list.after.begin(), list.after.end());
  return pipeline::steps_of(passes, diagnostics).context("--passes " + request.pass_list);
}

Status check_places(const ConvertRequest& request, const std::vector<ConversionStep>& steps) {
  if (request.in_memory) return Status();
  if (!request.output_path.empty()) return pipeline::check_output(request.model_path, request.output_path);
  for (const ConversionStep& step : steps) {
    if (!step.conversion->reads_only())
      return invalid_argument("--output is missing, --pass ", step.conversion->name, " changes the model");
  }
  return steps.empty() ? invalid_argument("--output is missing") : Status();
}

}  // namespace

Result<ConvertReport> convert(const ConvertRequest& given) {
  const Stopwatch watch;
  const auto environment = exec::Environment::begin(given.threads, given.memory_ceiling);
  ConvertRequest request = given;
  Diagnostics found;
  QQ_TRY(const std::vector<ConversionStep> steps, read_steps(request, found));
  QQ_RETURN_IF_ERROR(check_places(request, steps));
  QQ_TRY(ir::Model model, load_any(request, found));
  ConvertReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path;
  report.input_opset = model.opset();
  std::vector<pass::SideFile> files;
  for (const ConversionStep& step : steps) {
    QQ_TRY(ConvertedPass done, pipeline::run_conversion(step, {model, environment, found, files, request.strict})
                                   .context(cat(request.model_path, ": --pass ", step.conversion->name)));
    report.passes.push_back(std::move(done));
  }
  QQ_RETURN_IF_ERROR(write(request, model, files, report));
  report.output_opset = model.opset();
  report.findings = pipeline::findings_of(found);
  report.seconds = watch.seconds();
  return report;
}

std::string to_json(const ConvertReport& report) {
  pipeline::Json json = pipeline::Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["output"] = report.output_path;
  json["opset"] = {{"before", report.input_opset}, {"after", report.output_opset}};
  json["passes"] = pipeline::Json::array();
  for (const ConvertedPass& pass : report.passes) {
    pipeline::Json left = pipeline::Json::array();
    for (const UnconvertedNode& node : pass.left) left.push_back({{"node", node.node}, {"reason", node.reason}});
    json["passes"].push_back(
        {{"name", pass.name},
         {"outputs", pass.claim},
         {"changes", pass.changes},
         {"left", std::move(left)},
         {"nodes", {{"before", pass.nodes_before}, {"after", pass.nodes_after}}},
         {"difference", pass.difference ? pipeline::number(*pass.difference) : pipeline::Json(nullptr)},
         {"seconds", pass.seconds}});
  }
  json["files"] = report.files;
  json["bytes"] = report.bytes;
  json["findings"] = pipeline::findings_json(report.findings);
  json["seconds"] = report.seconds;
  return pipeline::text(json);
}

}  // namespace quarkq
