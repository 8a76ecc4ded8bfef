// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/file_system.h"
#include "base/parallel.h"
#include "ir/constants.h"
#include "numeric/element_type.h"
#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq {
namespace {

using config::NBitsAlgorithm;
using config::NBitsFormat;

constexpr double kUnknownLoss = -1;

double bytes_of_scale(const ir::Tensor& weight) { return bits(weight.type()) / 8.0; }

double stored_bytes(const NBitsShape& shape, const NBitsFormat& format, double scale_bytes, bool has_real_zeros) {
  const int64_t blocks = shape.blocks();
  double bytes = static_cast<double>(blocks) * (static_cast<double>(shape.block_bytes()) + scale_bytes);
  if (has_real_zeros) {
    bytes += static_cast<double>(blocks) * scale_bytes;
  } else if (!format.is_symmetric) {
    bytes += static_cast<double>((blocks * shape.stored_bits() + 7) / 8);
  }
  return bytes * static_cast<double>(shape.columns);
}

double stored_bytes(const TableBlocks& shape, double scale_bytes) {
  const double row = static_cast<double>(shape.row_bytes()) + static_cast<double>(shape.blocks()) * scale_bytes;
  return row * static_cast<double>(shape.rows);
}

/// Relative error of a table in 4 or 8 bits; every row counts alike.
double table_loss(std::span<const float> values, const TableBlocks& shape, ElementType type) {
  const TableCodes made = round_table(values, shape, type);
  double error = 0, power = 0;
  const int middle = 1 << (shape.bits - 1);
  for (int64_t row = 0; row < shape.rows; ++row) {
    const uint8_t* const codes = made.codes.data() + row * shape.row_bytes();
    for (int64_t i = 0; i < shape.width; ++i) {
      const int code = shape.bits == 8 ? codes[i] : (codes[i / 2] >> (i % 2 * 4)) & 15;
      const auto value = static_cast<double>(values[static_cast<size_t>(row * shape.width + i)]);
      const auto scale = static_cast<double>(made.scales[static_cast<size_t>(row * shape.blocks() + i / shape.block)]);
      const double off = value - (code - middle) * scale;
      error += off * off;
      power += value * value;
    }
  }
  return power > 0 ? error / power : 0;
}

/// The formats that compete for a target size. 2 bits need zero points: three of four symmetric codes are not positive.
std::vector<NBitsFormat> candidates(const config::MatMulNBitsSettings& options) {
  std::vector<NBitsFormat> made;
  for (const int64_t block : {32, 64, 128}) {
    if (options.form == config::NBitsForm::kMatMulNBits) made.push_back({2, block, false});
    made.push_back({4, block, options.matrices.is_symmetric});
  }
  for (const int64_t block : {32, 128}) made.push_back({8, block, options.matrices.is_symmetric});
  return made;
}

/// Everything that competes for the bytes: matrices first, then tables that are not tied.
class Competition {
 public:
  Competition(pass::QdqContext& context, const config::MatMulNBitsSettings& options)
      : context_(context), options_(options) {}

  /// `effect`: of a relative error of the matrix on the outputs; 1 if it is not known.
  Status add(const LowBitMatrix& matrix, std::span<const float> moments, double effect) {
    const ir::Tensor& weight = *context_.graph().value(matrix.target.weight).constant;
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(weight));
    const bool has_real_zeros =
        options_.algorithm == NBitsAlgorithm::kHqq && options_.form == config::NBitsForm::kMatMulNBits;
    std::vector<NBitsFormat> formats = candidates(options_);
    std::vector<FormatCost> costs;
    for (const NBitsFormat& format : formats) {
      const NBitsShape shape{weight.dims()[0], weight.dims()[1], format.block, format.bits};
      costs.push_back({stored_bytes(shape, format, bytes_of_scale(weight), has_real_zeros && format.bits != 8),
                       effect * format_loss(values, shape, format.is_symmetric, moments, options_.algorithm)});
    }
    enter(weight, std::move(formats), std::move(costs));
    return Status();
  }

  Status add(const LookupTable& table) {
    const ir::Tensor& weight = *context_.graph().value(table.value).constant;
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(weight));
    std::vector<NBitsFormat> formats;
    std::vector<FormatCost> costs;
    for (const int bits : {4, 8}) {
      const TableBlocks shape{weight.dims()[0], weight.dims()[1], table.format.block, bits};
      if (shape.width * bits % 8 != 0) continue;
      formats.push_back({bits, shape.block, true});
      costs.push_back({stored_bytes(shape, bytes_of_scale(weight)), table_loss(values, shape, weight.type())});
    }
    enter(weight, std::move(formats), std::move(costs));
    return Status();
  }

  /// Bytes that are not part of the competition count against a target size, tied tables excepted.
  Status run(double tied_bytes) {
    double budget = options_.target_bits / 8 * weights_;
    if (options_.target_bytes > 0) {
      double all = 0;
      for (const ir::ValueId id : context_.graph().initializers())
        all += static_cast<double>(context_.graph().value(id).constant->bytes());
      budget = static_cast<double>(options_.target_bytes) - (all - float_bytes_ - tied_bytes);
    }
    const std::optional<std::vector<size_t>> chosen = allocate_formats(costs_, budget);
    if (!chosen) return refuse(budget);
    chosen_ = *chosen;
    return Status();
  }

  const NBitsFormat& format(size_t i) const { return formats_[i][chosen_[i]]; }
  double loss(size_t i) const { return costs_[i][chosen_[i]].loss; }

 private:
  void enter(const ir::Tensor& weight, std::vector<NBitsFormat> formats, std::vector<FormatCost> costs) {
    weights_ += static_cast<double>(weight.size());
    float_bytes_ += static_cast<double>(weight.bytes());
    formats_.push_back(std::move(formats));
    costs_.push_back(std::move(costs));
  }

  Status refuse(double budget) const {
    double least = 0;
    for (const std::vector<FormatCost>& costs : costs_) least += std::ranges::min(costs, {}, &FormatCost::bytes).bytes;
    if (options_.target_bytes > 0)
      return invalid_argument("quarkq.target_size: the result has at least ",
                              static_cast<int64_t>(static_cast<double>(options_.target_bytes) + least - budget),
                              " bytes; set a larger size, or EmbeddingBits if tables are float");
    return invalid_argument("quarkq.target_bits: found ", options_.target_bits, ", the smallest formats need ",
                            least * 8 / weights_, " bits per weight");
  }

  pass::QdqContext& context_;
  const config::MatMulNBitsSettings& options_;
  double weights_ = 0, float_bytes_ = 0;
  std::vector<std::vector<NBitsFormat>> formats_;
  std::vector<std::vector<FormatCost>> costs_;
  std::vector<size_t> chosen_;
};

struct Losses {
  std::vector<double> matrices, tables;
};

Result<Losses> choose_for_target(pass::QdqContext& context, const config::MatMulNBitsSettings& options,
                                 const InputMoments& moments, std::vector<LowBitMatrix>& matrices,
                                 std::vector<LookupTable>& tables) {
  Competition all(context, options);
  const std::vector<float> none;
  QQ_TRY(const std::vector<double> effects, measure_effects(context, moments, matrices));
  for (size_t i = 0; i < matrices.size(); ++i)
    QQ_RETURN_IF_ERROR(all.add(matrices[i], moments.empty() ? none : moments[i], effects.empty() ? 1 : effects[i]));
  double tied_bytes = 0;
  for (const LookupTable& table : tables) {
    if (table.tied_to) {
      tied_bytes += static_cast<double>(context.graph().value(table.value).constant->bytes());
    } else {
      QQ_RETURN_IF_ERROR(all.add(table));
    }
  }
  QQ_RETURN_IF_ERROR(all.run(tied_bytes));
  Losses losses;
  size_t at = 0;
  for (LowBitMatrix& matrix : matrices) {
    matrix.format = all.format(at);
    losses.matrices.push_back(all.loss(at++));
  }
  for (LookupTable& table : tables) {
    losses.tables.push_back(kUnknownLoss);
    if (table.tied_to) continue;
    table.format = all.format(at);
    losses.tables.back() = all.loss(at++);
  }
  return losses;
}

Status apply_plan(const std::string& path, const config::MatMulNBitsSettings& options,
                  std::vector<LowBitMatrix>& matrices, std::vector<LookupTable>& tables) {
  QQ_TRY(const config::NBitsPlan plan, config::load_nbits_plan(path));
  for (const config::NBitsPlan::Row& row : plan.matrices) {
    const auto found = std::ranges::find(matrices, row.name, &LowBitMatrix::name);
    if (found == matrices.end())
      return invalid_argument(path, ": matrices.'", row.name, "' is not a matrix that is quantized in this model");
    if (options.form == config::NBitsForm::kQdq && row.format.bits == 2)
      return unsupported(path, ": matrices.'", row.name, "': nbits_form qdq stores 4 and 8 bits; found 2");
    found->format = row.format;
  }
  for (const config::NBitsPlan::Row& row : plan.tables) {
    const auto found = std::ranges::find(tables, row.name, &LookupTable::name);
    if (found == tables.end())
      return invalid_argument(path, ": tables.'", row.name,
                              "' is not a table that is quantized in this model (MatMulNBitsParams.EmbeddingBits)");
    if (row.format.bits == 0) {
      tables.erase(found);
    } else {
      found->format = {row.format.bits, row.format.block, true};
    }
  }
  return Status();
}

config::NBitsPlan plan_of(const pass::QdqContext& context, const std::vector<LowBitMatrix>& matrices,
                          const std::vector<LookupTable>& tables, const Losses& losses) {
  config::NBitsPlan plan;
  double bytes = 0, weights = 0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const ir::Tensor& weight = *context.model.graph.value(matrices[i].target.weight).constant;
    bytes += stored_bytes(matrices[i].shape(context.model.graph), matrices[i].format, bytes_of_scale(weight), false);
    weights += static_cast<double>(weight.size());
    plan.matrices.push_back(
        {matrices[i].name, matrices[i].format, losses.matrices.empty() ? kUnknownLoss : losses.matrices[i]});
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].tied_to) continue;
    const ir::Tensor& weight = *context.model.graph.value(tables[i].value).constant;
    const TableBlocks shape{weight.dims()[0], weight.dims()[1], tables[i].format.block, tables[i].format.bits};
    bytes += stored_bytes(shape, bytes_of_scale(weight));
    weights += static_cast<double>(weight.size());
    plan.tables.push_back({tables[i].name, tables[i].format, losses.tables.empty() ? kUnknownLoss : losses.tables[i]});
  }
  plan.bits_per_weight = weights > 0 ? bytes * 8 / weights : 0;
  return plan;
}

}  // namespace

double format_loss(std::span<const float> weight, const NBitsShape& shape, bool is_symmetric,
                   std::span<const float> moments, NBitsAlgorithm algorithm) {
  const NBitsWeight made = algorithm == NBitsAlgorithm::kDefault
                               ? round_blocks(weight, shape, is_symmetric)
                               : k_quant_blocks(weight, shape, {is_symmetric, moments});
  const int64_t blocks = shape.blocks();
  std::vector<double> errors(static_cast<size_t>(shape.columns)), powers(errors.size());
  parallel_for(shape.columns, [&](int64_t c) {
    double error = 0, power = 0;
    for (int64_t k = 0; k < shape.depth; ++k) {
      const auto block = static_cast<size_t>(c * blocks + k / shape.block);
      const auto code = static_cast<float>(made.codes[static_cast<size_t>(c * blocks * shape.block + k)]);
      const auto value = static_cast<double>(weight[static_cast<size_t>(k * shape.columns + c)]);
      const double off = value - static_cast<double>((code - made.zeros[block]) * made.scales[block]);
      const double moment = moments.empty() ? 1.0 : static_cast<double>(moments[static_cast<size_t>(k)]);
      error += moment * off * off;
      power += moment * value * value;
    }
    errors[static_cast<size_t>(c)] = error;
    powers[static_cast<size_t>(c)] = power;
  });
  const double power = std::accumulate(powers.begin(), powers.end(), 0.0);
  return power > 0 ? std::accumulate(errors.begin(), errors.end(), 0.0) / power : 0;
}

Status choose_formats(pass::QdqContext& context, const config::MatMulNBitsSettings& options,
                      const InputMoments& moments, std::vector<LowBitMatrix>& matrices,
                      std::vector<LookupTable>& tables) {
  const config::ToolBlock& own = context.settings.tool;
  Losses losses;
  if (own.nbits_plan) {
    QQ_RETURN_IF_ERROR(apply_plan(*own.nbits_plan, options, matrices, tables));
  } else if (options.has_target()) {
    QQ_TRY(losses, choose_for_target(context, options, moments, matrices, tables));
  }
  if (!own.nbits_plan_out) return Status();
  return write_file(*own.nbits_plan_out, to_yaml(plan_of(context, matrices, tables, losses)));
}

}  // namespace quarkq::qdq
