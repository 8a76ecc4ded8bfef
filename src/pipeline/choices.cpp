// SPDX-License-Identifier: MIT
#include "pipeline/choices.h"

#include <algorithm>

#include "ir/search.h"

namespace quarkq::pipeline {
namespace {

constexpr double kSure = 0.8;
constexpr int64_t kOpsetOfLastAxis = 13;  ///< before, the axes from `axis` on were one row, and the default was 1

}  // namespace

bool makes_choices(const ir::Model& model, ir::ValueId output) {
  const ir::Node* producer = model.graph.producer(output);
  const std::optional<int64_t> rank = ir::rank_of(model.graph, output);
  if (producer == nullptr || !producer->is("Softmax") || !rank) return false;
  const int64_t axis = producer->int_or("axis", model.opset() >= kOpsetOfLastAxis ? -1 : 1);
  return axis == -1 || axis == *rank - 1;
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

}  // namespace quarkq::pipeline
