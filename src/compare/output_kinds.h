// SPDX-License-Identifier: MIT
// What a network chooses: the class of the largest probability, for each pixel, token or place of a text line. A cosine
// says little about them: most rows of a text recognizer are blanks, and one wrong row makes a line wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace quarkq::compare {

/// Shares of equal choices: as good as a rescue aims at, and enough to leave formats as they are.
inline constexpr double kGoodChoices = 0.998, kEnoughChoices = 0.98;

/// Fewer rows say nothing about a share.
inline constexpr size_t kLeastChoices = 32;

/// A Softmax over the last axis makes the output: each row of that axis is a choice.
bool makes_choices(const ir::Model& model, ir::ValueId output);

struct Choices {
  size_t sure = 0;  ///< rows in which one expected probability is at least 0.8
  size_t same = 0;  ///< of these, rows whose largest value has the same place in both
};

/// `expected`, `found`: as many values; `classes`: values of a row. Nothing is counted where they do not divide.
Choices count_choices(const std::vector<double>& expected, const std::vector<double>& found, int64_t classes);

// Outputs that hold values of two magnitudes, as detectors that write boxes in pixels beside scores: the large ones
// dominate every sum over the output and hide errors of the small ones.

/// The channels of small magnitude of an output.
struct MinorChannels {
  int64_t axis = 0;
  std::vector<bool> is_minor;  ///< by index of that axis

  /// Their values, in order. REQUIRES: `values` has dimensions like those that the channels were found in.
  std::vector<double> of(const std::vector<double>& values, const ir::Shape& dims) const;
};

/// Nothing when the channels are of like magnitude, as in most outputs. `samples`: values by sample, all of dimensions
/// `dims`.
std::optional<MinorChannels> find_minor_channels(const std::vector<std::vector<double>>& samples,
                                                 const ir::Shape& dims);

}  // namespace quarkq::compare
