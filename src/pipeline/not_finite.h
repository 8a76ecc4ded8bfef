// SPDX-License-Identifier: MIT
// NaN and infinities in results that are compared.
#pragma once

#include "quarkq/evaluate.h"

namespace quarkq::pipeline {

/// Adds a finding if values of the pairs are NaN or infinite on one side only.
void note_not_finite(EvaluateReport& report);

}  // namespace quarkq::pipeline
