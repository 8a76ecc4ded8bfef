// SPDX-License-Identifier: MIT
// Phases and the description of a pass. Each library declares its passes by expanding its rows of passes.def
// (rewrite/passes.h, planning/passes.h, qdq/passes.h); pipeline/run/pass_runner.h joins them.
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

/// In the order of execution.
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

/// Returns "select", "convert", ..., the names shown to users.
const char* name(Phase phase);

/// Whether a pass preserves the float model's outputs up to rounding.
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

// Conversions of finished models: the steps of `quarkq convert --pass NAME:option=value,...`. A conversion reads no
// settings, no samples and no plan, only its own options. pass/conversions.def lists all of them.

/// Guarantee of a conversion for the outputs of the converted model.
enum class OutputClaim : uint8_t {
  kNone,     ///< The model is only read.
  kEqual,    ///< Equal up to rounding of sums; checked on a random sample.
  kRounded,  ///< Computed in another precision: close, not equal.
  kOther,    ///< Other outputs, or outputs of another type or shape, on purpose.
};

/// Options of a step: the row's options with defaults, overridden by the user.
class ConversionOptions {
 public:
  /// `declared` is "name=default, name"; a name without a default is required. Fails with kInvalidArgument if an option
  /// is unknown or missing; the message names it and the allowed options.
  static Result<ConversionOptions> read(std::string_view declared, const std::map<std::string, std::string>& given);

  /// REQUIRES for each: the row declares `name`.
  const std::string& text(const std::string& name) const { return values_.at(name); }
  Result<double> number(const std::string& name) const;
  Result<bool> flag(const std::string& name) const;
  /// Parses "[a, b]" or "a"; returns an empty list for "" and "[]".
  Result<std::vector<std::string>> list(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

/// Returns the top-level parts of "[a, [b, c]]": "a" and "[b, c]", without surrounding spaces. A text without brackets
/// is a single part. Fails with kInvalidArgument if brackets do not match.
Result<std::vector<std::string>> list_parts(std::string_view text);

/// A node that a conversion leaves unchanged, and the reason.
struct LeftNode {
  std::string node;  ///< "node conv1 (Conv)"
  std::string reason;
};

/// A file that a conversion creates in addition to the model. Written after every step has succeeded.
struct SideFile {
  std::string path, content;
};

struct ConvertContext {
  ir::Model& model;
  const ConversionOptions& options;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< Environment of the sessions that the conversion runs.
  std::vector<LeftNode>& left;
  std::vector<SideFile>& files;

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
  void leave(ir::NodeId node, std::string reason) { left.push_back({graph().label(node), std::move(reason)}); }
};

/// Returns the number of changed places. An error names the node that cannot be converted; the model is then discarded.
using ConversionFunction = Result<size_t> (*)(ConvertContext&);

/// A pass of passes.def applied to a finished model.
struct PassConversion {
  const char* pass;      ///< Name of the pass.
  const char* settings;  ///< Settings that enable it: "key=value;key=$option".
};

/// A pass of passes.def applied to the plan of a written model, which is then written again.
struct PlanConversion {
  const char* pass;
  const char* settings;
};

struct Conversion {
  const char* name;  ///< "remove-qdq"
  OutputClaim claim;
  std::variant<ConversionFunction, PassConversion, PlanConversion> run;
  const char* options;  ///< In the format of ConversionOptions::read().
  const char* summary;

  bool reads_only() const { return claim == OutputClaim::kNone; }
};

}  // namespace quarkq::pass
