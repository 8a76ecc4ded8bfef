// SPDX-License-Identifier: MIT
// The one place that knows how a pass is called: a model in front of a pass, and everything that the pass may change as
// text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/legalize_samples.h"

namespace quarkq::test {

class PassStage {
 public:
  /// Initializers that nothing reads go first: many passes remove them, whatever else they do.
  PassStage(ir::Model model, config::Settings settings);

  /// The enabled passes of the pipeline before `pass`.
  void run_before(const std::string& pass);
  /// True when the pass says that it changed something. Fails the test when it fails.
  bool run(const std::string& pass);

  const ir::Model& model() const { return bench_.model; }
  /// The model, or with `plan` what is decided about its tensors; numbers to five digits, contents of tensors left out.
  std::string text(bool plan) const;
  /// All of it, to the bit.
  std::string exact_text() const;

 private:
  PassBench bench_;
  std::unique_ptr<RandomSamples> data_;  ///< calibration samples; none for inputs that are dynamic or not float
};

/// All passes of the pipeline in order, as `quarkq list passes` names them.
std::vector<std::string> pass_names();

}  // namespace quarkq::test
