// SPDX-License-Identifier: MIT
#include "pass/tidy_up.h"

#include "ir/edit.h"
#include "ir/topo.h"
#include "onnx_io/infer.h"

namespace quarkq::pass {
namespace {

std::vector<ir::ValueType> types_of(const ir::Graph& graph) {
  std::vector<ir::ValueType> types;
  for (size_t i = 0; i < graph.value_count(); ++i) types.push_back(graph.value({static_cast<int32_t>(i)}).type);
  return types;
}

}  // namespace

Result<Changed> infer_types_again(ir::Model& model, Diagnostics& diagnostics) {
  const std::vector<ir::ValueType> before = types_of(model.graph);
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  return types_of(model.graph) == before ? Changed::kNo : Changed::kYes;
}

Result<Changed> tidy_up(ir::Graph& graph, Changed so_far) {
  const std::vector<ir::NodeId> before = graph.order();
  const size_t removed = ir::GraphEdit(graph).remove_unused_initializers();
  QQ_RETURN_IF_ERROR(ir::sort_topologically(graph).status());
  return removed > 0 || before != graph.order() ? Changed::kYes : so_far;
}

}  // namespace quarkq::pass
