// SPDX-License-Identifier: MIT
// What single layers cost the outputs, and the blocks that cost most.
#pragma once

#include <vector>

#include "quarkq/analyze.h"
#include "tuning/judge.h"

namespace quarkq::tuning {

struct Sensitivity {
  std::vector<LayerSensitivity> layers;  ///< in node order
  std::vector<LayerBlock> blocks;        ///< the most harmful first
};

/// By the outputs on a few calibration samples, each layer quantized alone. `settings`: beyond those of the request;
/// `block_macs`: share of the multiply-accumulates that a block may have. Fails as analyze() does.
Result<Sensitivity> find_sensitivity(const TuneRequest& request, const std::vector<std::string>& settings,
                                     double block_macs, const Judge::KeepGoing& keep_going);

}  // namespace quarkq::tuning
