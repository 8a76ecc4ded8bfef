// SPDX-License-Identifier: MIT
#include "quarkq/quantize.h"

#include <omp.h>

#include <algorithm>
#include <filesystem>

#include "base/isa.h"
#include "base/stopwatch.h"
#include "config/quant_config.h"
#include "config/resolve.h"
#include "exec/session.h"
#include "exec/threads.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "pipeline/compare.h"
#include "pipeline/facts.h"
#include "pipeline/runner.h"

namespace quarkq {
namespace {

/// Samples: a folder given on the command line, one of the config, or random data when asked for.
Result<std::unique_ptr<calib::DataReader>> open_data(const QuantizeRequest& request, const config::Settings& settings,
                                                     const ir::Graph& graph) {
  std::string folder = request.calib_folder;
  if (folder.empty() && settings.calibration.dir) folder = *settings.calibration.dir;
  const size_t limit =
      settings.calib_data_size && *settings.calib_data_size > 0 ? static_cast<size_t>(*settings.calib_data_size) : 0;
  if (!folder.empty()) return calib::open_npy_folder(folder, calib::input_specs(graph), limit);
  if (!settings.use_random_data) {
    return bad_data(
        "no calibration data: give --calib DIR with .npy samples, or set UseRandomData=true to try without");
  }
  QQ_TRY(const calib::RandomDataOptions options, pipeline::random_data_options(settings));
  return calib::make_random_reader(calib::input_specs(graph), options);
}

Status same_file_check(const std::string& input, const std::string& output) {
  std::error_code error;
  if (std::filesystem::equivalent(input, output, error)) {
    return invalid_argument(output, ": is the input model itself, which is never overwritten; give another -o");
  }
  const auto folder = std::filesystem::path(output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return io_error(output, ": cannot write here, no such folder");
  }
  return Status();
}

void copy_findings(const Diagnostics& diagnostics, QuantizeReport& report) {
  for (const Diagnostic& finding : diagnostics.all()) {
    report.findings.push_back({finding.severity == Severity::kWarning, finding.id, finding.subject, finding.text});
  }
}

Status save_result(const ir::Model& model, const config::Settings& settings, QuantizeReport& report) {
  onnx_io::SaveOptions options;
  options.external_data = settings.use_external_data_format;
  QQ_TRY(const onnx_io::SaveReport saved, onnx_io::save(model, report.output_path, options));
  report.external_data = saved.external_data;
  report.output_bytes = saved.model_bytes + saved.data_bytes;
  report.output_opset = model.opset();
  report.quantized_ops = pipeline::count_ops(model.graph);
  return Status();
}

/// A model with operators that the executor lacks is valid all the same: the comparison is left out and said so.
Status compare_with_float(const ir::Model& original, const ir::Model& quantized, const calib::DataReader& data,
                          Diagnostics& diagnostics, QuantizeReport& report) {
  Result<std::vector<OutputAgreement>> outputs = pipeline::compare_outputs(original, quantized, data, diagnostics);
  if (outputs.ok()) {
    report.outputs = std::move(outputs).value();
    return Status();
  }
  if (outputs.status().code() != Code::kUnsupported) return outputs.status();
  diagnostics.warn("not-verified", "", "not compared with the float model: " + outputs.status().message());
  return Status();
}

}  // namespace

std::string default_output_path(const std::string& model_path) {
  const std::filesystem::path path(model_path);
  return (path.parent_path() / (path.stem().string() + "_quantized.onnx")).string();
}

Result<QuantizeReport> quantize(const QuantizeRequest& request) {
  const Stopwatch watch;
  exec::set_threads(request.threads);
  QuantizeReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path.empty() ? default_output_path(request.model_path) : request.output_path;
  report.isa = isa_name(isa());
  report.threads = omp_get_max_threads();
  Diagnostics diagnostics;
  QQ_TRY(const config::QuantConfig config, config::load_config(request.config, request.settings));
  QQ_RETURN_IF_ERROR(same_file_check(request.model_path, report.output_path));
  QQ_TRY(ir::Model model, onnx_io::load(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::check_model(model).context(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  QQ_TRY(const config::Settings settings, config::resolve(config, pipeline::model_facts(model), diagnostics));
  report.preset = settings.preset;
  report.quantizer = config::quantizer_name(settings.quantizer);
  report.input_opset = model.opset();
  report.float_ops = pipeline::count_ops(model.graph);
  report.model_bytes = pipeline::file_size(request.model_path);
  report.nodes_total = model.graph.order().size();
  const ir::Model original = model;  // shares the weights

  QQ_TRY(const std::unique_ptr<calib::DataReader> data, open_data(request, settings, model.graph));
  report.samples = data->size();
  passes::PassContext context{model, settings, {}, {}, {}, data.get(), diagnostics, {}};
  if (request.progress) {
    context.progress = [&](size_t done, size_t total) { return request.progress({"calibrate", done, total}); };
  }
  QQ_RETURN_IF_ERROR(pipeline::run_passes(context, report.phases, [&](const std::string& phase) {
                       return !request.progress || request.progress({phase, 0, 0});
                     }).context(request.model_path));
  report.nothing_to_quantize = context.plan.slots().empty();
  if (report.nothing_to_quantize) {
    diagnostics.warn("nothing-to-quantize", request.model_path,
                     "no selected node has a float tensor, the float model was copied");
    model = original;
  }
  pipeline::count_tensors(context.plan, report);
  report.nodes_quantized = pipeline::count_selected(context);
  if (request.verify && !report.nothing_to_quantize) {
    const Stopwatch verify_watch;
    QQ_RETURN_IF_ERROR(
        onnx_io::check_model(model).context(request.model_path + ": the quantized model did not pass its check"));
    QQ_RETURN_IF_ERROR(compare_with_float(original, model, *data, diagnostics, report));
    report.phases.push_back({"verify", verify_watch.seconds(), false});
  }
  QQ_RETURN_IF_ERROR(save_result(model, settings, report));
  copy_findings(config.findings, report);
  copy_findings(diagnostics, report);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq
