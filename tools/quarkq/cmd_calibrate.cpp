// SPDX-License-Identifier: MIT
// quarkq calibrate and quarkq merge: statistics of samples into a file, and files of shards into one.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/isa.h"
#include "memory_ceiling.h"
#include "quantize_summary.h"
#include "quarkq/analyze.h"
#include "run_control.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct CalibrateArgs {
  CalibrateRequest request;
  ComputeOptions compute;
  int64_t max_memory = 0;  ///< 0: no ceiling
  std::string shard, json;
  bool dry_run = false;
};

struct MergeArgs {
  MergeRequest request;
  std::string json;
};

bool read_number(std::string_view text, uint64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

/// The number in an environment variable; false when it is not set or no number.
bool read_variable(const char* name, uint64_t& number) {
  const char* text = std::getenv(name);
  return text != nullptr && read_number(text, number);
}

/// This task's place in a Slurm job array.
bool slurm_shard(Shard& shard) {
  uint64_t id = 0, first = 0, step = 1;
  if (!read_variable("SLURM_ARRAY_TASK_ID", id) || !read_variable("SLURM_ARRAY_TASK_COUNT", shard.count)) return false;
  if (shard.count == 0) return false;
  read_variable("SLURM_ARRAY_TASK_MIN", first);
  read_variable("SLURM_ARRAY_TASK_STEP", step);
  shard.index = (id - std::min(first, id)) / std::max<uint64_t>(step, 1);
  return true;
}

/// "i/N", "auto/N" (the index from Kubernetes or Slurm) or "auto"; empty: an array of Slurm when there is one, else
/// everything.
Result<Shard> read_shard(const std::string& text) {
  Shard shard;
  const size_t slash = text.find('/');
  const std::string index = text.substr(0, slash);
  const bool has_count = slash != std::string::npos;
  const bool is_auto = text.empty() || index == "auto";
  if (has_count && (!read_number(std::string_view(text).substr(slash + 1), shard.count) || shard.count == 0)) {
    return invalid_argument("--shard: found ", text, ", allowed is i/N, auto/N or auto");
  }
  if (!is_auto) {
    if (has_count && read_number(index, shard.index)) return shard;
    return invalid_argument("--shard: found ", text, ", allowed is i/N, auto/N or auto");
  }
  Shard found;
  if (slurm_shard(found)) {
    if (has_count) found.count = shard.count;
    return found;
  }
  const bool is_indexed_job = read_variable("JOB_COMPLETION_INDEX", shard.index);
  if (is_indexed_job && has_count) return shard;
  if (is_indexed_job) {
    return invalid_argument(
        "--shard: JOB_COMPLETION_INDEX is set, but not how many shards there are; pass --shard "
        "auto/N with the job's completions, or --shard 0/1 for all samples");
  }
  if (text.empty()) return Shard{};
  return invalid_argument(
      "--shard: found ", text,
      ", but neither SLURM_ARRAY_TASK_ID with SLURM_ARRAY_TASK_COUNT nor JOB_COMPLETION_INDEX is set");
}

Status print_report(const CalibrateReport& report, const std::string& json, TextOutput& json_file) {
  print_findings(report.findings);
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (!prints_text(json)) return Status();
  say("%zu tensors, %llu of %llu samples, %llu values\nwritten    %s (%s) in %.2f s\n", report.tensors,
      static_cast<unsigned long long>(report.samples), static_cast<unsigned long long>(report.total_samples),
      static_cast<unsigned long long>(report.values), report.output_path.c_str(),
      bytes_text(static_cast<double>(report.bytes)).c_str(), report.seconds);
  return Status();
}

Status run_calibrate(CalibrateArgs& args) {
  QQ_RETURN_IF_ERROR(check_has_config(args.request.config, args.request.settings));
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  QQ_TRY(args.request.shard, read_shard(args.shard));
  args.request.threads = args.compute.threads;
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  if (args.dry_run) return run_dry(args.request, args.json);
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_RETURN_IF_ERROR(fit_memory(args.request, args.max_memory));
  stop_beyond(args.max_memory);
  QQ_TRY(const CalibrateReport report, run_with_bar(args.request, calibrate));
  return print_report(report, args.json, json_file);
}

Status run_merge(MergeArgs& args) {
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const CalibrateReport report, merge_statistics(args.request));
  return print_report(report, args.json, json_file);
}

}  // namespace

Run setup_calibrate(CLI::App& app) {
  auto args = std::make_shared<CalibrateArgs>();
  app.add_option("MODEL", args->request.model_path, "Float ONNX model")->required();
  app.add_option("-c,--config", args->request.config, "Settings file or preset, the same as for quantize");
  app.add_option("--calib", args->request.calib_folder, "Calibration samples (docs/calibration-data.md)");
  app.add_option("-o,--output", args->request.output_path, "The statistics file")->required();
  app.add_option("--shard", args->shard,
                 "i/N: only samples i, i+N, ...; auto/N: i from JOB_COMPLETION_INDEX or Slurm (default: Slurm's array)")
      ->type_name("I/N");
  app.add_option("--set", args->request.settings, "key=value, stronger than --config; may be repeated")
      ->allow_extra_args(false);
  add_preprocess_option(app, args->request.settings);
  add_backend_option(app, args->request.settings);
  add_target_options(app, args->request.settings);
  add_requantize_option(app, args->request.requantize);
  add_dry_run_option(app, args->dry_run);
  add_memory_option(app, args->max_memory);
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  return [args] { return run_calibrate(*args); };
}

Run setup_merge(CLI::App& app) {
  auto args = std::make_shared<MergeArgs>();
  app.add_option("PARTS", args->request.parts, "Statistics files of all shards")->required();
  app.add_option("-o,--output", args->request.output_path, "The merged statistics file")->required();
  app.add_flag("--allow-other-isa", args->request.allow_other_isa, "Merge parts made with different instruction sets");
  add_json_option(app, args->json);
  return [args] { return run_merge(*args); };
}

}  // namespace quarkq::tool
