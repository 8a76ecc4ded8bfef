// SPDX-License-Identifier: MIT
// A BatchNormalization that will be quantized as it is gets mean 0 and variance 1: gamma and beta hold the factor and
// the offset of each channel. One 8-bit scale for all variances rounds the small ones to 0, and the output explodes.
#include <algorithm>

#include "ir/stored_floats.h"
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
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

}  // namespace quarkq::rewrite
