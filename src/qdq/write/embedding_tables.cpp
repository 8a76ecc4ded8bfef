// SPDX-License-Identifier: MIT
#include "qdq/write/embedding_tables.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/element_type.h"
#include "numeric/real_numbers.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_writer.h"

namespace quarkq::qdq {

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

/// The same in 4 bits, two codes per byte.
void round_row_to_nibbles(std::span<const float> row, const TableBlocks& shape, ElementType type, uint8_t* bytes,
                          float* scales) {
  NBitsShape format;
  format.bits = shape.bits;
  std::vector<uint8_t> codes(row.size());
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    const auto begin = static_cast<size_t>(block * shape.block);
    const size_t end = std::min(begin + static_cast<size_t>(shape.block), row.size());
    const BlockGrid grid = fit_k_quant(row.subspan(begin, end - begin), {}, format, /*is_symmetric=*/true);
    const float scale = stored_scale(grid.scale, type);
    for (size_t i = begin; i < end; ++i)
      codes[i] = static_cast<uint8_t>(scale == 0 ? grid.zero : format.nearest_code(row[i] / scale + grid.zero));
    scales[block] = scale;
  }
  std::ranges::copy(pack_rows(codes, shape.width, shape.bits, 0), bytes);
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
std::string reason_to_stay(const pass::QdqContext& context, ir::ValueId table, std::span<const float> values,
                           int bits) {
  const ir::Graph& graph = context.graph();
  if (graph.value(table).constant->dims()[1] * bits % 8 != 0) return "its rows have an odd number of 4-bit codes";
  if (graph.value(table).is_output) return "it is an output of the model";
  for (const ir::Use& use : graph.value(table).uses) {
    if (!is_lookup(context, use, table)) return cat(graph.label(use.node), " reads it as floats, too");
  }
  return numeric::all_finite(values) ? "" : "it contains NaN or infinity";
}

/// Whether matrix [width, rows] is table [rows, width] turned.
bool is_turned(std::span<const float> table, std::span<const float> matrix, int64_t rows, int64_t width) {
  constexpr int64_t kTile = 64;  // rows that are compared together, so that both arrays are read in lines
  for (int64_t first = 0; first < rows; first += kTile) {
    const int64_t last = std::min(rows, first + kTile);
    for (int64_t k = 0; k < width; ++k) {
      for (int64_t row = first; row < last; ++row) {
        if (table[static_cast<size_t>(row * width + k)] != matrix[static_cast<size_t>(k * rows + row)]) return false;
      }
    }
  }
  return true;
}

/// The matrix that stores the same numbers, if both can have the same bytes.
std::optional<size_t> find_tied(const ir::Graph& graph, const ir::Tensor& table, std::span<const float> values,
                                const std::vector<LowBitMatrix>& matrices) {
  const int64_t rows = table.dims()[0], width = table.dims()[1];
  for (size_t i = 0; i < matrices.size(); ++i) {
    const ir::Tensor& matrix = *graph.value(matrices[i].target.weight).constant;
    if (matrix.dims() != ir::Shape{width, rows} || matrix.type() != table.type()) continue;
    if (width % matrices[i].format.block != 0) continue;
    const Result<ir::FloatView> floats = ir::FloatView::of(matrix);
    if (floats.ok() && is_turned(values, floats.value(), rows, width)) return i;
  }
  return std::nullopt;
}

/// Inputs and attributes of GatherBlockQuantized apart from the indices.
struct StoredTable {
  ir::ValueId codes, scales, zero_points;
  int64_t bits = 8, block = 128;
};

void replace_lookups(ir::Graph& graph, ir::ValueId table, const StoredTable& stored) {
  ir::GraphEdit edit(graph);
  const std::vector<ir::Use> uses(graph.value(table).uses.begin(), graph.value(table).uses.end());
  for (const ir::Use& use : uses) {
    const ir::Node node = graph.node(use.node);
    ir::NodeSpec spec{"GatherBlockQuantized",
                      ir::kMicrosoftDomain,
                      node.name.empty() ? "" : cat(node.name, "_Q", stored.bits),
                      {stored.codes, node.input(1), stored.scales},
                      {}};
    if (stored.zero_points.valid()) spec.inputs.push_back(stored.zero_points);
    const auto attribute = [&](const char* name, int64_t value) { spec.attributes.push_back({name, value, {}, {}}); };
    attribute("bits", stored.bits);
    attribute("block_size", stored.block);
    attribute("gather_axis", 0);
    attribute("quantize_axis", 1);
    spec.origins = node.origins;
    const ir::NodeId made = edit.add_node(std::move(spec), use.node);
    edit.remove_node(use.node);
    edit.set_output(made, 0, node.output(0));
  }
}

}  // namespace

TableCodes round_table(std::span<const float> values, const TableBlocks& shape, ElementType type) {
  TableCodes made;
  made.codes.resize(static_cast<size_t>(shape.rows * shape.row_bytes()));
  made.scales.resize(static_cast<size_t>(shape.rows * shape.blocks()));
  parallel_for(shape.rows, [&](int64_t row) {
    const auto values_of_row = values.subspan(static_cast<size_t>(row * shape.width), static_cast<size_t>(shape.width));
    uint8_t* const codes = made.codes.data() + row * shape.row_bytes();
    float* const scales = made.scales.data() + row * shape.blocks();
    if (shape.bits == 8) {
      round_row(values_of_row, shape, type, codes, scales);
    } else {
      round_row_to_nibbles(values_of_row, shape, type, codes, scales);
    }
  });
  return made;
}

Result<std::vector<LookupTable>> find_lookup_tables(pass::QdqContext& context,
                                                    const config::MatMulNBitsSettings& options,
                                                    const std::vector<LowBitMatrix>& matrices) {
  std::vector<LookupTable> tables;
  if (!options.has_tables) return tables;
  for (const ir::ValueId id : find_tables(context)) {
    const ir::Value& value = context.graph().value(id);
    QQ_TRY(const ir::FloatView floats, ir::FloatView::of(*value.constant));
    const std::string why = reason_to_stay(context, id, floats, options.tables.bits);
    if (!why.empty()) {
      context.diagnostics.add("embedding-left-out", value.name, why);
      continue;
    }
    LookupTable table{id, value.name, options.tables, {}};
    if (options.form == config::NBitsForm::kMatMulNBits)
      table.tied_to = find_tied(context.graph(), *value.constant, floats, matrices);
    tables.push_back(std::move(table));
  }
  return tables;
}

Status write_table(pass::QdqContext& context, const LookupTable& table) {
  const ir::Tensor values = *context.graph().value(table.value).constant;
  QQ_TRY(const ir::FloatView floats, ir::FloatView::of(values));
  const TableBlocks shape{values.dims()[0], values.dims()[1], table.format.block, table.format.bits};
  const TableCodes made = round_table(floats, shape, values.type());
  ir::GraphEdit edit(context.graph());
  StoredTable stored;
  stored.codes = edit.add_initializer(cat(table.name, "_Q", shape.bits),
                                      ir::Tensor::from<uint8_t>({shape.rows, shape.row_bytes()}, made.codes));
  stored.scales = edit.add_initializer(table.name + "_scales",
                                       ir::store_floats(made.scales, values.type(), {shape.rows, shape.blocks()}));
  stored.bits = shape.bits;
  stored.block = shape.block;
  replace_lookups(context.graph(), table.value, stored);
  return Status();
}

void write_tied_table(pass::QdqContext& context, const LookupTable& table, const std::vector<ir::ValueId>& stored,
                      const NBitsShape& shape) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  const int64_t row_bytes = shape.blocks() * shape.block_bytes();
  const ir::ValueId dims = edit.add_initializer(
      table.name + "_shape", ir::Tensor::from<int64_t>({2}, std::vector<int64_t>{shape.columns, row_bytes}));
  ir::ValueType type;
  type.element = ElementType::kUInt8;
  const ir::ValueId codes = edit.add_value(cat(table.name, nbits_suffix(shape)), type);
  ir::NodeSpec spec{"Reshape", "", table.name + "_Reshape", {stored[0], dims}, {}};
  const ir::NodeId first = graph.value(table.value).uses.begin()->node;
  spec.origins = graph.node(first).origins;
  const ir::NodeId reshape = edit.add_node(std::move(spec), graph.order().front());
  edit.set_output(reshape, 0, codes);
  StoredTable read{codes, stored[1], stored.size() > 2 ? stored[2] : ir::ValueId(), shape.stored_bits(), shape.block};
  replace_lookups(graph, table.value, read);
}

}  // namespace quarkq::qdq
