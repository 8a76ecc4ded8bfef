// SPDX-License-Identifier: MIT
// The report of check_ep_report() as an HTML page: predicted and reported regions side by side, and what differs.

#include "base/paths.h"
#include "base/strings.h"
#include "pipeline/report/html/markup.h"
#include "pipeline/report/html/region_strip.h"
#include "quarkq/ep_report.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

using namespace pipeline::html;

std::string percent_text(double share) { return short_number(100 * share) + " %"; }

std::string ep_report_header(const EpReport& report) {
  const TargetCounts &predicted = report.predicted.counts, &real = report.real;
  const std::string file = paths::name_of(report.predicted.model_path);
  std::string tiles = tile("nodes on " + report.predicted.label, cat(real.npu, " of ", real.total));
  tiles += tile("predicted", cat(predicted.npu, " of ", predicted.total));
  if (report.has_nodes) tiles += tile("agreement", percent_text(report.agreement()));
  tiles += tile("regions, reported and predicted", cat(real.regions, " and ", report.predicted.unblocked.regions));
  tiles += tile("operators on CPU, reported and predicted", cat(real.cpu, " and ", predicted.cpu));
  tiles += tile("Q/DQ on CPU, reported and predicted", cat(real.qdq_cpu, " and ", predicted.qdq_cpu));
  std::string notes;
  for (const std::string& note : report.notes) notes += element("p", {{"class", "note"}}, escaped(note));
  return text_element("h1", cat(file, " on ", report.predicted.target, ", as compiled")) + "\n" +
         element("p", {{"class", "note"}},
                 escaped(cat("Reported by ", join(report.files, ", "), "; prediction of quarkq ", version()))) +
         element("div", {{"class", "tiles"}}, tiles) + notes + "\n";
}

std::string placement_strips(const EpReport& report) {
  std::vector<StripPart> predicted, real;
  for (size_t i = 0; i < report.nodes.size(); ++i) {
    const ComparedNode& node = report.nodes[i];
    const TargetNode& judged = report.predicted.nodes[i];
    const bool is_unknown = judged.verdict == NodeVerdict::kUnknown;
    predicted.push_back({node.is_predicted ? judged.region : -1, is_unknown ? "fair" : "bad",
                         cat(node.name, " (", node.op, "): ", name(judged.verdict))});
    real.push_back({node.region, node.device.empty() ? "fair" : "bad",
                    cat(node.name, " (", node.op, "): ", node.device.empty() ? "not in the report" : node.device)});
  }
  return text_element("h3", "Predicted") + region_strip(predicted, "predicted placement") +
         text_element("h3", "Reported") + region_strip(real, "reported placement");
}

std::string compared_regions(const EpReport& report) {
  if (!report.has_nodes) return "";
  const auto column = [](const std::string& title, const std::string& content) {
    return element("div", {{"style", "flex: 1 1 320px; overflow-x: auto"}}, text_element("h3", title) + content);
  };
  const std::string tables = element("div", {{"style", "display: flex; flex-wrap: wrap; gap: 24px"}},
                                     column("Predicted regions", region_table(report.predicted.regions)) +
                                         column("Reported regions", region_table(report.regions)));
  return section(
      "Regions",
      "Operators in execution order. Green and blue: regions, alternating; red: on the CPU; yellow: unknown, "
      "or not in the report.",
      placement_strips(report) + tables);
}

std::string difference_table(const EpReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "count", "outcome", "first", "why", "compiler", "evidence"}};
  for (const PlacementDifference& one : report.differences) {
    rows.push_back({one.op, cat(one.count), name(one.outcome), one.first, one.text, one.compiler_text,
                    cat(grade_name(one.reason.grade), ", ", one.reason.source)});
  }
  return rows.size() == 1 ? "" : section("What differs from the prediction", "", table(rows));
}

}  // namespace

std::string html_page(const EpReport& report) {
  return document("quarkq: " + report.predicted.model_path,
                  ep_report_header(report) + compared_regions(report) + difference_table(report));
}

}  // namespace quarkq
