// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_blocks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/element_type.h"
#include "numeric/encode.h"
#include "numeric/real_numbers.h"

namespace quarkq::qdq {

namespace {

constexpr float kMiddle = 8.0f;

struct BlockGrid {
  float scale = 0, zero = kMiddle;
};

/// Fills codes, scales and zero points block by block: `grid_of(values)`, then `code_of(value, grid)`.
template <typename GridOf, typename CodeOf>
NBitsWeight for_blocks(std::span<const float> weight, const NBitsShape& shape, const GridOf& grid_of,
                       const CodeOf& code_of) {
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns);
  NBitsWeight result;
  result.codes.assign(static_cast<size_t>(shape.columns * shape.blocks() * shape.block), 0);
  size_t at = 0;
  for (int64_t column = 0; column < shape.columns; ++column) {
    for (int64_t block = 0; block < shape.blocks(); ++block, at += static_cast<size_t>(shape.block)) {
      const std::vector<float> values = block_values(weight, shape, column, block);
      const BlockGrid grid = grid_of(values);
      for (size_t i = 0; i < values.size(); ++i) result.codes[at + i] = code_of(values[i], grid);
      result.scales.push_back(grid.scale);
      result.zeros.push_back(grid.zero);
    }
  }
  return result;
}

std::pair<float, float> range_of(const std::vector<float>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

/// max(|x| - |x|^(p-1) / beta, 0) with the sign of x.
float shrink(float x, float beta) {
  constexpr float kNorm = 0.7f;
  const float size = std::abs(x);
  const float left = size - std::pow(size + 1e-8f, kNorm - 1) / beta;
  return left <= 0 ? 0.0f : std::copysign(left, x);
}

/// The rows of HQQ: blocks of all columns, padded with zeros, with their inverse scales and zero points.
struct HqqRows {
  std::vector<float> values, scale, zero;
  int64_t width = 0;

  float code(size_t i) const {
    const size_t row = i / static_cast<size_t>(width);
    return nearest_nbits_code(values[i] * scale[row] + zero[row]);
  }

  /// One step; returns the mean error before it.
  double improve(float beta) {
    double error = 0;
    const auto count = static_cast<size_t>(width);
    for (size_t row = 0; row < scale.size(); ++row) {
      double sum = 0;
      for (size_t i = row * count; i < (row + 1) * count; ++i) {
        const float rounded = code(i), distance = values[i] - (rounded - zero[row]) / scale[row];
        sum += static_cast<double>(rounded - (values[i] - shrink(distance, beta)) * scale[row]);
        error += static_cast<double>(std::abs(distance));
      }
      zero[row] = static_cast<float>(sum / static_cast<double>(width));
    }
    return error / static_cast<double>(values.size());
  }
};

HqqRows hqq_rows(std::span<const float> weight, const NBitsShape& shape) {
  constexpr float kLargestScale = 2e4f;
  HqqRows rows;
  rows.width = shape.block;
  for (int64_t column = 0; column < shape.columns; ++column) {
    for (int64_t block = 0; block < shape.blocks(); ++block) {
      std::vector<float> values = block_values(weight, shape, column, block);
      values.resize(static_cast<size_t>(shape.block), 0.0f);
      const auto [low, high] = range_of(values);
      rows.scale.push_back(high > low ? std::min(kLargestNBitsCode / (high - low), kLargestScale) : kLargestScale);
      rows.zero.push_back(numeric::round_half_even(-low * rows.scale.back()));
      rows.values.insert(rows.values.end(), values.begin(), values.end());
    }
  }
  return rows;
}

}  // namespace

std::vector<float> block_values(std::span<const float> weight, const NBitsShape& shape, int64_t column, int64_t block) {
  const int64_t begin = block * shape.block, end = std::min(begin + shape.block, shape.depth);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(shape.block));
  for (int64_t row = begin; row < end; ++row)
    values.push_back(weight[static_cast<size_t>(row * shape.columns + column)]);
  return values;
}

NBitsWeight round_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric) {
  return for_blocks(
      weight, shape,
      [&](const std::vector<float>& values) -> BlockGrid {
        auto [low, high] = range_of(values);
        if (symmetric) return {(std::abs(high) > std::abs(low) ? high : low) / -kMiddle, kMiddle};
        low = std::min(low, 0.0f);
        high = std::max(high, 0.0f);
        const float scale = (high - low) / kLargestNBitsCode;
        const float zero = scale == 0 ? 0.0f : numeric::round_half_away(-low / scale);
        return {scale, std::clamp(zero, 0.0f, kLargestNBitsCode)};
      },
      [](float value, const BlockGrid& grid) {
        const float inverse = grid.scale != 0 ? 1.0f / grid.scale : 0.0f;
        return static_cast<uint8_t>(limited_nbits_code(numeric::round_half_away(value * inverse + grid.zero)));
      });
}

PackedNBits round_packed_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric) {
  constexpr int64_t kColumns = 256;  // Columns per piece of work.
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns && shape.block % 2 == 0);
  const auto blocks = static_cast<size_t>(shape.columns * shape.blocks());
  PackedNBits result;
  result.codes.assign(blocks * static_cast<size_t>(shape.block / 2), 0);
  result.scales.resize(blocks);
  result.zeros.resize(blocks);
  const numeric::NBitsMatrix matrix{weight.data(), shape.depth, shape.columns, shape.block, symmetric};
  const numeric::NBitsBlocks out{result.codes.data(), result.scales.data(), result.zeros.data()};
  parallel_pieces(shape.columns, kColumns, {}, [&](int64_t begin, int64_t end) {
    QQ_DISPATCH(numeric, round_nbits)(matrix, begin, end, out);
  });
  return result;
}

PackedNBits packed(NBitsWeight weight, const NBitsShape& shape) {
  return {pack_nibbles(weight.codes, shape.block, 0), std::move(weight.scales), std::move(weight.zeros)};
}

NBitsWeight hqq_blocks(std::span<const float> weight, const NBitsShape& shape) {
  constexpr int kSteps = 20;
  constexpr float kGrowth = 1.01f;
  HqqRows rows = hqq_rows(weight, shape);
  float beta = 10;
  double least = 1e4;
  for (int step = 0; step < kSteps; ++step, beta *= kGrowth) {
    const double error = rows.improve(beta);
    if (error >= least) break;
    least = error;
  }
  NBitsWeight result;
  for (size_t i = 0; i < rows.values.size(); ++i) result.codes.push_back(static_cast<uint8_t>(rows.code(i)));
  for (const float scale : rows.scale) result.scales.push_back(1.0f / scale);
  result.zeros = std::move(rows.zero);
  return result;
}

NBitsWeight round_again(std::span<const float> weight, const NBitsShape& shape, bool symmetric) {
  return for_blocks(
      weight, shape,
      [&](const std::vector<float>& values) -> BlockGrid {
        const auto [low, high] = range_of(values);
        if (symmetric) return {2 * std::max(std::abs(low), std::abs(high)) / kLargestNBitsCode, kMiddle};
        const float scale = (high - low) / kLargestNBitsCode;
        return {scale, scale == 0 ? 0.0f : nearest_nbits_code(-low / scale)};
      },
      [](float value, const BlockGrid& grid) {
        return static_cast<uint8_t>(nearest_nbits_code(grid.scale == 0 ? grid.zero : value / grid.scale + grid.zero));
      });
}

std::vector<uint8_t> pack_nibbles(std::span<const uint8_t> values, int64_t row, uint8_t rest) {
  std::vector<uint8_t> packed;
  const auto width = static_cast<size_t>(row);
  for (size_t begin = 0; begin < values.size(); begin += width) {
    for (size_t i = 0; i < width; i += 2) {
      const uint8_t high = i + 1 < width ? values[begin + i + 1] : rest;
      packed.push_back(static_cast<uint8_t>(values[begin + i] | high << 4));
    }
  }
  return packed;
}

namespace {

constexpr float kMiddleCode = 128, kStepsEachWay = 127;
constexpr int64_t kLeastElements = 4096;  // smaller tables hold nothing worth the operator

float stored_scale(float scale, ElementType type) {
  return type == ElementType::kFloat16 ? float_from_float16(float16_from_float(scale)) : scale;
}

void round_row(std::span<const float> row, const TableBlocks& shape, ElementType type, uint8_t* codes, float* scales) {
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    const auto begin = static_cast<size_t>(block * shape.block);
    const size_t end = std::min(begin + static_cast<size_t>(shape.block), row.size());
    float most = 0;
    for (size_t i = begin; i < end; ++i) most = std::max(most, std::abs(row[i]));
    const float scale = stored_scale(most / kStepsEachWay, type);
    for (size_t i = begin; i < end; ++i) {
      const float steps = scale > 0 ? numeric::round_half_even(row[i] / scale) : 0.0f;
      codes[i] = static_cast<uint8_t>(std::clamp(steps, -kStepsEachWay, kStepsEachWay) + kMiddleCode);
    }
    scales[block] = scale;
  }
}

bool is_lookup(const pass::QdqContext& context, const ir::Use& use, ir::ValueId table) {
  const ir::Node& node = context.graph().node(use.node);
  return !use.is_capture && use.input == 0 && node.is("Gather") && node.input(1) != table &&
         (node.int_or("axis", 0) == 0 || node.int_or("axis", 0) == -2) && context.selection.takes(node);
}

/// Tables that some Gather node reads.
std::vector<ir::ValueId> find_tables(const pass::QdqContext& context) {
  const ir::Graph& graph = context.graph();
  std::vector<ir::ValueId> tables;
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor* values = ir::stored_floats(graph, id);
    if (values == nullptr || values->rank() != 2 || values->size() < kLeastElements) continue;
    const auto& uses = graph.value(id).uses;
    if (std::ranges::any_of(uses, [&](const ir::Use& use) { return is_lookup(context, use, id); }))
      tables.push_back(id);
  }
  return tables;
}

/// Why the table has to stay; empty: nothing keeps it.
std::string reason_to_stay(const pass::QdqContext& context, ir::ValueId table, std::span<const float> values) {
  const ir::Graph& graph = context.graph();
  if (graph.value(table).is_output) return "it is an output of the model";
  for (const ir::Use& use : graph.value(table).uses) {
    if (!is_lookup(context, use, table)) return cat(graph.label(use.node), " reads it as floats, too");
  }
  return numeric::all_finite(values) ? "" : "it contains NaN or infinity";
}

class TableWriter {
 public:
  TableWriter(ir::Graph& graph, const TableBlocks& shape) : graph_(graph), edit_(graph), shape_(shape) {}

  void write(ir::ValueId table, const TableCodes& stored) {
    const std::string name = graph_.value(table).name;
    const ElementType type = graph_.value(table).constant->type();
    const ir::ValueId codes =
        edit_.add_initializer(name + "_Q8", ir::Tensor::from<uint8_t>({shape_.rows, shape_.width}, stored.codes));
    const ir::ValueId scales =
        edit_.add_initializer(name + "_scales", ir::store_floats(stored.scales, type, {shape_.rows, shape_.blocks()}));
    const std::vector<ir::Use> uses(graph_.value(table).uses.begin(), graph_.value(table).uses.end());
    for (const ir::Use& use : uses) replace(use.node, codes, scales);
  }

 private:
  void replace(ir::NodeId id, ir::ValueId codes, ir::ValueId scales) {
    const ir::Node node = graph_.node(id);
    ir::NodeSpec spec{"GatherBlockQuantized",
                      ir::kMicrosoftDomain,
                      node.name.empty() ? "" : node.name + "_Q8",
                      {codes, node.input(1), scales},
                      {}};
    const auto attribute = [&](const char* name, int64_t value) { spec.attributes.push_back({name, value, {}, {}}); };
    attribute("bits", 8);
    attribute("block_size", shape_.block);
    attribute("gather_axis", 0);
    attribute("quantize_axis", 1);
    spec.origins = node.origins;
    const ir::NodeId made = edit_.add_node(std::move(spec), id);
    edit_.remove_node(id);
    edit_.set_output(made, 0, node.output(0));
  }

  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  const TableBlocks& shape_;
};

}  // namespace

TableCodes round_table(std::span<const float> values, const TableBlocks& shape, ElementType type) {
  TableCodes made;
  made.codes.resize(values.size());
  made.scales.resize(static_cast<size_t>(shape.rows * shape.blocks()));
  parallel_for(shape.rows, [&](int64_t row) {
    const auto begin = static_cast<size_t>(row * shape.width);
    round_row(values.subspan(begin, static_cast<size_t>(shape.width)), shape, type, made.codes.data() + begin,
              made.scales.data() + row * shape.blocks());
  });
  return made;
}

Result<Changed> quantize_embedding_tables(pass::QdqContext& context, const config::MatMulNBitsSettings& options) {
  Changed changed = Changed::kNo;
  for (const ir::ValueId table : find_tables(context)) {
    const ir::Tensor values = *context.graph().value(table).constant;
    QQ_TRY(const ir::FloatView floats, ir::FloatView::of(values));
    const std::string why = reason_to_stay(context, table, floats);
    if (!why.empty()) {
      context.diagnostics.add("embedding-left-out", context.graph().value(table).name, why);
      continue;
    }
    const TableBlocks shape{values.dims()[0], values.dims()[1], options.group_size};
    TableWriter(context.graph(), shape).write(table, round_table(floats, shape, values.type()));
    changed = Changed::kYes;
  }
  if (changed == Changed::kYes) {
    ir::GraphEdit(context.graph()).remove_unused_initializers();
    context.model.set_opset(ir::kMicrosoftDomain, 1);
  }
  return changed;
}

}  // namespace quarkq::qdq
