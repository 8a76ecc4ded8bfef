// SPDX-License-Identifier: MIT
// The text that a recognizer trained with CTC reads: scores of symbols, step by step.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::metrics {

/// The symbols of the classes from 1 on; class 0 is the blank.
struct Alphabet {
  std::string path;
  std::vector<std::string> symbols;

  /// A text file with a symbol in each line. An empty one writes nothing.
  static Result<Alphabet> read(const std::string& path);
};

/// Of the class that scores highest at each step, repeats and blanks left out; a step with a NaN is a blank. `scores`:
/// [1, steps, classes] or [steps, 1, classes]; one class more than blank and lines is the space. Fails with kBadData
/// when the shape does not fit.
Result<std::string> decode_ctc(const ir::Tensor& scores, const Alphabet& alphabet);

}  // namespace quarkq::metrics
