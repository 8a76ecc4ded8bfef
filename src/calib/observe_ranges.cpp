// SPDX-License-Identifier: MIT
// Compat mode: one observer per tensor, and beside each one of the fallback method, so that a failure costs no second
// run.
#include "calib/run_calibration.h"

namespace quarkq::calib {
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
