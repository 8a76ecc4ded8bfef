// SPDX-License-Identifier: MIT
#include "metrics/ranks.h"

#include <algorithm>
#include <cmath>

namespace quarkq::metrics {
namespace {

/// Classes lie side by side, in the last dimension that is more than one.
bool has_classes_last(const ir::Shape& dims, size_t classes) {
  const auto last = std::find_if(dims.rbegin(), dims.rend(), [](int64_t dim) { return dim != 1; });
  return last != dims.rend() && static_cast<size_t>(*last) == classes;
}

}  // namespace

size_t rank_of(std::span<const double> scores, size_t label) {
  size_t rank = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return kNowhere;
    if (scores[i] > scores[label] || (scores[i] == scores[label] && i < label)) ++rank;
  }
  return rank;
}

std::optional<size_t> highest_of(std::span<const double> scores) {
  size_t highest = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return std::nullopt;
    if (scores[i] > scores[highest]) highest = i;
  }
  return highest;
}

Result<size_t> classes_for(const ir::Shape& dims, std::span<const int64_t> labels) {
  const size_t values = static_cast<size_t>(ir::checked_count(dims)), classes = values / labels.size();
  if (values % labels.size() != 0 || classes < 2 || !has_classes_last(dims, classes)) {
    return bad_data("shape ", shape_text(dims), " holds no scores of classes for ", labels.size(),
                    labels.size() == 1 ? " label" : " labels");
  }
  for (const int64_t label : labels) {
    if (label < 0 || static_cast<size_t>(label) >= classes) {
      return bad_data("its label is ", label, ", there are scores of ", classes, " classes");
    }
  }
  return classes;
}

}  // namespace quarkq::metrics
