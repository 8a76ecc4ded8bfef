// SPDX-License-Identifier: MIT
// Two kinds of evidence. BatchNormalization stores mean and variance of what it was trained on, so the deviation of the
// training images is found within a few tens of percent. Where it is folded, only the biases are left: they are
// as large as the layer's values when images are right, a hundredth or a hundred times of that when their scale is
// wrong. Networks trained without BatchNormalization have small biases at any scale; those give no evidence.
#include "pipeline/run/plausible_inputs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compare/expected_outputs.h"
#include "config/preprocess.h"
#include "exec/session.h"
#include "ir/constants.h"
#include "pipeline/run/model_interface.h"

namespace quarkq::pipeline {
namespace {

using calib::InputSummary;

constexpr size_t kSamplesTried = 4;
// Bounds between right and wrong recipes, measured on 19 networks with photos. With BatchNormalization, deviations of
// the right recipe were 0.35 to 1.4 times those of the training, of wrong ones 0.17 to 0.25 or above 40 times.
constexpr double kMostOfTraining = 4, kLeastOfTraining = 0.28;
// A set of values can deviate by half of its range at the most; photos reach 0.3 of it.
constexpr double kMostOfRange = 0.4;
// Folded: |bias| over the deviation of the layer's values was 0.14 to 5.6 with the right recipe, below 0.04 or above
// 45 with a wrong one. Deviations were at most 11 with the right one where biases are informative.
constexpr double kLeastBias = 0.05, kMostBias = 30, kLargeValues = 8, kBeyondActivation = 25;
constexpr double kTellingBias = 0.15;  ///< |bias| over the norm of weights; 0.1 at most without BatchNormalization
constexpr double kSaturated = 30, kAbsurdScore = 100;  ///< 99 % of scores were below 26 with the right recipe
constexpr double kBeyondPixels = 300;                  ///< no convention goes beyond 255

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Deviation of each channel of [N, C, H, W] over several tensors, without the border, which padding makes.
class ChannelSpread {
 public:
  explicit ChannelSpread(size_t channels) : sum_(channels), squares_(channels), count_(channels) {}

  Status add(const ir::Tensor& tensor) {
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(tensor));
    return add(tensor.dims(), exec::Layout::kPlain, values.span().data());
  }
  /// Values that lie in `layout`, of a tensor whose ONNX dimensions are `dims`.
  Status add(const ir::Shape& dims, exec::Layout layout, const float* values) {
    const size_t channels = sum_.size();
    if (dims.size() != 4 || dims[1] != static_cast<int64_t>(channels)) return internal_error("first layer");
    const auto images = static_cast<size_t>(dims[0]), height = static_cast<size_t>(dims[2]),
               width = static_cast<size_t>(dims[3]);
    const bool is_last = layout == exec::Layout::kChannelsLast;
    const size_t pixels = height * width, step = is_last ? channels : 1;
    const size_t down = border(height), across = border(width);
    for (size_t plane = 0; plane < images * channels; ++plane) {
      const size_t channel = plane % channels, image = plane / channels * channels * pixels;
      const float* const first = values + image + (is_last ? channel : channel * pixels);
      for (size_t y = down; y < height - down; ++y) {
        const float* row = first + y * width * step;
        for (size_t x = across; x < width - across; ++x) add(channel, row[x * step]);
      }
    }
    return Status();
  }
  double deviation(size_t channel) const {
    const double count = static_cast<double>(std::max<size_t>(1, count_[channel])), mean = sum_[channel] / count;
    return std::sqrt(std::max(0.0, squares_[channel] / count - mean * mean));
  }

 private:
  static size_t border(size_t side) { return std::min<size_t>(3, side / 8); }
  void add(size_t channel, double value) {
    sum_[channel] += value;
    squares_[channel] += value * value;
    ++count_[channel];
  }

  std::vector<double> sum_, squares_;
  std::vector<size_t> count_;
};

/// Adds what it observes where it lies: the values of a first layer may be as large as everything else together.
class SpreadSink : public exec::TapSink {
 public:
  explicit SpreadSink(ChannelSpread& spread) : spread_(spread) {}
  Status on_value(ir::ValueId, const exec::TensorView& view) override {
    if (view.type != ElementType::kFloat) return internal_error("first layer");
    return spread_.add(exec::logical_dims(*view.stored_dims, view.layout), view.layout,
                       reinterpret_cast<const float*>(view.data));
  }

 private:
  ChannelSpread& spread_;
};

/// A model, and the samples that may contradict it.
struct TriedModel {
  const ir::Model& model;
  const exec::Environment& environment;
  const calib::ObservedReader& samples;
};

/// For each of a few samples `sink` observes what `options` taps, and `use` is called with what they fetch.
template <typename Use>
Status run_samples(const TriedModel& tried, exec::SessionOptions options, const Use& use,
                   exec::TapSink* sink = nullptr) {
  exec::Session session(tried.model, tried.environment, std::move(options));
  for (const size_t index : compare::spread_samples(tried.samples.size(), kSamplesTried)) {
    QQ_TRY(const calib::Sample sample, tried.samples.read(index));
    QQ_TRY(const std::vector<ir::Tensor>* results, session.run(sample.inputs, sink));
    QQ_RETURN_IF_ERROR(use(*results));
  }
  return Status();
}

/// What the first layer makes of a few samples.
Status add_first_layer(const TriedModel& tried, ir::ValueId output, ChannelSpread& spread) {
  if (tried.model.graph.value(output).type.element != ElementType::kFloat) {
    return run_samples(tried, {{output}, {}},
                       [&](const std::vector<ir::Tensor>& results) { return spread.add(results[0]); });
  }
  SpreadSink sink(spread);
  const auto ignore = [](const std::vector<ir::Tensor>&) { return Status(); };
  return run_samples(tried, {{}, {output}}, ignore, &sink);
}

/// Scores so large that every class is certain, on any of the outputs.
Result<bool> has_absurd_scores(const TriedModel& tried) {
  const ir::Graph& graph = tried.model.graph;
  const std::vector<ir::ValueId> scores = find_scores(graph);
  if (scores.empty()) return false;
  bool found = false;
  const auto look = [&](const std::vector<ir::Tensor>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      QQ_TRY(std::vector<float> values, ir::float_values(results[i]));
      if (values.empty()) continue;
      for (float& value : values) value = std::abs(value);
      const auto most = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 99 / 100);
      std::nth_element(values.begin(), most, values.end());
      found = found || *most > (graph.value(scores[i]).is_output ? kAbsurdScore : kSaturated);
    }
    return Status();
  };
  QQ_RETURN_IF_ERROR(run_samples(tried, {scores, {}}, look));
  return found;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double deviation_of(const InputSummary& input) {
  double sum = 0;
  for (const double one : input.deviation) sum += one;
  return sum / static_cast<double>(std::max<size_t>(1, input.deviation.size()));
}

/// "its samples hold 0 to 255 with a deviation of 54.5"
std::string held(const InputSummary& input) {
  return cat("its samples contain values from ", number_text(input.least), " to ", number_text(input.most),
             " with a standard deviation of ", number_text(deviation_of(input)));
}

/// Recipes with about this deviation.
std::string fitting_recipes(double deviation) {
  constexpr double kNear = 1.7;
  std::vector<std::string> names;
  for (const config::PreprocessRecipe& recipe : config::preprocess_recipes()) {
    const double ratio = recipe.typical.deviation / deviation;
    if (ratio < kNear && ratio > 1 / kNear) names.emplace_back(recipe.name);
  }
  return names.empty() ? "quarkq list recipes shows the usual ones"
                       : cat("the recipe", names.size() > 1 ? "s " : " ", join(names, ", "), " would give that");
}

/// The verdict of a BatchNormalization: nothing when the samples fit it.
std::optional<std::string> judge_trained(const ir::Graph& graph, const FirstLayer& layer, const ChannelSpread& seen,
                                         const InputSummary& input) {
  std::vector<double> trained(layer.deviation.begin(), layer.deviation.end()), ratios;
  const double usual = median(trained);
  for (size_t c = 0; c < trained.size(); ++c) {
    if (trained[c] > usual / 100) ratios.push_back(seen.deviation(c) / trained[c]);  // the others are dead
  }
  if (ratios.empty()) return std::nullopt;
  const double ratio = median(ratios), expected = deviation_of(input) / ratio;
  const bool is_small = ratio < kLeastOfTraining && expected > kMostOfRange * (input.most - input.least);
  if (!is_small && ratio <= kMostOfTraining) return std::nullopt;
  return cat(held(input), ", ", graph.label(layer.conv),
             " and its BatchNormalization were trained on inputs with a deviation ", "of about ", number_text(expected),
             "; ", fitting_recipes(expected));
}

/// Evidence of the biases without a BatchNormalization.
struct BiasEvidence {
  double bias = 0;     ///< median of |bias| over the deviation of the layer's values
  double fitting = 0;  ///< median of |bias| over the norm of the weights: about the magnitude of inputs it is for
  double values = 0;   ///< median deviation of the layer's values
};

std::optional<BiasEvidence> bias_evidence(const FirstLayer& layer, const ChannelSpread& seen) {
  const double largest = *std::max_element(layer.gain.begin(), layer.gain.end());
  std::vector<double> biases, fitting, values;
  for (size_t c = 0; c < layer.gain.size(); ++c) {
    const double deviation = seen.deviation(c), bias = std::abs(double{layer.bias[c]});
    if (layer.gain[c] <= largest / 1000 || deviation <= 0) continue;  // dead
    biases.push_back(bias / deviation);
    fitting.push_back(bias / layer.gain[c]);
    values.push_back(deviation);
  }
  if (biases.empty()) return std::nullopt;
  const BiasEvidence evidence{median(biases), median(fitting), median(values)};
  return evidence.fitting >= kTellingBias ? std::optional(evidence) : std::nullopt;
}

Result<std::optional<std::string>> judge_folded(const TriedModel& tried, const FirstLayer& layer,
                                                const ChannelSpread& seen, const InputSummary& input) {
  using Verdict = std::optional<std::string>;
  const std::optional<BiasEvidence> evidence = bias_evidence(layer, seen);
  if (!evidence) return Verdict();
  const std::string label = tried.model.graph.label(layer.conv);
  if (evidence->bias > kMostBias && evidence->fitting > input.most - input.least) {
    return Verdict(cat(held(input), ", the biases of ", label, " suit inputs of about ", number_text(evidence->fitting),
                       ", which is far larger; --preprocess raw or caffe keeps pixels in ", "0..255"));
  }
  if (evidence->bias >= kLeastBias || evidence->values <= kLargeValues) return Verdict();
  bool is_proven = layer.activation == FirstActivation::kScaled && evidence->values > kBeyondActivation;
  if (layer.activation == FirstActivation::kLinear) {
    QQ_TRY(is_proven, has_absurd_scores(tried));
  }
  if (!is_proven) return Verdict();
  return Verdict(cat(held(input), "; the biases of ", label, " and the operators after it suit far smaller values; is ",
                     input.least >= 0 ? "the recipe of the training missing (imagenet, tf, yolo-letterbox, ...)"
                                      : "scale: 1/255 missing",
                     "?"));
}

Result<std::optional<std::string>> judge(const TriedModel& tried, ir::ValueId value) {
  const ir::Graph& graph = tried.model.graph;
  std::optional<std::string> verdict;
  const std::optional<FirstLayer> layer = find_first_layer(graph, value);
  if (!layer) return verdict;
  ChannelSpread seen(layer->gain.size());
  QQ_RETURN_IF_ERROR(add_first_layer(tried, layer->output, seen));
  const std::string& name = graph.value(value).name;
  for (const InputSummary& input : tried.samples.summary()) {
    if (input.name != name || input.is_constant() || !calib::channel_axis(input.dims)) continue;
    if (!layer->deviation.empty()) return judge_trained(graph, *layer, seen, input);
    QQ_TRY(verdict, judge_folded(tried, *layer, seen, input));
    const bool is_colour = input.mean.size() > 1;
    if (!verdict && is_colour && std::max(-input.least, input.most) > kBeyondPixels) {
      verdict = cat(held(input), ", outside of 0..255, which no usual recipe gives; is scale: 1/255 missing?");
    }
  }
  return verdict;
}

bool may_hold_images(const ir::Value& value) {
  const bool is_float = value.type.element == ElementType::kFloat || value.type.element == ElementType::kFloat16;
  return is_float && value.type.has_shape && calib::channel_axis(value.type.shape()).has_value();
}

}  // namespace

void check_plausible(const ir::Model& model, const exec::Environment& environment, const calib::ObservedReader& samples,
                     Diagnostics& diagnostics) {
  for (const ir::ValueId id : model.graph.required_inputs()) {
    const ir::Value& value = model.graph.value(id);
    if (!may_hold_images(value)) continue;
    const Result<std::optional<std::string>> verdict = judge({model, environment, samples}, id);
    if (verdict.ok() && verdict.value()) diagnostics.add("implausible-input", value.name, *verdict.value());
  }
}

std::vector<std::string> sample_cautions(const std::vector<InputSummary>& inputs, size_t samples, bool is_random) {
  constexpr size_t kFew = 8;
  std::vector<std::string> cautions;
  if (is_random) cautions.emplace_back("random data: the ranges describe noise and are suitable only for experiments");
  if (!is_random && samples > 0 && samples < kFew)
    cautions.push_back(cat("only ", samples, samples == 1 ? " sample" : " samples", ", fewer than ", kFew));
  const InputSummary* constant = nullptr;
  for (const InputSummary& input : inputs) {
    if (!is_floating(input.type)) continue;
    if (!input.is_constant()) return cautions;
    constant = &input;
  }
  if (constant != nullptr) {
    cautions.push_back(
        cat("all values of input ", constant->name, " are ", number_text(constant->least), ": ranges are meaningless"));
  }
  return cautions;
}

std::vector<InputReport> input_reports(const std::vector<InputSummary>& inputs) {
  std::vector<InputReport> reports;
  reports.reserve(inputs.size());
  for (const InputSummary& input : inputs) {
    reports.push_back({input.name,
                       std::string(name(input.type)),
                       {input.dims.begin(), input.dims.end()},
                       input.samples,
                       input.least,
                       input.most,
                       input.mean,
                       input.deviation});
  }
  return reports;
}

}  // namespace quarkq::pipeline
