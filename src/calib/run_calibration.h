// SPDX-License-Identifier: MIT
// Runs a model over samples and finds the ranges of the tensors asked for, in one pass.
#pragma once

#include <functional>
#include <map>

#include "base/diagnostics.h"
#include "calib/calibrator_table.h"
#include "calib/data_reader.h"
#include "ir/graph.h"

namespace quarkq::calib {

struct CalibrationRequest {
  const Calibrator* calibrator = nullptr;
  FinishOptions options;
  std::vector<ir::ValueId> tensors;  ///< float values whose range is read
  /// Called after each sample with the number done; returns false to stop (an interrupt).
  std::function<bool(size_t done, size_t total)> progress;
};

using Ranges = std::map<ir::ValueId, numeric::Range>;

/// Ranges of all tensors asked for. Fails with kBadData when a sample cannot be read or run, or there is none.
Result<Ranges> run_calibration(const ir::Model& model, const DataReader& reader, const CalibrationRequest& request,
                               Diagnostics& diagnostics);

}  // namespace quarkq::calib
