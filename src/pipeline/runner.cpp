// SPDX-License-Identifier: MIT
#include "pipeline/runner.h"

#include "base/stopwatch.h"
#include "ir/verify.h"

namespace quarkq::pipeline {

Status run_passes(passes::PassContext& context, std::vector<PhaseTime>& times,
                  const std::function<bool(const std::string& phase)>& phase) {
  std::string current;
  for (const passes::PassInfo& pass : passes::all_passes()) {
    if (!pass.enabled(context.settings)) continue;
    if (current != pass.phase && phase && !phase(pass.phase)) return Status(Code::kInterrupted, "interrupted");
    current = pass.phase;
    const Stopwatch watch;
    QQ_TRY(const passes::Changed changed, pass.run(context));
    times.push_back({pass.name, watch.seconds(), changed == passes::Changed::kYes});
    if (changed == passes::Changed::kYes && pass.acts_on != passes::ActsOn::kPlan) {
      QQ_RETURN_IF_ERROR(ir::verify(context.graph()).context(cat("after pass ", pass.name)));
    }
  }
  return Status();
}

Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics) {
  static const config::Settings kDefaults;
  passes::PassContext context{model, kDefaults, {}, {}, {}, nullptr, diagnostics, {}};
  for (const auto pass : {passes::remove_input_initializers, passes::fold_constants, passes::remove_no_ops,
                          passes::fuse_batch_norm, passes::fuse_pad_into_conv}) {
    QQ_RETURN_IF_ERROR(pass(context).status());
  }
  return Status();
}

}  // namespace quarkq::pipeline
