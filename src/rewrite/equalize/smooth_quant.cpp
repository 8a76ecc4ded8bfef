// SPDX-License-Identifier: MIT
// SmoothQuant (Xiao et al. 2022; ref:equalization#smoothquant): X W = (X / s) (s W) with a factor s for each channel of
// X.
#include "rewrite/equalize/smooth_quant.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "calib/sample_run.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "pass/context.h"
#include "plan/constant_codes.h"
#include "rewrite/passes.h"

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
    return bad_data("calibration samples are needed: pass --calib DIR, or set UseRandomData=true to try without");
  }
  std::vector<ir::ValueId> taps;
  for (const auto& [tensor, channels] : tensors) taps.push_back(tensor);
  calib::SampleRunOptions options =
      pass::sample_run_options(context.environment, context.settings, taps, context.progress);
  options.order = calib::ValueOrder::kOnnx;
  calib::SampleRun run(context.model, *context.data, context.environment, std::move(options));
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

namespace {

constexpr float kTiny = 1e-9f;  // keeps the reference from dividing by zero
// Scale of a channel that never varied in the samples but may: its reciprocal must be representable in the model's
// type.
constexpr float kLeastScale = 1e-5f, kLeastHalfScale = 1e-4f;

constexpr std::string_view kScaleSuffix = "_smooth_scale";  // Suffix of the names of stored factors.

/// Returns whether the input of the MatMul was already smoothed for it: new factors would be 1 except for those of dead
/// channels, whose weights would shrink further each time.
bool is_smoothed(const ir::Graph& graph, const ir::Node& node) {
  const ir::Node* source = graph.producer(node.input(0));
  if (source == nullptr || !source->is("Mul") || graph.use_count(node.input(0)) != 1) return false;
  const ir::ValueId factors = source->input(1);
  return factors.valid() && graph.constant(factors) != nullptr && graph.value(factors).name.ends_with(kScaleSuffix);
}

/// MatMuls with a stored matrix of floats on the right, whose input can be observed.
std::vector<ir::NodeId> find_targets(pass::FloatContext& context) {
  const ir::Graph& graph = context.graph();
  std::vector<ir::NodeId> targets;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.is("MatMul") || !node.input(0).valid() || graph.constant(node.input(0)) != nullptr) continue;
    const ir::Tensor* weight = ir::stored_floats(graph, node.input(1));
    if (weight == nullptr) continue;
    if (weight->rank() != 2 || weight->size() == 0) {
      context.diagnostics.add("smooth-quant-skipped", node.name,
                              cat("the weight has rank ", weight->rank(), ", smoothing is for matrices"));
      continue;
    }
    if (is_smoothed(graph, node)) {
      context.diagnostics.add("smooth-quant-skipped", node.name, "its input was smoothed before");
      continue;
    }
    targets.push_back(id);
  }
  return targets;
}

/// s of each channel, and what the activation is multiplied by.
struct SmoothingFactors {
  std::vector<float> scale, multiplier;
};

/// `maxima` are the maxima of the activation's channels. `least` is the lower bound of a scale; absent: the
/// reference's. Rounded to float32 after each operation, like the reference.
SmoothingFactors smoothing_factors(std::span<const float> maxima, std::span<const float> weights, float alpha,
                                   std::optional<float> least) {
  const size_t columns = weights.size() / maxima.size();
  SmoothingFactors factors;
  for (size_t k = 0; k < maxima.size(); ++k) {
    float largest = 0;
    for (size_t i = k * columns; i < (k + 1) * columns; ++i) largest = std::max(largest, std::abs(weights[i]));
    const auto up = static_cast<float>(std::pow(double{maxima[k]}, double{alpha}));
    const auto down = static_cast<float>(std::pow(double{largest + kTiny}, 1.0 - double{alpha}));
    // The reference lets a dead channel have s = 0: its weights are lost and whatever does arrive is multiplied by 1e9.
    const float scale = least ? std::max(up / down, *least) : up / down;
    factors.scale.push_back(scale);
    factors.multiplier.push_back(1.0f / (least ? scale : scale + kTiny));
  }
  return factors;
}

class Smoothing {
 public:
  explicit Smoothing(pass::FloatContext& context)
      : graph_(context.graph()),
        edit_(graph_),
        alpha_(static_cast<float>(context.settings.algorithms.smooth_alpha)),
        as_quark_(!context.settings.quirk(config::Quirk::kClampSmoothScales)) {}

  Status smooth(ir::NodeId id, const std::vector<float>& maxima) {
    const ir::ValueId input = graph_.node(id).input(0), weight = own_weight(id);
    const ir::Tensor stored = *graph_.value(weight).constant;
    QQ_TRY(std::vector<float> weights, ir::float_values(stored));
    const SmoothingFactors factors = smoothing_factors(maxima, weights, alpha_, least_scale(stored.type()));
    const size_t columns = weights.size() / maxima.size();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] *= factors.scale[i / columns];
    edit_.set_constant(weight, ir::store_floats(weights, stored.type(), stored.dims()));
    insert_multiplication(id, input, ir::store_floats(factors.multiplier, stored.type(), {stored.dims()[0]}));
    return Status();
  }

 private:
  std::optional<float> least_scale(ElementType type) const {
    if (as_quark_) return std::nullopt;
    return type == ElementType::kFloat16 ? kLeastHalfScale : kLeastScale;
  }

  /// The weight, copied first when something else reads it.
  ir::ValueId own_weight(ir::NodeId id) {
    const ir::ValueId shared = graph_.node(id).input(1);
    if (graph_.use_count(shared) == 1) return shared;
    const std::string name = graph_.value(shared).name + "_smooth";
    const ir::ValueId copy = edit_.add_initializer(name, ir::Tensor(*graph_.value(shared).constant));
    edit_.set_input(id, 1, copy);
    return copy;
  }

  /// At the end of the node list; sorting comes later.
  void insert_multiplication(ir::NodeId id, ir::ValueId input, ir::Tensor multiplier) {
    const std::string prefix = cat(graph_.value(input).name, "_", graph_.node(id).name);
    const ir::ValueId constant = edit_.add_initializer(cat(prefix, kScaleSuffix), std::move(multiplier));
    const ir::ValueId smooth = edit_.add_value(prefix + "_smooth_output", graph_.value(input).type);
    const std::vector<ir::NodeId> origins = graph_.node(id).origins;
    edit_.add_node({"Mul", "", prefix + "_smooth_mul", {input, constant}, {smooth}, {}, origins});
    edit_.set_input(id, 0, smooth);
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
  const float alpha_;
  const bool as_quark_;
};

}  // namespace

Result<Changed> smooth_quant(pass::FloatContext& context) {
  const std::vector<ir::NodeId> targets = find_targets(context);
  if (targets.empty()) return Changed::kNo;
  const ir::Graph& graph = context.graph();
  std::map<ir::ValueId, int64_t> channels;
  std::map<ir::ValueId, std::vector<ir::NodeId>> readers;
  std::vector<ir::ValueId> inputs;  // in first-seen order
  for (const ir::NodeId id : targets) {
    const ir::ValueId input = graph.node(id).input(0);
    channels[input] = graph.value(graph.node(id).input(1)).constant->dims()[0];
    if (readers[input].empty()) inputs.push_back(input);
    readers[input].push_back(id);
  }
  QQ_TRY(const ChannelMaxima maxima, channel_maxima(context, channels));
  Smoothing smoothing(context);
  for (const ir::ValueId input : inputs) {
    for (const ir::NodeId id : readers[input]) QQ_RETURN_IF_ERROR(smoothing.smooth(id, maxima.at(input)));
  }
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
