// SPDX-License-Identifier: MIT
#include "pipeline/preflight.h"

#include <algorithm>
#include <filesystem>

#include "base/file_system.h"
#include "base/run_files.h"
#include "config/finetune_settings.h"
#include "pipeline/custom_metric.h"
#include "pipeline/facts.h"
#include "pipeline/verify.h"
#include "plan/data_types.h"
#include "plan/op_rules.h"

namespace quarkq::pipeline {

Status check_output(const std::string& input, const std::string& output) {
  RunFiles files;
  QQ_RETURN_IF_ERROR(files.add_input(input));
  QQ_RETURN_IF_ERROR(files.add_output(output));
  std::error_code error;
  const auto folder = std::filesystem::path(output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return io_error(output, ": cannot write here, no such folder");
  }
  return AtomicFile::create(output).status();  // and removed again: a full or read-only folder shows now
}

Status check_samples(const Source& source, const Job& job) {
  const config::Settings& settings = job.settings;
  const bool has_ranges =
      source.size() > 0 || settings.ranges.save_and_restore || settings.algorithms.tensors_range_file;
  const bool selects_all = settings.exclude_selectors.empty() && settings.selection.nodes_to_quantize.empty() &&
                           settings.selection.input_nodes.empty() && settings.selection.output_nodes.empty();
  const bool is_static = settings.inserts_qdq() && !settings.selection.weights_only &&
                         is_integer(plan::element_type(settings.formats.activation_type));
  if (has_ranges || !selects_all || !is_static) return Status();
  std::vector<std::string> types;
  for (const auto& [op, count] : count_ops(job.model.graph)) types.push_back(op);
  const bool has_layers = std::ranges::find(types, "Conv") != types.end() && settings.exclude_op_types.empty() &&
                          plan::op_set(settings, types).contains("Conv");
  if (!has_layers) return Status();
  return bad_data(job.model.path, ": calibration samples are needed: give --calib DIR, or set UseRandomData=true to ",
                  "try without");
}

Status check_workers(const QuantizeRequest& request, const Job& job) {
  if (request.workers_folder.empty()) return Status();
  if (job.settings.runtime.crypto_mode)
    return invalid_argument("--workers-folder: found beside crypto_mode true, which writes nothing but the result");
  if (!job.settings.algorithms.include_fast_ft)
    return invalid_argument(
        "--workers-folder: these settings train nothing; give a preset with AdaRound or AdaQuant, or "
        "include_fast_ft=true");
  QQ_TRY(const config::FinetuneSettings options, config::read_finetune_settings(job.settings));
  return config::check_can_be_shared(options);
}

Status check_request(const QuantizeRequest& request) {
  QQ_TRY(const std::optional<double> required, required_cosine(request.requirements));
  QQ_TRY(const std::optional<double> metric, required_metric(request.requirements));
  if (metric && !request.metric) return invalid_argument("--require metric>=X: needs a metric of the caller's own");
  if (request.verify) return Status();
  if (required || metric) return invalid_argument("--require: needs the comparison that --no-verify switches off");
  if (!request.eval_folder.empty() || request.eval_source)
    return invalid_argument("--eval: needs the comparison that --no-verify switches off");
  return Status();
}

}  // namespace quarkq::pipeline
