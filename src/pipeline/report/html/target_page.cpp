// SPDX-License-Identifier: MIT
// The report of check_target() as an HTML page: verdict, findings, the regions of the graph, what does not run and why.
#include <algorithm>

#include "base/paths.h"
#include "base/strings.h"
#include "pipeline/report/html/markup.h"
#include "pipeline/report/html/region_strip.h"
#include "quarkq/check.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

using namespace pipeline::html;

constexpr const char* kVerdictNames[] = {"runs", "falls back", "blocks everything", "unknown"};  // by NodeVerdict

std::string share_text(double share) { return short_number(100 * share) + " %"; }

std::string evidence_text(const TargetReason& reason) { return cat(grade_name(reason.grade), ", ", reason.source); }

std::string target_header(const TargetReport& report) {
  const TargetCounts& counts = report.counts;
  std::string tiles = tile("nodes on " + report.label, cat(counts.npu, " of ", counts.total));
  tiles += tile("operators on CPU", cat(counts.cpu));
  tiles += tile("Q/DQ on CPU", cat(counts.qdq_cpu));
  tiles += tile("regions", cat(report.unblocked.regions));
  tiles += tile("multiply-accumulates on " + report.label, share_text(counts.mac_share));
  tiles += tile("unknown operators", cat(report.verdicts[static_cast<size_t>(NodeVerdict::kUnknown)]));
  const std::string file = paths::name_of(report.model_path);
  return text_element("h1", file + " on " + report.target) + "\n" +
         element("p", {{"class", "verdict"}}, element("b", {}, escaped("Verdict: " + report.verdict))) +
         element("p", {{"class", "note"}},
                 escaped(cat(report.title, "; model type ", report.model_type, ", judged as ", report.judged_as,
                             "; a prediction of quarkq ", version(), ", nothing was compiled"))) +
         element("div", {{"class", "tiles"}}, tiles) + "\n";
}

std::string target_findings(const TargetReport& report) {
  std::vector<std::vector<std::string>> rows = {{"effect", "rule", "places", "what", "what to do", "evidence"}};
  for (const TargetFinding& finding : report.findings) {
    const TargetReason& reason = finding.reason;
    const std::string where =
        finding.nodes.empty() ? "" : cat(" (", finding.nodes.front(), finding.nodes.size() > 1 ? ", ...)" : ")");
    rows.push_back({name(reason.effect), reason.rule, cat(finding.count), reason.text + where, reason.remedy_text,
                    evidence_text(reason)});
  }
  return section(
      "Findings",
      "Crashes first. Grades: A vendor document, B vendor log, configuration or code, C third party, D derived.",
      table(rows));
}

std::string region_picture(const TargetReport& report) {
  std::vector<StripPart> parts;
  for (const TargetNode& node : report.nodes) {
    const char* other = node.verdict == NodeVerdict::kUnknown ? "fair" : "bad";
    parts.push_back(
        {node.region, other, cat(node.name, " (", node.op, "): ", kVerdictNames[static_cast<size_t>(node.verdict)])});
  }
  return region_strip(parts, "operators in execution order, coloured by region");
}

std::string target_regions(const TargetReport& report) {
  return section(
      "Regions",
      "Operators in execution order. Green and blue: regions, alternating; red: on the CPU; yellow: unknown. "
      "As it would be once nothing blocks the whole model.",
      region_picture(report) + region_table(report.regions));
}

std::string target_fallbacks(const TargetReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "count", "verdict", "first", "why", "what to do", "evidence"}};
  for (const TargetFallback& one : report.fallbacks) {
    const TargetReason& reason = report.reasons[one.reason];
    rows.push_back({one.op, cat(one.count), kVerdictNames[static_cast<size_t>(one.verdict)], one.first,
                    cat(reason.rule, ": ", reason.text), reason.remedy_text, evidence_text(reason)});
  }
  return section("What does not run", "", table(rows));
}

}  // namespace

std::string html_page(const TargetReport& report) {
  const std::string body =
      target_header(report) + target_findings(report) + target_regions(report) + target_fallbacks(report);
  return document("quarkq: " + report.model_path, body);
}

}  // namespace quarkq
