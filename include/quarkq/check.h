// SPDX-License-Identifier: MIT
// check(): checks a written model against the limits of an NPU.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/status.h"

namespace quarkq {

// check_target(): predicts which nodes of a model run on an NPU, why the others do not, and how to fix them.

/// Predicted placement of a node. An unknown node never counts as placed.
enum class NodeVerdict : uint8_t { kRuns, kFallsBack, kBlocks, kUnknown };
/// Spelling in target files and reports, indexed by the value.
inline constexpr std::array<const char*, 4> kNodeVerdictNames = {"runs", "falls-back", "blocks", "unknown"};
inline const char* name(NodeVerdict verdict) { return kNodeVerdictNames[static_cast<size_t>(verdict)]; }

/// Effect of a rule that applies, the most severe first.
enum class TargetEffect : uint8_t {
  kCrash,          ///< The compiler aborts, or no session can be created.
  kNothingPlaced,  ///< The whole model runs on the CPU.
  kWrongResults,   ///< The model runs, and some results are wrong.
  kFallsBack,      ///< The node runs on the CPU.
  kUnknown,        ///< No source states what happens to the node or model.
  kNote,           ///< Does not change the placement.
  kRuns,           ///< Only in rows of the operator table.
  kBlocks,         ///< Only in rows of the operator table.
};
/// Spelling in target files and reports, indexed by the value.
inline constexpr std::array<const char*, 8> kTargetEffectNames = {
    "crash", "nothing-placed", "wrong-results", "falls-back", "unknown", "note", "runs", "blocks"};
inline const char* name(TargetEffect effect) { return kTargetEffectNames[static_cast<size_t>(effect)]; }

/// Grade of facts that a user's own machine showed (check --learn).
inline constexpr char kSeenGrade = 'S';
/// Returns the spelling in target files and reports: "A" to "D", "seen".
inline std::string grade_name(char grade) { return grade == kSeenGrade ? "seen" : std::string(1, grade); }

/// The reason of a verdict, with the evidence stored in the target's row.
struct TargetReason {
  std::string rule;  ///< Id of the rule; "operator" for a row of the operator table, "type" for the type of the model.
  TargetEffect effect = TargetEffect::kNote;
  char grade = 'D';  ///< A: vendor document. B: vendor log, configuration or code. C: third party. D: derived.
                     ///< kSeenGrade: seen on the user's machine.
  std::string source;
  std::string text;         ///< The finding and its observed effect.
  std::string remedy;       ///< Stable id; empty if there is no remedy.
  std::string remedy_text;  ///< Instruction in the imperative.
};

/// An operator of the model. Q/DQ nodes and constants are not listed.
struct TargetNode {
  std::string name;  ///< Name of the node, or of its first output if the node is unnamed.
  std::string op;    ///< "Conv", "com.microsoft::MatMulNBits"
  NodeVerdict verdict = NodeVerdict::kRuns;
  bool is_placed = false;  ///< On the NPU, provided that nothing blocks the whole model.
  int region = -1;         ///< Index of its region; -1 if none.
  size_t reason = 0;       ///< Index into TargetReport::reasons.
  double macs = 0;
};

/// A rule that applies at one or more places.
struct TargetFinding {
  TargetReason reason;
  size_t count = 0;                ///< Number of places.
  std::vector<std::string> nodes;  ///< The first affected nodes; empty if the finding is about the whole model.
};

/// Node counts in the convention of the compiler's report: without constants, and with one DequantizeLinear per reader.
struct TargetCounts {
  size_t total = 0;
  size_t npu = 0;
  size_t cpu = 0;      ///< Operators left on the CPU.
  size_t qdq_cpu = 0;  ///< Q/DQ nodes left on the CPU ("VITIS_EP_CPU"), including the Q/DQ nodes at the graph's inputs
                       ///< and outputs.
  size_t regions = 0;  ///< Number of "subgraphs".
  size_t regions_running = 0;
  double mac_share = 0;  ///< Share of the multiply-accumulates on the NPU, 0 to 1. For a model without any: 1 if all is
                         ///< placed.
  size_t at_edges = 0;   ///< Part of `qdq_cpu` at the graph's inputs and outputs, which every compiler leaves on the
                         ///< CPU.

  /// Returns the share of `npu` in the nodes that could be placed, 0 to 1.
  double npu_share() const {
    const size_t possible = total - at_edges;
    return possible == 0 ? 0 : static_cast<double>(npu) / static_cast<double>(possible);
  }

  /// Returns whether nearly all runs as one: 9 of 10 nodes in at most 4 regions. Each further region copies its inputs
  /// and outputs between NPU and CPU.
  bool is_whole() const {
    constexpr double kLeastShare = 0.9;
    constexpr size_t kMostRegions = 4;
    return regions <= kMostRegions && npu_share() >= kLeastShare;
  }
};

/// A part of the model that is compiled as a unit.
struct TargetRegion {
  size_t operators = 0;
  size_t nodes = 0;  ///< Counted as in TargetCounts.
  double mac_share = 0;
  bool is_running = true;   ///< False if the target's limits leave the region to the CPU.
  std::string first, last;  ///< Names of the first and last operator in execution order.
  std::map<std::string, int> ops;
};

/// Nodes of one operator that are not placed for the same reason.
struct TargetFallback {
  std::string op;
  NodeVerdict verdict = NodeVerdict::kFallsBack;
  size_t count = 0;
  std::string first;  ///< Name of the first node.
  size_t reason = 0;  ///< Index into TargetReport::reasons.
};

struct TargetReport {
  std::string model_path, target, title;
  std::string label;       ///< The compiler's name for the placed part: "NPU", "VAIML", "CPU".
  std::string model_type;  ///< "float", "xint8", "a8w8", "a16w8", "other"
  std::string judged_as;   ///< The column of the operator table that was used.
  std::string verdict;     ///< "runs", "runs-partly", "runs-wrong", "blocked", "unknown"
  bool is_blocked = false;
  TargetCounts counts;        ///< Predicted counts, with unknown nodes on the CPU.
  TargetCounts unblocked;     ///< Counts if nothing blocked the whole model.
  TargetCounts unknown_runs;  ///< Predicted counts, with unknown nodes on the NPU.
  size_t verdicts[4] = {};    ///< Number of operators per NodeVerdict.
  double macs = 0;            ///< Multiply-accumulates for one sample.
  std::vector<TargetReason> reasons;
  std::vector<TargetFinding> findings;  ///< Sorted by severity: crashes, blockers, wrong results, others.
  std::vector<TargetNode> nodes;        ///< In execution order.
  std::vector<TargetRegion> regions;    ///< Regions of `unblocked`.
  std::vector<TargetFallback> fallbacks;
  std::vector<std::string> missed;  ///< Missed goals as text.
};

/// Whether the compiler of a target accepts a model, and what of it would run there.
struct Deployability {
  enum class Holds : uint8_t { kYes, kNo, kUnknown, kInParts };

  std::string target;
  Holds holds = Holds::kUnknown;
  std::string why;     ///< Reason of kNo, kUnknown and kInParts; with kYes what no source states, or empty.
  std::string remedy;  ///< Id of the remedy (TargetReason::remedy) for `why`; empty if there is none.
  size_t placed = 0, total = 0, regions = 0;  ///< The counts of TargetReport::counts.
};
/// Spelling in reports, indexed by Deployability::Holds.
inline constexpr std::array<const char*, 4> kHoldsNames = {"yes", "no", "unknown", "in parts"};
inline const char* name(Deployability::Holds holds) { return kHoldsNames[static_cast<size_t>(holds)]; }

/// Summarizes a report. kNo: the compiler aborts, places nothing, or is known to compute wrong results. kUnknown: no
/// source states whether any node of the model runs. kInParts: accepted, but not TargetCounts::is_whole().
QUARKQ_EXPORT Deployability deployability(const TargetReport& report);

/// Returns "deployable on x2: yes, 229 of 327 nodes in 17 regions".
QUARKQ_EXPORT std::string text(const Deployability& deployable);

struct TargetCheckOptions {
  std::string target;
  double min_npu =
      0;  ///< Goal: share of nodes on the NPU, 0 to 1. Q/DQ nodes at graph inputs and outputs do not count.
  int max_partitions = -1;  ///< Goal: number of regions; negative: no goal.
};

/// Predicts the placement of the float or quantized model at `path` without running it. Fails if the model cannot be
/// loaded, and with kInvalidArgument if the target is unknown or its file is faulty. A missed goal is not a failure.
QUARKQ_EXPORT Result<TargetReport> check_target(const std::string& path, const TargetCheckOptions& options);

/// Predicts the placement of a serialized model with embedded weights. Messages refer to it as `name`.
QUARKQ_EXPORT Result<TargetReport> check_target_bytes(const std::string& bytes, const std::string& name,
                                                      const TargetCheckOptions& options);

/// Returns the report as JSON (docs/schemas/check_target.schema.json) with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const TargetReport& report);

/// Returns the report as an HTML page without scripts.
QUARKQ_EXPORT std::string html_page(const TargetReport& report);

/// The target of check(): limits of positions, which do not depend on a compiler.
inline constexpr const char kPositionLimits[] = "xint8";

/// One violated limit. docs/check.md describes the rules.
struct LimitViolation {
  std::string rule;     ///< "adjust_shift_cut", ..., or "power_of_two"
  std::string node;     ///< "node conv_12 (Conv)"; empty if the violation concerns only a tensor.
  std::string tensor;   ///< The tensor whose scale would have to change.
  std::string measure;  ///< "shift_cut", "position", "scale"
  double found = 0;
  bool has_limits = true;  ///< False for scales, which must be powers of two.
  int low = 0, high = 0;   ///< Smallest and largest allowed value.
  std::string remedy;
};

struct CheckReport {
  std::string model_path, target;
  size_t nodes = 0;              ///< Number of nodes without Q/DQ nodes.
  size_t quantized_tensors = 0;  ///< Number of tensors whose limits were checked.
  std::vector<LimitViolation> violations;
  /// Prediction for the target of the preset that writes models of this type; absent if there is none.
  std::optional<Deployability> deployable;
};

/// Checks every limit of `target` (kPositionLimits) in the quantized model at `path`. Fails if the model cannot be
/// loaded, and with kInvalidArgument if the target is unknown or the model has no quantized tensor. Violations are not
/// a failure.
QUARKQ_EXPORT Result<CheckReport> check(const std::string& path, const std::string& target = kPositionLimits);

/// Checks a serialized model. Messages refer to it as `name`.
QUARKQ_EXPORT Result<CheckReport> check_bytes(const std::string& model, const std::string& name,
                                              const std::string& target = kPositionLimits);

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const CheckReport& report);

}  // namespace quarkq
