// SPDX-License-Identifier: MIT
#include "pipeline/runner.h"

#include <algorithm>
#include <string_view>

#include "base/stopwatch.h"
#include "ir/verify.h"

namespace quarkq::pipeline {
namespace {

using passes::PassContext;
using passes::PassInfo;
using PassList = std::vector<const PassInfo*>;

/// What a pass that rewrites the float model may change: a graph copy shares the weights.
struct Snapshot {
  ir::Model model;
  plan::Selection selection;
};

Snapshot snapshot_of(const PassContext& context) { return {context.model, context.selection}; }

void restore(PassContext& context, const Snapshot& snapshot) {
  context.model = snapshot.model;
  context.selection = snapshot.selection;
}

class Runner {
 public:
  Runner(PassContext& context, std::vector<PhaseTime>& times, const RunnerOptions& options)
      : context_(context), times_(times), options_(options) {}

  Status run_phase(const PassList& passes) {
    const bool is_guarded = options_.guard != nullptr &&
                            std::all_of(passes.begin(), passes.end(),
                                        [](const auto* pass) { return pass->acts_on == passes::ActsOn::kGraph; });
    if (!is_guarded) return run_all(passes);
    const Snapshot before = snapshot_of(context_);
    const size_t known = times_.size();
    const bool keeps = std::all_of(passes.begin(), passes.end(),
                                   [](const PassInfo* pass) { return pass->effect == passes::Effect::kKeeps; });
    if (keeps) {
      QQ_RETURN_IF_ERROR(run_all(passes));
      const bool changed = std::any_of(times_.begin() + static_cast<std::ptrdiff_t>(known), times_.end(),
                                       [](const PhaseTime& time) { return time.changed; });
      if (!changed || options_.guard->distance(context_.model) <= options_.guard->tolerance()) return Status();
      restore(context_, before);
      times_.resize(known);
    }
    for (const PassInfo* pass : passes) QQ_RETURN_IF_ERROR(run_guarded(*pass));
    return Status();
  }

 private:
  Status run_one(const PassInfo& pass) {
    const Stopwatch watch;
    const size_t before = context_.graph().order().size();
    QQ_TRY(const passes::Changed changed, pass.run(context_));
    const size_t after = context_.graph().order().size();
    times_.push_back({pass.name, watch.seconds(), changed == passes::Changed::kYes, before, after});
    if (changed == passes::Changed::kNo || pass.acts_on == passes::ActsOn::kPlan) return Status();
    return ir::verify(context_.graph()).context(cat("after pass ", pass.name));
  }

  Status run_all(const PassList& passes) {
    for (const PassInfo* pass : passes) {
      QQ_RETURN_IF_ERROR(run_one(*pass));
      if (options_.after) options_.after(*pass, context_.model);
    }
    return Status();
  }

  /// One pass; undone when it fails, or when it moves the outputs without being meant to.
  Status run_guarded(const PassInfo& pass) {
    const Snapshot before = snapshot_of(context_);
    const size_t known = times_.size();
    std::string why;
    if (Status status = run_one(pass); !status.ok()) {
      if (status.code() == Code::kInterrupted || status.code() == Code::kInvalidArgument) return status;
      why = status.message();
    } else if (times_.back().changed && pass.effect == passes::Effect::kChanges) {
      options_.guard->accept(context_.model);
    } else if (times_.back().changed) {
      const double distance = options_.guard->distance(context_.model);
      if (distance > options_.guard->tolerance()) {
        why = cat("it moved the float outputs by ", distance, " of their largest magnitude, allowed is ",
                  options_.guard->tolerance());
      }
    }
    if (!why.empty()) {
      context_.diagnostics.warn("pass-rolled-back", pass.name, "undone: " + why);
      restore(context_, before);
      times_.resize(known);
    }
    if (options_.after) options_.after(pass, context_.model);
    return Status();
  }

  PassContext& context_;
  std::vector<PhaseTime>& times_;
  const RunnerOptions& options_;
};

bool is_chosen(const PassInfo& pass, const PassContext& context, const RunnerOptions& options) {
  if (options.skip.contains(pass.name)) return false;
  if (!options.only.empty()) return options.only.contains(pass.name);
  return pass.enabled(context.settings);
}

}  // namespace

bool has_changed(const std::vector<PhaseTime>& times, const std::string& phase) {
  for (const PassInfo& pass : passes::all_passes()) {
    if (pass.phase != phase) continue;
    for (const PhaseTime& time : times) {
      if (time.name == pass.name && time.changed) return true;
    }
  }
  return false;
}

Status run_phase(PassContext& context, const PassList& passes, std::vector<PhaseTime>& times,
                 const RunnerOptions& options) {
  return Runner(context, times, options).run_phase(passes);
}

Status run_passes(PassContext& context, PhaseRange range, std::vector<PhaseTime>& times, const RunnerOptions& options) {
  const std::vector<PassInfo>& all = passes::all_passes();
  bool is_inside = range.from == nullptr;
  for (size_t begin = 0; begin < all.size();) {
    const std::string_view phase = all[begin].phase;
    if (range.from != nullptr && phase == range.from) is_inside = true;
    if (range.until != nullptr && phase == range.until) break;
    PassList chosen;
    for (; begin < all.size() && all[begin].phase == phase; ++begin) {
      if (is_inside && is_chosen(all[begin], context, options)) chosen.push_back(&all[begin]);
    }
    if (chosen.empty()) continue;
    if (options.phase && !options.phase(std::string(phase))) return Status(Code::kInterrupted, "interrupted");
    QQ_RETURN_IF_ERROR(run_phase(context, chosen, times, options));
  }
  return Status();
}

Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics) {
  static const config::Settings kDefaults;
  PassContext context{.model = model, .settings = kDefaults, .diagnostics = diagnostics};
  for (const auto pass : {passes::remove_input_initializers, passes::fold_constants, passes::remove_no_ops,
                          passes::fuse_batch_norm, passes::fuse_pad_into_conv}) {
    QQ_RETURN_IF_ERROR(pass(context).status());
  }
  return Status();
}

}  // namespace quarkq::pipeline
