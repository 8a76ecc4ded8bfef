// SPDX-License-Identifier: MIT
// Outputs that are choices: the class with the largest probability, for each pixel, token or position of a text line. A
// cosine is a poor measure for them: most rows of a text recognizer are blanks, and one wrong row makes a line wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace quarkq::compare {

/// Returns whether a Softmax over the last axis computes the output: each row of that axis is a choice.
bool makes_choices(const ir::Model& model, ir::ValueId output);

struct Choices {
  size_t sure = 0;  ///< Rows in which one expected probability is at least 0.8.
  size_t same = 0;  ///< Rows counted in `sure` whose largest value has the same position in both.
};

/// `expected` and `found` have equal lengths; `classes` is the number of values in a row. Counts nothing if the lengths
/// are not divisible.
Choices count_choices(const std::vector<double>& expected, const std::vector<double>& found, int64_t classes);

/// Returns whether the output is a picture or a map of pixels: rank 4, one to four channels as second or last axis, and
/// 32 values or more along both other axes. Errors show in each value, which a cosine over all hides.
bool is_picture(const ir::Graph& graph, ir::ValueId output);
bool is_picture(const ir::Shape& dims);

/// Values as [outer, channels, inner]. REQUIRES: `axis` is one of the axes of `dims`.
struct ChannelLayout {
  ChannelLayout(const ir::Shape& dims, int64_t axis);
  size_t outer, channels, inner;
};

/// Returns the axis of the channels: detectors write [batch, places, channels] or [batch, channels, places], images
/// [batch, channels, height, width]. Returns nullopt if no axis has channels for at least 16 places.
std::optional<int64_t> channel_axis(const ir::Shape& dims);

// Outputs with values of two magnitudes, such as boxes in pixels next to scores: the large values dominate every sum
// over the output and hide errors of the small ones.

/// The channels of small magnitude of an output.
struct MinorChannels {
  int64_t axis = 0;
  std::vector<bool> is_minor;  ///< Indexed along that axis.

  /// Returns their values, in order. REQUIRES: `values` has dimensions like the values in which the channels were
  /// found.
  std::vector<double> of(const std::vector<double>& values, const ir::Shape& dims) const;
};

/// Returns nullopt if the channels have similar magnitudes, as in most outputs. `samples` are values by sample, all of
/// dimensions `dims`.
std::optional<MinorChannels> find_minor_channels(const std::vector<std::vector<double>>& samples,
                                                 const ir::Shape& dims);

}  // namespace quarkq::compare
