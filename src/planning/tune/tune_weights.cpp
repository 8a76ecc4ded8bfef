// SPDX-License-Identifier: MIT
// FastFinetune: AdaRound and AdaQuant (ref:tuning). Codes in the plan change, the graph stays.
#include <vector>

#include "base/strings.h"
#include "ir/constants.h"
#include "onnx_io/infer.h"
#include "onnx_io/load.h"
#include "pass/gptq/gptq.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"
#include "planning/tune/finetuner.h"

namespace quarkq::planning {

namespace {

/// It is fed with the samples, so it must have the same inputs.
Result<ir::Model> load_reference(const std::string& path, const ir::Model& original, Diagnostics& diagnostics) {
  constexpr const char* kOption = "FastFinetune.RefModelPath";
  QQ_TRY(ir::Model reference, onnx_io::load(path).context(kOption));
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(reference, diagnostics).context(kOption));
  const auto names = [](const ir::Graph& graph) {
    std::vector<std::string> all;
    for (const ir::ValueId input : graph.required_inputs()) all.push_back(graph.value(input).name);
    return all;
  };
  const std::vector<std::string> found = names(reference.graph), wanted = names(original.graph);
  if (found == wanted) return reference;
  return invalid_argument(kOption, ": ", path, " has the inputs ", join(found, ", "), ", the samples are for ",
                          join(wanted, ", "));
}

}  // namespace

Result<Changed> finetune_weights(pass::PlanContext& context) {
  QQ_TRY(config::FinetuneSettings options, config::read_finetune_settings(context.settings));
  if (context.source.data == nullptr || context.source.data->size() == 0) {
    context.diagnostics.add("finetune-left-out", "FastFinetune", "it needs the calibration samples");
    return Changed::kNo;
  }
  for (const config::KeyWithoutEffect& given : options.without_effect)
    context.diagnostics.add("option-inert", cat("FastFinetune.", given.key), given.why);
  const ir::Model original = context.float_model != nullptr ? *context.float_model : context.model;
  ir::Model reference;
  const bool has_reference = !options.reference_path.empty();
  if (has_reference) {
    QQ_TRY(reference, load_reference(options.reference_path, original, context.diagnostics));
  }
  QQ_TRY(const bool changed,
         finetune::Finetuner(context, original, has_reference ? reference : original, std::move(options)).run());
  return changed ? Changed::kYes : Changed::kNo;
}

// UseGPTQ (ref:tuning#gptq): new codes for the stored matrices of MatMul, always uint8 with a scale per column.

namespace {

constexpr int kBits = 8;
constexpr int64_t kOpsetWithChannels = 13;  ///< standard DQ nodes have one scale only below it

plan::OperatorName dequantizer_of(const plan::QuantPlan& plan, const plan::Stage& stage) {
  return plan.operators.dequantize(stage, /*zero_at_zero=*/false);
}

/// The slot of a matrix that is stored as integers under a standard DQ, or null.
plan::QuantSlot* stored_matrix(const pass::PlanContext& context, ir::ValueId weight) {
  plan::QuantSlot* slot = context.plan.find(weight);
  if (slot == nullptr || !slot->codes || slot->stage.kind != plan::StageKind::kStored) return nullptr;
  if (slot->codes->rank() != 2) return nullptr;
  return dequantizer_of(context.plan, slot->stage).op == "DequantizeLinear" ? slot : nullptr;
}

bool is_matrix(const ir::Graph& graph, const ir::Node& node) {
  const ir::Tensor* weight = ir::stored_floats(graph, node.input(1));
  return weight != nullptr && weight->rank() == 2 && weight->size() > 0;
}

bool takes_scale_per_column(const pass::PlanContext& context, const plan::Stage& stage) {
  return !dequantizer_of(context.plan, stage).domain.empty() || context.model.opset() >= kOpsetWithChannels;
}

void write_back(pass::PlanContext& context, plan::QuantSlot& slot, const pass::GptqResult& result) {
  plan::Stage& stage = slot.stage;
  const bool per_column = takes_scale_per_column(context, stage);
  const int64_t columns = result.codes.columns;
  slot.codes = plan::store_codes({result.codes.data.begin(), result.codes.data.end()}, ElementType::kUInt8,
                                 {result.codes.rows, columns});
  plan::ParamList params(per_column ? static_cast<size_t>(columns) : 1);
  for (size_t c = 0; c < params.size(); ++c)
    params[c] = {static_cast<float>(result.scale.data[c]), static_cast<int32_t>(result.zero.data[c])};
  stage.spec.type = ElementType::kUInt8;
  stage.omits_axis = per_column && (stage.omits_axis || !stage.spec.per_channel);  // the form that the reference writes
  stage.spec.per_channel = per_column;
  stage.spec.axis = per_column ? 1 : 0;
  stage.params = context.plan.own_params(slot);  // tensors that shared the old ones keep them
  context.plan.params.set(stage.params, std::move(params));
}

}  // namespace

Result<Changed> quantize_weights_gptq(pass::PlanContext& context) {
  if (context.source.data == nullptr || context.source.data->size() == 0) {
    context.diagnostics.add("gptq-left-out", "UseGPTQ", "it needs the calibration samples");
    return Changed::kNo;
  }
  QQ_TRY(pass::GptqOptions options, pass::gptq_options(context.settings, kBits));
  options.group_size = -1;  // the DQ nodes have a scale per column
  const ir::Graph& original = context.graph();
  const auto takes = [&](const ir::Node& node) {
    if (!is_matrix(original, node)) return false;
    const plan::QuantSlot* slot = stored_matrix(context, node.input(1));
    if (slot == nullptr) return false;
    if (!options.per_channel || takes_scale_per_column(context, slot->stage)) return true;
    context.diagnostics.add("gptq-left-out", original.value(node.input(1)).name, "a scale per column needs opset 13");
    return false;
  };
  const std::vector<pass::GptqTarget> targets = pass::gptq_targets(original, takes);
  const auto quantize = [&](const pass::GptqTarget& target, const pass::Dense<double>& hessian) -> Status {
    const ir::Value& weight = original.value(target.weight);
    QQ_TRY(const pass::GptqResult result,
           pass::gptq(pass::dense_of(*weight.constant), hessian, options).context(cat("GPTQ of '", weight.name, "'")));
    write_back(context, *stored_matrix(context, target.weight), result);
    return Status();
  };
  const pass::GptqSamples samples =
      pass::gptq_samples(context.settings, *context.source.data, context.environment, context.progress);
  QQ_RETURN_IF_ERROR(pass::for_each_hessian(samples, context.model, targets, quantize));
  return targets.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning
