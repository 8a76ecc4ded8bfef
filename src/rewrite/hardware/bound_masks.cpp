// SPDX-License-Identifier: MIT
// Masks that hold the lowest float32 have no room for rounding: in bfloat16 it is minus infinity, and so is -128 times
// a scale that is made for it. A row that is masked altogether becomes NaN then. 1e37 says "never" as well as it does.
#include <algorithm>
#include <cmath>

#include "ir/edit.h"
#include "ir/softmax_feeds.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr float kLargest = 1e37f;

bool is_extreme(float value) { return std::isfinite(value) && std::abs(value) > kLargest; }

}  // namespace

Result<Changed> bound_masks(pass::FloatContext& context) {
  ir::Graph& graph = context.graph();
  const std::vector<bool> only_softmax = ir::feeds_softmax_only(graph);
  const std::vector<bool> subtracted = ir::subtracted_before_softmax(graph, only_softmax);
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::ValueId id : std::vector<ir::ValueId>(graph.initializers())) {
    const auto index = static_cast<size_t>(id.index);
    const ir::Tensor& stored = *graph.value(id).constant;
    if (!(only_softmax[index] || subtracted[index]) || stored.type() != ElementType::kFloat) continue;
    if (std::ranges::none_of(stored.data<float>(), is_extreme)) continue;
    ir::Tensor bounded = stored;
    for (float& value : bounded.mutable_data<float>()) {
      if (is_extreme(value)) value = std::copysign(kLargest, value);
    }
    edit.set_constant(id, std::move(bounded));
    changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::rewrite
