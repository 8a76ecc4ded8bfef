// SPDX-License-Identifier: MIT
// UseMatMulNBits (ref:writing#matmulnbits, ADR 0026): matrices in 2 to 8 bits instead of Q/DQ nodes.
#include <algorithm>
#include <utility>

#include "config/low_bit_weights.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/real_numbers.h"
#include "qdq/passes.h"
#include "qdq/write/embedding_tables.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_choice.h"
#include "qdq/write/nbits_learned.h"
#include "qdq/write/nbits_matrices.h"
#include "qdq/write/nbits_writer.h"

namespace quarkq::qdq {
namespace {

/// A block with one of these has no scale.
Status check_weights(const pass::QdqContext& context, const std::vector<LowBitMatrix>& matrices) {
  for (const LowBitMatrix& matrix : matrices) {
    const ir::Value& weight = context.model.graph.value(matrix.target.weight);
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(*weight.constant));
    if (!numeric::all_finite(values.span()))
      return bad_data("MatMulNBits of '", weight.name, "': the weight contains NaN or infinities; exclude its nodes");
  }
  return Status();
}

/// `has_integers`: zero points are rounded, because a runtime accepts no others.
PackedMatrix with_hqq(std::span<const float> values, const NBitsShape& shape, bool has_integers) {
  PackedMatrix made{shape, {}};
  NBitsWeight weight = hqq_blocks(values, shape);
  made.has_zeros = true;
  made.zeros_are_real = !has_integers;
  if (!made.zeros_are_real) round_zero_points(values, shape, weight);
  made.weight = packed(std::move(weight), shape);
  return made;
}

class Packer {
 public:
  Packer(const pass::QdqContext& context, const config::MatMulNBitsSettings& options)
      : context_(context), options_(options) {}

  /// `is_tied`: a table reads the same codes, too.
  PackedMatrix pack(const LowBitMatrix& matrix, std::span<const float> moments, bool is_tied) const {
    const ir::Graph& graph = context_.model.graph;
    const NBitsShape shape = matrix.shape(graph);
    if (options_.algorithm == config::NBitsAlgorithm::kAwq) {
      const KQuantOptions options{matrix.format.is_symmetric, moments};
      PackedMatrix made{shape, packed(k_quant_blocks(matrix.scaled_values(graph), shape, options), shape)};
      made.has_zeros = !matrix.format.is_symmetric;
      return made;
    }
    const ir::FloatView values = ir::FloatView::of(*graph.value(matrix.target.weight).constant).value();
    if (options_.algorithm == config::NBitsAlgorithm::kHqq) {
      const bool has_integers = is_tied || options_.form == config::NBitsForm::kQdq || shape.bits == 8;
      return with_hqq(values, shape, has_integers);
    }
    PackedMatrix made{shape, {}};
    made.has_zeros = !matrix.format.is_symmetric;
    if (options_.algorithm == config::NBitsAlgorithm::kKQuant) {
      made.weight = packed(k_quant_blocks(values, shape, {matrix.format.is_symmetric, moments}), shape);
    } else {
      made.weight = round_packed_blocks(values, shape, matrix.format.is_symmetric);
    }
    return made;
  }

 private:
  const pass::QdqContext& context_;
  const config::MatMulNBitsSettings& options_;
};

/// Number of inputs that AWQ keeps per matrix: as many as fit into a quarter of a gigabyte.
int64_t rows_to_keep(const pass::QdqContext& context, const std::vector<LowBitMatrix>& matrices) {
  constexpr int64_t kMost = 512, kLeast = 32, kBytes = 256 << 20;
  int64_t depths = 0;
  for (const LowBitMatrix& matrix : matrices) depths += matrix.shape(context.model.graph).depth;
  return std::clamp(kBytes / (static_cast<int64_t>(sizeof(float)) * std::max<int64_t>(1, depths)), kLeast, kMost);
}

/// Second moments of the matrices' inputs if something reads them and there are samples. Fills `kept` for AWQ.
Result<InputMoments> measure(pass::QdqContext& context, const config::MatMulNBitsSettings& options,
                             const std::vector<LowBitMatrix>& matrices, pass::KeptInputs& kept) {
  const bool is_awq = options.algorithm == config::NBitsAlgorithm::kAwq;
  const bool are_read = is_awq || options.algorithm == config::NBitsAlgorithm::kKQuant || options.has_target();
  const bool has_samples = context.data != nullptr && context.data->size() > 0;
  if (is_awq && !has_samples) return invalid_argument("MatMulNBitsParams.Algorithm: AWQ needs samples (--calib DIR)");
  if (!are_read || !has_samples) return InputMoments();
  std::vector<pass::GptqTarget> targets(matrices.size());
  std::ranges::transform(matrices, targets.begin(), &LowBitMatrix::target);
  kept.most = rows_to_keep(context, matrices);
  return pass::input_moments(pass::gptq_samples(context.settings, *context.data, context.environment, context.progress),
                             context.model, targets, is_awq ? &kept : nullptr);
}

Status check_scales(const std::string& name, const PackedMatrix& packed) {
  if (numeric::all_finite(packed.weight.scales) && numeric::all_finite(packed.weight.zeros)) return Status();
  return bad_data("MatMulNBits of '", name,
                  "': differences of its weights overflow, so that blocks have no scale; exclude its nodes");
}

class MatrixPass {
 public:
  MatrixPass(pass::QdqContext& context, const config::MatMulNBitsSettings& options)
      : context_(context), options_(options), writer_(context.graph(), options) {}

  Result<Changed> run() {
    matrices_ = find_matrices(context_, options_);
    QQ_TRY(tables_, find_lookup_tables(context_, options_, matrices_));
    if (matrices_.empty() && tables_.empty()) return Changed::kNo;
    QQ_RETURN_IF_ERROR(check_weights(context_, matrices_));
    pass::KeptInputs inputs;
    QQ_TRY(moments_, measure(context_, options_, matrices_, inputs));
    QQ_RETURN_IF_ERROR(choose_formats(context_, options_, moments_, matrices_, tables_));
    if (options_.algorithm == config::NBitsAlgorithm::kAwq) QQ_RETURN_IF_ERROR(scale(inputs));
    QQ_RETURN_IF_ERROR(write_matrices());
    for (const LookupTable& table : tables_) {
      if (!is_tied(table)) QQ_RETURN_IF_ERROR(write_table(context_, table));
    }
    ir::GraphEdit(context_.graph()).remove_unused_initializers();
    context_.model.set_opset(ir::kMicrosoftDomain, 1);
    return Changed::kYes;
  }

 private:
  /// The format may have been chosen after the table was tied.
  bool is_tied(const LookupTable& table) const {
    if (!table.tied_to) return false;
    const int64_t width = context_.graph().value(table.value).constant->dims()[1];
    return width % matrices_[*table.tied_to].format.block == 0;
  }

  const LookupTable* table_of(size_t matrix) const {
    for (const LookupTable& table : tables_) {
      if (table.tied_to == matrix && is_tied(table)) return &table;
    }
    return nullptr;
  }

  Status scale(const pass::KeptInputs& inputs) {
    std::vector<bool> is_tied(matrices_.size());
    for (size_t i = 0; i < matrices_.size(); ++i) is_tied[i] = table_of(i) != nullptr;
    return scale_by_activations(context_, matrices_, moments_, is_tied, inputs);
  }

  /// Returns the results of algorithms that round all matrices in one go; none for the others.
  Result<std::vector<PackedMatrix>> pack_together() {
    if (matrices_.empty()) return std::vector<PackedMatrix>();
    if (options_.algorithm == config::NBitsAlgorithm::kGptq) return pack_with_gptq(context_, matrices_);
    if (options_.algorithm == config::NBitsAlgorithm::kAutoRound)
      return pack_with_autoround(context_, options_, matrices_);
    return std::vector<PackedMatrix>();
  }

  Status write_matrices() {
    QQ_TRY(std::vector<PackedMatrix> together, pack_together());
    const std::vector<float> none;
    for (size_t i = 0; i < matrices_.size(); ++i) {
      const LookupTable* const table = table_of(i);
      const std::vector<float>& moments = moments_.empty() ? none : moments_[i];
      PackedMatrix packed = !together.empty()
                                ? std::exchange(together[i], {})
                                : Packer(context_, options_).pack(matrices_[i], moments, table != nullptr);
      QQ_RETURN_IF_ERROR(check_scales(matrices_[i].name, packed));
      write_one(matrices_[i], table, packed);
    }
    return Status();
  }

  void write_one(const LowBitMatrix& matrix, const LookupTable* table, PackedMatrix& packed) {
    if (table == nullptr) return writer_.write(matrix.target.weight, packed, matrix.nodes);
    packed.scales_are_matrix = true;
    const std::vector<ir::ValueId> stored = writer_.store(matrix.target.weight, packed);
    writer_.write_products(stored, packed.shape, matrix.nodes);
    write_tied_table(context_, *table, stored, packed.shape);
  }

  pass::QdqContext& context_;
  const config::MatMulNBitsSettings& options_;
  NBitsWriter writer_;
  std::vector<LowBitMatrix> matrices_;
  std::vector<LookupTable> tables_;
  InputMoments moments_;
};

}  // namespace

Result<Changed> quantize_matmul_nbits(pass::QdqContext& context) {
  QQ_TRY(const config::MatMulNBitsSettings options, config::read_matmul_nbits_settings(context.settings));
  return MatrixPass(context, options).run();
}

}  // namespace quarkq::qdq
