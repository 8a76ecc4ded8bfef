// SPDX-License-Identifier: MIT
// Prediction of what the target of a run would run of its result.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "quarkq/check.h"

namespace quarkq::pipeline {

struct ModelFile;

/// Predicts the placement of `result`, to be written to `path`, on settings.target. Returns nullopt without a target,
/// and if the target is the preset's but the result has no Q/DQ. Reports if a requested compiler aborts, keeps
/// everything on the CPU or computes wrong results; the model is still written.
Result<std::optional<TargetReport>> judge_target(const ir::Model& result, const std::string& path,
                                                 const config::Settings& settings, Diagnostics& diagnostics);

/// Returns the target of the preset that writes models of this type, "x1" for XINT8; empty if there is none.
Result<std::string> fitting_target(const ir::Model& model);

/// Loads the model and infers its types.
Result<ir::Model> load_typed_model(const ModelFile& file);

/// Returns the missed goals of a placement: the share of nodes on the NPU, and the number of regions.
std::vector<std::string> missed_goals(const TargetCheckOptions& options, const TargetCounts& counts, size_t regions,
                                      const std::string& label);

/// Returns whether the compiler refuses a model with this effect, or computes wrong results.
inline bool is_refusal(TargetEffect effect) {
  return effect == TargetEffect::kCrash || effect == TargetEffect::kNothingPlaced ||
         effect == TargetEffect::kWrongResults;
}

/// The requirement (--require) that the target accepts the result.
inline constexpr std::string_view kDeployable = "deployable";

/// Fails with kQualityGate unless a target accepts the model, or if there is no target.
Status check_deployable(const std::optional<Deployability>& deployable);

}  // namespace quarkq::pipeline
