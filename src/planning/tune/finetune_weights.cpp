// SPDX-License-Identifier: MIT
// FastFinetune: AdaRound and AdaQuant (ref:tuning). Codes in the plan change, the graph stays.
#include "base/strings.h"
#include "onnx_io/infer.h"
#include "onnx_io/load.h"
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

}  // namespace quarkq::planning
