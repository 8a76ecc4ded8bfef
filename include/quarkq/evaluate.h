// SPDX-License-Identifier: MIT
// evaluate(): two folders of results, pair by pair.
#pragma once

#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

/// Metrics of one pair of files (spec 03 D.3).
struct PairMetrics {
  std::string file;  ///< name in both folders
  double cosine = 0;
  double l2 = 0;     ///< |baseline - quantized|, not normalized
  double psnr = 0;   ///< dB, peak is the baseline's maximum
  double ssim = 0;
};

struct EvaluateRequest {
  std::string baseline_folder, quantized_folder;
  bool compat = false;  ///< the reference's own definitions
};

struct EvaluateReport {
  std::vector<PairMetrics> pairs;  ///< in file-name order
  double mean_cosine = 0, min_cosine = 0, mean_l2 = 0, max_l2 = 0;
  double mean_psnr = 0, min_psnr = 0, mean_ssim = 0, min_ssim = 0;
};

/// Fails with kBadData naming the file that is missing on one side, unreadable, or of another shape.
QUARKQ_EXPORT Result<EvaluateReport> evaluate(const EvaluateRequest& request);

}  // namespace quarkq
