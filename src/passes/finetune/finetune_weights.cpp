// SPDX-License-Identifier: MIT
// FastFinetune: AdaRound and AdaQuant (spec 04 D). Codes in the plan change, the graph stays.
#include "passes/finetune/finetuner.h"
#include "passes/passes.h"

namespace quarkq::passes {
namespace {

/// Options of the reference that say how it should use memory and devices. Results do not depend on them here.
void name_idle_options(const PassContext& context) {
  const config::Node& node = context.settings.fast_finetune.node;
  for (const char* key : {"DynamicBatch", "SelectMaxMemLayer"}) {
    const config::Node* given = node.find(key);
    if (given != nullptr && *given == config::Node(true))
      context.diagnostics.notice("setting-no-effect", cat("FastFinetune.", key), "is left out");
  }
}

}  // namespace

Result<Changed> finetune_weights(PassContext& context) {
  QQ_TRY(finetune::Options options, finetune::read_options(context.settings));
  if (context.data == nullptr || context.data->size() == 0) {
    context.diagnostics.warn("finetune-left-out", "FastFinetune", "it needs the calibration samples");
    return Changed::kNo;
  }
  name_idle_options(context);
  const ir::Model original = context.float_model != nullptr ? *context.float_model : context.model;
  QQ_TRY(const bool changed, finetune::Finetuner(context, original, std::move(options)).run());
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::passes
