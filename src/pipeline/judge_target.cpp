// SPDX-License-Identifier: MIT
#include "pipeline/judge_target.h"

#include "config/preset.h"
#include "config/targets/target.h"
#include "targets/assess.h"

namespace quarkq::pipeline {
namespace {

/// What happens, where, and what to do. What it was seen in is for `quarkq check --target`.
std::string refusal_text(const TargetFinding& finding, const TargetReport& judged) {
  const TargetReason& reason = finding.reason;
  const config::RuleInfo* rule = config::find_rule(reason.rule);
  std::string text = reason.effect == "crash"            ? "the compiler aborts"
                     : reason.effect == "nothing-placed" ? cat("the compiler places no node on the ", judged.label)
                                                         : cat("the ", judged.label, " gives wrong results");
  text += cat(": ", rule == nullptr ? cat("the model is of type ", judged.model_type) : rule->summary, " (",
              reason.rule, ")");
  if (finding.count > 1) text += cat(", ", finding.count, " places");
  return reason.remedy_text.empty() ? text : cat(text, "; ", reason.remedy_text);
}

/// The one that was asked for, else that of the preset, else none.
std::string target_to_judge(const config::Settings& settings) {
  if (settings.target) return *settings.target;
  const Result<config::PresetInfo> preset = config::find_preset(settings.preset);
  return preset.ok() && settings.inserts_qdq() ? preset.value().compiler : "";
}

}  // namespace

Result<std::optional<TargetReport>> judge_target(const ir::Model& result, const std::string& path,
                                                 const config::Settings& settings, Diagnostics& diagnostics) {
  const std::string name = target_to_judge(settings);
  if (name.empty()) return std::optional<TargetReport>();
  QQ_TRY(const config::Target target, config::load_target(name));
  QQ_TRY(TargetReport judged, targets::assess(result, target).context(path));
  judged.model_path = path;
  if (!settings.target) return std::optional(std::move(judged));  // nobody asked: no warnings
  for (const TargetFinding& finding : judged.findings) {
    const std::string& effect = finding.reason.effect;
    const std::string subject = finding.nodes.empty() ? judged.target : finding.nodes.front();
    if (effect == "wrong-results") {
      diagnostics.add("target-computes-wrong", subject, refusal_text(finding, judged));
    } else if (effect == "crash" || effect == "nothing-placed") {
      diagnostics.add("target-refuses", subject, refusal_text(finding, judged));
    }
  }
  return std::optional(std::move(judged));
}

}  // namespace quarkq::pipeline
