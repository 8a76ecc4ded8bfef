// SPDX-License-Identifier: MIT
#include "quarkq/evaluate.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/stopwatch.h"
#include "calib/data_reader.h"
#include "calib/npy.h"
#include "exec/environment.h"
#include "exec/session.h"
#include "pipeline/report/json.h"
#include "pipeline/report/verify.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/model_interface.h"
#include "pipeline/run/pass_runner.h"

namespace quarkq {
namespace {

/// Output names may hold '/' and ':', which folders cannot, or lead out of the folder of results.
std::string folder_name(std::string output) {
  if (output == "." || output == "..") return std::string(output.size(), '_');
  for (char& c : output) {
    if (c == '/' || c == ':') c = '_';
  }
  return output;
}

/// The folder of each output's results. Where two names are spelt the same, outputs whose own name it is come first,
/// and the others get a number.
std::vector<std::string> result_folders(const RunRequest& request, const std::vector<std::string>& outputs) {
  if (outputs.size() == 1) return {request.output_folder};
  std::vector<std::string> folders(outputs.size());
  std::set<std::string> taken;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (folder_name(outputs[i]) == outputs[i]) taken.insert(folders[i] = outputs[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!folders[i].empty()) continue;
    folders[i] = folder_name(outputs[i]);
    for (int number = 2; !taken.insert(folders[i]).second; ++number)
      folders[i] = cat(folder_name(outputs[i]), "_", number);
  }
  for (std::string& folder : folders) folder = cat(request.output_folder, "/", folder);
  return folders;
}

/// Outputs whose folder has a number, for the summary.
std::map<std::string, std::string> renamed_folders(const std::vector<std::string>& outputs,
                                                   const std::vector<std::string>& folders) {
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; outputs.size() > 1 && i < outputs.size(); ++i) {
    const std::string own = paths::name_of(folders[i]);
    if (own != folder_name(outputs[i])) renamed.emplace(outputs[i], own);
  }
  return renamed;
}

Status write_results(const std::vector<std::string>& folders, const std::string& sample,
                     const std::vector<ir::Tensor>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& folder = folders[i];
    const std::string path = cat(folder, "/", sample, ".npy");  // the name of a sample may hold that of its class
    QQ_RETURN_IF_ERROR(paths::make_folders(paths::folder_of(path)));
    QQ_RETURN_IF_ERROR(calib::write_npy(path, results[i]));
  }
  return Status();
}

/// Temporaries that killed runs left among the results.
void remove_dead_results(const RunRequest& request, const std::vector<std::string>& folders) {
  remove_dead_temporaries(cat(request.output_folder, "/"));
  for (const std::string& folder : folders) remove_dead_temporaries(folder + "/");
}

/// A model in what runs it: quarkq, or the backend of the environment.
class Runner {
 public:
  /// `model` must outlive the runner; it is prepared for the executor.
  Status open(ir::Model& model, const exec::Environment& environment, const RunRequest& request) {
    if (environment.backend != nullptr) {
      if (request.max_memory > 0)
        return invalid_argument("--max-memory: not with --backend ort, whose intermediate values are not counted");
      QQ_TRY(elsewhere_, environment.backend->open(model, model.graph.outputs()));
      return Status();
    }
    Diagnostics ignored;
    QQ_RETURN_IF_ERROR(pipeline::prepare_for_run(model, ignored));
    own_.emplace(model, environment, exec::SessionOptions{{}, {}, {.memory = request.max_memory}});
    return Status();
  }

  Result<const std::vector<ir::Tensor>*> run(const std::vector<ir::Tensor>& inputs) {
    return own_ ? own_->run(inputs) : elsewhere_->run(inputs);
  }
  size_t arena_bytes() const { return own_ ? own_->arena_bytes() : 0; }

 private:
  std::optional<exec::Session> own_;
  std::unique_ptr<exec::BackendSession> elsewhere_;
};

}  // namespace

Result<RunReport> run_model(const RunRequest& request) {
  auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  onnx_io::LoadReport loaded;
  QQ_TRY(ir::Model model, pipeline::load_whole({request.model_path, request.model_bytes}, loaded));
  QQ_TRY(const config::QuantConfig asked,
         pipeline::load_sample_settings({request.config, request.settings}, environment));
  QQ_TRY(calib::DataOptions data, pipeline::data_options(asked));
  data.folder = request.input_folder;
  data.limit = request.limit;
  Diagnostics findings = std::move(loaded.findings);
  QQ_RETURN_IF_ERROR(pipeline::pin_shapes(model, asked.legalize, findings).context(request.model_path));
  Runner runner;
  QQ_RETURN_IF_ERROR(runner.open(model, environment, request).context(request.model_path));
  QQ_TRY(const auto reader, pipeline::open_samples(request.sample_source, data, model.graph));
  pipeline::report_notes(*reader, findings);
  RunReport report;
  report.findings = pipeline::findings_of(findings);
  report.backend = environment.backend == nullptr ? "native" : environment.backend->name();
  for (const ir::ValueId output : model.graph.outputs()) report.outputs.push_back(model.graph.value(output).name);
  const std::vector<std::string> folders = result_folders(request, report.outputs);
  if (!request.on_result) {
    report.renamed = renamed_folders(report.outputs, folders);
    remove_dead_results(request, folders);
  }
  for (size_t i = 0; i < reader->size(); ++i) {
    QQ_TRY(const calib::Sample sample, reader->read(i));
    const std::vector<ir::Tensor>* results = nullptr;
    for (int r = 0; r < std::max(request.repeat, 1); ++r) {
      const Stopwatch watch;
      Result<const std::vector<ir::Tensor>*> ran = runner.run(sample.inputs);
      if (!ran.ok()) return ran.status().context(cat(request.model_path, ": sample ", sample.name));
      results = ran.value();
      report.milliseconds.push_back(watch.seconds() * 1e3);
    }
    if (request.on_result) {
      QQ_TRY(const std::vector<SampleTensor> views, pipeline::views_of(model.graph, *results));
      QQ_RETURN_IF_ERROR(request.on_result(sample.name, views));
    } else {
      QQ_RETURN_IF_ERROR(write_results(folders, sample.name, *results));
    }
    ++report.samples;
    if (request.progress && !request.progress({"run", i + 1, reader->size()}))
      return Status(Code::kInterrupted, "interrupted");
  }
  report.arena_bytes = runner.arena_bytes();
  return report;
}

std::string to_json(const RunReport& report) {
  std::vector<double> times = report.milliseconds;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  pipeline::Json json = pipeline::Json::object();
  json["samples"] = report.samples;
  json["median_ms"] = times.empty() ? 0 : *middle;
  json["arena_bytes"] = report.arena_bytes;
  json["backend"] = report.backend;
  json["renamed"] = report.renamed;
  json["findings"] = pipeline::findings_json(report.findings);
  return pipeline::text(json);
}

}  // namespace quarkq
