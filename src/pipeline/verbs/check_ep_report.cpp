// SPDX-License-Identifier: MIT
// check --ep-report: the placement that a compiler reported, compared with the prediction, and what it teaches.
#include "quarkq/ep_report.h"

#include "base/paths.h"
#include "base/strings.h"
#include "config/targets/target.h"
#include "pipeline/ep_report/read_reported.h"
#include "pipeline/report/check_target.h"
#include "pipeline/run/job.h"
#include "targets/assess.h"
#include "targets/reported.h"

namespace quarkq {

namespace {

Result<std::string> compiler_of(const TargetCheckOptions& options, const ir::Model& model, const std::string& path) {
  if (options.target != kPositionLimits) return options.target;
  QQ_TRY(std::string name, pipeline::fitting_target(model).context(path));
  if (!name.empty()) return name;
  return invalid_argument(path,
                          ": no preset writes models of its type, so the compiler is not known; pass --target NAME");
}

Result<EpReport> compare_file(const pipeline::ModelFile& file, const EpReportOptions& options) {
  if (options.files.empty()) return invalid_argument("--ep-report: found no file, needed is a report of the compiler");
  QQ_TRY(const targets::Reported reported, pipeline::read_reported(options.files));
  QQ_TRY(const ir::Model model, pipeline::load_typed_model(file));
  QQ_TRY(const std::string name, compiler_of(options.check, model, file.path));
  QQ_TRY(const config::Target target, config::load_target(name));
  QQ_TRY(TargetReport predicted, targets::assess(model, target).context(file.path));
  predicted.model_path = file.path;
  QQ_TRY(EpReport report, targets::compare_placement(model, std::move(predicted), reported));
  report.missed = pipeline::missed_goals(options.check, report.real, report.real.regions, report.predicted.label);
  return report;
}

std::string stated(const std::string& given) { return given.empty() ? "not stated" : given; }

}  // namespace

Result<EpReport> check_ep_report(const std::string& path, const EpReportOptions& options) {
  return compare_file(path, options);
}

Result<EpReport> check_ep_report_bytes(const std::string& bytes, const std::string& name,
                                       const EpReportOptions& options) {
  const std::optional<std::string> given = bytes;
  return compare_file({name, given}, options);
}

Result<std::string> learned_target(const EpReport& report, const SeenOn& seen, const std::string& path) {
  if (!report.has_nodes) {
    return invalid_argument("--learn: ", join(report.files, ", "),
                            " has counts but no nodes to learn from, needed is vitisai_ep_report.json");
  }
  const std::string compiler = stated(seen.compiler.empty() ? report.compiler : seen.compiler);
  const std::string model = paths::name_of(report.predicted.model_path);
  const std::string source =
      cat(model, " on ", stated(seen.device), ", driver ", stated(seen.driver), ", compiler ", compiler);
  QQ_TRY(const config::Target target, config::load_target(report.predicted.target));
  config::LearnedFacts facts = targets::learned_facts(report, target, source);
  facts.seen = {stated(seen.device), stated(seen.driver), compiler, model};
  return config::learned_file(facts, path);
}

}  // namespace quarkq
