// SPDX-License-Identifier: MIT
// quarkq run: a model over a folder of samples, results as .npy.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "progress.h"
#include "quarkq/run.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct RunArgs {
  RunRequest request;
  ComputeOptions compute;
  bool json = false, quiet = false;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Status run_run(RunArgs& args) {
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  args.request.threads = args.compute.threads;
  QQ_TRY(const RunReport report, run_with_bar(args.quiet || args.json, args.request, run_model));
  const double milliseconds = median(report.milliseconds);
  if (args.json) {
    std::printf("{\"samples\": %zu, \"median_ms\": %.6f, \"arena_bytes\": %zu}\n", report.samples, milliseconds,
                report.arena_bytes);
  } else if (!args.quiet) {
    std::printf("%zu samples, %zu outputs, median %.3f ms a sample, %s for intermediate values\n", report.samples,
                report.outputs.size(), milliseconds, bytes_text(static_cast<double>(report.arena_bytes)).c_str());
  }
  return Status();
}

}  // namespace

Run setup_run(CLI::App& app) {
  auto args = std::make_shared<RunArgs>();
  app.add_option("MODEL", args->request.model_path, "Float or quantized ONNX model")->required();
  app.add_option("--inputs", args->request.input_folder, "Samples: DIR/*.npy, or DIR/<input>/*.npy")->required();
  app.add_option("--outputs", args->request.output_folder, "Results: DIR/<sample>.npy, or DIR/<output>/<sample>.npy")
      ->required();
  app.add_option("--limit", args->request.limit, "Only the first N samples");
  app.add_option("--repeat", args->request.repeat, "Run each sample N times, for timing")->check(CLI::Range(1, 100000));
  app.add_option("--max-memory", args->request.max_memory, "Refuse when intermediate values need more bytes than this")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--json", args->json, "Print the result as JSON to stdout");
  app.add_flag("--quiet", args->quiet, "Print errors only");
  add_compute_options(app, args->compute);
  return [args] { return run_run(*args); };
}

}  // namespace quarkq::tool
