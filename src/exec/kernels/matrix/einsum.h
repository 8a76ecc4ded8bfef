// SPDX-License-Identifier: MIT
// Private to Einsum: the equation, read into labels.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

/// Letters are labels; a dimension under "..." has the label kEllipsis + its position from the right.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

struct EinsumEquation {
  std::vector<Labels> terms;  ///< one label for each dimension of each input
  Labels output;
  std::map<int, int64_t> sizes;  ///< Sizes of all labels; a dimension of 1 is stretched to the size of the others.
};

/// Reads attribute `equation` for the inputs of `p`. Fails if they do not match.
Result<EinsumEquation> read_equation(const Prepare& p);

}  // namespace quarkq::exec
