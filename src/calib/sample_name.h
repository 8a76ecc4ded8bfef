// SPDX-License-Identifier: MIT
// The names of files that the readers of samples take.
#pragma once

#include <string>

namespace quarkq::calib {

/// Whether a file of this name may be a sample, or one of the inputs of a sample.
bool is_sample_name(const std::string& file_name);

}  // namespace quarkq::calib
