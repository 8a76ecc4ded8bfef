// SPDX-License-Identifier: MIT
// What the types and methods of the settings mean for a tensor: element types and kinds of scales.
#pragma once

#include "config/settings.h"
#include "numeric/quant_spec.h"

namespace quarkq::plan {

/// The element type of a data type of the settings; undefined for block formats.
ElementType element_type(config::DataType type);

/// Kind of scale that the calibration method leads to, for activations and for weights
/// (ref:scales#power-of-two-scales).
numeric::ScaleKind activation_scale_kind(const config::Settings& settings);
numeric::ScaleKind weight_scale_kind(const config::Settings& settings);

}  // namespace quarkq::plan
