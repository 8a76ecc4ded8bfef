// SPDX-License-Identifier: MIT
#include "qdq/write/embedding_tables.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ir/edit.h"
#include "ir/qdq_nodes.h"
#include "ir/stored_floats.h"
#include "numeric/finite.h"
#include "numeric/half.h"
#include "numeric/rounding.h"

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
  return numeric::all_finite(values) ? "" : "it holds NaN or infinity";
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
