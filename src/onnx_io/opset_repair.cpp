// SPDX-License-Identifier: MIT
#include "onnx_io/opset_repair.h"

#include "ir/edit.h"

namespace quarkq::onnx_io {
namespace {

constexpr int64_t kCoordinateModes = 11;  // Resize got coordinate_transformation_mode, roi and sizes
constexpr int64_t kAbsentInputs = 13;     // roi and scales became optional

/// Takes input `index` away from `node`, and its maker with it when nothing else reads that.
void drop_input(ir::GraphEdit& edit, const ir::Graph& graph, ir::NodeId node, size_t index) {
  const ir::ValueId value = graph.node(node).input(index);
  if (!value.valid()) return;
  edit.set_input(node, index, {});
  const ir::Node* maker = graph.producer(value);
  if (maker == nullptr || !maker->is("Constant") || graph.use_count(value) > 0) return;
  edit.remove_node(maker->id);
  edit.remove_value(value);
}

bool is_empty_constant(const ir::Graph& graph, ir::ValueId value) {
  const ir::Tensor* tensor = graph.constant(value);
  return tensor != nullptr && tensor->size() == 0;
}

}  // namespace

void repair_resize(ir::Graph& graph, int64_t from, int64_t to) {
  ir::GraphEdit edit(graph);
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    if (!graph.is_alive(id) || !graph.node(id).is("Resize")) continue;
    if (from < kCoordinateModes && to >= kCoordinateModes) {
      // Upsample and Resize-10 read x_out / scale, rounded down; later opsets default to half_pixel.
      edit.node(id).set("coordinate_transformation_mode", std::string("asymmetric"));
      const bool is_nearest = graph.node(id).string_or("mode", "nearest") == "nearest";
      if (is_nearest) edit.node(id).set("nearest_mode", std::string("floor"));
      if (to >= kAbsentInputs) drop_input(edit, graph, id, 1);
    }
    if (to < kAbsentInputs) continue;
    for (const size_t index : {size_t{1}, size_t{2}}) {
      if (is_empty_constant(graph, graph.node(id).input(index))) drop_input(edit, graph, id, index);
    }
  }
}

}  // namespace quarkq::onnx_io
