// SPDX-License-Identifier: MIT
// Dynamic quantization (spec 02 F.1): weights become integers now, activations while the model runs. Nothing is
// calibrated.
#include <algorithm>

#include "ir/stored_floats.h"
#include "qdq/passes.h"
#include "qdq/write/dynamic_operators.h"

namespace quarkq::qdq {
namespace {

constexpr const char kMicrosoft[] = "com.microsoft";
constexpr int64_t kFirstOpset = 11;  // of DynamicQuantizeLinear

bool is_plain_gemm(const pass::QdqContext& context, const ir::Node& node) {
  const ir::Graph& graph = context.model.graph;
  const ir::Tensor* weight = ir::stored_floats(graph, node.input(1));
  if (!node.is("Gemm") || weight == nullptr || weight->type() != ElementType::kFloat || weight->rank() != 2)
    return false;
  if (context.selection.excluded.contains(node)) return false;
  return node.int_or("transA", 0) == 0 && node.float_or("alpha", 1.0f) == 1.0f && node.float_or("beta", 1.0f) == 1.0f;
}

ir::Tensor turned(const ir::Tensor& matrix) {
  const int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  ir::Tensor made = ir::Tensor::allocate(ElementType::kFloat, {columns, rows});
  const auto from = matrix.data<float>();
  const auto to = made.mutable_data<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      to[static_cast<size_t>(j * rows + i)] = from[static_cast<size_t>(i * columns + j)];
  }
  return made;
}

std::string suffixed(const std::string& name, const char* suffix) { return name.empty() ? "" : name + suffix; }

/// x W + b as MatMul and Add, which have operators on integers.
void split_gemm(ir::Graph& graph, ir::NodeId id) {
  ir::GraphEdit edit(graph);
  const ir::Node gemm = graph.node(id);
  ir::ValueId weight = gemm.input(1);
  if (gemm.int_or("transB", 0) != 0) {
    ir::Tensor matrix = turned(*graph.value(weight).constant);
    if (graph.value(weight).uses.size() == 1) {
      edit.set_constant(weight, std::move(matrix));
    } else {
      weight = edit.add_initializer(graph.value(weight).name + "_Transposed", std::move(matrix));
    }
  }
  const ir::ValueId result = gemm.output(0);
  const bool has_bias = gemm.input(2).valid();
  const std::string product_name = graph.value(result).name + "_MatMul";
  const ir::ValueId product = has_bias ? edit.add_value(product_name, graph.value(result).type) : result;
  const std::vector<ir::NodeId> origins = gemm.origins;
  const ir::NodeId next =
      edit.add_node({"MatMul", "", suffixed(gemm.name, "_MatMul"), {gemm.input(0), weight}, {}, {}, origins}, id);
  ir::NodeId sum;
  if (has_bias) {
    sum = edit.add_node({"Add", "", suffixed(gemm.name, "_Add"), {product, gemm.input(2)}, {}, {}, origins}, id);
  }
  edit.remove_node(id);
  edit.set_output(next, 0, product);
  if (has_bias) edit.set_output(sum, 0, result);
}

/// What is a value again for readers that take floats.
void make_inputs_float(DynamicWriter& writer, ir::NodeId id) {
  const ir::Node node = writer.graph().node(id);
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) writer.make_float(input);
  }
  for (const ir::Capture& capture : node.captures) writer.make_float(capture.outer);
}

bool uses_domain(const ir::Graph& graph, const char* domain) {
  return std::any_of(graph.order().begin(), graph.order().end(),
                     [&](ir::NodeId id) { return graph.node(id).domain == domain; });
}

}  // namespace

Result<Changed> emit_dynamic(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  if (context.model.opset() < kFirstOpset) {
    return invalid_argument("use_dynamic_quant: needs opset ", kFirstOpset, " or more, the model has ",
                            context.model.opset(), "; set ConvertOpsetVersion");
  }
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (is_plain_gemm(context, graph.node(id))) split_gemm(graph, id);
  }
  DynamicWriter writer(graph);
  bool changed = false;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    writer.stand_before(id);
    const DynamicRule rule = dynamic_rule(graph.node(id));
    bool done = false;
    if (rule != nullptr && context.selection.selects(graph.node(id))) {
      QQ_TRY(done, rule(writer, id, context.settings));
    }
    if (!done) make_inputs_float(writer, id);
    changed |= done;
  }
  writer.stand_before({});
  for (const ir::ValueId output : graph.outputs()) writer.make_float(output);
  ir::GraphEdit(graph).remove_unused_initializers();
  if (uses_domain(graph, kMicrosoft)) context.model.set_opset(kMicrosoft, 1);
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::qdq
