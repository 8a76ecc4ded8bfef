// SPDX-License-Identifier: MIT
#include "quarkq/run.h"

#include <algorithm>
#include <filesystem>

#include "base/file_system.h"
#include "base/stopwatch.h"
#include "calib/data_reader.h"
#include "calib/npy.h"
#include "config/read_config.h"
#include "exec/backend.h"
#include "exec/session.h"
#include "exec/threads.h"
#include "pipeline/custom_metric.h"
#include "pipeline/job.h"
#include "pipeline/json.h"
#include "pipeline/pass_runner.h"
#include "pipeline/use_backend.h"
#include "pipeline/user_operators.h"

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

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return io_error(path, ": cannot make this folder, ", error.message());
  return Status();
}

Status write_results(const RunRequest& request, const std::vector<std::string>& names, const std::string& sample,
                     const std::vector<ir::Tensor>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    std::string folder = request.output_folder;
    if (results.size() > 1) folder += cat("/", folder_name(names[i]));
    const std::string path = cat(folder, "/", sample, ".npy");  // the name of a sample may hold that of its class
    QQ_RETURN_IF_ERROR(make_folder(std::filesystem::path(path).parent_path().string()));
    QQ_RETURN_IF_ERROR(calib::write_npy(path, results[i]));
  }
  return Status();
}

/// Temporaries that killed runs left among the results.
void remove_dead_results(const RunRequest& request, const std::vector<std::string>& names) {
  remove_dead_temporaries(cat(request.output_folder, "/"));
  if (names.size() < 2) return;
  for (const std::string& name : names)
    remove_dead_temporaries(cat(request.output_folder, "/", folder_name(name), "/"));
}

/// How samples are read, as the settings say it; of the rest of them nothing counts here.
Result<calib::DataOptions> sample_options(const RunRequest& request) {
  config::QuantConfig asked;
  if (!request.config.empty() || !request.settings.empty()) {
    std::vector<std::string> sets = request.settings;
    if (request.config.empty()) sets.insert(sets.begin(), "quant_config={}");  // a file needs one, images do not
    QQ_TRY(asked, config::load_config(request.config, sets));
  }
  QQ_RETURN_IF_ERROR(pipeline::use_backend(asked));
  QQ_RETURN_IF_ERROR(pipeline::use_user_operators(asked));
  return pipeline::data_options(asked);
}

/// The model in what runs it: quarkq, or exec::backend().
class Runner {
 public:
  /// `model` must outlive the runner; it is prepared for the executor.
  Status open(ir::Model& model, const RunRequest& request) {
    if (const auto& backend = exec::backend(); backend != nullptr) {
      if (request.max_memory > 0)
        return invalid_argument("--max-memory: not with --backend ort, whose intermediate values are not counted");
      QQ_TRY(elsewhere_, backend->open(model, model.graph.outputs()));
      return Status();
    }
    Diagnostics ignored;
    QQ_RETURN_IF_ERROR(pipeline::prepare_for_run(model, ignored));
    own_.emplace(model, exec::SessionOptions{{}, {}, {.memory = request.max_memory}});
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
  exec::set_threads(request.threads);
  QQ_TRY(ir::Model model, pipeline::load_model({request.model_path, request.model_bytes}));
  QQ_TRY(calib::DataOptions data, sample_options(request));
  data.folder = request.input_folder;
  data.limit = request.limit;
  Runner runner;
  QQ_RETURN_IF_ERROR(runner.open(model, request).context(request.model_path));
  QQ_TRY(const auto reader, pipeline::open_samples(request.sample_source, data, model.graph));
  RunReport report;
  report.backend = exec::backend() == nullptr ? "native" : exec::backend()->name();
  for (const ir::ValueId output : model.graph.outputs()) report.outputs.push_back(model.graph.value(output).name);
  if (!request.on_result) remove_dead_results(request, report.outputs);
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
      QQ_RETURN_IF_ERROR(write_results(request, report.outputs, sample.name, *results));
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
  return pipeline::text(json);
}

}  // namespace quarkq
