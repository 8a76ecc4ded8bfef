// SPDX-License-Identifier: MIT
#include "calib/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "calib/uniform_histogram.h"

namespace quarkq::calib {
namespace {

/// `counts` as parts of one, zeros raised a little at the expense of the others. False when all are zero.
Result<bool> smooth(const std::vector<int64_t>& counts, std::vector<float>& parts) {
  constexpr double kRaise = 0.0001;
  const auto zeros = static_cast<double>(std::count(counts.begin(), counts.end(), 0));
  const double others = static_cast<double>(counts.size()) - zeros;
  if (others == 0) return false;
  const double lowering = kRaise * zeros / others;
  if (!(lowering < 1)) return bad_data("entropy: ", zeros, " of ", counts.size(), " bins are empty, too many");
  parts.resize(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const float change = counts[i] == 0 ? static_cast<float>(kRaise) : static_cast<float>(-lowering);
    parts[i] = static_cast<float>(counts[i]) + change;
  }
  const float total =
      pairwise_sum(0, static_cast<int64_t>(parts.size()), [&](int64_t i) { return parts[static_cast<size_t>(i)]; });
  for (float& part : parts) part /= total;
  return true;
}

}  // namespace

DivergenceSearch::DivergenceSearch(std::vector<int64_t> counts, int64_t quantized_bins)
    : counts_(std::move(counts)), sums_(counts_.size() + 1), quantized_bins_(quantized_bins) {
  for (size_t i = 0; i < counts_.size(); ++i) sums_[i + 1] = sums_[i] + counts_[i];
}

void DivergenceSearch::clip(int64_t begin, int64_t end) {
  clipped_.assign(counts_.begin() + begin, counts_.begin() + end);
  clipped_.front() += sum(0, begin);
  clipped_.back() += sum(end, static_cast<int64_t>(counts_.size()));
}

/// Each of quantized_bins_ slices becomes its mean over the bins that hold something, in all of its bins. What the
/// slices leave over at the end counts for the last, but stays empty.
void DivergenceSearch::quantize(int64_t begin, int64_t end) {
  const int64_t width = (end - begin) / quantized_bins_;
  expanded_.assign(clipped_.size(), 0);
  if (width == 0) return;
  for (int64_t slice = 0; slice < quantized_bins_; ++slice) {
    const int64_t from = slice * width, to = from + width;
    const auto holding = width - std::count(clipped_.begin() + from, clipped_.begin() + to, 0);
    if (holding == 0) continue;
    const int64_t total = sum(begin + from, slice == quantized_bins_ - 1 ? end : begin + to);
    const auto mean = static_cast<int64_t>(static_cast<double>(total) / static_cast<double>(holding));
    std::fill(expanded_.begin() + from, expanded_.begin() + to, mean);
  }
}

Result<float> DivergenceSearch::divergence(int64_t begin, int64_t end) {
  clip(begin, end);
  quantize(begin, end);
  QQ_TRY(const bool has_clipped, smooth(clipped_, clipped_part_));
  QQ_TRY(const bool has_expanded, smooth(expanded_, expanded_part_));
  if (!has_clipped || !has_expanded) return std::numeric_limits<float>::infinity();
  return pairwise_sum(0, end - begin, [&](int64_t i) {
    const float p = clipped_part_[static_cast<size_t>(i)], q = expanded_part_[static_cast<size_t>(i)];
    return p * static_cast<float>(std::log(static_cast<double>(p / q)));
  });
}

}  // namespace quarkq::calib
