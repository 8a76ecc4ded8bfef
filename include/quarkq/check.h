// SPDX-License-Identifier: MIT
// check(): does a written model respect the limits of an NPU?
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quarkq/status.h"

namespace quarkq {

// check_target(): what of a model would run on an NPU, why the rest would not, and what to do about it.

/// What becomes of a node. Unknown is never counted as placed.
enum class NodeVerdict : uint8_t { kRuns, kFallsBack, kBlocks, kUnknown };
/// By value, as target files and reports spell them.
inline constexpr std::array<const char*, 4> kNodeVerdictNames = {"runs", "falls-back", "blocks", "unknown"};
inline const char* name(NodeVerdict verdict) { return kNodeVerdictNames[static_cast<size_t>(verdict)]; }

/// What happens where a rule holds, the most severe effect first.
enum class TargetEffect : uint8_t {
  kCrash,          ///< the process ends, or no session can be created
  kNothingPlaced,  ///< the whole model runs on the CPU
  kWrongResults,   ///< it runs, and some results are wrong
  kFallsBack,      ///< the node runs on the CPU
  kUnknown,        ///< no source says what happens to the node or model
  kNote,           ///< nothing that changes the placement
  kRuns,           ///< of a row of the operator table only
  kBlocks,         ///< of a row of the operator table only
};
/// By value, as target files and reports spell them.
inline constexpr std::array<const char*, 8> kTargetEffectNames = {
    "crash", "nothing-placed", "wrong-results", "falls-back", "unknown", "note", "runs", "blocks"};
inline const char* name(TargetEffect effect) { return kTargetEffectNames[static_cast<size_t>(effect)]; }

/// Why, with the evidence of the target's row.
struct TargetReason {
  std::string rule;  ///< id of the rule; "operator" for a row of the operator table, "type" for the type of the model
  TargetEffect effect = TargetEffect::kNote;
  char grade = 'D';  ///< A vendor document, B vendor log, configuration or code, C third party, D derived
  std::string source;
  std::string text;         ///< what was found, and what was seen to happen
  std::string remedy;       ///< stable id; empty: none
  std::string remedy_text;  ///< what to do, in the imperative
};

/// An operator of the model; Q/DQ nodes and constants have none.
struct TargetNode {
  std::string name;  ///< of its first output when the node has none
  std::string op;    ///< "Conv", "com.microsoft::MatMulNBits"
  NodeVerdict verdict = NodeVerdict::kRuns;
  bool is_placed = false;  ///< on the NPU, when nothing blocks the whole model
  int region = -1;         ///< number of its region, -1: none
  size_t reason = 0;       ///< index into TargetReport::reasons
  double macs = 0;
};

/// A rule that holds, at one place or several.
struct TargetFinding {
  TargetReason reason;
  size_t count = 0;                ///< places
  std::vector<std::string> nodes;  ///< the first of them; empty: the model as a whole
};

/// Nodes counted as the compiler's report does: without constants, a DequantizeLinear for each of its readers.
struct TargetCounts {
  size_t total = 0;
  size_t npu = 0;
  size_t cpu = 0;      ///< operators left on the CPU
  size_t qdq_cpu = 0;  ///< Q/DQ left on the CPU, those at the graph's inputs and outputs included ("VITIS_EP_CPU")
  size_t regions = 0;  ///< "subgraphs"
  size_t regions_running = 0;
  double mac_share =
      0;                ///< of the multiply-accumulates on the NPU, 0 to 1; 1 when the model has none and all is placed
  size_t at_edges = 0;  ///< of `qdq_cpu`: at the graph's inputs and outputs, where every compiler leaves them

  /// `npu` among the nodes that could be placed, 0 to 1.
  double npu_share() const {
    const size_t possible = total - at_edges;
    return possible == 0 ? 0 : static_cast<double>(npu) / static_cast<double>(possible);
  }
};

/// A part that is compiled as one.
struct TargetRegion {
  size_t operators = 0;
  size_t nodes = 0;  ///< as in TargetCounts
  double mac_share = 0;
  bool is_running = true;   ///< false: left to the CPU by the limits of the target
  std::string first, last;  ///< names of its first and last operator in execution order
  std::map<std::string, int> ops;
};

/// Nodes of one operator that do not run for one reason.
struct TargetFallback {
  std::string op;
  NodeVerdict verdict = NodeVerdict::kFallsBack;
  size_t count = 0;
  std::string first;  ///< name of the first one
  size_t reason = 0;  ///< index into TargetReport::reasons
};

struct TargetReport {
  std::string model_path, target, title;
  std::string label;       ///< what the compiler calls the part that is placed: "NPU", "VAIML", "CPU"
  std::string model_type;  ///< "float", "xint8", "a8w8", "a16w8", "other"
  std::string judged_as;   ///< the column of the operator table
  std::string verdict;     ///< "runs", "runs-partly", "runs-wrong", "blocked", "unknown"
  bool is_blocked = false;
  TargetCounts counts;        ///< as predicted, unknown nodes on the CPU
  TargetCounts unblocked;     ///< once nothing blocks the whole model
  TargetCounts unknown_runs;  ///< the same, if unknown nodes run
  size_t verdicts[4] = {};    ///< operators by NodeVerdict
  double macs = 0;            ///< for one sample
  std::vector<TargetReason> reasons;
  std::vector<TargetFinding> findings;  ///< crashes first, then what blocks, wrong results, and so on
  std::vector<TargetNode> nodes;        ///< in execution order
  std::vector<TargetRegion> regions;    ///< of `unblocked`
  std::vector<TargetFallback> fallbacks;
  std::vector<std::string> missed;  ///< goals that are missed, for people
};

struct TargetCheckOptions {
  std::string target;
  double min_npu =
      0;  ///< goal: share of the report's nodes on the NPU, 0 to 1; nodes at inputs and outputs do not count
  int max_partitions = -1;  ///< goal: regions; negative: none
};

/// Judges the float or quantized model at `path`; nothing is run. Fails as loading does, and with kInvalidArgument for
/// an unknown target or a faulty target file. A missed goal is no failure.
QUARKQ_EXPORT Result<TargetReport> check_target(const std::string& path, const TargetCheckOptions& options);

/// The same for a serialized model with its weights inside; messages call it `name`.
QUARKQ_EXPORT Result<TargetReport> check_target_bytes(const std::string& bytes, const std::string& name,
                                                      const TargetCheckOptions& options);

/// The report as JSON (docs/schemas/check_target.schema.json), keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const TargetReport& report);

/// The report as an HTML page without scripts.
QUARKQ_EXPORT std::string html_page(const TargetReport& report);

/// The target of check(): limits of positions, which do not depend on a compiler.
inline constexpr const char kPositionLimits[] = "xint8";

/// One violated limit. docs/check.md describes the rules.
struct LimitViolation {
  std::string rule;     ///< "adjust_shift_cut", ..., or "power_of_two"
  std::string node;     ///< "node conv_12 (Conv)"; empty when it is about a tensor alone
  std::string tensor;   ///< whose scale would have to change
  std::string measure;  ///< "shift_cut", "position", "scale"
  double found = 0;
  bool has_limits = true;  ///< false for scales, which have to be powers of two
  int low = 0, high = 0;   ///< both allowed
  std::string remedy;
};

struct CheckReport {
  std::string model_path, target;
  size_t nodes = 0;              ///< without Q/DQ
  size_t quantized_tensors = 0;  ///< whose limits were checked
  std::vector<LimitViolation> violations;
};

/// Reads the quantized model at `path` and checks every limit of `target` (kPositionLimits). Fails as loading does, and
/// with kInvalidArgument for another target or a model without quantized tensors. Violations are no failure.
QUARKQ_EXPORT Result<CheckReport> check(const std::string& path, const std::string& target = kPositionLimits);

/// The same for a serialized model; messages call it `name`.
QUARKQ_EXPORT Result<CheckReport> check_bytes(const std::string& model, const std::string& name,
                                              const std::string& target = kPositionLimits);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const CheckReport& report);

}  // namespace quarkq
