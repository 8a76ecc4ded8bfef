// SPDX-License-Identifier: MIT
// Formats without ranges may give way to formats with them later (mix_precision): their tensors are measured, too.
#include <algorithm>

#include "planning/mixed_options.h"
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> measure_for_mixing(pass::PlanContext& context) {
  QQ_TRY(const std::optional<MixedOptions> options, mixed_options(context.settings));
  const auto needs_range = [](const std::optional<MixedFormat>& format) {
    return format && format->stage.kind != plan::StageKind::kBlock && format->stage.spec.needs_range();
  };
  const bool needed = options && std::any_of(options->configs.begin(), options->configs.end(), [&](const auto& config) {
                        return needs_range(config.input) || needs_range(config.output);
                      });
  if (!needed) return Changed::kNo;
  for (plan::QuantSlot& slot : context.plan.slots()) slot.always_measured = true;
  return Changed::kYes;
}

}  // namespace quarkq::planning
