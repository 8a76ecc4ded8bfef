// SPDX-License-Identifier: MIT
// Samples from the caller's memory.
#pragma once

#include <memory>
#include <vector>

#include "calib/data_reader.h"
#include "quarkq/samples.h"

namespace quarkq::calib {

/// Reads through the caller's function, one call at a time. kBadData when the data does not fit the inputs.
Result<std::unique_ptr<DataReader>> make_callback_reader(std::vector<InputSpec> inputs, SampleSource source);

}  // namespace quarkq::calib
