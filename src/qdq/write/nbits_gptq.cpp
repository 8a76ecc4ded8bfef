// SPDX-License-Identifier: MIT
#include <utility>

#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_writer.h"

namespace quarkq::qdq {
namespace {

/// Codes of GPTQ, unchanged.
PackedMatrix pack_codes_of(const pass::GptqResult& result, const pass::GptqOptions& gptq, NBitsShape shape) {
  PackedMatrix made;
  made.has_zeros = !gptq.symmetric;
  made.scales_are_matrix = true;
  if (gptq.group_size > 0) shape.block = gptq.group_size;
  made.shape = shape;
  NBitsWeight weight;
  const int64_t blocks = shape.blocks(), block = shape.block;
  weight.codes.assign(static_cast<size_t>(shape.columns * blocks * block), 0);
  for (int64_t c = 0; c < shape.columns; ++c) {
    for (int64_t row = 0; row < shape.depth; ++row)
      weight.codes[static_cast<size_t>(c * blocks * block + row)] = static_cast<uint8_t>(result.codes(row, c));
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t group = gptq.group_size > 0 ? b : 0;
      weight.scales.push_back(static_cast<float>(result.scale(group, c)));
      weight.zeros.push_back(static_cast<float>(result.zero(group, c)));
    }
  }
  made.weight = packed(std::move(weight), shape);
  return made;
}

/// The reference rounds the result again, to blocks whose size may be one that no runtime supports.
PackedMatrix pack_rounded_again(const pass::GptqResult& result, const pass::GptqOptions& gptq, NBitsShape shape) {
  PackedMatrix made;
  made.has_zeros = !gptq.symmetric;
  made.scales_are_matrix = true;
  shape.block = gptq.group_size > 0 ? gptq.group_size : shape.depth + shape.depth % 2;
  made.shape = shape;
  made.weight = packed(round_again(result.values.data, shape, gptq.symmetric), shape);
  return made;
}

class Rounder {
 public:
  Rounder(const pass::QdqContext& context, const std::vector<LowBitMatrix>& matrices)
      : context_(context),
        matrices_(matrices),
        packs_codes_(context.settings.quirk(config::Quirk::kPackGptqCodes)),
        in_blocks_(context.settings.quirk(config::Quirk::kGptqInBlocks)) {}

  Result<pass::GptqOptions> options_for(const LowBitMatrix& matrix) const {
    config::GptqSettings defaults;
    if (in_blocks_) {
      defaults.group_size = matrix.format.block;
      defaults.per_channel = true;
      defaults.by_importance = true;
      defaults.symmetric = matrix.format.is_symmetric;
    }
    QQ_TRY(pass::GptqOptions options, pass::gptq_options(context_.settings, matrix.format.bits, defaults));
    if (packs_codes_ && options.group_size > 0)
      QQ_RETURN_IF_ERROR(config::check_nbits_block("GPTQParams.GroupSize", options.group_size));
    options.has_static_groups = packs_codes_ && options.by_importance && options.group_size > 0;
    if (in_blocks_ && options.per_channel && !options.search)
      options.fit = fit_of(matrix.format.bits, options.symmetric);
    return options;
  }

  Result<PackedMatrix> round(const LowBitMatrix& matrix, const pass::Dense<double>& hessian) const {
    const ir::Value& weight = context_.model.graph.value(matrix.target.weight);
    QQ_TRY(const pass::GptqOptions options, options_for(matrix));
    QQ_TRY(const pass::GptqResult result,
           pass::gptq(pass::dense_of(*weight.constant), hessian, options).context(cat("GPTQ of '", weight.name, "'")));
    const NBitsShape shape = matrix.shape(context_.model.graph);
    return packs_codes_ ? pack_codes_of(result, options, shape) : pack_rounded_again(result, options, shape);
  }

 private:
  static pass::FitGrid fit_of(int bits, bool is_symmetric) {
    return [bits, is_symmetric](std::span<const float> values, std::span<const float> importance) -> pass::GptqGrid {
      NBitsShape shape;
      shape.bits = bits;
      const BlockGrid grid = fit_k_quant(values, importance, shape, is_symmetric);
      return {static_cast<double>(grid.scale), static_cast<double>(grid.zero)};
    };
  }

  const pass::QdqContext& context_;
  const std::vector<LowBitMatrix>& matrices_;
  bool packs_codes_, in_blocks_;
};

}  // namespace

Result<std::vector<PackedMatrix>> pack_with_gptq(pass::QdqContext& context, const std::vector<LowBitMatrix>& matrices) {
  const Rounder rounder(context, matrices);
  std::vector<pass::GptqTarget> targets;
  for (const LowBitMatrix& matrix : matrices) {
    targets.push_back(matrix.target);
    QQ_RETURN_IF_ERROR(rounder.options_for(matrix).status());
  }
  if (context.data == nullptr || context.data->size() == 0)
    return invalid_argument("MatMulNBitsParams.Algorithm: GPTQ needs samples (--calib DIR)");
  std::vector<PackedMatrix> made;
  const pass::GptqSamples samples =
      pass::gptq_samples(context.settings, *context.data, context.environment, context.progress);
  QQ_RETURN_IF_ERROR(pass::for_each_hessian(samples, context.model, targets,
                                            [&](const pass::GptqTarget&, const pass::Dense<double>& hessian) -> Status {
                                              QQ_TRY(PackedMatrix one, rounder.round(matrices[made.size()], hessian));
                                              made.push_back(std::move(one));
                                              return Status();
                                            }));
  return made;
}

}  // namespace quarkq::qdq
