// SPDX-License-Identifier: MIT
// MatMul by a matrix and Add of a row become a Gemm, between two Reshapes when the left side is no matrix.
#include <algorithm>

#include "rewrite/optimize/steps.h"

namespace quarkq::rewrite::basic {
namespace {

const ir::ValueType& type_of(const Workspace& work, ir::ValueId value) { return work.graph().value(value).type; }

/// May `bias` be C of a Gemm whose result is [rows, columns]? `rows` is -1 when it is not known.
bool is_gemm_bias(const ir::ValueType& bias, bool may_be_matrix, int64_t rows, int64_t columns) {
  if (!bias.is_static()) return false;
  const ir::Shape dims = bias.shape();
  if (dims.size() == 1) return dims[0] == columns;
  if (dims.size() != 2 || !may_be_matrix) return false;
  const bool fits_rows = dims[0] == 1 || dims[0] == rows, fits_columns = dims[1] == columns;
  return (fits_rows && fits_columns) || (rows >= 0 && dims[0] == rows && dims[1] == 1);
}

/// [a, b, c] as [a * b, c] in front of the Gemm.
ir::ValueId flattened(Workspace& work, ir::ValueId value, const ir::Shape& dims, ir::NodeId origin) {
  const int64_t rows = ir::checked_count(ir::Shape(dims.begin(), dims.end() - 1));
  const std::vector<int64_t> shape{rows, dims.back()};
  const ir::ValueId constant = work.add_constant("gemm_input_shape", ir::Tensor::from({2}, shape));
  const ir::ValueType type{type_of(work, value).element, true, {{rows, {}}, {dims.back(), {}}}, {}};
  const ir::ValueId flat = work.add_value(work.new_tensor_name("gemm_input_reshape_arg"), type);
  work.add_writer("gemm_input_reshape", "Reshape", {value, constant}, flat, origin);
  return flat;
}

/// The value that the Gemm writes so that `add` has its shape back.
ir::ValueId before_reshape(Workspace& work, ir::NodeId add, const ir::Shape& dims, ir::NodeId origin) {
  const auto rank = static_cast<int64_t>(dims.size());
  const ir::ValueId constant = work.add_constant("gemm_output_shape", ir::Tensor::from({rank}, dims));
  const int64_t rows = ir::checked_count(ir::Shape(dims.begin(), dims.end() - 1));
  const ElementType element = type_of(work, work.node(add).output(0)).element;
  const ir::ValueType type{element, true, {{rows, {}}, {dims.back(), {}}}, {}};
  const ir::ValueId flat = work.add_value(work.new_tensor_name("gemm_output_reshape_arg"), type);
  const ir::NodeId reshape = work.add_named("gemm_output_reshape", "Reshape", {flat, constant}, add);
  work.add_origins(reshape, origin);
  return flat;
}

bool fuse(Workspace& work, ir::NodeId id) {
  const ir::ValueId product = work.node(id).output(0);
  const ir::NodeId add_id = work.only_consumer(product);
  if (!add_id.valid() || !work.node(add_id).is("Add")) return false;
  const ir::Node& add = work.node(add_id);
  if (add.input(0) == add.input(1)) return false;
  const ir::ValueId bias = add.input(0) == product ? add.input(1) : add.input(0);
  const ir::ValueId left = work.node(id).input(0), right = work.node(id).input(1);
  const ir::ValueType &a = type_of(work, left), &b = type_of(work, right);
  if (a.element != ElementType::kFloat || !a.has_shape || a.dims.size() < 2 || !b.is_static() || b.dims.size() != 2) {
    return false;
  }
  const bool is_matrix = a.dims.size() == 2;
  if (!is_matrix && (!a.is_static() || !ir::element_count(a.shape()).ok())) return false;
  const int64_t columns = b.shape()[1];
  if (!is_gemm_bias(type_of(work, bias), is_matrix, is_matrix ? a.dims[0].size : -1, columns)) return false;
  const std::string name = work.node(id).name + "/MatMulAddFusion";
  ir::NodeId gemm;
  if (is_matrix) {
    gemm = work.add_named(name, "Gemm", {left, right, bias}, add_id);
  } else {
    ir::Shape dims = a.shape();
    const ir::ValueId flat = flattened(work, left, dims, id);
    dims.back() = columns;
    const ir::ValueId result = before_reshape(work, add_id, dims, id);
    gemm = work.add_writer(name, "Gemm", {flat, right, bias}, result, add_id);
  }
  work.add_origins(gemm, id);
  work.remove_node(add_id);
  work.remove_node(id);
  return true;
}

}  // namespace

Result<bool> fuse_matmul_add(Workspace& work) {
  bool changed = false;
  for (const ir::NodeId id : work.visiting_order()) {
    if (work.graph().is_alive(id) && work.node(id).is("MatMul")) changed |= fuse(work, id);
  }
  return changed;
}

}  // namespace quarkq::rewrite::basic
