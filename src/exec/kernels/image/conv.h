// SPDX-License-Identifier: MIT
// Private to the convolution family.
#pragma once

#include <array>

#include "exec/convolution.h"

namespace quarkq::exec {

/// A convolution of doubles as plain loops, channels-last. For models that compute in double, which nothing makes fast.
Kernel convolve_doubles(const ConvProblem& problem);

}  // namespace quarkq::exec
