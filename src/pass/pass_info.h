// SPDX-License-Identifier: MIT
// Phases and the description of a pass. Each library declares its passes by expanding its rows of passes.def
// (rewrite/passes.h, planning/passes.h, qdq/passes.h); pipeline/pass_runner.h joins them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "pass/context.h"

namespace quarkq::pass {

/// In the order they run.
enum class Phase : uint8_t {
  kSelect,
  kConvert,
  kPrepare,
  kEqualize,
  kAdapt,
  kMark,
  kCalibrate,
  kRestructure,
  kConstrain,
  kTune,
  kWrite,
  kLegalize,
};

/// "select", "convert", ...: what users see.
const char* name(Phase phase);

/// Whether the outputs of the float model stay what they are, rounding aside.
enum class Effect : uint8_t { kKeeps, kChanges };

/// The context of a pass determines what it may change.
using PassFunction = std::variant<Result<Changed> (*)(SelectContext&), Result<Changed> (*)(FloatContext&),
                                  Result<Changed> (*)(PlanContext&), Result<Changed> (*)(RestructureContext&),
                                  Result<Changed> (*)(QdqContext&)>;

struct PassInfo {
  const char* name;  ///< "fuse-batch-norm"
  Phase phase;
  Effect effect;
  PassFunction run;
  bool (*enabled)(const config::Settings&);
  const char* summary;

  bool is_float_rewrite() const { return std::holds_alternative<Result<Changed> (*)(FloatContext&)>(run); }
};

// Conversions of finished models: what `quarkq convert --pass NAME:option=value,...` runs. A conversion reads no
// settings, no samples and no plan, only its own options; pass/conversions.def is the table of all.

/// What a conversion says of the outputs of the model that it leaves.
enum class OutputClaim : uint8_t {
  kNone,     ///< the model is only read
  kEqual,    ///< the same, rounding of sums aside; checked on a random sample
  kRounded,  ///< computed in another precision: close, not equal
  kOther,    ///< other outputs, or outputs of another type or shape, on purpose
};

/// Options of a step: those of the row, with what the user gave in the place of their defaults.
class ConversionOptions {
 public:
  /// `declared`: "name=default, name": one without a default has to be given. kInvalidArgument names what is unknown or
  /// missing, and what is allowed.
  static Result<ConversionOptions> read(std::string_view declared, const std::map<std::string, std::string>& given);

  /// REQUIRES for each: the row declares `name`.
  const std::string& text(const std::string& name) const { return values_.at(name); }
  Result<double> number(const std::string& name) const;
  Result<bool> flag(const std::string& name) const;
  /// "[a, b]" or "a"; empty for "" and "[]".
  Result<std::vector<std::string>> list(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

/// The parts of "[a, [b, c]]" at its own level: "a" and "[b, c]", without spaces around them. A text without brackets
/// is its own only part. kInvalidArgument when brackets do not match.
Result<std::vector<std::string>> list_parts(std::string_view text);

/// A node that a conversion leaves as it was, and why.
struct LeftNode {
  std::string node;  ///< "node conv1 (Conv)"
  std::string reason;
};

/// A file that a conversion makes beside the model. Written when every step has succeeded.
struct SideFile {
  std::string path, content;
};

struct ConvertContext {
  ir::Model& model;
  const ConversionOptions& options;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< of the sessions that the conversion runs
  std::vector<LeftNode>& left;
  std::vector<SideFile>& files;

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
  void leave(ir::NodeId node, std::string reason) { left.push_back({graph().label(node), std::move(reason)}); }
};

/// How many places a conversion changed. An error names the node that it refuses; the model is then thrown away.
using ConversionFunction = Result<size_t> (*)(ConvertContext&);

/// A pass of passes.def on a finished model.
struct PassConversion {
  const char* pass;      ///< its name
  const char* settings;  ///< that switch it on: "key=value;key=$option"
};

/// The same on the plan of a written model, which is written anew.
struct PlanConversion {
  const char* pass;
  const char* settings;
};

struct Conversion {
  const char* name;  ///< "remove-qdq"
  OutputClaim claim;
  std::variant<ConversionFunction, PassConversion, PlanConversion> run;
  const char* options;  ///< as ConversionOptions::read() takes them
  const char* summary;

  bool reads_only() const { return claim == OutputClaim::kNone; }
};

}  // namespace quarkq::pass
