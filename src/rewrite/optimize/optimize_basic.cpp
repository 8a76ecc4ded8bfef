// SPDX-License-Identifier: MIT
// The order of steps, again and again until none finds anything. All of it happens on a copy, so that a graph without
// findings, or one in which a step fails, stays as it is. Shapes are inferred as ONNX Runtime does there: without
// following the values that they are computed from, because which Transposes move depends on how much is known.
#include "ir/edit.h"
#include "onnx_io/infer.h"
#include "rewrite/optimize/workspace.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int kMaxRounds = 10;

using Step = Result<bool> (*)(basic::Workspace&);
constexpr Step kSteps[] = {basic::apply_local_rules,   basic::merge_same_nodes, basic::fold_known_nodes,
                           basic::fuse_matmul_add,     basic::fuse_halved_gelu, basic::fuse_spelled_layer_norm,
                           basic::fuse_space_to_depth, basic::fuse_reshapes,    basic::move_transposes};

/// FuseGelu and FuseLayerNorm of the user. In the reference ONNX Runtime's optimizer does not know them.
bool is_switched_off(Step step, const config::Settings& settings) {
  if (!settings.quirk(config::Quirk::kLeaveFusionsOff)) return false;
  return (step == basic::fuse_halved_gelu && !settings.preprocessing.fuse_gelu) ||
         (step == basic::fuse_spelled_layer_norm && !settings.preprocessing.fuse_layer_norm);
}

/// Runs one step and puts in order what all steps rely on.
Result<bool> run_step(basic::Workspace& work, Step step, Diagnostics& diagnostics) {
  work.begin_step();
  QQ_TRY(const bool changed, step(work));
  if (!changed) return false;
  work.remove_unused_initializers();
  work.write_default_attributes();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types_plainly(work.model(), diagnostics));
  return true;
}

/// Constant nodes are another way of writing initializers: no finding, whatever else is found.
bool store_constants(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    const ir::ValueId output = graph.node(id).output(0);
    if (!graph.node(id).is("Constant") || !output.valid() || graph.value(output).is_output) continue;
    const ir::Tensor* stored = graph.constant(output);
    if (stored == nullptr) continue;
    const ir::Tensor data = *stored;
    edit.remove_node(id);
    edit.set_constant(output, data);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<Changed> optimize_basic(pass::FloatContext& context) {
  const bool stored = store_constants(context.graph());
  ir::Model copy = context.model;  // weights are shared
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types_plainly(copy, ignored));
  basic::Workspace work(copy, context.settings);
  work.write_default_attributes();
  bool changed = false, settled = false;
  for (int round = 0; round < kMaxRounds && !settled; ++round) {
    settled = true;
    for (const Step step : kSteps) {
      if (round > 0 && step == basic::move_transposes) continue;  // once, as in ONNX Runtime
      if (is_switched_off(step, context.settings)) continue;
      QQ_TRY(const bool found, run_step(work, step, ignored));
      if (!found) continue;
      changed = true;
      settled = false;
    }
  }
  QQ_TRY(const bool inlined, run_step(work, basic::inline_operators, ignored));
  if (!changed && !inlined) return stored ? Changed::kYes : Changed::kNo;
  work.sort();
  context.model = std::move(copy);
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
