// SPDX-License-Identifier: MIT
#include "calib/run_calibration.h"

#include "base/parallel.h"

namespace quarkq::calib {

namespace {

class Collector : public SampleSink {
 public:
  Collector(const std::vector<ir::ValueId>& tensors, const CollectOptions& options) : options_(options) {
    for (const ir::ValueId tensor : tensors) statistics_.emplace(tensor, ValueStatistics(options.with_bins));
  }

  Status observe(ir::ValueId tensor, uint64_t sample, std::span<const float> values) override {
    ValueStatistics& statistics = statistics_.at(tensor);
    const auto count = static_cast<int64_t>(values.size());
    if (!options_.votes) {
      statistics.add(values.data(), count, sample);
      return Status();
    }
    ValueStatistics own(/*with_bins=*/true);
    own.add(values.data(), count, sample);
    if (own.count() > 0) {
      QQ_TRY(const int position, best_position(own, *options_.votes));
      own.votes[position] = 1;
    }
    statistics.merge(std::move(own));
    return Status();
  }

  Statistics take() { return std::move(statistics_); }

 private:
  CollectOptions options_;
  Statistics statistics_;
};

/// The statistics of all collectors together; those are empty afterwards.
Statistics merged(std::vector<Collector>& collectors) {
  Statistics all = collectors[0].take();
  std::vector<Statistics> others;
  for (size_t i = 1; i < collectors.size(); ++i) others.push_back(collectors[i].take());
  std::vector<ir::ValueId> tensors;
  for (const auto& [tensor, statistics] : all) tensors.push_back(tensor);
  parallel_for(static_cast<int64_t>(tensors.size()), {.share = Share::kAsFree}, [&](int64_t i) {
    const ir::ValueId tensor = tensors[static_cast<size_t>(i)];
    for (Statistics& other : others) all.at(tensor).merge(std::move(other.at(tensor)));
  });
  return all;
}

MethodOptions for_tensor(const ir::Graph& graph, ir::ValueId tensor, MethodOptions options) {
  options.is_half = graph.value(tensor).type.element == ElementType::kFloat16;
  return options;
}

}  // namespace

Result<Statistics> collect_statistics(SampleRun& run, const std::vector<ir::ValueId>& tensors,
                                      const CollectOptions& options) {
  std::vector<Collector> collectors(run.worthwhile_sinks(), Collector(tensors, options));
  std::vector<SampleSink*> sinks;
  for (Collector& collector : collectors) sinks.push_back(&collector);
  QQ_RETURN_IF_ERROR(run.pass(sinks));
  return merged(collectors);
}

void report_non_finite(const std::string& tensor, const ValueStatistics& statistics,
                       const std::map<uint64_t, std::string>& sample_names, Diagnostics& diagnostics) {
  const uint64_t all = statistics.not_finite();
  if (all == 0) return;
  size_t samples = 0;
  std::string first;
  for (const SampleRecord& record : statistics.records()) {
    if (record.not_finite == 0) continue;
    if (samples++ > 0) continue;
    const auto name = sample_names.find(record.sample);
    first = name == sample_names.end() ? cat("number ", record.sample) : name->second;
  }
  diagnostics.add("non-finite", tensor,
                  cat(all, " of ", all + statistics.count(), " values are NaN or infinite (first in sample ", first,
                      samples > 1 ? cat(", ", samples, " samples in all") : "", "); they are excluded from its range"));
}

Result<Ranges> finish_ranges(const ir::Graph& graph, const Statistics& statistics, const Calibrator& calibrator,
                             const MethodOptions& options, Diagnostics& diagnostics) {
  std::vector<Result<numeric::Range>> found(statistics.size(), numeric::Range{});
  std::vector<const Statistics::value_type*> entries;
  for (const auto& entry : statistics) entries.push_back(&entry);
  parallel_for(static_cast<int64_t>(entries.size()), {.share = Share::kAsFree}, [&](int64_t at) {
    const auto i = static_cast<size_t>(at);
    found[i] = finish_range(calibrator, entries[i]->second, for_tensor(graph, entries[i]->first, options));
  });
  Ranges ranges;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [tensor, seen] = *entries[i];
    Result<numeric::Range>& range = found[i];
    if (!range.ok() && range.status().code() == Code::kInvalidArgument) return range.status();  // a setting, not data
    if (!range.ok()) {
      diagnostics.add(
          "calibration-fallback", graph.value(tensor).name,
          cat(calibrator.name, " failed (", range.status().message(), "); its smallest and largest value are used"));
      range = seen.extremes();
    }
    ranges[tensor] = range.value();
  }
  return ranges;
}

// Compat mode: one observer per tensor, and beside each one of the fallback method, so that a failure costs no second
// run.

namespace {

/// One method's observers. The first failure ends the group: it observes nothing more and has no ranges.
class Group : public SampleSink {
 public:
  Group(const ir::Graph& graph, const std::vector<ir::ValueId>& tensors, const Calibrator& calibrator,
        MethodOptions options)
      : graph_(graph) {
    for (const ir::ValueId tensor : tensors) {
      options.is_half = graph.value(tensor).type.element == ElementType::kFloat16;
      Result<std::unique_ptr<RangeObserver>> made = calibrator.observe(options);
      if (!made.ok()) failure_ = made.status();
      if (!failure_.ok()) return;
      observers_[tensor] = std::move(made).value();
    }
  }

  Status observe(ir::ValueId tensor, uint64_t, std::span<const float> values) override {
    if (failure_.ok()) failure_ = observers_.at(tensor)->add(values).context(name(tensor));
    return Status();
  }

  bool wants_another_pass() {
    bool wants = false;
    for (const auto& [tensor, observer] : observers_) {
      if (failure_.ok()) wants = observer->wants_another_pass() || wants;
    }
    return wants;
  }

  Result<Ranges> finish() {
    Ranges ranges;
    for (const auto& [tensor, observer] : observers_) {
      if (!failure_.ok()) break;
      Result<numeric::Range> range = observer->finish();
      if (range.ok()) ranges[tensor] = range.value();
      failure_ = range.status().context(name(tensor));
    }
    if (!failure_.ok()) return failure_;
    return ranges;
  }

 private:
  std::string name(ir::ValueId tensor) const { return cat("tensor ", graph_.value(tensor).name); }

  const ir::Graph& graph_;
  std::map<ir::ValueId, std::unique_ptr<RangeObserver>> observers_;
  Status failure_;
};

class Both : public SampleSink {
 public:
  Both(Group& a, Group& b) : a_(a), b_(b) {}
  Status observe(ir::ValueId tensor, uint64_t sample, std::span<const float> values) override {
    QQ_RETURN_IF_ERROR(a_.observe(tensor, sample, values));
    return b_.observe(tensor, sample, values);
  }

 private:
  Group& a_;
  Group& b_;
};

}  // namespace

Result<Ranges> observe_ranges(SampleRun& run, const ir::Graph& graph, const std::vector<ir::ValueId>& tensors,
                              const CompatMethod& method, Diagnostics& diagnostics) {
  const Calibrator& calibrator = method.calibrator;
  Group asked(graph, tensors, calibrator, method.options);
  if (calibrator.fallback == calibrator.method) {
    QQ_RETURN_IF_ERROR(run.pass(asked));
    return asked.finish();
  }
  const Calibrator& other = *find_calibrator(calibrator.fallback, /*compat=*/true);
  Group instead(graph, tensors, other, method.fallback);
  Both both(asked, instead);
  QQ_RETURN_IF_ERROR(run.pass(both));
  while (asked.wants_another_pass()) QQ_RETURN_IF_ERROR(run.pass(asked));
  Result<Ranges> ranges = asked.finish();
  if (ranges.ok()) return ranges;
  diagnostics.add("calibration-fallback", calibrator.name,
                  cat("failed as in the reference (", ranges.status().message(), "); all tensors use ", other.name));
  return instead.finish();
}

}  // namespace quarkq::calib
