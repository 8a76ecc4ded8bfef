// SPDX-License-Identifier: MIT
#include "pipeline/run/pass_runner.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>

#include "base/stopwatch.h"
#include "ir/check_graph.h"
#include "planning/passes.h"
#include "qdq/passes.h"
#include "rewrite/passes.h"

namespace quarkq::pipeline {

namespace {

using pass::Effect;
using pass::Phase;

}  // namespace

const char* dashed_name(const char* function) {
  static std::mutex mutex;  // two tables may be made at the same time
  static std::deque<std::string> names;
  const std::lock_guard lock(mutex);
  std::string& name = names.emplace_back(function);
  std::replace(name.begin(), name.end(), '_', '-');
  return name.c_str();
}

const std::vector<pass::PassInfo>& all_passes() {
#define QQ_ROW(library, phase, function, effect, needed, when, summary)                                            \
  {dashed_name(#function),                                                                                         \
   Phase::phase,                                                                                                   \
   Effect::effect,                                                                                                 \
   library::function,                                                                                              \
   [](const config::Settings& settings) -> bool { return settings.needed() && static_cast<bool>(settings.when); }, \
   summary},
#define QQ_SELECT_PASS(phase, function, effect, when, summary) \
  QQ_ROW(planning, phase, function, effect, always, when, summary)
#define QQ_FLOAT_PASS(phase, function, effect, when, summary) \
  QQ_ROW(rewrite, phase, function, effect, always, when, summary)
#define QQ_PREPROCESS_PASS(phase, function, effect, when, summary) \
  QQ_ROW(rewrite, phase, function, effect, preprocesses, when, summary)
#define QQ_PLAN_PASS(phase, function, effect, when, summary) \
  QQ_ROW(planning, phase, function, effect, inserts_qdq, when, summary)
#define QQ_RESTRUCTURE_PASS(phase, function, effect, when, summary) \
  QQ_ROW(planning, phase, function, effect, inserts_qdq, when, summary)
#define QQ_QDQ_PASS(phase, function, effect, when, summary) \
  QQ_ROW(qdq, phase, function, effect, inserts_qdq, when, summary)
#define QQ_RESULT_PASS(phase, function, effect, when, summary) \
  QQ_ROW(qdq, phase, function, effect, always, when, summary)
  static const std::vector<pass::PassInfo> passes = {
#include "pass/passes.def"
  };
#undef QQ_ROW
  return passes;
}

namespace {

using pass::PassInfo;
using pass::Phase;
using PassList = std::vector<const PassInfo*>;

/// What a pass that rewrites the float model may change: a graph copy shares the weights.
struct Snapshot {
  ir::Model model;
  plan::Selection selection;
  Diagnostics diagnostics;
};

Snapshot snapshot_of(const RunState& state) { return {state.model, state.selection, state.diagnostics}; }

void restore(RunState& state, const Snapshot& snapshot) {
  state.model = snapshot.model;
  state.selection = snapshot.selection;
  state.diagnostics = snapshot.diagnostics;
}

struct ContextOf {
  RunState& state;

  Result<Changed> operator()(Result<Changed> (*run)(pass::SelectContext&)) const {
    pass::SelectContext context = state.select_context();
    return run(context);
  }
  Result<Changed> operator()(Result<Changed> (*run)(pass::FloatContext&)) const {
    pass::FloatContext context = state.float_context();
    return run(context);
  }
  Result<Changed> operator()(Result<Changed> (*run)(pass::PlanContext&)) const {
    pass::PlanContext context = state.plan_context();
    return run(context);
  }
  Result<Changed> operator()(Result<Changed> (*run)(pass::RestructureContext&)) const {
    pass::RestructureContext context = state.restructure_context();
    return run(context);
  }
  Result<Changed> operator()(Result<Changed> (*run)(pass::QdqContext&)) const {
    pass::QdqContext context = state.qdq_context();
    return run(context);
  }
};

bool changes_model(const PassInfo& pass) {
  return !std::holds_alternative<Result<Changed> (*)(pass::PlanContext&)>(pass.run) &&
         !std::holds_alternative<Result<Changed> (*)(pass::SelectContext&)>(pass.run);
}

bool is_chosen(const PassInfo& pass, const RunState& state, const RunnerOptions& options) {
  if (options.skip.contains(pass.name)) return false;
  if (!options.only.empty()) return options.only.contains(pass.name);
  return pass.enabled(state.settings);
}

PassList chosen_passes(Phase phase, const RunState& state, const RunnerOptions& options) {
  PassList chosen;
  for (const PassInfo& pass : all_passes()) {
    if (pass.phase == phase && is_chosen(pass, state, options)) chosen.push_back(&pass);
  }
  return chosen;
}

class Runner {
 public:
  Runner(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options)
      : state_(state), times_(times), options_(options) {}

  Status run_phase(const PassList& passes) {
    const bool is_guarded =
        options_.guard != nullptr &&
        std::all_of(passes.begin(), passes.end(), [](const auto* pass) { return pass->is_float_rewrite(); });
    if (!is_guarded) return run_all(passes);
    const Snapshot before = snapshot_of(state_);
    const size_t known = times_.size();
    const bool keeps = std::all_of(passes.begin(), passes.end(),
                                   [](const PassInfo* pass) { return pass->effect == pass::Effect::kKeeps; });
    if (keeps) {
      QQ_RETURN_IF_ERROR(run_all(passes));
      const bool changed = std::any_of(times_.begin() + static_cast<std::ptrdiff_t>(known), times_.end(),
                                       [](const PassTime& time) { return time.changed; });
      if (!changed || options_.guard->distance(state_.model) <= options_.guard->tolerance()) return Status();
      restore(state_, before);
      times_.resize(known);
    }
    for (const PassInfo* pass : passes) QQ_RETURN_IF_ERROR(run_guarded(*pass));
    return Status();
  }

 private:
  Status run_one(const PassInfo& pass) {
    const Stopwatch watch;
    const size_t before = state_.graph().order().size();
    const size_t known = state_.diagnostics.all().size();
    QQ_TRY(const Changed changed, run_pass(state_, pass.run));
    const size_t after = state_.graph().order().size();
    times_.push_back({pass.name, watch.seconds(), changed == Changed::kYes, before, after});
    if (changed == Changed::kYes && changes_model(pass))
      QQ_RETURN_IF_ERROR(ir::verify(state_.graph()).context(cat("after pass ", pass.name)));
    return state_.replan ? plan_again(known) : Status();
  }

  Status run_all(const PassList& passes) {
    for (const PassInfo* pass : passes) {
      QQ_RETURN_IF_ERROR(run_one(*pass));
      if (options_.after) options_.after(*pass, state_.model);
    }
    return Status();
  }

  /// Phase mark as a whole and the measuring pass, on the selection as it now is. What phase mark reported the first
  /// time stands: the pass that requested it names the nodes that are now left in float. Trials start from that
  /// selection, so they report what the pass found, its findings after the first `known`.
  Status plan_again(size_t known) {
    state_.replan = false;
    const Diagnostics said = state_.diagnostics;
    for (size_t i = known; i < said.all().size(); ++i) state_.before_plan.add(said.all()[i]);
    PassList again = chosen_passes(Phase::kMark, state_, options_);
    again.push_back(chosen_passes(Phase::kCalibrate, state_, options_).front());
    state_.plan = {};
    for (const PassInfo* pass : again) QQ_RETURN_IF_ERROR(run_pass(state_, pass->run).status());
    state_.diagnostics = said;
    return Status();
  }

  /// One pass; undone when it fails, or when it changes the outputs unintentionally.
  Status run_guarded(const PassInfo& pass) {
    const Snapshot before = snapshot_of(state_);
    const size_t known = times_.size();
    std::string why;
    if (Status status = run_one(pass); !status.ok()) {
      if (status.code() == Code::kInterrupted || status.code() == Code::kInvalidArgument) return status;
      why = status.message();
    } else if (times_.back().changed && pass.effect == pass::Effect::kChanges) {
      options_.guard->accept(state_.model);
    } else if (times_.back().changed) {
      const double distance = options_.guard->distance(state_.model);
      if (distance > options_.guard->tolerance()) {
        why = cat("it changed the float outputs by ", distance, " of their largest magnitude; the limit is ",
                  options_.guard->tolerance());
      }
    }
    if (!why.empty()) {
      restore(state_, before);
      state_.diagnostics.add("pass-rolled-back", pass.name, "undone, because " + why);
      times_.resize(known);
    }
    if (options_.after) options_.after(pass, state_.model);
    return Status();
  }

  RunState& state_;
  std::vector<PassTime>& times_;
  const RunnerOptions& options_;
};

}  // namespace

Result<Changed> run_pass(RunState& state, const pass::PassFunction& function) {
  return std::visit(ContextOf{state}, function);
}

bool has_changed(const std::vector<PassTime>& times, Phase phase) {
  return std::any_of(times.begin(), times.end(), [&](const PassTime& time) {
    return time.changed && std::any_of(all_passes().begin(), all_passes().end(), [&](const PassInfo& pass) {
             return pass.phase == phase && time.name == pass.name;
           });
  });
}

Status run_phase(RunState& state, const PassList& passes, std::vector<PassTime>& times, const RunnerOptions& options) {
  return Runner(state, times, options).run_phase(passes);
}

Status run_passes(RunState& state, PhaseRange range, std::vector<PassTime>& times, const RunnerOptions& options) {
  for (auto phase = range.from.value_or(Phase::kSelect); phase <= Phase::kLegalize;
       phase = static_cast<Phase>(static_cast<int>(phase) + 1)) {
    if (range.until && phase >= *range.until) break;
    if (phase == Phase::kSelect) state.before_passes = state.diagnostics;
    if (phase == Phase::kMark) state.before_plan = state.diagnostics;
    if (phase == Phase::kCalibrate) state.calibrated = std::make_shared<const ir::Model>(state.model);
    const PassList chosen = chosen_passes(phase, state, options);
    if (chosen.empty()) continue;
    if (options.phase && !options.phase(pass::name(phase))) return Status(Code::kInterrupted, "interrupted");
    QQ_RETURN_IF_ERROR(run_phase(state, chosen, times, options));
  }
  return Status();
}

Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics) {
  static const config::Settings kDefaults;
  plan::Selection selection;
  const exec::Environment none;  // these passes run no model
  pass::FloatContext context{model, kDefaults, selection, diagnostics, none};
  for (const auto pass : {rewrite::remove_input_initializers, rewrite::fold_constants, rewrite::remove_no_ops,
                          rewrite::fuse_batch_norm, rewrite::fuse_pad_into_conv}) {
    QQ_RETURN_IF_ERROR(pass(context).status());
  }
  return Status();
}

}  // namespace quarkq::pipeline
