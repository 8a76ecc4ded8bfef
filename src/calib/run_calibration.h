// SPDX-License-Identifier: MIT
// Computation of ranges from samples: statistics in one pass, then the method; or the reference's procedure in compat
// mode.
#pragma once

#include <map>
#include <optional>

#include "base/diagnostics.h"
#include "calib/calibrator_table.h"
#include "calib/sample_run.h"

namespace quarkq::calib {

using Statistics = std::map<ir::ValueId, ValueStatistics>;
using Ranges = std::map<ir::ValueId, numeric::Range>;

struct CollectOptions {
  bool with_bins = false;
  std::optional<MethodOptions> votes;  ///< MinMSE's "MostCommon": each sample votes for its best scale.
};

/// Collects the statistics of every tensor of `run` in one pass. Reports tensors with non-finite values.
Result<Statistics> collect_statistics(SampleRun& run, const std::vector<ir::ValueId>& tensors,
                                      const CollectOptions& options);

/// Adds warnings that name the tensors with NaN or infinities, and the samples that contain them. `sample_names` is
/// keyed by number.
void report_non_finite(const std::string& tensor, const ValueStatistics& statistics,
                       const std::map<uint64_t, std::string>& sample_names, Diagnostics& diagnostics);

/// Returns the ranges of a default method. If it fails for a tensor, uses its extremes and adds a warning.
Result<Ranges> finish_ranges(const ir::Graph& graph, const Statistics& statistics, const Calibrator& calibrator,
                             const MethodOptions& options, Diagnostics& diagnostics);

/// A compat method with its options, and the options of the method that all tensors use if one fails
/// (ref:calibration#fallbacks).
struct CompatMethod {
  const Calibrator& calibrator;
  MethodOptions options, fallback;
};
/// Returns the ranges of a compat method, in as many passes as it needs.
Result<Ranges> observe_ranges(SampleRun& run, const ir::Graph& graph, const std::vector<ir::ValueId>& tensors,
                              const CompatMethod& method, Diagnostics& diagnostics);

}  // namespace quarkq::calib
