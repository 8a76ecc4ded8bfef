// SPDX-License-Identifier: MIT
// Phases and the description of a pass. Each library declares its passes by expanding its rows of passes.def
// (rewrite/passes.h, planning/passes.h, qdq/passes.h); pipeline/pass_table.h joins them.
#pragma once

#include <cstdint>
#include <variant>

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

}  // namespace quarkq::pass
