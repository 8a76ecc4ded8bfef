// SPDX-License-Identifier: MIT
#include "calib/run_calibration.h"

#include "exec/session.h"
#include "numeric/half.h"

namespace quarkq::calib {
namespace {

/// Feeds the statistics of each tapped tensor. Blocked or not, a tensor is read as it lies: order does not matter.
class Collector : public exec::TapSink {
 public:
  Collector(const std::vector<ir::ValueId>& tensors, bool with_bins) {
    for (const ir::ValueId tensor : tensors) statistics_.emplace(tensor, ValueStatistics(with_bins));
  }

  Status on_value(ir::ValueId value, const exec::TensorView& view) override {
    ValueStatistics& statistics = statistics_.at(value);
    if (view.type == ElementType::kFloat) {
      statistics.add(reinterpret_cast<const float*>(view.data), view.count);
      return Status();
    }
    if (view.type != ElementType::kFloat16) return internal_error("a ", name(view.type), " tensor is calibrated");
    widened_.resize(static_cast<size_t>(view.count));
    const auto* halves = reinterpret_cast<const uint16_t*>(view.data);
    for (size_t i = 0; i < widened_.size(); ++i) widened_[i] = float_from_float16(halves[i]);
    statistics.add(widened_.data(), view.count);
    return Status();
  }

  const std::map<ir::ValueId, ValueStatistics>& statistics() const { return statistics_; }

 private:
  std::map<ir::ValueId, ValueStatistics> statistics_;
  std::vector<float> widened_;
};

void report_non_finite(const ir::Graph& graph, ir::ValueId tensor, const ValueStatistics& statistics,
                       Diagnostics& diagnostics) {
  if (statistics.not_finite() == 0) return;
  diagnostics.warn("non-finite", graph.value(tensor).name,
                   cat(statistics.not_finite(), " of ", statistics.not_finite() + statistics.count(),
                       " values are NaN or infinite, they are left out of the range"));
}

}  // namespace

Result<Ranges> run_calibration(const ir::Model& model, const DataReader& reader, const CalibrationRequest& request,
                               Diagnostics& diagnostics) {
  if (reader.size() == 0) return bad_data("there are no calibration samples");
  exec::SessionOptions options;
  options.taps = request.tensors;
  exec::Session session(model, options);
  Collector collector(request.tensors, request.calibrator->needs_bins);
  for (size_t i = 0; i < reader.size(); ++i) {
    QQ_TRY(const Sample sample, reader.read(i));
    Result<const std::vector<ir::Tensor>*> results = session.run(sample.inputs, &collector);
    if (!results.ok()) return results.status().context(cat("calibration sample ", sample.name));
    if (request.progress && !request.progress(i + 1, reader.size())) return Status(Code::kInterrupted, "interrupted");
  }
  Ranges ranges;
  for (const auto& [tensor, statistics] : collector.statistics()) {
    report_non_finite(model.graph, tensor, statistics, diagnostics);
    ranges[tensor] = request.calibrator->finish(statistics, request.options);
  }
  return ranges;
}

}  // namespace quarkq::calib
