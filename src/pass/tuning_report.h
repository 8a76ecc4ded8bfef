// SPDX-License-Identifier: MIT
// What the finetuning did, layer by layer, for the report.
#pragma once

#include <string>
#include <vector>

namespace quarkq::pass {

struct FinetunedLayer {
  std::string node;                          ///< "node conv5 (Conv)"
  std::string algorithm;                     ///< "adaround"
  double error_before = 0, error_after = 0;  ///< mean squared error of the block on samples not trained on
  bool kept = false;
  bool resumed = false;  ///< read from the state of a run that was interrupted
  double seconds = 0;
};

/// The model as a whole: cosine with the float model's outputs, averaged over samples that were not trained with.
struct FinetunedOutputs {
  size_t samples = 0;
  double cosine_before = 0, cosine_after = 0;
};

}  // namespace quarkq::pass
