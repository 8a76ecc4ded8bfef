// SPDX-License-Identifier: MIT
// GPTQ and bias correction before mixed precision and finetuning (spec 04 section 0): both work on Q/DQ nodes, so they
// run on a copy that has them, and what they stored there goes back into the plan.
#include "ir/edit.h"
#include "passes/finetune/emit_trial.h"
#include "passes/insert/names.h"
#include "passes/passes.h"

namespace quarkq::passes {
namespace {

/// The node that makes numbers of a stored constant, or null.
const ir::Node* dequantizer(const ir::Graph& graph, ir::ValueId codes) {
  const std::optional<ir::Use> use = graph.sole_use(codes);
  return use && use->input == 0 ? &graph.node(use->node) : nullptr;
}

/// Codes alone for a bias; GPTQ gives weights another type and other scales, too.
Status take_back(const ir::Graph& from, const ir::Node& dq, const ir::Tensor& codes, plan::QuantSlot& slot,
                 plan::ParamPool& pool) {
  plan::Stage& stage = slot.stages[0];
  if (slot.role == plan::Role::kWeight) {
    const ir::Tensor* zeros = dq.input(2).valid() ? from.constant(dq.input(2)) : nullptr;
    QQ_TRY(const std::vector<double> scales, ir::to_double(*from.constant(dq.input(1))));
    std::vector<double> points(scales.size(), 0.0);
    if (zeros != nullptr) {
      QQ_TRY(points, ir::to_double(*zeros));
    }
    plan::ParamList params(scales.size());
    for (size_t i = 0; i < params.size(); ++i)
      params[i] = {static_cast<float>(scales[i]), static_cast<int32_t>(points[points.size() == 1 ? 0 : i])};
    stage.spec.type = codes.type();
    stage.spec.per_channel = params.size() > 1;
    stage.spec.axis = stage.spec.per_channel ? dq.int_or("axis", 1) : 0;
    stage.params = pool.add(std::move(params));
  } else if (codes.type() != stage.spec.type) {
    return unsupported("its type changed");  // compat mode: what the reference makes of an int8 bias
  }
  slot.codes = codes;
  return Status();
}

bool is_stored(const plan::QuantSlot& slot) {
  return slot.codes && !slot.stages.empty() && slot.stages[0].kind == plan::StageKind::kStored;
}

/// Biases that are not quantized.
bool take_floats(const ir::Graph& before, const ir::Graph& after, ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  bool changed = false;
  for (const ir::ValueId id : std::vector(graph.initializers())) {
    if (!before.is_alive(id) || !after.is_alive(id) || !before.value(id).is_initializer()) continue;
    if (!after.value(id).is_initializer()) continue;
    const ir::Tensor& now = *after.value(id).constant;
    if (now.same_as(*before.value(id).constant)) continue;
    edit.set_constant(id, now);
    changed = true;
  }
  return changed;
}

bool take_codes(const ir::Graph& after, PassContext& context) {
  bool changed = false;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    if (!is_stored(slot)) continue;
    const std::string& name = context.graph().value(slot.value).name;
    const ir::ValueId stored = after.find(stored_name(name));
    const ir::Tensor* codes = stored.valid() ? after.constant(stored) : nullptr;
    const ir::Node* dq = codes == nullptr ? nullptr : dequantizer(after, stored);
    if (dq == nullptr || codes->same_as(*slot.codes)) continue;
    const Status taken = take_back(after, *dq, *codes, slot, context.plan.params);
    changed = changed || taken.ok();
    if (!taken.ok()) context.diagnostics.warn("correction-left-out", name, taken.message());
  }
  return changed;
}

}  // namespace

Result<Changed> correct_weights_first(PassContext& context) {
  ir::Model quantized = context.model;  // shares the weights
  PassContext copy{.model = quantized,
                   .settings = context.settings,
                   .selection = context.selection,
                   .plan = context.plan,
                   .data = context.data,
                   .float_model = context.float_model,
                   .diagnostics = context.diagnostics,
                   .progress = context.progress};
  QQ_RETURN_IF_ERROR(emit_trial(copy));
  const ir::Model before = quantized;
  if (context.settings.use_gptq) QQ_RETURN_IF_ERROR(quantize_weights_gptq(copy).status());
  if (context.settings.bias_correction) QQ_RETURN_IF_ERROR(correct_bias(copy).status());
  const bool floats = take_floats(before.graph, quantized.graph, context.graph());
  return take_codes(quantized.graph, context) || floats ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::passes
