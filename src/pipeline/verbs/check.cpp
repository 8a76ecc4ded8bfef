// SPDX-License-Identifier: MIT
#include "quarkq/check.h"

#include <tuple>
#include <utility>

#include "base/strings.h"
#include "config/load.h"
#include "config/resolve.h"
#include "config/targets/target.h"
#include "onnx_io/infer.h"
#include "pipeline/report/check_target.h"
#include "pipeline/report/details.h"
#include "pipeline/run/job.h"
#include "planning/constrain/npu_limits.h"
#include "qdq/import/lift.h"
#include "quarkq/status.h"
#include "targets/assess.h"

namespace quarkq {
namespace {

/// The preset whose rules are the limits of the target.
struct Target {
  const char* name;
  const char* preset;
};
constexpr Target kTargets[] = {{kPositionLimits, "XINT8"}};

Result<config::Settings> settings_of(const std::string& target) {
  std::vector<std::string> names;
  for (const Target& row : kTargets) {
    names.emplace_back(row.name);
    if (target != row.name) continue;
    QQ_TRY(const config::QuantConfig config, config::load_config(row.preset, {}));
    Diagnostics ignored;
    return config::resolve(config, {}, ignored);
  }
  return invalid_argument(target, ": unknown target", did_you_mean(target, names), " (known: ", join(names, ", "), ")");
}

}  // namespace

Result<CheckReport> pipeline::check_limits(const ir::Model& model, const std::string& path, const std::string& target) {
  QQ_TRY(const config::Settings settings, settings_of(target));
  QQ_TRY(const qdq::LiftedModel found, qdq::lift(model).context(path));
  CheckReport report{path, target, found.model.graph.order().size(), found.plan.slots().size(), {}, {}};
  for (planning::NpuFinding& finding : planning::npu_findings(found.model.graph, found.plan, settings)) {
    LimitViolation violation{std::move(finding.rule),
                             std::move(finding.node),
                             std::move(finding.tensor),
                             std::move(finding.measure),
                             finding.found,
                             finding.allowed.has_value(),
                             0,
                             0,
                             std::move(finding.remedy)};
    if (finding.allowed) std::tie(violation.low, violation.high) = *finding.allowed;
    report.violations.push_back(std::move(violation));
  }
  return report;
}

namespace {

/// Predicts the placement for the target of the preset that writes models of this type: x1 for xint8.
Result<std::optional<Deployability>> on_fitting_target(ir::Model model) {
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, ignored));
  QQ_TRY(const std::string name, pipeline::fitting_target(model));
  if (name.empty()) return std::optional<Deployability>();
  QQ_TRY(const config::Target target, config::load_target(name));
  QQ_TRY(const TargetReport report, targets::assess(model, target));
  return std::optional(deployability(report));
}

Result<CheckReport> check_file(const pipeline::ModelFile& file, const std::string& target) {
  QQ_RETURN_IF_ERROR(settings_of(target).status());
  QQ_TRY(ir::Model model, pipeline::load_model(file));
  QQ_TRY(CheckReport report, pipeline::check_limits(model, file.path, target));
  if (report.quantized_tensors == 0) {
    return invalid_argument(file.path, ": has no quantized tensors to check; pass a model written by quarkq quantize");
  }
  QQ_TRY(report.deployable, on_fitting_target(std::move(model)).context(file.path));
  return report;
}

}  // namespace

Result<CheckReport> check(const std::string& path, const std::string& target) { return check_file(path, target); }

Result<CheckReport> check_bytes(const std::string& model, const std::string& name, const std::string& target) {
  const std::optional<std::string> bytes = model;
  return check_file({name, bytes}, target);
}

pipeline::Json pipeline::limits_json(const CheckReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["target"] = report.target;
  json["nodes"] = report.nodes;
  json["quantized_tensors"] = report.quantized_tensors;
  json["violations"] = Json::array();
  for (const LimitViolation& one : report.violations) {
    Json row = {{"rule", one.rule}, {"node", one.node}, {"tensor", one.tensor}, {"measure", one.measure}};
    row["found"] = pipeline::number(one.found);
    row["allowed"] = one.has_limits ? Json({one.low, one.high}) : Json(nullptr);
    row["remedy"] = one.remedy;
    json["violations"].push_back(std::move(row));
  }
  json["deployable"] = deployable_json(report.deployable);
  return json;
}

std::string to_json(const CheckReport& report) { return pipeline::text(pipeline::limits_json(report)); }

}  // namespace quarkq
