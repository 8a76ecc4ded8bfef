// SPDX-License-Identifier: MIT
// NaN and infinities in sample files: usually a broken recording, so they are an error unless allowed.
#pragma once

#include "calib/data_reader.h"

namespace quarkq::calib {

/// kBadData names the file, the input and the first place of a NaN or an infinity in a float input of `sample`.
Status check_finite(const Sample& sample, const std::vector<InputSpec>& inputs);

}  // namespace quarkq::calib
