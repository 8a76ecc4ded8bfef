// SPDX-License-Identifier: MIT
#include "numeric/encode.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quarkq::numeric {

namespace {

template <typename Visit>
void for_each_of_channel(const ChannelSplit& split, int64_t channel, Visit visit) {
  for (int64_t o = 0; o < split.outer; ++o) {
    const int64_t begin = (o * split.channels + channel) * split.inner;
    for (int64_t i = begin; i < begin + split.inner; ++i) visit(static_cast<size_t>(i));
  }
}

/// One value on the grid, before it is stored: float32 arithmetic as the reference's (ref:scales#stored-weights).
float to_step(float value, const QuantParams& params, IntegerRange limits) {
  const float step = std::nearbyint(value / params.scale) + static_cast<float>(params.zero_point);
  if (!(step >= static_cast<float>(limits.min))) return static_cast<float>(limits.min);
  return std::min(step, static_cast<float>(limits.max));
}

double squared_error(std::span<const float> values, const ChannelSplit& split, int64_t channel,
                     const QuantParams& params, IntegerRange limits) {
  double error = 0;
  for_each_of_channel(split, channel, [&](size_t i) {
    const float back = (to_step(values[i], params, limits) - static_cast<float>(params.zero_point)) * params.scale;
    const float difference = back - values[i];
    error += static_cast<double>(difference * difference);
  });
  return error;
}

QuantParams search_power_of_two(std::span<const float> values, const ChannelSplit& split, int64_t channel,
                                QuantParams start, IntegerRange limits) {
  const int position = power_of_two_position(start.scale);
  QuantParams best = start;
  double best_error =
      std::numeric_limits<double>::infinity();    // values near the largest float leave the start as it is
  for (int offset = -1; offset <= 3; ++offset) {  // coarsest first; the first smallest wins
    const QuantParams candidate{scale_of_position(position + offset), start.zero_point};
    const double error = squared_error(values, split, channel, candidate, limits);
    if (!(error < best_error)) continue;
    best_error = error;
    best = candidate;
  }
  return best;
}

/// An array without values has the range 0 to 0.
Extremes channel_extremes(std::span<const float> values, const ChannelSplit& split, int64_t channel) {
  Extremes all;
  for (int64_t o = 0; o < split.outer; ++o) {
    const int64_t begin = (o * split.channels + channel) * split.inner;
    const Extremes found = extremes_of(values.subspan(static_cast<size_t>(begin), static_cast<size_t>(split.inner)));
    all.min = o == 0 ? found.min : std::min(all.min, found.min);
    all.max = o == 0 ? found.max : std::max(all.max, found.max);
    all.has_nan = all.has_nan || found.has_nan;
  }
  return all;
}

}  // namespace

ChannelSplit split_channels(const std::vector<int64_t>& dims, const QuantSpec& spec) {
  ChannelSplit split;
  const size_t axis = spec.per_channel ? static_cast<size_t>(spec.axis) : dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i < axis) split.outer *= dims[i];
    if (i == axis) split.channels = dims[i];
    if (i > axis) split.inner *= dims[i];
  }
  return split;
}

Result<std::vector<QuantParams>> weight_params(std::span<const float> values, const ChannelSplit& split,
                                               const QuantSpec& spec, IntegerRange limits, bool search) {
  std::vector<QuantParams> all;
  for (int64_t channel = 0; channel < split.channels; ++channel) {
    const Extremes found = channel_extremes(values, split, channel);
    if (found.has_nan) return bad_data("the values contain NaN");
    const Range range{found.min, found.max};
    QQ_TRY(QuantParams params, params_for_range(spec, range));
    if (search) params = search_power_of_two(values, split, channel, params, limits);
    all.push_back(params);
  }
  return all;
}

std::vector<float> channel_values(std::span<const float> values, const ChannelSplit& split, int64_t channel) {
  std::vector<float> own;
  own.reserve(static_cast<size_t>(split.outer * split.inner));
  for_each_of_channel(split, channel, [&](size_t i) { own.push_back(values[i]); });
  return own;
}

std::vector<int32_t> encode(std::span<const float> values, const ChannelSplit& split,
                            const std::vector<QuantParams>& params, IntegerRange limits) {
  std::vector<int32_t> codes(values.size());
  for (int64_t channel = 0; channel < split.channels; ++channel) {
    const QuantParams& own = params[static_cast<size_t>(channel)];
    for_each_of_channel(split, channel, [&](size_t i) {
      codes[i] = static_cast<int32_t>(std::min(static_cast<double>(to_step(values[i], own, limits)), 2147483647.0));
    });
  }
  return codes;
}

Extremes extremes_of(std::span<const float> values) {
  constexpr size_t kShortRun = 64;  // fewer are not worth a call of a vectorized loop
  if (values.size() >= kShortRun)
    return QQ_DISPATCH(numeric, extremes)(values.data(), static_cast<int64_t>(values.size()));
  if (values.empty()) return {};
  Extremes found{values[0], values[0], false};
  for (const float value : values) {
    found.has_nan = found.has_nan || std::isnan(value);
    found.min = std::min(found.min, value);
    found.max = std::max(found.max, value);
  }
  return found;
}

}  // namespace quarkq::numeric
