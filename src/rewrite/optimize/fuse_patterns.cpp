// SPDX-License-Identifier: MIT
// The one spelling of Gelu that ONNX Runtime's basic level knows becomes the standard operator (ref:rewrites#gelu).
#include <algorithm>

#include "rewrite/fuse_group.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

namespace {

Proposal fuse_gelu_at(Workspace& work, const ir::Node& root) {
  const auto found = match_halved_gelu(work.graph(), root);
  if (!found) return std::optional<ir::GraphPatch>();
  ir::GraphPatch patch;
  replace_group(patch, found->group, {"Gelu", "", work.new_node_name("Gelu"), {found->x}, {}, {}});
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fuse_halved_gelu(Workspace& work) {
  const WorkspaceRule rules[] = {fuse_gelu_at};
  return work.opset() < kFirstGeluOpset ? Result<bool>(false) : work.sweep(rules);
}

// ONNX Runtime's basic level makes LayerNormalization, too (ref:rewrites#basic-optimizer).

namespace {

Proposal fuse_layer_norm_at(Workspace& work, const ir::Node& root) {
  const std::optional<LayerNormGroup> found = match_layer_norm(work.graph(), root);
  if (!found) return std::optional<ir::GraphPatch>();
  const std::string name = work.new_node_name(work.node(found->scaling).name + "/LayerNormFusion/");
  ir::GraphPatch patch;
  replace_group(patch, found->group, found->node(name));
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fuse_spelled_layer_norm(Workspace& work) {
  const WorkspaceRule rules[] = {fuse_layer_norm_at};
  return work.opset() < kFirstLayerNormOpset ? Result<bool>(false) : work.sweep(rules);
}

// Replaces MatMul by a matrix and Add of a row by a Gemm, between two Reshapes if the left side is not a matrix.

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

/// MatMul and the Add that alone reads it, as one Gemm.
struct Fusion {
  const ir::Node& product;
  const ir::Node& add;
  ir::ValueId bias;
  int64_t columns;
};

std::optional<Fusion> find_fusion(const Workspace& work, const ir::Node& node) {
  const ir::NodeId add_id = node.is("MatMul") ? work.only_consumer(node.output(0)) : ir::NodeId{};
  if (!add_id.valid() || !work.node(add_id).is("Add")) return std::nullopt;
  const ir::Node& add = work.node(add_id);
  if (add.input(0) == add.input(1)) return std::nullopt;
  const ir::ValueId bias = add.input(0) == node.output(0) ? add.input(1) : add.input(0);
  const ir::ValueType &a = type_of(work, node.input(0)), &b = type_of(work, node.input(1));
  if (a.element != ElementType::kFloat || !a.has_shape || a.dims.size() < 2 || !b.is_static() || b.dims.size() != 2) {
    return std::nullopt;
  }
  const bool is_matrix = a.dims.size() == 2;
  if (!is_matrix && (!a.is_static() || !ir::element_count(a.shape()).ok())) return std::nullopt;
  const int64_t columns = b.shape()[1];
  if (!is_gemm_bias(type_of(work, bias), is_matrix, is_matrix ? a.dims[0].size : -1, columns)) return std::nullopt;
  return Fusion{node, add, bias, columns};
}

/// [a, b, c] as [a * b, c].
ir::ValueType flat_type(ElementType element, const ir::Shape& dims) {
  const int64_t rows = ir::checked_count(ir::Shape(dims.begin(), dims.end() - 1));
  return {element, /*has_shape=*/true, {{rows, {}}, {dims.back(), {}}}, {}};
}

/// The Gemm between two Reshapes.
void put_flat(Workspace& work, const Fusion& found, const std::string& name, ir::GraphPatch& patch) {
  const ir::ValueId left = found.product.input(0);
  ir::Shape dims = type_of(work, left).shape();
  const auto reshape = [&](const std::string& which, const ir::Shape& shape) {
    const auto length = static_cast<int64_t>(shape.size());
    return patch.initializer(work.new_tensor_name("gemm_" + which + "_shape"), ir::Tensor::from({length}, shape));
  };
  const ir::ValueType input_type = flat_type(type_of(work, left).element, dims);
  const ir::PatchValue input_shape = reshape("input", input_type.shape());
  const ir::PatchValue flat = patch.value(work.new_tensor_name("gemm_input_reshape_arg"), input_type);
  const std::string before = work.new_node_name("gemm_input_reshape");
  patch.node({"Reshape", "", before, {left, input_shape}, {flat}, {}, {found.product.id}});
  dims.back() = found.columns;
  const ir::PatchValue output_shape = reshape("output", dims);
  const ir::ValueType output_type = flat_type(type_of(work, found.add.output(0)).element, dims);
  const ir::PatchValue result = patch.value(work.new_tensor_name("gemm_output_reshape_arg"), output_type);
  const std::string after = work.new_node_name("gemm_output_reshape");
  patch.node({"Reshape", "", after, {result, output_shape}, {found.add.output(0)}, {}});
  const std::string gemm = work.new_node_name(name);
  patch.node({"Gemm", "", gemm, {flat, found.product.input(1), found.bias}, {result}, {}});
}

Proposal fuse_at(Workspace& work, const ir::Node& node) {
  const std::optional<Fusion> found = find_fusion(work, node);
  if (!found) return std::optional<ir::GraphPatch>();
  ir::GraphPatch patch;
  patch.remove(found->add.id);
  patch.remove(node.id);
  patch.place_at_end();
  const std::string name = node.name + "/MatMulAddFusion";
  if (type_of(work, node.input(0)).dims.size() == 2) {
    const std::string gemm = work.new_node_name(name);
    patch.node({"Gemm", "", gemm, {node.input(0), node.input(1), found->bias}, {found->add.output(0)}, {}});
  } else {
    put_flat(work, *found, name, patch);
  }
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fuse_matmul_add(Workspace& work) {
  const WorkspaceRule rules[] = {fuse_at};
  return work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic
