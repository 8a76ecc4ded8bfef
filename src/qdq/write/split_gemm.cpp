// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_matrices.h"

#include <algorithm>
#include <cstring>

#include "ir/constants.h"
#include "ir/edit.h"

namespace quarkq::qdq {
namespace {

ir::Tensor turned(const ir::Tensor& matrix) {
  const int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  ir::Tensor made = ir::Tensor::allocate(matrix.type(), {columns, rows});
  const auto size = static_cast<int64_t>(matrix.bytes()) / std::max<int64_t>(1, matrix.size());  // bytes of one element
  const std::byte* const from = matrix.raw();
  std::byte* const to = made.mutable_raw();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(to + (j * rows + i) * size, from + (i * columns + j) * size, static_cast<size_t>(size));
  }
  return made;
}

std::string suffixed(const std::string& name, const char* suffix) { return name.empty() ? "" : name + suffix; }

}  // namespace

bool is_plain_gemm(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Gemm")) return false;
  const ir::Tensor* weight = ir::stored_floats(graph, node.input(1));
  if (weight == nullptr || weight->rank() != 2) return false;
  return node.int_or("transA", 0) == 0 && node.float_or("alpha", 1.0f) == 1.0f && node.float_or("beta", 1.0f) == 1.0f;
}

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

}  // namespace quarkq::qdq
