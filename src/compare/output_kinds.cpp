// SPDX-License-Identifier: MIT
#include "compare/output_kinds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/traversal.h"

namespace quarkq::compare {

namespace {

constexpr double kSure = 0.8;
bool is_view(const ir::Node& node) {
  constexpr std::string_view kViews[] = {"Reshape", "Squeeze", "Unsqueeze", "Identity"};
  return node.domain.empty() && std::ranges::find(kViews, node.op) != std::end(kViews);
}

constexpr int64_t kOpsetOfLastAxis = 13;  ///< before, the axes from `axis` on were one row, and the default was 1

}  // namespace

bool makes_choices(const ir::Model& model, ir::ValueId output) {
  const ir::Graph& graph = model.graph;
  const auto last_dim = [&](ir::ValueId value) {
    const std::vector<ir::Dim>& dims = graph.value(value).type.dims;
    return dims.empty() ? ir::Dim() : dims.back();
  };
  const ir::Node* producer = graph.producer(output);
  while (producer != nullptr && is_view(*producer)) {
    const ir::Dim width = last_dim(output);
    if (!width.known() || last_dim(producer->input(0)) != width) return false;  // the rows are others
    output = producer->input(0);
    producer = graph.producer(output);
  }
  const std::optional<int64_t> rank = ir::rank_of(graph, output);
  if (producer == nullptr || !producer->is("Softmax") || !rank) return false;
  const int64_t axis = producer->int_or("axis", model.opset() >= kOpsetOfLastAxis ? -1 : 1);
  return axis == -1 || axis == *rank - 1;
}

bool is_picture(const ir::Shape& dims) {
  constexpr int64_t kMostChannels = 4, kLeastSide = 32;
  if (dims.size() != 4) return false;
  const auto is_side = [&](size_t axis) { return dims[axis] >= kLeastSide; };
  const auto holds_channels = [&](size_t axis) { return dims[axis] <= kMostChannels; };
  return (holds_channels(1) && is_side(2) && is_side(3)) || (holds_channels(3) && is_side(1) && is_side(2));
}

bool is_picture(const ir::Graph& graph, ir::ValueId output) {
  constexpr int64_t kLong = 1024;  // an unknown side is long, and too many for channels
  ir::Shape dims;
  for (const ir::Dim& dim : graph.value(output).type.dims) dims.push_back(dim.known() ? dim.size : kLong);
  return is_picture(dims);
}

Choices count_choices(const std::vector<double>& expected, const std::vector<double>& found, int64_t classes) {
  Choices choices;
  const auto width = static_cast<std::ptrdiff_t>(classes);
  if (width <= 0 || expected.size() % static_cast<size_t>(width) != 0 || found.size() != expected.size())
    return choices;
  for (auto row = expected.begin(), own = found.begin(); row != expected.end(); row += width, own += width) {
    const auto largest = std::max_element(row, row + width);
    if (!(*largest >= kSure)) continue;
    ++choices.sure;
    choices.same += std::max_element(own, own + width) - own == largest - row ? 1 : 0;
  }
  return choices;
}

namespace {

constexpr int64_t kMostChannels = 1024;
constexpr int64_t kFewestPlaces = 16;  ///< per channel and sample
constexpr double kGap = 8;             ///< between the magnitudes of two groups of channels, at least
constexpr double kSpread = 30;         ///< between the largest and the smallest magnitude, at least

size_t product(ir::Shape::const_iterator begin, ir::Shape::const_iterator end) {
  return static_cast<size_t>(std::accumulate(begin, end, int64_t{1}, std::multiplies<>()));
}

}  // namespace

ChannelLayout::ChannelLayout(const ir::Shape& dims, int64_t axis)
    : outer(product(dims.begin(), dims.begin() + axis)),
      channels(static_cast<size_t>(dims[static_cast<size_t>(axis)])),
      inner(product(dims.begin() + axis + 1, dims.end())) {}

std::optional<int64_t> channel_axis(const ir::Shape& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::optional<int64_t> best;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t channels = dims[static_cast<size_t>(axis)];
    if (rank > 3 && axis != 1) continue;
    if (channels < 2 || channels > kMostChannels || size / channels < kFewestPlaces) continue;
    if (!best || channels < dims[static_cast<size_t>(*best)]) best = axis;
  }
  return best;
}

std::vector<double> MinorChannels::of(const std::vector<double>& values, const ir::Shape& dims) const {
  const ChannelLayout layout(dims, axis);
  std::vector<double> found;
  found.reserve(layout.outer * layout.inner * static_cast<size_t>(std::ranges::count(is_minor, true)));
  for (size_t i = 0; i < layout.outer; ++i) {
    for (size_t first = 0; first < layout.channels;) {  // neighbouring channels are copied together
      size_t end = first;
      while (end < layout.channels && is_minor[end]) ++end;
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>((i * layout.channels + first) * layout.inner);
      found.insert(found.end(), begin, begin + static_cast<std::ptrdiff_t>((end - first) * layout.inner));
      first = end + 1;
    }
  }
  return found;
}

std::optional<MinorChannels> find_minor_channels(const std::vector<std::vector<double>>& samples,
                                                 const ir::Shape& dims) {
  const std::optional<int64_t> axis = channel_axis(dims);
  if (!axis || samples.empty()) return {};
  const ChannelLayout layout(dims, *axis);
  const size_t channels = layout.channels;
  std::vector<double> energy(channels, 0.0);
  for (const std::vector<double>& values : samples) {
    const double* value = values.data();
    for (size_t i = 0; i < layout.outer * layout.channels; ++i) {
      for (size_t j = 0; j < layout.inner; ++j, ++value)
        energy[i % layout.channels] += std::isfinite(*value) ? *value * *value : 0;
    }
  }
  std::vector<size_t> order;  // without channels that are empty, or whose energy is too large for a double
  for (size_t c = 0; c < channels; ++c) {
    if (energy[c] > 0 && std::isfinite(energy[c])) order.push_back(c);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return energy[a] > energy[b]; });
  size_t first_minor = 0;
  double gap = kGap;
  for (size_t i = 1; i < order.size(); ++i) {
    const double ratio = std::sqrt(energy[order[i - 1]] / energy[order[i]]);
    if (ratio < gap) continue;
    gap = ratio;
    first_minor = i;
  }
  if (first_minor == 0 || std::sqrt(energy[order.front()] / energy[order.back()]) < kSpread) return {};
  MinorChannels minor{*axis, std::vector<bool>(channels, false)};
  for (size_t i = first_minor; i < order.size(); ++i) minor.is_minor[order[i]] = true;
  return minor;
}

}  // namespace quarkq::compare
