// SPDX-License-Identifier: MIT
// Runs of models in fuzz targets: inputs of the declared types, bounds on memory and loops.
#pragma once

#include <optional>
#include <vector>

#include "exec/session.h"

namespace quarkq::fuzz {

/// Little memory, few loop iterations: a mutated model may ask for anything.
inline constexpr exec::RunLimits kRunLimits = {.memory = int64_t{8} << 20, .loop_trips = 20};

/// A tensor for each input that no initializer gives, as the model declares it; unknown dims become 2. Nothing when one
/// would be large.
std::optional<std::vector<ir::Operand>> make_inputs(const ir::Model& model);

/// The results of one run within kRunLimits; nothing when the model is refused.
std::optional<std::vector<ir::Operand>> run_limited(const ir::Model& model, const std::vector<ir::Operand>& inputs);

}  // namespace quarkq::fuzz
