// SPDX-License-Identifier: MIT
// check_ep_report(): compares the placement that a compiler reported with the prediction of check_target().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "quarkq/check.h"

namespace quarkq {

/// Result of comparing the predicted and the reported placement of an operator.
enum class PlacementOutcome : uint8_t {
  kAgrees,
  kRan,       ///< On the NPU, although the prediction left it on the CPU.
  kFellBack,  ///< On the CPU, although the prediction placed it on the NPU.
  kNowKnown,  ///< The prediction was unknown.
  kAbsent,    ///< The report does not list it: it was fused, folded or removed before the compiler counted.
};
/// Spelling in reports, indexed by the value.
inline constexpr std::array<const char*, 5> kPlacementOutcomeNames = {"agrees", "ran", "fell-back", "now-known",
                                                                      "absent"};
inline const char* name(PlacementOutcome outcome) { return kPlacementOutcomeNames[static_cast<size_t>(outcome)]; }

/// An operator of the model, in the order of TargetReport::nodes.
struct ComparedNode {
  std::string name, op;
  PlacementOutcome outcome = PlacementOutcome::kAbsent;
  bool is_predicted = false;  ///< Predicted to be on the NPU.
  bool is_real = false;       ///< Reported to be on the NPU.
  std::string device;         ///< Spelling of the report; empty if absent.
  int region = -1;            ///< Index into EpReport::regions; -1 if none.
  int group = 0;              ///< Operators with the same number have no Q/DQ between them and are placed together.
  size_t difference = 0;      ///< Index into EpReport::differences, unless the outcome is kAgrees or kAbsent.
};

/// Nodes of one operator that differ from the prediction in the same way and for the same reason.
struct PlacementDifference {
  std::string op;
  PlacementOutcome outcome = PlacementOutcome::kRan;
  bool is_real = false;  ///< Reported to be on the NPU.
  size_t count = 0;
  std::string first;          ///< Name of the first node.
  TargetReason reason;        ///< The row of the target's file that decided the prediction.
  std::string text;           ///< Explains the difference in one sentence.
  std::string compiler_text;  ///< Reason that the compiler printed for the first node with one; empty if there is none.
};

struct EpReport {
  TargetReport predicted;
  std::vector<std::string> files;
  std::string compiled_model;  ///< Path of the model that the compiler read, if a file names it.
  std::string compiler;        ///< Version of the compiler, if a file names it.
  bool has_nodes = false;      ///< False if the files contain only counts.
  TargetCounts real;           ///< Counts that the compiler reported. `at_edges` is the prediction's.
  size_t compared = 0;         ///< Operators with a known prediction that the report lists.
  size_t agreeing = 0;         ///< Part of `compared`.
  size_t now_known = 0, absent = 0;
  size_t unmatched = 0;  ///< Entries of the report that match no node of the model.
  std::vector<ComparedNode> nodes;
  std::vector<TargetRegion> regions;  ///< Connected parts of operators that the report places on the NPU.
  std::vector<PlacementDifference> differences;
  std::vector<std::string> notes;
  std::vector<std::string> missed;  ///< Missed goals as text. Goals apply to the reported placement.

  /// Returns the share of `agreeing` in `compared`, 0 to 1; 1 if nothing was compared.
  double agreement() const { return compared == 0 ? 1 : static_cast<double>(agreeing) / static_cast<double>(compared); }
};

struct EpReportOptions {
  /// The target and the goals. kPositionLimits selects the compiler that fits the type of the model.
  TargetCheckOptions check;
  /// vitisai_ep_report.json, context.json, fail_safe_summary.json, aie_unsupported_original_ops_with_reasons.json, or
  /// the log of a compilation; several complement each other.
  std::vector<std::string> files;
};

/// Predicts the placement of the model at `path` and compares it with the files that a compiler wrote. Fails with
/// kBadData if a file is damaged, incomplete, or about another model. A missed goal is not a failure.
QUARKQ_EXPORT Result<EpReport> check_ep_report(const std::string& path, const EpReportOptions& options);

/// Compares the placement of a serialized model. Messages refer to it as `name`.
QUARKQ_EXPORT Result<EpReport> check_ep_report_bytes(const std::string& bytes, const std::string& name,
                                                     const EpReportOptions& options);

/// Returns the report as JSON (docs/schemas/check_ep_report.schema.json) with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const EpReport& report);

/// Returns the report as an HTML page with predicted and reported regions side by side.
QUARKQ_EXPORT std::string html_page(const EpReport& report);

/// The machine on which a placement was seen. Empty members are recorded as "not stated".
struct SeenOn {
  std::string device, driver;
  std::string compiler;  ///< If empty, the version in the report's files.
};

/// Returns a target file with the facts that the report shows, of grade "seen". It extends the target of the
/// prediction, and `path` is where it will be written. If that target is itself such a file, its facts are kept.
/// Fails with kInvalidArgument if the report has no nodes.
QUARKQ_EXPORT Result<std::string> learned_target(const EpReport& report, const SeenOn& seen, const std::string& path);

}  // namespace quarkq
