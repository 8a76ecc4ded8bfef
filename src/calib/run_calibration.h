// SPDX-License-Identifier: MIT
// From samples to ranges: statistics in one pass, then a method's end; or, in compat mode, the reference's way.
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
  std::optional<MethodOptions> votes;  ///< MinMSE's "MostCommon": each sample votes for its best scale
};

/// One pass: statistics of every tensor of `run`. Tensors with non-finite values are reported.
Result<Statistics> collect_statistics(SampleRun& run, const std::vector<ir::ValueId>& tensors,
                                      const CollectOptions& options);

/// Warnings that name the tensors with NaN or infinities, and the samples they came from. `sample_names`: by number.
void report_non_finite(const std::string& tensor, const ValueStatistics& statistics,
                       const std::map<uint64_t, std::string>& sample_names, Diagnostics& diagnostics);

/// The ranges of a default method. A tensor for which it fails takes its extremes, with a warning.
Result<Ranges> finish_ranges(const ir::Graph& graph, const Statistics& statistics, const Calibrator& calibrator,
                             const MethodOptions& options, Diagnostics& diagnostics);

/// A compat method, with its options and those of the method that all tensors take when one fails
/// (ref:calibration#fallbacks).
struct CompatMethod {
  const Calibrator& calibrator;
  MethodOptions options, fallback;
};
/// The ranges of a compat method, in as many passes as it takes.
Result<Ranges> observe_ranges(SampleRun& run, const ir::Graph& graph, const std::vector<ir::ValueId>& tensors,
                              const CompatMethod& method, Diagnostics& diagnostics);

}  // namespace quarkq::calib
