// SPDX-License-Identifier: MIT
// The report of check_target() as an HTML page: verdict, findings, the regions of the graph, what does not run and why.
#include <algorithm>
#include <filesystem>

#include "base/strings.h"
#include "pipeline/report/html/markup.h"
#include "quarkq/check.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

using namespace pipeline::html;

constexpr const char* kVerdictNames[] = {"runs", "falls back", "blocks everything", "unknown"};  // by NodeVerdict
constexpr size_t kMostBlocks = 4000;  ///< of the picture; more nodes than that are drawn in order, the rest is left out

std::string share_text(double share) { return short_number(100 * share) + " %"; }

std::string figure_tile(const std::string& title, const std::string& figure) {
  return element("div", {{"class", "tile"}}, escaped(title) + element("b", {}, escaped(figure)));
}

std::string evidence_text(const TargetReason& reason) { return cat(reason.grade, ", ", reason.source); }

std::string target_header(const TargetReport& report) {
  const TargetCounts& counts = report.counts;
  std::string tiles = figure_tile("nodes on " + report.label, cat(counts.npu, " of ", counts.total));
  tiles += figure_tile("operators on CPU", cat(counts.cpu));
  tiles += figure_tile("Q/DQ on CPU", cat(counts.qdq_cpu));
  tiles += figure_tile("regions", cat(report.unblocked.regions));
  tiles += figure_tile("multiply-accumulates on " + report.label, share_text(counts.mac_share));
  tiles += figure_tile("unknown operators", cat(report.verdicts[static_cast<size_t>(NodeVerdict::kUnknown)]));
  const std::string file = std::filesystem::path(report.model_path).filename();
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

/// One column for each operator in execution order: its region, or none.
std::string region_picture(const TargetReport& report) {
  const size_t count = std::min(report.nodes.size(), kMostBlocks);
  std::string blocks;
  for (size_t i = 0; i < count; ++i) {
    const TargetNode& node = report.nodes[i];
    const bool is_unknown = node.verdict == NodeVerdict::kUnknown;
    const char* kind = node.region >= 0 ? (node.region % 2 == 0 ? "good" : "fill") : is_unknown ? "fair" : "bad";
    const std::string label = cat(node.name, " (", node.op, "): ", kVerdictNames[static_cast<size_t>(node.verdict)]);
    blocks += element("rect", {{"class", kind}, {"x", cat(i)}, {"width", "1"}, {"height", "10"}},
                      text_element("title", label));
  }
  const Attributes box = {{"viewBox", cat("0 0 ", std::max<size_t>(count, 1), " 10")},
                          {"preserveAspectRatio", "none"},
                          {"style", "height: 48px"},
                          {"role", "img"},
                          {"aria-label", "operators in execution order, coloured by region"}};
  return element("svg", box, blocks);
}

std::string target_regions(const TargetReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"region", "operators", "nodes", "multiply-accumulates", "from", "to", "runs"}};
  for (size_t i = 0; i < report.regions.size(); ++i) {
    const TargetRegion& region = report.regions[i];
    rows.push_back({cat(i), cat(region.operators), cat(region.nodes), share_text(region.mac_share), region.first,
                    region.last, region.is_running ? "yes" : "left to the CPU"});
  }
  return section(
      "Regions",
      "Operators in execution order. Green and blue: regions, alternating; red: on the CPU; yellow: unknown. "
      "As it would be once nothing blocks the whole model.",
      region_picture(report) + table(rows));
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
