// SPDX-License-Identifier: MIT
// Sections of the HTML report on how good the result is. Empty where an older report has nothing to show.
#pragma once

#include <string>

#include "pipeline/json.h"

namespace quarkq::pipeline::html {

/// Operators of the model as loaded, quantized ones, and what was written.
std::string operators(const Json& run);
/// Noise of every tensor: in node order, then the noisiest first.
std::string noise(const Json& details);
/// Cosine of the outputs on each sample.
std::string samples(const Json& details);
/// Float and quantized output side by side.
std::string pictures(const Json& details);
/// Values that ranges clip, and integers that no value takes.
std::string ranges(const Json& details);

}  // namespace quarkq::pipeline::html
