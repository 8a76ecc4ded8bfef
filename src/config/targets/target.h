// SPDX-License-Identifier: MIT
// Target: known facts about an NPU compiler, read from configs/targets or from a user's file. src/targets draws the
// conclusions for a model. docs/targets.md describes the format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/node.h"
#include "quarkq/check.h"

namespace quarkq::config {

inline constexpr int64_t kTargetFormat = 1;  ///< Format number of the files that this program reads.

/// Source of a fact.
struct Evidence {
  char grade = 'D';  ///< A vendor document, B vendor log, configuration or code, C third party, D derived from these,
                     ///< kSeenGrade (quarkq/check.h) on the user's machine
  std::string source;
  std::string note;  ///< Statement of the source, or its condition; may be empty.
};

/// Where the compiler places an operator or a model.
using Placement = NodeVerdict;
using Effect = TargetEffect;

/// A quantization type that a model file may have: float, xint8 (8 bits, powers of two; VINT8 as well), a8w8, a16w8,
/// other.
struct TypeRow {
  std::string type;
  std::string column;            ///< Column of `operators` in which such a model is judged.
  bool as_if_quantized = false;  ///< A float model that must be quantized first.
  Placement verdict = Placement::kUnknown;
  Evidence evidence;
  std::string remedy;
};

struct OperatorRow {
  Placement verdict = Placement::kUnknown;
  Evidence evidence;
  std::string remedy;  ///< May be empty.
};

/// A rule of rules.def used by this target.
struct RuleRow {
  std::string rule;
  Effect effect = Effect::kNote;
  std::vector<std::string> columns;  ///< Where it applies; empty: everywhere.
  double limit = 0;                  ///< For rules with a limit.
  std::string symptom;               ///< The effect visible to a user.
  std::string remedy;                ///< an id of remedies.def, never empty
  Evidence evidence;
};

/// How the compiler cuts regions.
struct Cutting {
  std::vector<std::string> anchors;  ///< A region without one of these operators is left to the CPU; empty: no
                                     ///< restriction.
  int64_t most_regions = 0;       ///< The smallest regions beyond this number are left to the CPU; 0: no known limit.
  double least_macs_percent = 0;  ///< Regions with a smaller share are left to the CPU.
  Evidence evidence;
};

/// A setting of quarkq (ref:settings) that makes models suitable for the target.
struct TargetSetting {
  std::string key;  ///< Key of --set: "legalize.opset", "Int32Bias".
  Node value;
  Evidence evidence;
};

struct ProviderOption {
  std::string name, value;  ///< `value` is shown to users.
  /// Value in deployment files, as a text or as JSON; absent: none; "model-hash": a hash of the model's content.
  std::optional<std::string> set;
  bool set_is_text = true;
  Evidence evidence;
};

struct Target {
  std::string name, title;
  std::string devices;        ///< Shown to users: "STX, STX Halo, KRK".
  std::string label;          ///< Name of the placed part in the compiler's report: "NPU", "VAIML".
  std::string preset;         ///< Preset whose models the target accepts; empty: it accepts float models.
  std::string float_column;   ///< Column for operators that a quantized model leaves float; empty: they are not placed.
  bool is_base = false;       ///< Only a base for `extends`.
  bool places_edges = false;  ///< Q/DQ at inputs and outputs of the graph are placed as well.
  std::vector<TypeRow> types;
  std::map<std::pair<std::string, std::string>, OperatorRow>
      operators;                ///< (operator, column); "domain::Op" beyond ai.onnx
  OperatorRow other_operators;  ///< Used for operators without a row.
  std::vector<RuleRow> rules;
  Cutting cutting;
  std::vector<ProviderOption> options;
  std::vector<TargetSetting> settings;

  /// Returns whether the compiler converts float models itself, so that there is no preset.
  bool takes_float() const { return preset.empty(); }
  /// Returns the row, or `other_operators`.
  const OperatorRow& find_operator(const std::string& op, const std::string& column) const;
  /// Returns null if the target has no row for the type.
  const TypeRow* find_type(const std::string& type) const;
};

/// An embedded file of configs/targets. The function is in the generated source.
struct EmbeddedTarget {
  const char* stem;
  const char* text;
};
const std::vector<EmbeddedTarget>& embedded_targets();

/// Returns the names of the built-in targets, sorted, without targets that are only extended.
std::vector<std::string> target_names();

/// Loads the target in the file `name` if it exists, otherwise the built-in target of that name. Fails with
/// kInvalidArgument for any fault of the file: unknown keys, grades, effects, rules and remedies, rows without a
/// source, a cycle of `extends`.
Result<Target> load_target(const std::string& name);

/// Parses a target. Messages refer to it as `source_name`. `extends` names built-in targets or files relative to the
/// working directory.
Result<Target> parse_target(const std::string& text, const std::string& source_name);

/// The machine on which facts of grade kSeenGrade were seen.
struct SeenMachine {
  std::string device, driver, compiler, model;
};

/// Facts that a machine showed, to be written as a target file. Rules replace all rules of the same id.
struct LearnedFacts {
  std::string target;  ///< The target that they correct: a name or a file.
  SeenMachine seen;
  std::vector<TypeRow> types;
  std::map<std::pair<std::string, std::string>, OperatorRow> operators;  ///< (operator, column)
  std::vector<RuleRow> rules;

  bool empty() const { return types.empty() && operators.empty() && rules.empty(); }
};

/// Returns the text of a target file at `path` that extends `facts.target`. If that target is itself a file of learned
/// facts, the new file takes over its rows and extends what it extends, so that chains do not grow.
Result<std::string> learned_file(const LearnedFacts& facts, const std::string& path);

struct RemedyInfo {
  const char* id;
  const char* kind;  ///< rewrite, setting, author
  const char* text;
};
struct RuleInfo {
  const char* id;
  const char* remedy;
  const char* summary;
};
/// A source of facts: a row of sources.def.
struct SourceInfo {
  const char* tag;    ///< Beginning of `Evidence::source`.
  const char* date;   ///< "2026-07-23"
  const char* basis;  ///< published, read
  const char* title;
};
const std::vector<SourceInfo>& target_sources();

/// Returns the rows of sources.def that a text such as "SR, SW#397" names, each once. Empty for unknown sources.
std::vector<const SourceInfo*> find_sources(const std::string& source);

/// A source of a target, and the number of its rows that name it.
struct SourceUse {
  const SourceInfo* source = nullptr;
  size_t rows = 0;
};

/// Returns the sources of all rows of the target, the newest first. Rows with unknown sources are not counted.
std::vector<SourceUse> sources_of(const Target& target);

const std::vector<RemedyInfo>& target_remedies();
const std::vector<RuleInfo>& target_rules();
const RemedyInfo* find_remedy(const std::string& id);
const RuleInfo* find_rule(const std::string& id);

}  // namespace quarkq::config
