// SPDX-License-Identifier: MIT
#include "exec/session.h"

#include <algorithm>
#include <iterator>

#include "exec/simulate.h"
#include "exec/stage.h"

namespace quarkq::exec {
namespace {

constexpr size_t kMaxStages = 8;  // each holds packed weights; more shapes than this recompile

bool contains(const std::vector<ir::ValueId>& values, ir::ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// The graph's inputs that neither an initializer nor a constant gives.
std::vector<ir::ValueId> open_inputs(const ir::Graph& graph, const std::vector<Constant>& constants) {
  std::vector<ir::ValueId> inputs = graph.required_inputs();
  std::erase_if(inputs, [&](ir::ValueId input) {
    return std::any_of(constants.begin(), constants.end(), [&](const Constant& known) { return known.value == input; });
  });
  return inputs;
}

}  // namespace

Stage::~Stage() {
  std::vector<std::unique_ptr<Stage>> open = std::move(next.stages);
  while (!open.empty()) {
    const std::unique_ptr<Stage> last = std::move(open.back());
    open.pop_back();
    std::move(last->next.stages.begin(), last->next.stages.end(), std::back_inserter(open));
    last->next.stages.clear();
  }
}

Session::Session(const ir::Model& model, const Environment& environment, SessionOptions options)
    : Session(model.graph, model.opsets, environment, std::move(options)) {}

Session::Session(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const Environment& environment,
                 SessionOptions options, Nesting nesting)
    : promoted_(nesting == Nesting::kNested ? nullptr : with_half_as_float(graph)),
      graph_(promoted_ ? *promoted_ : graph),
      scope_{opsets, environment, options.limits},
      nesting_(nesting),
      values_(graph_.value_count()) {
  if (options.fetches.empty() && options.taps.empty()) options.fetches = graph.outputs();
  if (options.feeds.empty()) options.feeds = open_inputs(graph, options.constants);
  first_plan_ = std::make_shared<StagePlan>(StagePlan{std::move(options.feeds), std::move(options.fetches),
                                                      std::move(options.taps), std::move(options.constants)});
}

Session::~Session() = default;

Result<Stage*> Session::stage_for(const StagePlan& plan, StageCache& cache) {
  auto& stages = cache.stages;
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const std::unique_ptr<Stage>& stage) {
    for (size_t i = 0; i < plan.feeds.size(); ++i) {
      if (!stage->shapes[i].fits(value(plan.feeds[i]))) return false;
    }
    return true;
  });
  if (found != stages.end()) {
    std::rotate(stages.begin(), found, found + 1);
    return stages.front().get();
  }
  std::vector<FeedShape> shapes;
  for (const ir::ValueId feed : plan.feeds) shapes.push_back(FeedShape::of(value(feed)));
  return stage_for(plan, cache, std::move(shapes), /*segment_bytes=*/0);
}

Result<Stage*> Session::stage_for(const StagePlan& plan, StageCache& cache, std::vector<FeedShape> shapes,
                                  int64_t segment_bytes) {
  auto& stages = cache.stages;
  const auto found = std::ranges::find(stages, shapes, [](const auto& stage) { return stage->shapes; });
  if (found != stages.end()) {
    std::rotate(stages.begin(), found, found + 1);
    return stages.front().get();
  }
  if (stages.size() == kMaxStages) stages.pop_back();
  QQ_TRY(std::unique_ptr<Stage> made, make_stage(plan, std::move(shapes), segment_bytes));
  stages.insert(stages.begin(), std::move(made));
  return stages.front().get();
}

Result<std::unique_ptr<Stage>> Session::make_stage(const StagePlan& plan, std::vector<FeedShape> shapes,
                                                   int64_t segment_bytes) {
  auto stage = std::make_unique<Stage>();
  stage->shapes = std::move(shapes);
  CompileRequest request;
  for (size_t i = 0; i < plan.feeds.size(); ++i) {
    const FeedShape& shape = stage->shapes[i];
    const Layout layout = plan.layout_of(i);
    if (shape.kind == ir::Operand::Kind::kTensor) {
      request.feeds.push_back({plan.feeds[i], shape.type, logical_dims(shape.dims, layout), layout});
    } else {
      request.opaque.push_back(plan.feeds[i]);
    }
  }
  request.segment_bytes = segment_bytes;
  if (is_segmented()) request.values = value_limit();
  request.constants = plan.constants;
  request.fetches = plan.fetches;
  request.taps = plan.taps;
  request.max_memory = scope_.limits.memory;
  QQ_TRY(stage->compiled, compile(graph_, scope_.opsets, request));
  for (const Deferred& deferred : stage->compiled.deferred) {
    stage->steps.emplace_back(deferred, graph_, scope_, stage->compiled.constants);
  }
  if (stage->compiled.is_cut) {
    stage->next_plan = std::make_shared<StagePlan>(next_segment(plan, *stage));
  } else {
    plan_next(plan, *stage);
  }
  arena_bytes_ = std::max(arena_bytes_, stage->compiled.program.arena_bytes());
  return stage;
}

/// The rest after the stage's program and its deferred nodes.
void Session::plan_next(const StagePlan& plan, Stage& stage) const {
  const Compiled& compiled = stage.compiled;
  std::vector<ir::ValueId> made = compiled.fetched;
  made.insert(made.end(), plan.feeds.begin(), plan.feeds.end());
  StagePlan next;
  next.constants = compiled.constants;
  for (const Deferred& deferred : compiled.deferred) {
    for (const ir::ValueId output : deferred.node->outputs) {
      if (!output.valid()) continue;
      made.push_back(output);
      if (contains(compiled.unheard, output)) next.feeds.push_back(output);
    }
  }
  if (compiled.reads.empty() && next.feeds.empty()) return;
  std::vector<bool> known(graph_.value_count());
  for (const Constant& constant : compiled.constants) known[static_cast<size_t>(constant.value.index)] = true;
  for (const ir::ValueId feed : next.feeds) known[static_cast<size_t>(feed.index)] = true;
  std::vector<bool> is_made(graph_.value_count());
  for (const ir::ValueId value : made) is_made[static_cast<size_t>(value.index)] = true;
  for (const ir::ValueId read : compiled.reads) {
    const auto index = static_cast<size_t>(read.index);
    if (known[index] || !is_made[index]) continue;
    known[index] = true;
    next.feeds.push_back(read);
  }
  for (const ir::ValueId fetch : plan.fetches) {
    if (!is_made[static_cast<size_t>(fetch.index)]) next.fetches.push_back(fetch);
  }
  next.taps = compiled.unheard;
  stage.next_plan = std::make_shared<StagePlan>(std::move(next));
}

Status Session::run_program(const StagePlan& plan, Stage& stage, TapSink* sink) {
  inputs_.resize(plan.feeds.size());  // assigned to, not made again: their dims keep their memory
  size_t count = 0, tensor = 0;
  for (size_t i = 0; i < plan.feeds.size(); ++i) {
    if (stage.shapes[i].kind != ir::Operand::Kind::kTensor) continue;
    if (stage.compiled.reads_feed[tensor++]) inputs_[count++] = value(plan.feeds[i]).tensor;
  }
  return stage.compiled.program.run(std::span(inputs_).first(count), sink);
}

Status Session::check_count(size_t given) const {
  const size_t wanted = first_plan_->feeds.size();
  return given == wanted ? Status() : bad_data("the model takes ", wanted, " inputs, ", given, " were given");
}

Status Session::not_a_tensor(ir::ValueId fetch) const {
  return unsupported("output ", graph_.value(fetch).name, " is a sequence or an empty optional, not a tensor");
}

/// The first stage's program, for feeds that lie in values_. Results returned by the last run are released.
Result<Stage*> Session::run_first(TapSink* sink) {
  operands_.clear();
  tensors_.clear();
  QQ_TRY(Stage* const stage, stage_for(*first_plan_, first_));
  QQ_RETURN_IF_ERROR(run_program(*first_plan_, *stage, sink));
  return stage;
}

/// What follows the program of the first stage; results end up in values_.
Status Session::run_rest(Stage& first, TapSink* sink) {
  for (Stage* stage = &first;;) {
    const std::vector<ir::Tensor>& results = stage->compiled.program.results();
    for (size_t i = 0; i < results.size(); ++i) value(stage->compiled.fetched[i]) = results[i];
    for (const Constant& constant : stage->compiled.constants) value(constant.value) = constant.tensor;
    for (DeferredStep& step : stage->steps) QQ_RETURN_IF_ERROR(step.run(values_));
    if (!stage->next_plan) return Status();
    const StagePlan& plan = *stage->next_plan;
    QQ_TRY(stage, stage_for(plan, stage->next));
    QQ_RETURN_IF_ERROR(run_program(plan, *stage, sink));
  }
}

/// Results of programs are overwritten by the next run, which copies them first when they are still in use.
void Session::forget_values() {
  for (ir::Operand& operand : values_) operand = {};
  inputs_.clear();
}

Result<const std::vector<ir::Operand>*> Session::run_operands(std::span<const ir::Operand> inputs, TapSink* sink) {
  QQ_RETURN_IF_ERROR(check_count(inputs.size()));
  const StagePlan& plan = *first_plan_;
  for (size_t i = 0; i < inputs.size(); ++i) value(plan.feeds[i]) = inputs[i];
  QQ_TRY(Stage* const stage, run_first(sink));
  QQ_RETURN_IF_ERROR(run_rest(*stage, sink));
  for (const ir::ValueId fetch : plan.fetches) operands_.push_back(value(fetch));
  forget_values();
  return &operands_;
}

Result<const std::vector<ir::Tensor>*> Session::run(std::span<const ir::Tensor> inputs, TapSink* sink) {
  QQ_RETURN_IF_ERROR(check_count(inputs.size()));
  if (is_segmented()) return run_segments(inputs, sink);
  const StagePlan& plan = *first_plan_;
  for (size_t i = 0; i < inputs.size(); ++i) value(plan.feeds[i]).set(inputs[i]);
  QQ_TRY(Stage* const stage, run_first(sink));
  if (stage->steps.empty()) return &stage->compiled.program.results();  // the common case: nothing is copied
  QQ_RETURN_IF_ERROR(run_rest(*stage, sink));
  for (const ir::ValueId fetch : plan.fetches) {
    if (!value(fetch).is_tensor()) return not_a_tensor(fetch);
    tensors_.push_back(value(fetch).tensor);
  }
  forget_values();
  return &tensors_;
}

}  // namespace quarkq::exec
