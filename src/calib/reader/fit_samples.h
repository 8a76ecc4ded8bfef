// SPDX-License-Identifier: MIT
// Samples for a model whose inputs were converted after the samples were opened.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "calib/data_reader.h"

namespace quarkq::calib {

/// Samples of `reader` with the inputs named in `channels_last` transposed (0, 2, 3, 1) where they have rank 4, and all
/// of them in the element types of `inputs`, which are those of the converted model. Shapes are not checked.
/// REQUIRES: `reader` outlives the result.
std::unique_ptr<DataReader> fit_samples(const DataReader& reader, std::vector<InputSpec> inputs,
                                        const std::set<std::string>& channels_last);

}  // namespace quarkq::calib
