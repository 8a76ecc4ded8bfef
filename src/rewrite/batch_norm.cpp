// SPDX-License-Identifier: MIT
#include "rewrite/batch_norm.h"

#include <cmath>

#include "ir/stored_floats.h"
#include "plan/constant_codes.h"

namespace quarkq::rewrite {
namespace {

/// The standard says 1e-5 where the attribute is absent; the reference takes 1e-10.
float default_epsilon(const config::Settings& settings) {
  return settings.quirk(config::Quirk::kDefaultBatchNormEpsilon) ? 1e-5f : 1e-10f;
}

}  // namespace

std::optional<ChannelAffine> read_batch_norm(const ir::Graph& graph, const ir::Node& node,
                                             const config::Settings& settings) {
  if (!node.is("BatchNormalization") || node.inputs.size() != 5 || node.int_or("training_mode", 0) != 0)
    return std::nullopt;
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) return std::nullopt;
  }
  std::vector<float> params[4];  // gamma, beta, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    const ir::Tensor* stored = ir::stored_floats(graph, node.input(i + 1));
    if (stored == nullptr || stored->rank() != 1) return std::nullopt;
    params[i] = ir::float_values(*stored).value();
    if (params[i].size() != params[0].size()) return std::nullopt;
  }
  const float epsilon = node.float_or("epsilon", default_epsilon(settings));
  ChannelAffine affine;
  for (size_t c = 0; c < params[0].size(); ++c) {
    const float factor = params[0][c] / std::sqrt(params[3][c] + epsilon);
    affine.factor.push_back(factor);
    affine.offset.push_back(params[1][c] - params[2][c] * factor);
    if (!std::isfinite(factor) || !std::isfinite(affine.offset.back())) return std::nullopt;
  }
  return affine;
}

}  // namespace quarkq::rewrite
