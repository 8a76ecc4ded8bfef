// SPDX-License-Identifier: MIT
// evaluate(): two folders of results, pair by pair.
#pragma once

#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

/// Metrics of one pair of files (spec 03 D.3). By default every sum is a double; with `compat` the reference's
/// definitions hold where they differ, and values are rounded to float32 as the reference's are.
struct PairMetrics {
  std::string file;   ///< name in both folders; "<output>/<name>" for results with a folder per output
  double cosine = 0;  ///< of the flattened arrays. Norms of zero: both 1, one 0; compat: NaN
  double l2 = 0;      ///< |baseline - quantized|, not normalized
  /// dB: 20 log10(peak) - 10 log10(mean squared error), peak and error at least 1e-10, so equal arrays have a finite
  /// value. peak is the baseline's largest magnitude; compat: its largest signed value.
  double psnr = 0;
  /// Structural similarity in a Gaussian window of 11 x 11 (sigma 1.5), constants for values of 0 to 255. Rank 2 is one
  /// image, rank 3 is [H, W, C], from rank 4 on the last two dimensions are H and W; the mean over all images.
  /// compat: blurred squares and products stand in for variances and covariance.
  double ssim = 0;
};

struct EvaluateRequest {
  std::string baseline_folder, quantized_folder;
  bool compat = false;  ///< the reference's own definitions
};

struct EvaluateReport {
  std::vector<PairMetrics> pairs;  ///< in file-name order
  double mean_cosine = 0, min_cosine = 0, mean_l2 = 0, max_l2 = 0;
  double mean_psnr = 0, min_psnr = 0, mean_ssim = 0, min_ssim = 0;  ///< all are NaN when any pair's is
};

/// Pairs each .npy file of the baseline folder with the one of the same name in the quantized folder. A baseline folder
/// without .npy files is taken as one folder per output, as `quarkq run` writes for several outputs. Files that only
/// the quantized folder has are ignored. Two arrays are in memory at a time. Fails with kBadData when there is no pair,
/// or naming the file that is missing, unreadable, empty or of another shape.
QUARKQ_EXPORT Result<EvaluateReport> evaluate(const EvaluateRequest& request);

/// Aggregates and pairs as JSON, keys in a fixed order. NaN and infinities become null.
QUARKQ_EXPORT std::string to_json(const EvaluateReport& report);

}  // namespace quarkq
