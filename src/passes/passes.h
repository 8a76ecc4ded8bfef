// SPDX-License-Identifier: MIT
// Declarations of all passes and the table of them, both expanded from passes.def.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "passes/context.h"

namespace quarkq::passes {

#define PASS(phase, function, acts_on, effect, when, summary) Result<Changed> function(PassContext& context);
#include "passes/passes.def"
#undef PASS

enum class ActsOn { kGraph, kPlan, kQdq };
/// Whether the outputs of the float model stay what they are, rounding aside.
enum class Effect { kKeeps, kChanges };

struct PassInfo {
  const char* name;   ///< "fuse-batch-norm"
  const char* phase;  ///< "prepare"
  ActsOn acts_on;
  Effect effect;
  Result<Changed> (*run)(PassContext&);
  bool (*enabled)(const config::Settings&);
  const char* summary;
};

/// All passes in the order they run.
const std::vector<PassInfo>& all_passes();

}  // namespace quarkq::passes
