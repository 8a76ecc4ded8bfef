// SPDX-License-Identifier: MIT
// Runs a model on all samples of a reader, for what is computed from its results one sample after another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"

namespace quarkq::calib {

/// `results` gets what `options` fetches, once for each sample, in order. Below a ceiling on memory the model runs
/// segment by segment. `purpose`: for errors, which read "PURPOSE, sample NAME: ...".
Status run_all(const ir::Model& model, exec::SessionOptions options, const DataReader& samples,
               const std::string& purpose,
               const std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)>& results);

}  // namespace quarkq::calib
