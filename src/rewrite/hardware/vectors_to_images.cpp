// SPDX-License-Identifier: MIT
// Layers of vectors [N, C] between images [N, C, 1, 1] (squeeze-excitation with Gemm) become 1x1 Convs, so that no view
// is left between the Convs before and after them.
#include <algorithm>

#include "base/index.h"
#include "ir/constants.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr size_t kMostLayers = 12;  // bounds the search

/// Whether the value is [N, C, 1, 1] or, for vectors, [N, C].
bool is_pixel(const ir::Graph& graph, ir::ValueId id, bool as_vector) {
  const ir::Shape shape = float_shape(graph, id);
  return as_vector ? shape.size() == 2 : shape.size() == 4 && shape[2] == 1 && shape[3] == 1;
}

bool is_pixel_view(const ir::Graph& graph, const ir::Node& node, bool to_vector) {
  if (!is_view(node) || !is_pixel(graph, node.input(0), !to_vector) || !is_pixel(graph, node.output(0), to_vector))
    return false;
  return graph.value(node.input(0)).type.dims[1].size == graph.value(node.output(0)).type.dims[1].size;
}

const ir::Tensor* matrix_at(const ir::Graph& graph, ir::ValueId value) {
  const ir::Tensor* stored = ir::stored_float32(graph, value);
  return stored != nullptr && stored->rank() == 2 ? stored : nullptr;
}

bool is_elementwise(const ir::Node& node) {
  constexpr const char* kOps[] = {"Relu", "Sigmoid", "HardSigmoid", "HardSwish", "LeakyRelu", "Clip", "Tanh", "Elu"};
  return std::ranges::any_of(kOps, [&](const char* op) { return node.is(op); });
}

/// Operand 1 of an Add or Mul if it is a stored row of numbers, one for each channel.
const ir::Tensor* row_operand(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Add") && !node.is("Mul")) return nullptr;
  const ir::Shape shape = float_shape(graph, node.input(0));
  const ir::Tensor* row = ir::stored_float32(graph, node.input(1));
  if (row == nullptr) return nullptr;
  const bool is_row = row->rank() >= 1 && row->rank() <= 2 && row->dims().back() == row->size();
  return is_row && shape.size() == 2 && row->size() == shape[1] ? row : nullptr;
}

/// A Gemm or MatMul with stored weights that a 1x1 Conv computes.
bool is_vector_layer(const ir::Graph& graph, const ir::Node& node) {
  if (node.is("MatMul")) return matrix_at(graph, node.input(1)) != nullptr;
  if (!node.is("Gemm") || node.int_or("transA", 0) != 0) return false;
  if (node.float_or("alpha", 1) != 1 || node.float_or("beta", 1) != 1) return false;
  const ir::Tensor* bias = ir::stored_float32(graph, node.input(2));
  const bool has_bias =
      bias != nullptr && bias->rank() >= 1 && bias->size() == graph.value(node.output(0)).type.dims[1].size;
  return matrix_at(graph, node.input(1)) != nullptr && (has_bias || !node.input(2).valid());
}

/// Nodes from the view that makes vectors to the view that makes an image again; empty if there is no layer between.
std::vector<ir::NodeId> find_vector_layers(const ir::Graph& graph, const ir::Node& start) {
  if (!is_pixel_view(graph, start, /*to_vector=*/true)) return {};
  std::vector<ir::NodeId> nodes = {start.id};
  bool has_layer = false;
  while (nodes.size() < kMostLayers) {
    const ir::ValueId value = graph.node(nodes.back()).output(0);
    const std::optional<ir::Use> use = graph.sole_use(value);
    if (!use || use->is_capture || use->input != 0) return {};
    const ir::Node& node = graph.node(use->node);
    nodes.push_back(node.id);
    if (is_pixel_view(graph, node, /*to_vector=*/false)) return has_layer ? nodes : std::vector<ir::NodeId>();
    if (!is_pixel(graph, node.output(0), /*as_vector=*/true)) return {};
    const bool layer = is_vector_layer(graph, node);
    if (!layer && !is_elementwise(node) && row_operand(graph, node) == nullptr) return {};
    has_layer = has_layer || layer;
  }
  return {};
}

/// The weights as [outputs, inputs, 1, 1].
ir::Tensor conv_weights(const ir::Tensor& matrix, bool is_transposed) {
  const int64_t outputs = matrix.dims()[is_transposed ? 0 : 1], inputs = matrix.dims()[is_transposed ? 1 : 0];
  ir::Tensor weights = ir::Tensor::allocate(ElementType::kFloat, {outputs, inputs, 1, 1});
  const std::span<const float> from = matrix.data<float>();
  const std::span<float> to = weights.mutable_data<float>();
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i)
      to[as_index(o * inputs + i)] = from[as_index(is_transposed ? o * inputs + i : i * outputs + o)];
  }
  return weights;
}

void add_image_form(const ir::Graph& graph, const ir::Node& node, ir::PatchValue input, ir::PatchValue output,
                    ir::GraphPatch& patch) {
  const std::string name = graph.value(node.output(0)).name;
  ir::GraphPatch::PatchNode made{node.op, node.domain, node.name, {input}, {output}, node.attributes, {node.id}};
  if (is_vector_layer(graph, node)) {
    made.op = "Conv";
    made.attributes = {{"kernel_shape", std::vector<int64_t>{1, 1}, {}, {}}};
    const bool is_transposed = node.is("Gemm") && node.int_or("transB", 0) != 0;
    made.inputs.push_back(
        patch.initializer(name + "_weights", conv_weights(*ir::stored_floats(graph, node.input(1)), is_transposed)));
    if (const ir::Tensor* bias = ir::stored_float32(graph, node.input(2)))
      made.inputs.push_back(patch.initializer(name + "_bias", bias->reshaped({bias->size()})));
  } else if (const ir::Tensor* row = row_operand(graph, node)) {
    made.inputs.push_back(patch.initializer(name + "_channels", row->reshaped({1, row->size(), 1, 1})));
  } else {
    for (size_t i = 1; i < node.inputs.size(); ++i)
      made.inputs.push_back(node.inputs[i].valid() ? node.inputs[i] : ir::PatchValue());
  }
  patch.node(std::move(made));
}

ir::GraphPatch images_for(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  ir::GraphPatch patch;
  for (const ir::NodeId id : nodes) patch.remove(id);
  ir::PatchValue value = graph.node(nodes.front()).input(0);
  const ir::ValueId end = graph.node(nodes.back()).output(0);
  for (size_t i = 1; i + 1 < nodes.size(); ++i) {
    const ir::Node& node = graph.node(nodes[i]);
    const ir::Value& vector = graph.value(node.output(0));
    const ir::Shape dims = {vector.type.dims[0].size, vector.type.dims[1].size, 1, 1};
    const bool is_last = i + 2 == nodes.size();
    const ir::PatchValue made =
        is_last ? ir::PatchValue(end) : patch.value(vector.name + "_image", static_type(ElementType::kFloat, dims));
    add_image_form(graph, node, value, made, patch);
    value = made;
  }
  return patch;
}

}  // namespace

Result<Changed> vectors_to_images(pass::FloatContext& context) {
  return run_rule(context, "vectors-to-images", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const std::vector<ir::NodeId> nodes = find_vector_layers(graph, node);
    return nodes.empty() ? std::nullopt : std::optional(images_for(graph, nodes));
  });
}

}  // namespace quarkq::rewrite
