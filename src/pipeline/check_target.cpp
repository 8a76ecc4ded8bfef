// SPDX-License-Identifier: MIT
#include "quarkq/check_target.h"

#include <cstdio>

#include "onnx_io/infer.h"
#include "pipeline/job.h"
#include "targets/assess.h"

namespace quarkq {
namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// An unknown placement meets no goal.
void check_goals(const TargetCheckOptions& options, TargetReport& report) {
  const double share = report.counts.npu_share();
  if (share < options.min_npu) {
    report.missed.push_back(cat("--min-npu: ", percent(share), " of the nodes that could be on the ", report.label,
                                ", wanted are ", percent(options.min_npu)));
  }
  if (options.max_partitions >= 0 && report.unblocked.regions > static_cast<size_t>(options.max_partitions)) {
    report.missed.push_back(
        cat("--max-partitions: ", report.unblocked.regions, " regions, wanted are at most ", options.max_partitions));
  }
  const bool has_goals = options.min_npu > 0 || options.max_partitions >= 0;
  if (has_goals && report.is_blocked && report.missed.empty())
    report.missed.push_back(cat("nothing would run on the ", report.label));
}

Result<TargetReport> judge(const pipeline::ModelFile& file, const TargetCheckOptions& options) {
  const std::string& path = file.path;
  QQ_TRY(const config::Target target, config::load_target(options.target));
  QQ_TRY(ir::Model model, pipeline::load_model(file));
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, ignored));
  QQ_TRY(TargetReport report, targets::assess(model, target).context(path));
  report.model_path = path;
  check_goals(options, report);
  return report;
}

}  // namespace

Result<TargetReport> check_target(const std::string& path, const TargetCheckOptions& options) {
  return judge(path, options);
}

Result<TargetReport> check_target_bytes(const std::string& bytes, const std::string& name,
                                        const TargetCheckOptions& options) {
  const std::optional<std::string> given = bytes;
  return judge({name, given}, options);
}

}  // namespace quarkq
