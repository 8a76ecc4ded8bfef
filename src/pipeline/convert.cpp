// SPDX-License-Identifier: MIT
#include "quarkq/convert.h"

#include <cmath>
#include <filesystem>

#include "base/file_system.h"
#include "base/stopwatch.h"
#include "exec/threads.h"
#include "ir/check_attributes.h"
#include "ir/verify.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/save.h"
#include "onnx_io/text.h"
#include "pass/tidy_up.h"
#include "pipeline/conversion_table.h"
#include "pipeline/facts.h"
#include "pipeline/guard.h"
#include "pipeline/job.h"
#include "pipeline/json.h"
#include "pipeline/preflight.h"
#include "quarkq/version.h"

namespace quarkq {
namespace {

using pass::OutputClaim;
using pipeline::ConversionStep;

Result<ir::Model> load_any(const ConvertRequest& request, Diagnostics& diagnostics) {
  const auto file = pipeline::ModelFile::of(request);
  const bool is_text = !file.is_in_memory() && onnx_io::is_text_path(request.model_path);
  QQ_TRY(ir::Model model, is_text ? onnx_io::load_text(request.model_path) : pipeline::load_model(file));
  QQ_RETURN_IF_ERROR(onnx_io::check_model(model).context(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  QQ_RETURN_IF_ERROR(ir::check_attributes(model.graph, model.opsets).context(request.model_path));
  return model;
}

/// Both models on one random sample, which fits the inputs of the second one.
std::optional<double> difference_between(const ir::Model& before, const ir::Model& after, double& tolerance) {
  const Result<pipeline::OutputGuard> guard = pipeline::OutputGuard::on_random_sample(before, after.graph);
  if (!guard.ok()) return std::nullopt;
  tolerance = guard.value().tolerance();
  const double distance = guard.value().distance(after);
  return std::isfinite(distance) ? std::optional(distance) : std::nullopt;
}

/// What every conversion ends with: order, types, and the checks that the next one relies on.
Status settle(ir::Model& model, Diagnostics& diagnostics) {
  QQ_RETURN_IF_ERROR(pass::tidy_up(model.graph, Changed::kNo).status());
  QQ_RETURN_IF_ERROR(pass::infer_types_again(model, diagnostics).status());
  QQ_RETURN_IF_ERROR(ir::verify(model.graph));
  return onnx_io::check_model(model).context("the converted model did not pass its check");
}

Status check_strict(const ConvertedPass& done) {
  if (!done.left.empty()) return unsupported(done.left[0].node, ": ", done.left[0].reason, " (--strict)");
  if (done.changes == 0) return unsupported("found nothing to convert (--strict)");
  return Status();
}

Status check_claim(const ConversionStep& step, const ConvertedPass& done, double tolerance) {
  if (step.conversion->claim != OutputClaim::kEqual || !done.difference || *done.difference <= tolerance)
    return Status();
  return internal_error("outputs differ by ", *done.difference, " of their range, allowed is ", tolerance,
                        "; nothing was written, please report this");
}

class Converter {
 public:
  Converter(const ConvertRequest& request, ir::Model model) : request_(request), model_(std::move(model)) {}

  Result<ConvertedPass> run(const ConversionStep& step) {
    const Stopwatch watch;
    const ir::Model before = model_;  // shares the weights
    ConvertedPass done;
    done.name = step.conversion->name;
    done.claim = pipeline::name(step.conversion->claim);
    done.nodes_before = before.graph.order().size();
    std::vector<pass::LeftNode> left;
    pass::ConvertContext context{model_, step.options, diagnostics, left, files};
    QQ_TRY(done.changes, pipeline::run_step(step, context));
    for (pass::LeftNode& one : left) done.left.push_back({std::move(one.node), std::move(one.reason)});
    if (request_.strict) QQ_RETURN_IF_ERROR(check_strict(done));
    QQ_RETURN_IF_ERROR(settle(model_, diagnostics));
    double tolerance = 0;
    if (done.changes > 0) done.difference = difference_between(before, model_, tolerance);
    QQ_RETURN_IF_ERROR(check_claim(step, done, tolerance));
    done.nodes_after = model_.graph.order().size();
    done.seconds = watch.seconds();
    return done;
  }

  const ir::Model& model() const { return model_; }
  Diagnostics diagnostics;
  std::vector<pass::SideFile> files;

 private:
  const ConvertRequest& request_;
  ir::Model model_;
};

Status write(const ConvertRequest& request, const Converter& converter, ConvertReport& report) {
  const ir::Model& model = converter.model();
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
  for (const pass::SideFile& file : converter.files) {
    std::error_code failed;  // write_file() says what a missing folder leads to
    std::filesystem::create_directories(std::filesystem::path(file.path).parent_path(), failed);
    QQ_RETURN_IF_ERROR(write_file(file.path, file.content));
    report.files.push_back(file.path);
  }
  return Status();
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

Result<ConvertReport> convert(const ConvertRequest& request) {
  const Stopwatch watch;
  exec::set_threads(request.threads);
  std::vector<ConversionStep> steps;
  for (const std::string& text : request.passes) {
    QQ_TRY(ConversionStep step, pipeline::read_step(text));
    steps.push_back(std::move(step));
  }
  QQ_RETURN_IF_ERROR(check_places(request, steps));
  Diagnostics found;
  QQ_TRY(ir::Model model, load_any(request, found));
  ConvertReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path;
  report.input_opset = model.opset();
  Converter converter(request, std::move(model));
  converter.diagnostics = std::move(found);
  for (const ConversionStep& step : steps) {
    QQ_TRY(ConvertedPass done,
           converter.run(step).context(cat(request.model_path, ": --pass ", step.conversion->name)));
    report.passes.push_back(std::move(done));
  }
  QQ_RETURN_IF_ERROR(write(request, converter, report));
  report.output_opset = converter.model().opset();
  report.findings = pipeline::findings_of(converter.diagnostics);
  report.seconds = watch.seconds();
  return report;
}

std::string to_json(const ConvertReport& report) {
  pipeline::Json json;
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
