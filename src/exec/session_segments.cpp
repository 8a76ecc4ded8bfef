// SPDX-License-Identifier: MIT
// Running samples segment by segment (ADR 0016): all of them through one segment, then the next one is compiled.

#include <algorithm>
#include <limits>

#include "base/platform/memory.h"
#include "exec/session.h"
#include "exec/stage.h"
#include "ir/tensor_store.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kShareOfSegment = 2;     // of what is left: weights and values of a segment
constexpr int64_t kQuartersOfProgram = 3;  // of what is left: the same where values that wait leave memory
constexpr int64_t kShareOfStore = 4;       // of what is left: values between segments, which go to disk otherwise

}  // namespace

class Session::Walk {
 public:
  Walk(Session& session, const SampleSet& samples) : session_(session), set_(samples), samples_(samples.count) {
    for (Sample& sample : samples_) sample.plan = session.first_plan_;
  }

  Status run() {
    for (session_.segment_count_ = 1;; ++session_.segment_count_) {
      QQ_RETURN_IF_ERROR(make_room());
      for (size_t i = 0; i < samples_.size(); ++i) {
        if (samples_[i].plan == nullptr) continue;
        QQ_RETURN_IF_ERROR(run_sample(i));
        done_ = std::max(done_, share_done(i));  // samples of other shapes have other segments
        if (set_.progress) QQ_RETURN_IF_ERROR(set_.progress(done_));
      }
      if (std::ranges::all_of(samples_, [](const Sample& sample) { return sample.plan == nullptr; })) return Status();
      release_programs();
      is_first_ = false;
    }
  }

 private:
  /// A value that waits for a later segment.
  struct Kept {
    ir::ValueId value;
    FeedShape shape;
    int number = -1;  ///< in the store; -1: it is no tensor
    ir::Operand other = {};
  };
  struct Sample {
    std::shared_ptr<const StagePlan> plan;  ///< of its next stage; null: it is done
    std::vector<Kept> kept, results;
    double share = 0, next_share = 0;  ///< of the work, before and after the current segment
  };

  Status make_room() {
    if (session_.scope_.limits.segment > 0) return store_.set_limit(session_.scope_.limits.segment);
    return store_.set_limit(store_.bytes_in_memory() + session_.scope_.environment.memory_left() / kShareOfStore);
  }

  void release_programs() {
    session_.first_.stages.clear();
    caches_.clear();
    platform::return_free_memory();
  }

  /// Of all samples; the current segment is done for those up to `last`.
  double share_done(size_t last) {
    const Sample& sample = samples_[last];
    const double part = static_cast<double>(last + 1) / static_cast<double>(samples_.size());
    return sample.share + (sample.next_share - sample.share) * part;
  }

  Status run_sample(size_t index) {
    session_.operands_.clear();
    session_.tensors_.clear();
    session_.forget_values();
    Sample& sample = samples_[index];
    if (is_first_) {
      QQ_TRY(const std::vector<ir::Tensor> inputs, set_.inputs(index));
      QQ_RETURN_IF_ERROR(session_.check_count(inputs.size()));
      for (size_t i = 0; i < inputs.size(); ++i) value(sample.plan->feeds[i]).set(inputs[i]);
    }
    TapSink* const sink = set_.sink ? set_.sink(index) : nullptr;
    QQ_RETURN_IF_ERROR(labelled(run_stages(sample, sink), index));
    if (sample.plan != nullptr) return Status();
    Result<std::vector<ir::Tensor>> taken = take_results(sample);
    QQ_RETURN_IF_ERROR(labelled(taken.status(), index));
    const std::vector<ir::Tensor> results = std::move(taken).value();
    session_.forget_values();
    return set_.results ? set_.results(index, results) : Status();
  }

  Status labelled(Status status, size_t index) const {
    return status.ok() || !set_.label ? status : std::move(status).context(set_.label(index));
  }

  /// Up to the end of the segment.
  Status run_stages(Sample& sample, TapSink* sink) {
    std::shared_ptr<const StagePlan> plan = sample.plan;
    StageCache* cache = is_first_ ? &session_.first_ : &caches_[plan];
    sample.share = sample.next_share;
    while (plan != nullptr) {
      QQ_TRY(Stage* const stage, session_.stage_for(*plan, *cache, shapes_of(sample, *plan), session_.segment_bytes()));
      QQ_RETURN_IF_ERROR(load(sample, *plan, *stage));
      QQ_RETURN_IF_ERROR(session_.run_program(*plan, *stage, sink));
      const Compiled& compiled = stage->compiled;
      const std::vector<ir::Tensor>& results = compiled.program.results();
      for (size_t i = 0; i < compiled.fetched.size(); ++i) set_value(sample, compiled.fetched[i], results[i]);
      if (compiled.is_cut) {
        sample.next_share += (1 - sample.next_share) * compiled.share;
        return wait(sample, *stage);
      }
      for (const Constant& constant : compiled.constants) set_value(sample, constant.value, constant.tensor);
      for (DeferredStep& step : stage->steps) QQ_RETURN_IF_ERROR(step.run(session_.values_));
      cache = &stage->next;
      plan = stage->next_plan;
    }
    sample.next_share = 1;
    sample.plan = nullptr;
    return Status();
  }

  std::vector<FeedShape> shapes_of(const Sample& sample, const StagePlan& plan) {
    std::vector<FeedShape> shapes;
    for (const ir::ValueId feed : plan.feeds) {
      const Kept* kept = find(sample.kept, feed);
      shapes.push_back(kept != nullptr && is_unset(feed) ? kept->shape : FeedShape::of(value(feed)));
    }
    return shapes;
  }

  /// What the stage's program and the nodes after it read.
  Status load(const Sample& sample, const StagePlan& plan, const Stage& stage) {
    size_t tensor = 0;
    for (size_t i = 0; i < plan.feeds.size(); ++i) {
      const bool is_tensor = stage.shapes[i].kind == ir::Operand::Kind::kTensor;
      const bool is_read = is_tensor ? stage.compiled.reads_feed[tensor++] : true;
      const Kept* kept = find(sample.kept, plan.feeds[i]);
      if (kept == nullptr || !is_unset(plan.feeds[i])) continue;
      if (is_read || is_read_after(stage, plan.feeds[i])) QQ_RETURN_IF_ERROR(load(*kept));
    }
    return Status();
  }

  Status load(const Kept& kept) {
    if (kept.number < 0) {
      value(kept.value) = kept.other;
      return Status();
    }
    QQ_TRY(const ir::Tensor tensor, store_.get(kept.number));
    value(kept.value).set(tensor);
    return Status();
  }

  static bool is_read_after(const Stage& stage, ir::ValueId feed) {
    return std::ranges::any_of(stage.compiled.deferred, [&](const Deferred& deferred) {
      const ir::Node& node = *deferred.node;
      return std::ranges::find(node.inputs, feed) != node.inputs.end() ||
             std::ranges::find(node.captures, feed, &ir::Capture::outer) != node.captures.end();
    });
  }

  /// A value that is there in ONNX order from now on, whatever was kept of it.
  void set_value(Sample& sample, ir::ValueId id, const ir::Tensor& tensor) {
    value(id) = tensor;
    const auto old = std::ranges::find(sample.kept, id, &Kept::value);
    if (old == sample.kept.end()) return;
    drop(*old);
    sample.kept.erase(old);
  }

  /// Keeps what later segments and the caller read of the values of this one.
  Status wait(Sample& sample, const Stage& stage) {
    const Compiled& compiled = stage.compiled;
    std::vector<Kept> next;
    for (size_t i = 0; i < compiled.carried.size(); ++i) {
      QQ_TRY(next.emplace_back(),
             keep(compiled.carried[i].value, compiled.program.results()[compiled.fetched.size() + i]));
    }
    for (const Carried& handed : compiled.handed_on) {
      const auto old = std::ranges::find(sample.kept, handed.value, &Kept::value);
      if (old == sample.kept.end()) {
        QQ_TRY(next.emplace_back(), keep(handed.value, value(handed.value)));
        continue;
      }
      next.push_back(std::move(*old));
      sample.kept.erase(old);
    }
    for (const ir::ValueId fetch : session_.first_plan_->fetches) {
      if (is_unset(fetch) || find(sample.results, fetch) != nullptr) continue;
      QQ_TRY(sample.results.emplace_back(), keep(fetch, value(fetch)));
    }
    for (const Kept& kept : sample.kept) drop(kept);
    sample.kept = std::move(next);
    sample.plan = stage.next_plan;
    session_.forget_values();
    return Status();
  }

  Result<std::vector<ir::Tensor>> take_results(Sample& sample) {
    std::vector<ir::Tensor> results;
    for (const ir::ValueId fetch : session_.first_plan_->fetches) {
      if (const Kept* kept = find(sample.results, fetch)) QQ_RETURN_IF_ERROR(load(*kept));
      if (!value(fetch).is_tensor()) return session_.not_a_tensor(fetch);
      results.push_back(value(fetch).tensor);
    }
    for (auto* list : {&sample.results, &sample.kept}) {
      for (const Kept& kept : *list) drop(kept);
      list->clear();
    }
    return results;
  }

  Result<Kept> keep(ir::ValueId id, const ir::Operand& operand) {
    Kept kept{id, FeedShape::of(operand)};
    if (operand.is_tensor()) {
      QQ_TRY(kept.number, store_.keep(operand.tensor));
    } else {
      kept.other = operand;
    }
    return kept;
  }

  void drop(const Kept& kept) {
    if (kept.number >= 0) store_.drop(kept.number);
  }

  static const Kept* find(const std::vector<Kept>& list, ir::ValueId id) {
    const auto found = std::ranges::find(list, id, &Kept::value);
    return found == list.end() ? nullptr : &*found;
  }

  ir::Operand& value(ir::ValueId id) { return session_.value(id); }
  bool is_unset(ir::ValueId id) { return value(id).kind == ir::Operand::Kind::kNone; }

  Session& session_;
  const SampleSet& set_;
  ir::TensorStore store_;
  std::vector<Sample> samples_;
  std::map<std::shared_ptr<const StagePlan>, StageCache> caches_;  ///< of the current segment
  bool is_first_ = true;
  double done_ = 0;
};

bool Session::is_segmented() const {
  if (nesting_ != Nesting::kOutermost) return false;
  const RunLimits& limits = scope_.limits;
  return limits.segment > 0 || limits.values.bytes > 0 || scope_.environment.has_memory_ceiling();
}

int64_t Session::segment_bytes() const {
  if (scope_.limits.segment > 0) return scope_.limits.segment;
  if (!scope_.environment.has_memory_ceiling()) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(1, scope_.environment.memory_left() / kShareOfSegment);
}

ValueLimit Session::value_limit() const {
  ValueLimit limit = scope_.limits.values;
  if (limit.bytes == 0 && scope_.environment.has_memory_ceiling())
    limit.bytes = std::max<int64_t>(1, scope_.environment.memory_left() / 4 * kQuartersOfProgram);
  return limit;
}

/// What is left when the stage's program was cut.
StagePlan Session::next_segment(const StagePlan& plan, const Stage& stage) {
  const Compiled& compiled = stage.compiled;
  StagePlan next;
  for (const auto* list : {&compiled.carried, &compiled.handed_on}) {
    for (const Carried& carried : *list) {
      next.feeds.push_back(carried.value);
      next.layouts.push_back(carried.layout);
    }
  }
  for (const ir::ValueId fetch : plan.fetches) {
    if (std::ranges::find(compiled.fetched, fetch) == compiled.fetched.end()) next.fetches.push_back(fetch);
  }
  next.taps = compiled.unheard;
  next.constants = compiled.constants;
  return next;
}

Status Session::run_samples(const SampleSet& samples) {
  if (is_segmented()) return Walk(*this, samples).run();
  for (size_t i = 0; i < samples.count; ++i) {
    QQ_TRY(const std::vector<ir::Tensor> inputs, samples.inputs(i));
    Result<const std::vector<ir::Tensor>*> results = run(inputs, samples.sink ? samples.sink(i) : nullptr);
    if (!results.ok()) return samples.label ? std::move(results).status().context(samples.label(i)) : results.status();
    if (samples.results) QQ_RETURN_IF_ERROR(samples.results(i, *results.value()));
    if (samples.progress)
      QQ_RETURN_IF_ERROR(samples.progress(static_cast<double>(i + 1) / static_cast<double>(samples.count)));
  }
  return Status();
}

Result<const std::vector<ir::Tensor>*> Session::run_segments(std::span<const ir::Tensor> inputs, TapSink* sink) {
  std::vector<ir::Tensor> found;
  SampleSet one;
  one.count = 1;
  one.inputs = [&](size_t) { return Result<std::vector<ir::Tensor>>({inputs.begin(), inputs.end()}); };
  one.sink = [&](size_t) { return sink; };
  one.results = [&](size_t, const std::vector<ir::Tensor>& results) {
    found = results;
    return Status();
  };
  QQ_RETURN_IF_ERROR(Walk(*this, one).run());
  tensors_ = std::move(found);
  return &tensors_;
}

}  // namespace quarkq::exec
