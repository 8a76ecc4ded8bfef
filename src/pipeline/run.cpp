// SPDX-License-Identifier: MIT
#include "quarkq/run.h"

#include <algorithm>
#include <filesystem>

#include "base/stopwatch.h"
#include "calib/data_reader.h"
#include "calib/npy.h"
#include "exec/session.h"
#include "exec/threads.h"
#include "onnx_io/load.h"
#include "pipeline/pass_runner.h"

namespace quarkq {
namespace {

/// Output names may hold '/' and ':', which folders cannot.
std::string folder_name(std::string output) {
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
    if (results.size() > 1) folder += "/" + folder_name(names[i]);
    QQ_RETURN_IF_ERROR(make_folder(folder));
    QQ_RETURN_IF_ERROR(calib::write_npy(folder + "/" + sample + ".npy", results[i]));
  }
  return Status();
}

}  // namespace

Result<RunReport> run_model(const RunRequest& request) {
  exec::set_threads(request.threads);
  QQ_TRY(ir::Model model, onnx_io::load(request.model_path));
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(pipeline::prepare_for_run(model, ignored).context(request.model_path));
  calib::DataOptions data;
  data.folder = request.input_folder;
  data.limit = request.limit;
  QQ_TRY(const auto reader, calib::open_data(data, calib::input_specs(model.graph)));
  exec::Session session(model, {{}, {}, {.memory = request.max_memory}});
  RunReport report;
  for (const ir::ValueId output : model.graph.outputs()) report.outputs.push_back(model.graph.value(output).name);
  for (size_t i = 0; i < reader->size(); ++i) {
    QQ_TRY(const calib::Sample sample, reader->read(i));
    const std::vector<ir::Tensor>* results = nullptr;
    for (int r = 0; r < std::max(request.repeat, 1); ++r) {
      const Stopwatch watch;
      Result<const std::vector<ir::Tensor>*> ran = session.run(sample.inputs);
      if (!ran.ok()) return ran.status().context(cat(request.model_path, ": sample ", sample.name));
      results = ran.value();
      report.milliseconds.push_back(watch.seconds() * 1e3);
    }
    QQ_RETURN_IF_ERROR(write_results(request, report.outputs, sample.name, *results));
    ++report.samples;
    if (request.progress && !request.progress({"run", i + 1, reader->size()}))
      return Status(Code::kInterrupted, "interrupted");
  }
  report.arena_bytes = session.arena_bytes();
  return report;
}

}  // namespace quarkq
