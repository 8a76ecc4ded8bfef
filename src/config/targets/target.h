// SPDX-License-Identifier: MIT
// Target: what is known of a compiler for an NPU, read from configs/targets or from a user's file. Facts only; what
// they mean for a model is the matter of src/targets. docs/targets.md describes the format.
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

inline constexpr int64_t kTargetFormat = 1;  ///< of the files that this program reads

/// Where a fact comes from.
struct Evidence {
  char grade = 'D';  ///< A vendor document, B vendor log, configuration or code, C third party, D derived from these
  std::string source;
  std::string note;  ///< what the source says, or under which condition; may be empty
};

/// Where the compiler places an operator or a model.
using Placement = NodeVerdict;
using Effect = TargetEffect;

/// A quantization type that a model file may have: float, xint8 (8 bits, powers of two; VINT8 as well), a8w8, a16w8,
/// other.
struct TypeRow {
  std::string type;
  std::string column;            ///< of `operators` under which such a model is judged
  bool as_if_quantized = false;  ///< a float model that has to be quantized first
  Placement verdict = Placement::kUnknown;
  Evidence evidence;
  std::string remedy;
};

struct OperatorRow {
  Placement verdict = Placement::kUnknown;
  Evidence evidence;
  std::string remedy;  ///< may be empty
};

/// A rule of rules.def that this target has.
struct RuleRow {
  std::string rule;
  Effect effect = Effect::kNote;
  std::vector<std::string> columns;  ///< where it applies; empty: everywhere
  double limit = 0;                  ///< for the rules that have one
  std::string symptom;               ///< what a user sees
  std::string remedy;                ///< an id of remedies.def, never empty
  Evidence evidence;
};

/// How the compiler cuts regions.
struct Cutting {
  std::vector<std::string>
      anchors;                    ///< a region without one of these operators is left to the CPU; empty: any is taken
  int64_t most_regions = 0;       ///< beyond these the smallest are left to the CPU; 0: no limit known
  double least_macs_percent = 0;  ///< regions with a smaller share are left to the CPU
  Evidence evidence;
};

/// A setting of quarkq (ref:settings) for models that the target is to take.
struct TargetSetting {
  std::string key;  ///< as in --set: "legalize.opset", "Int32Bias"
  Node value;
  Evidence evidence;
};

struct ProviderOption {
  std::string name, value;  ///< value: for people
  /// What deployment files say, as a text or as JSON; absent: nothing; "model-hash": a hash of the model's content.
  std::optional<std::string> set;
  bool set_is_text = true;
  Evidence evidence;
};

struct Target {
  std::string name, title;
  std::string devices;        ///< for people: "STX, STX Halo, KRK"
  std::string label;          ///< of what is placed, as the compiler's report prints it: "NPU", "VAIML"
  std::string preset;         ///< that makes what it takes; empty: it takes float models
  std::string float_column;   ///< for operators that a quantized model leaves float; empty: they are not placed
  bool is_base = false;       ///< only there to be extended
  bool places_edges = false;  ///< Q/DQ at inputs and outputs of the graph are placed as well
  std::vector<TypeRow> types;
  std::map<std::pair<std::string, std::string>, OperatorRow>
      operators;                ///< (operator, column); "domain::Op" beyond ai.onnx
  OperatorRow other_operators;  ///< those without a row
  std::vector<RuleRow> rules;
  Cutting cutting;
  std::vector<ProviderOption> options;
  std::vector<TargetSetting> settings;

  /// Its compiler converts float models by itself, so there is no preset.
  bool takes_float() const { return preset.empty(); }
  /// The row, or `other_operators`.
  const OperatorRow& find_operator(const std::string& op, const std::string& column) const;
  /// Null when the target has no row for it.
  const TypeRow* find_type(const std::string& type) const;
};

/// A file of configs/targets as it was embedded. The function is in the generated source.
struct EmbeddedTarget {
  const char* stem;
  const char* text;
};
const std::vector<EmbeddedTarget>& embedded_targets();

/// Names of the built-in targets, sorted, without those that are only extended.
std::vector<std::string> target_names();

/// The target in the file `name` if there is one, else the built-in one of that name. Everything in the file is
/// checked: unknown keys, grades, effects, rules and remedies, rows without source, `extends` in a circle are
/// kInvalidArgument.
Result<Target> load_target(const std::string& name);

/// The same for text; messages call it `source_name`, and `extends` names built-in targets or files relative to the
/// working directory.
Result<Target> parse_target(const std::string& text, const std::string& source_name);

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
const std::vector<RemedyInfo>& target_remedies();
const std::vector<RuleInfo>& target_rules();
const RemedyInfo* find_remedy(const std::string& id);
const RuleInfo* find_rule(const std::string& id);

}  // namespace quarkq::config
