// SPDX-License-Identifier: MIT
#include "rewrite/equalize/channel_maxima.h"

#include <algorithm>
#include <cmath>

#include "calib/sample_run.h"
#include "pass/calibration_options.h"

namespace quarkq::rewrite {
namespace {

class MaximaSink : public calib::SampleSink {
 public:
  MaximaSink(const ir::Graph& graph, const std::map<ir::ValueId, int64_t>& tensors) : graph_(graph) {
    for (const auto& [tensor, channels] : tensors) maxima_[tensor].resize(static_cast<size_t>(channels), 0.0f);
  }

  Status observe(ir::ValueId tensor, uint64_t /*sample*/, std::span<const float> values) override {
    std::vector<float>& maxima = maxima_.at(tensor);
    const size_t channels = maxima.size();
    if (values.size() % channels != 0) {
      return corrupt_model("tensor ", graph_.value(tensor).name, ": its last axis is not of size ", channels,
                           " as the weights of its reader require");
    }
    for (size_t row = 0; row < values.size(); row += channels) {
      for (size_t k = 0; k < channels; ++k) {
        const float magnitude = std::abs(values[row + k]);
        if (magnitude > maxima[k]) maxima[k] = magnitude;
      }
    }
    return Status();
  }

  const ChannelMaxima& maxima() const { return maxima_; }

 private:
  const ir::Graph& graph_;
  ChannelMaxima maxima_;
};

}  // namespace

Result<ChannelMaxima> channel_maxima(const pass::FloatContext& context, const std::map<ir::ValueId, int64_t>& tensors) {
  if (context.data == nullptr) {
    return bad_data("calibration samples are needed: give --calib DIR, or set UseRandomData=true to try without");
  }
  std::vector<ir::ValueId> taps;
  for (const auto& [tensor, channels] : tensors) taps.push_back(tensor);
  calib::SampleRunOptions options = pass::sample_run_options(context.settings, taps, context.progress);
  options.order = calib::ValueOrder::kOnnx;
  calib::SampleRun run(context.model, *context.data, std::move(options));
  std::vector<MaximaSink> observed(run.worthwhile_sinks(), MaximaSink(context.model.graph, tensors));
  std::vector<calib::SampleSink*> sinks;
  for (MaximaSink& sink : observed) sinks.push_back(&sink);
  QQ_RETURN_IF_ERROR(run.pass(sinks));
  ChannelMaxima merged = observed[0].maxima();
  for (const MaximaSink& sink : observed) {
    for (const auto& [tensor, maxima] : sink.maxima()) {
      std::vector<float>& all = merged.at(tensor);
      for (size_t k = 0; k < all.size(); ++k) all[k] = std::max(all[k], maxima[k]);
    }
  }
  return merged;
}

}  // namespace quarkq::rewrite
