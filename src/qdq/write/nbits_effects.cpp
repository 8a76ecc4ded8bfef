// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "exec/session.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "numeric/element_type.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_choice.h"

namespace quarkq::qdq {
namespace {

/// Upper bound on weights times matrices: a decoder of 100 million weights is measured, one of a billion is not.
constexpr double kMostWork = 2e10;
constexpr size_t kSamples = 4;
constexpr int kProbeBits = 2;
constexpr int64_t kProbeBlock = 32;

using Outputs = std::vector<std::vector<float>>;  ///< Float outputs of all samples.

Result<Outputs> run_samples(const pass::QdqContext& context, const ir::Model& model) {
  exec::Session session(model, context.environment, {});
  Outputs outputs;
  const size_t count = std::min(kSamples, context.data->size());
  for (size_t i = 0; i < count; ++i) {
    QQ_TRY(const calib::Sample sample, context.data->read(i));
    QQ_TRY(const std::vector<ir::Tensor>* const values,
           session.run(sample.inputs).context(cat("sensitivity of matrices, sample ", sample.name)));
    for (const ir::Tensor& value : *values) {
      if (!is_floating(value.type())) continue;
      QQ_TRY(std::vector<float> floats, ir::float_values(value));
      outputs.push_back(std::move(floats));
    }
  }
  return outputs;
}

double relative_error(const Outputs& wanted, const Outputs& found) {
  double error = 0, power = 0;
  for (size_t o = 0; o < wanted.size() && o < found.size(); ++o) {
    for (size_t i = 0; i < std::min(wanted[o].size(), found[o].size()); ++i) {
      const auto value = static_cast<double>(wanted[o][i]), off = static_cast<double>(found[o][i]) - value;
      if (!std::isfinite(off)) continue;
      error += off * off;
      power += value * value;
    }
  }
  return power > 0 ? error / power : 0;
}

/// The matrix after rounding to the probe's format.
ir::Tensor rounded_matrix(const ir::Tensor& weight, std::span<const float> values, const NBitsShape& shape,
                          std::span<const float> moments) {
  const NBitsWeight made = k_quant_blocks(values, shape, {/*is_symmetric=*/false, moments});
  std::vector<float> floats(values.size());
  const int64_t blocks = shape.blocks();
  for (int64_t c = 0; c < shape.columns; ++c) {
    for (int64_t k = 0; k < shape.depth; ++k) {
      const auto block = static_cast<size_t>(c * blocks + k / shape.block);
      const auto code = static_cast<float>(made.codes[static_cast<size_t>(c * blocks * shape.block + k)]);
      floats[static_cast<size_t>(k * shape.columns + c)] = (code - made.zeros[block]) * made.scales[block];
    }
  }
  return ir::store_floats(floats, weight.type(), weight.dims());
}

}  // namespace

Result<std::vector<double>> measure_effects(pass::QdqContext& context, const InputMoments& moments,
                                            const std::vector<LowBitMatrix>& matrices) {
  std::vector<double> effects;
  double weights = 0;
  for (const LowBitMatrix& matrix : matrices)
    weights += static_cast<double>(context.graph().value(matrix.target.weight).constant->size());
  const bool is_large = weights * static_cast<double>(matrices.size()) > kMostWork;
  if (moments.empty() || is_large) return effects;
  QQ_TRY(const Outputs wanted, run_samples(context, context.model));
  for (size_t i = 0; i < matrices.size(); ++i) {
    const ir::Tensor weight = *context.graph().value(matrices[i].target.weight).constant;
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(weight));
    const NBitsShape shape{weight.dims()[0], weight.dims()[1], kProbeBlock, kProbeBits};
    ir::Model model = context.model;
    ir::GraphEdit(model.graph)
        .set_constant(matrices[i].target.weight, rounded_matrix(weight, values, shape, moments[i]));
    QQ_TRY(const Outputs found, run_samples(context, model));
    const double own = format_loss(values, shape, /*is_symmetric=*/false, moments[i], config::NBitsAlgorithm::kKQuant);
    effects.push_back(own > 0 ? relative_error(wanted, found) / own : 0);
    if (context.progress && !context.progress(i + 1, matrices.size())) return Status(Code::kInterrupted, "interrupted");
  }
  return effects;
}

}  // namespace quarkq::qdq
