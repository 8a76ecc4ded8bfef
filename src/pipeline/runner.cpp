// SPDX-License-Identifier: MIT
#include "pipeline/runner.h"

#include "base/stopwatch.h"
#include "ir/verify.h"

namespace quarkq::pipeline {
namespace {

Status run_pass(const passes::PassInfo& pass, passes::PassContext& context, std::vector<PhaseTime>& times) {
  const Stopwatch watch;
  QQ_TRY(const passes::Changed changed, pass.run(context));
  times.push_back({pass.name, watch.seconds(), changed == passes::Changed::kYes});
  if (changed == passes::Changed::kNo || pass.acts_on == passes::ActsOn::kPlan) return Status();
  return ir::verify(context.graph()).context(cat("after pass ", pass.name));
}

}  // namespace

Status run_passes(passes::PassContext& context, PhaseRange range, std::vector<PhaseTime>& times,
                  const std::function<bool(const std::string& phase)>& phase) {
  std::string current;
  bool is_inside = range.from == nullptr;
  for (const passes::PassInfo& pass : passes::all_passes()) {
    if (range.from != nullptr && std::string_view(pass.phase) == range.from) is_inside = true;
    if (range.until != nullptr && std::string_view(pass.phase) == range.until) break;
    if (!is_inside || !pass.enabled(context.settings)) continue;
    if (current != pass.phase && phase && !phase(pass.phase)) return Status(Code::kInterrupted, "interrupted");
    current = pass.phase;
    QQ_RETURN_IF_ERROR(run_pass(pass, context, times));
  }
  return Status();
}

Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics) {
  static const config::Settings kDefaults;
  passes::PassContext context{.model = model, .settings = kDefaults, .diagnostics = diagnostics};
  for (const auto pass : {passes::remove_input_initializers, passes::fold_constants, passes::remove_no_ops,
                          passes::fuse_batch_norm, passes::fuse_pad_into_conv}) {
    QQ_RETURN_IF_ERROR(pass(context).status());
  }
  return Status();
}

}  // namespace quarkq::pipeline
