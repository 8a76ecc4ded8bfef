// SPDX-License-Identifier: MIT
// Masks that contain the lowest float32 leave no room for rounding: in bfloat16 it becomes minus infinity, and so does
// -128 times a scale computed for it. A completely masked row then becomes NaN. 1e37 has the same effect in a mask.
#include <algorithm>
#include <cmath>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/graph_analysis.h"
#include "pass/output_guard.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
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

// A BatchNormalization that will be quantized unchanged gets mean 0 and variance 1: gamma and beta contain the factor
// and the offset of each channel. One 8-bit scale for all variances rounds the small ones to 0, and the output
// explodes.

namespace {

constexpr float kDefaultEpsilon = 1e-5f, kGreatestEpsilon = 0.5f;

bool holds_only(const ir::Graph& graph, ir::ValueId value, float wanted) {
  const Result<std::vector<float>> values = ir::float_values(*ir::stored_floats(graph, value));
  return values.ok() && std::ranges::all_of(values.value(), [&](float found) { return found == wanted; });
}

/// With epsilon it is 1.
float variance_for(const ir::Node& norm) { return 1 - norm.float_or("epsilon", kDefaultEpsilon); }

ir::GraphPatch with_unit_variance(const ir::Graph& graph, const ir::Node& norm, const ChannelAffine& affine) {
  const ElementType type = graph.constant(norm.input(1))->type();
  const std::vector<int64_t> dims = {static_cast<int64_t>(affine.factor.size())};
  const std::string& output = graph.value(norm.output(0)).name;
  ir::GraphPatch patch;
  const auto stored = [&](const char* role, const std::vector<float>& values) {
    return patch.initializer(cat(output, "_", role), ir::store_floats(values, type, dims));
  };
  patch.remove(norm.id);
  patch.node({norm.op,
              norm.domain,
              norm.name,
              {norm.input(0), stored("factor", to_floats(affine.factor)), stored("offset", to_floats(affine.offset)),
               stored("mean", std::vector<float>(affine.factor.size(), 0.0f)),
               stored("variance", std::vector<float>(affine.factor.size(), variance_for(norm)))},
              {norm.output(0)},
              norm.attributes});
  return patch;
}

}  // namespace

Result<Changed> unit_variance(pass::FloatContext& context) {
  const auto rule = [&](const ir::Graph& graph, const ir::Node& norm) -> Proposal {
    if (!norm.is("BatchNormalization") || !context.selection.selects(norm)) return std::optional<ir::GraphPatch>();
    const std::optional<ChannelAffine> affine = read_batch_norm(graph, norm, context.settings);
    if (!affine || norm.float_or("epsilon", kDefaultEpsilon) > kGreatestEpsilon) return std::optional<ir::GraphPatch>();
    if (holds_only(graph, norm.input(3), 0) && holds_only(graph, norm.input(4), variance_for(norm)))
      return std::optional<ir::GraphPatch>();
    return std::optional(with_unit_variance(graph, norm, *affine));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

// Folds beta of Gemm into its constant bias, so that the scale of an int32 bias is the plain product
// (ref:marking#biases, QUIRK).

Result<Changed> fold_gemm_beta(pass::FloatContext& context) {
  const auto rule = [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const float beta = node.float_or("beta", 1.0f);
    const ir::Tensor* bias = node.is("Gemm") && beta != 1.0f ? graph.constant(node.input(2)) : nullptr;
    if (bias == nullptr || bias->type() != ElementType::kFloat) return std::optional<ir::GraphPatch>();
    ir::Tensor scaled = *bias;
    for (float& value : scaled.mutable_data<float>()) value *= beta;
    ir::GraphPatch patch;
    patch.set_input(node.id, 2, patch.initializer(graph.value(node.input(2)).name, std::move(scaled)));
    patch.set_attribute(node.id, "beta", 1.0f);
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  if (changed == Changed::kYes) ir::GraphEdit(context.graph()).remove_unused_initializers();
  return changed;
}

}  // namespace quarkq::rewrite
