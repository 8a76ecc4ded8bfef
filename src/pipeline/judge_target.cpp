// SPDX-License-Identifier: MIT
#include "pipeline/judge_target.h"

#include "config/targets/target.h"
#include "targets/assess.h"

namespace quarkq::pipeline {
namespace {

std::string text_of(const TargetFinding& finding) {
  const TargetReason& reason = finding.reason;
  std::string text = cat(reason.text, " (", reason.rule, ", grade ", std::string(1, reason.grade), ": ", reason.source, ")");
  if (finding.count > 1) text += cat(", ", finding.count, " places");
  return reason.remedy_text.empty() ? text : cat(text, "; ", reason.remedy_text);
}

}  // namespace

Status judge_target(const ir::Model& result, const config::Settings& settings, Diagnostics& diagnostics,
                    QuantizeReport& report) {
  if (!settings.target) return Status();
  QQ_TRY(const config::Target target, config::load_target(*settings.target));
  QQ_TRY(TargetReport judged, targets::assess(result, target).context(report.output_path));
  judged.model_path = report.output_path;
  for (const TargetFinding& finding : judged.findings) {
    const std::string& effect = finding.reason.effect;
    const std::string subject = finding.nodes.empty() ? judged.target : finding.nodes.front();
    if (effect == "wrong-results") {
      diagnostics.add("target-computes-wrong", subject, text_of(finding));
    } else if (effect == "crash" || effect == "nothing-placed") {
      diagnostics.add("target-refuses", subject, text_of(finding));
    }
  }
  report.target = std::move(judged);
  return Status();
}

}  // namespace quarkq::pipeline
