// SPDX-License-Identifier: MIT
// UseGPTQ (spec 04 E.3): new codes for the stored matrices of MatMul, always uint8 with a scale per column.
#include <vector>

#include "ir/edit.h"
#include "passes/calibrate/constants.h"
#include "passes/finish/gptq_inputs.h"
#include "passes/finish/qdq_nodes.h"
#include "passes/insert/names.h"
#include "passes/passes.h"
#include "passes/stored_floats.h"

namespace quarkq::passes {
namespace {

constexpr int kBits = 8;

/// The standard DQ of a matrix in the quantized graph, or null.
const ir::Node* dequantizer_of(const ir::Graph& graph, const std::string& weight) {
  const ir::ValueId codes = graph.find(stored_name(weight));
  if (!codes.valid() || !graph.value(codes).is_initializer() || graph.value(codes).constant->rank() != 2)
    return nullptr;
  const std::optional<ir::Use> use = graph.sole_use(codes);
  if (!use || use->input != 0 || !is_standard_dq(graph.node(use->node))) return nullptr;
  const ir::Node& dq = graph.node(use->node);
  for (const size_t input : {size_t{1}, size_t{2}}) {
    if (!dq.input(input).valid() || !graph.value(dq.input(input)).is_initializer()) return nullptr;
  }
  return &dq;
}

bool is_matrix(const ir::Graph& graph, const ir::Node& node) {
  const ir::Tensor* weight = stored_floats(graph, node.input(1));
  return weight != nullptr && weight->rank() == 2 && weight->size() > 0;
}

/// Standard DQ nodes have one scale only below opset 13.
bool takes_scale_per_column(const ir::Model& model, const ir::Node& dq) {
  return !dq.domain.empty() || model.opset() >= 13;
}

void write_back(ir::Model& model, const ir::Node& dq, const GptqResult& result) {
  ir::GraphEdit edit(model.graph);
  const int64_t depth = result.codes.rows, columns = result.codes.columns;
  ir::Tensor codes = ir::Tensor::allocate(ElementType::kUInt8, {depth, columns});
  auto to = codes.mutable_data<uint8_t>();
  for (int64_t i = 0; i < depth * columns; ++i)
    to[static_cast<size_t>(i)] = static_cast<uint8_t>(result.codes.data[static_cast<size_t>(i)]);
  const bool is_scalar = !takes_scale_per_column(model, dq);
  const ir::Shape dims = is_scalar ? ir::Shape{} : ir::Shape{columns};
  const size_t count = is_scalar ? 1 : static_cast<size_t>(columns);
  const ElementType scale_type = model.graph.constant(dq.input(1))->type();
  std::vector<float> scales(count);
  ir::Tensor zeros = ir::Tensor::allocate(ElementType::kUInt8, dims);
  for (size_t c = 0; c < count; ++c) {
    scales[c] = static_cast<float>(result.scale.data[c]);
    zeros.mutable_data<uint8_t>()[c] = static_cast<uint8_t>(result.zero.data[c]);
  }
  const ir::ValueId places[3] = {dq.input(0), dq.input(1), dq.input(2)};
  const ir::Tensor stored[3] = {codes, store_floats(scales, scale_type, dims), zeros};
  const ir::NodeId id = dq.id;
  for (size_t i = 0; i < 3; ++i) {
    if (model.graph.sole_use(places[i])) {
      edit.set_constant(places[i], stored[i]);
    } else {
      edit.set_input(id, i, edit.add_initializer(model.graph.value(places[i]).name + "_gptq", stored[i]));
    }
  }
  ir::Node& node = edit.node(id);
  if (is_scalar) {
    node.erase("axis");
  } else if (node.int_or("axis", 1) != 1) {
    node.set("axis", int64_t{1});
  }
}

}  // namespace

Result<Changed> quantize_weights_gptq(PassContext& context) {
  if (context.float_model == nullptr || context.data == nullptr || context.data->size() == 0) {
    context.diagnostics.warn("gptq-left-out", "UseGPTQ", "it needs the calibration samples");
    return Changed::kNo;
  }
  QQ_TRY(GptqOptions options, gptq_options(context.settings, kBits));
  options.group_size = -1;  // the DQ nodes have a scale per column
  const ir::Graph& original = context.float_model->graph;
  const auto takes = [&](const ir::Node& node) {
    if (!is_matrix(original, node)) return false;
    const std::string& weight = original.value(node.input(1)).name;
    const ir::Node* dq = dequantizer_of(context.graph(), weight);
    if (dq == nullptr) return false;
    if (!options.per_channel || takes_scale_per_column(context.model, *dq)) return true;
    context.diagnostics.warn("gptq-left-out", weight, "a scale per column needs opset 13");
    return false;
  };
  const std::vector<GptqTarget> targets = gptq_targets(original, takes);
  QQ_RETURN_IF_ERROR(for_each_hessian(
      context, *context.float_model, targets, [&](const GptqTarget& target, const Dense<double>& hessian) -> Status {
        const ir::Value& weight = original.value(target.weight);
        QQ_TRY(const GptqResult result,
               gptq(dense_of(*weight.constant), hessian, options).context(cat("GPTQ of '", weight.name, "'")));
        write_back(context.model, *dequantizer_of(context.graph(), weight.name), result);
        return Status();
      }));
  return targets.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::passes
