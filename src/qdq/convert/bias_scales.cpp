// SPDX-License-Identifier: MIT
#include "qdq/convert/bias_scales.h"

#include "plan/bias_scales.h"
#include "qdq/convert/conversions.h"
#include "qdq/convert/integer_operands.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {
namespace {

/// The scales of input and weights multiplied; nothing where they are not stored or not of the output channels.
std::optional<std::vector<float>> products(ir::Graph& graph, const ir::Node& layer) {
  std::vector<Operand> sides;
  for (const size_t input : {size_t{0}, size_t{1}}) {
    const ir::Node* dq = ir::source_of(graph, layer, input);
    const auto operand = dq != nullptr && dequantizes(*dq) ? operand_of(graph, dq->id) : std::nullopt;
    if (!operand) return std::nullopt;
    sides.push_back(*operand);
  }
  const ir::Node* dq = ir::source_of(graph, layer, 2);
  const ir::Tensor* bias = graph.constant(dq != nullptr ? dq->input(0) : layer.input(2));
  const auto count = static_cast<int64_t>(sides[1].scales.size());
  if (sides[0].scales.size() != 1 || bias == nullptr) return std::nullopt;
  if (!plan::fits_bias(layer, sides[1].axis, count, bias->dims())) return std::nullopt;
  return plan::bias_scales(sides[0].scales[0], sides[1].scales, /*beta=*/1.0f, static_cast<size_t>(bias->size()));
}

void set_bias(ir::Graph& graph, const ir::Node& dq, ir::Tensor codes, const std::vector<float>& scales) {
  ir::GraphEdit edit(graph);
  const ir::Shape dims = scales.size() == 1 ? ir::Shape{} : ir::Shape{static_cast<int64_t>(scales.size())};
  const ir::Tensor parts[] = {std::move(codes), ir::Tensor::from<float>(dims, scales),
                              ir::Tensor::zeros(ElementType::kInt32, dims)};
  for (size_t i = 0; i < std::size(parts); ++i) {
    const ir::ValueId old = dq.input(i);
    const std::string wanted = (old.valid() ? graph.value(old).name : graph.value(dq.input(0)).name) + "_int32";
    const ir::ValueId made = edit.add_initializer(wanted, parts[i]);
    put_input(edit, graph.node(dq.id), i, made);
  }
  if (!dims.empty()) edit.node(dq.id).set("axis", int64_t{0});
}

}  // namespace

bool has_integer_bias(const ir::Node& node) { return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm"); }

Result<bool> store_bias_in_int32(pass::ConvertContext& context, ir::NodeId id) {
  ir::Graph& graph = context.graph();
  const ir::Node layer = graph.node(id);
  const ir::Node* source = has_integer_bias(layer) ? ir::source_of(graph, layer, 2) : nullptr;
  if (source == nullptr || !dequantizes(*source) || !source->input(0).valid()) return false;
  const ir::Node dq = *source;
  const auto leave = [&](const std::string& reason) {
    context.leave(id, reason);
    return false;
  };
  const auto values = bias_values(context.model, layer.input(2));
  if (!values) return leave("its bias is not stored, or not with a value for each channel");
  if (!graph.sole_use(dq.output(0))) return leave("its bias has other readers");
  const auto scales = products(graph, layer);
  if (!scales) return leave("its input or weights have no stored scales that fit the bias");
  Result<ir::Tensor> codes = encode_bias(*values, {scales->begin(), scales->end()});
  if (!codes.ok()) return leave(codes.status().message());
  set_bias(graph, dq, std::move(codes).value(), *scales);
  return true;
}

Result<size_t> a8w8_npu_to_cpu(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node* dq = has_integer_bias(graph.node(id)) ? ir::source_of(graph, graph.node(id), 2) : nullptr;
    const ir::Tensor* codes = dq != nullptr && dequantizes(*dq) ? graph.constant(dq->input(0)) : nullptr;
    if (codes == nullptr || codes->type() == ElementType::kInt32) continue;
    QQ_TRY(const bool is_stored, store_bias_in_int32(context, id));
    changed += is_stored ? 1 : 0;
  }
  return changed;
}

Result<size_t> adjust_bias_scale(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node* dq = has_integer_bias(graph.node(id)) ? ir::source_of(graph, graph.node(id), 2) : nullptr;
    const ir::Tensor* codes = dq != nullptr && dequantizes(*dq) ? graph.constant(dq->input(0)) : nullptr;
    if (codes == nullptr || codes->type() != ElementType::kInt32) continue;
    const auto bias = operand_of(graph, dq->id);
    const auto wanted = products(graph, graph.node(id));
    if (bias && wanted && bias->scales == *wanted) continue;
    QQ_TRY(const bool is_stored, store_bias_in_int32(context, id));
    changed += is_stored ? 1 : 0;
  }
  return changed;
}

}  // namespace quarkq::qdq
