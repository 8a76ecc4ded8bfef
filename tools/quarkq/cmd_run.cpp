// SPDX-License-Identifier: MIT
// quarkq run: a model over a folder of samples, results as .npy.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "quarkq/evaluate.h"
#include "run_control.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct RunArgs {
  RunRequest request;
  ComputeOptions compute;
  std::string json;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Status run_run(RunArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const RunReport report, run_with_bar(args.request, run_model));
  const double milliseconds = median(report.milliseconds);
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (prints_text(args.json)) {
    const std::string where = report.arena_bytes > 0
                                  ? cat(bytes_text(static_cast<double>(report.arena_bytes)), " for intermediate values")
                                  : report.backend;
    print_line(cat(report.samples, " samples, ", report.outputs.size(), " outputs, median ", fixed(milliseconds, 3),
                   " ms a sample, ", where));
    for (const auto& [output, folder] : report.renamed)
      print_line(
          cat("results of output ", output, " are in folder ", folder, ", because another output is spelt alike"));
  }
  print_findings(report.findings);
  return Status();
}

}  // namespace

Run setup_run(CLI::App& app) {
  auto args = std::make_shared<RunArgs>();
  app.add_option("MODEL", args->request.model_path, "Float or quantized ONNX model")->required();
  app.add_option("--inputs", args->request.input_folder, "Samples, photos too (docs/calibration-data.md)")->required();
  app.add_option("--config", args->request.config, "Settings file that specifies how samples are read");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, args->request.settings);
  add_shape_option(app, args->request.settings);
  add_backend_option(app, args->request.settings);
  app.add_option("-o,--outputs", args->request.output_folder, "Results: DIR/<sample>.npy, or DIR/<output>/<sample>.npy")
      ->required();
  app.add_option("--limit", args->request.limit, "Only the first N samples");
  app.add_option("--repeat", args->request.repeat, "Run each sample N times, for timing")->check(CLI::Range(1, 100000));
  add_size_option(app, "--max-memory", "Fail when intermediate values need more than this, such as 500M",
                  [args](int64_t bytes) { args->request.max_memory = bytes; });
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  return [args] { return run_run(*args); };
}

}  // namespace quarkq::tool
