// SPDX-License-Identifier: MIT
// The report of check_ep_report() on a terminal.
#include "base/strings.h"
#include "target_text.h"
#include "terminal.h"

namespace quarkq::tool {

namespace {

constexpr const char* kOutcomeTexts[] = {"as predicted", "ran, predicted on the CPU", "fell back, predicted to run",
                                         "ran or fell back, unknown before", "not in the report"};  // Indexed by
                                                                                                    // PlacementOutcome.

std::string outcome_text(const PlacementDifference& difference) {
  if (difference.outcome == PlacementOutcome::kNowKnown)
    return difference.is_real ? "ran, unknown before" : "fell back, unknown before";
  return kOutcomeTexts[static_cast<size_t>(difference.outcome)];
}

void print_counts(const EpReport& report) {
  Table table({{""},
               {"CPU", kRight},
               {report.predicted.label, kRight},
               {"VITIS_EP_CPU", kRight},
               {"Total", kRight},
               {"Subgraphs", kRight},
               {"Running", kRight}});
  const auto add = [&](const char* title, const TargetCounts& counts) {
    table.add({title, cat(counts.cpu), cat(counts.npu), cat(counts.qdq_cpu), cat(counts.total), cat(counts.regions),
               cat(counts.regions_running)});
  };
  add("reported", report.real);
  add("predicted", report.predicted.counts);
  table.print();
}

void print_differences(const EpReport& report) {
  if (report.differences.empty()) return;
  say("\nwhat differs from the prediction\n");
  for (const PlacementDifference& one : report.differences) {
    say("  %zu x %s: %s, first %s\n    %s\n", one.count, one.op.c_str(), outcome_text(one).c_str(), one.first.c_str(),
        one.text.c_str());
    if (!one.compiler_text.empty()) say("    the compiler: %s\n", one.compiler_text.c_str());
  }
}

}  // namespace

void print_ep_report(const EpReport& report) {
  say("%s on %s, as compiled: %zu of %zu nodes on the %s\n", report.predicted.model_path.c_str(),
      report.predicted.target.c_str(), report.real.npu, report.real.total, report.predicted.label.c_str());
  if (report.has_nodes) {
    say("agreement with the prediction: %s, %zu of %zu operators; %zu were unknown, %zu are not in the report\n",
        cat(fixed(100 * report.agreement(), 1), " %").c_str(), report.agreeing, report.compared, report.now_known,
        report.absent);
  }
  for (const std::string& note : report.notes) print_line("note: " + note);
  print_counts(report);
  print_differences(report);
}

}  // namespace quarkq::tool
