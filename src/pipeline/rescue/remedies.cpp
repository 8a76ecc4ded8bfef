// SPDX-License-Identifier: MIT
#include "pipeline/rescue/remedies.h"

#include <algorithm>
#include <memory>

#include "pipeline/run/part_plans.h"
#include "pipeline/run/pass_runner.h"
#include "plan/stage.h"
#include "rewrite/equalize/layer_chains.h"

namespace quarkq::pipeline {

namespace {

bool has_op(const ir::Graph& graph, const char* op) {
  return std::any_of(graph.order().begin(), graph.order().end(), [&](ir::NodeId id) { return graph.node(id).is(op); });
}

/// Channels with scales of their own need no equalization. Values that settings name are kept.
bool may_equalize(const RunState& state, const ir::Graph& /*loaded*/) {
  return !state.settings.formats.per_channel && !state.settings.tool.equalize_clipped &&
         !rewrite::find_clipped_pairs(state.calibrated->graph, state.selection).empty();
}

/// Ranges that the user named, or that were measured in earlier runs, are kept.
bool may_search_ranges(const RunState& state, const ir::Graph& /*loaded*/) {
  const config::Settings& settings = state.settings;
  return settings.ranges.calibrate_method == config::CalibrateMethod::kMinMax &&
         !config::is_users(settings.origin_of("calibrate_method")) && !settings.ranges.save_and_restore &&
         bits(plan::element_type(settings.formats.activation_type)) <= 8 &&
         plan::activation_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

/// Values that settings name are kept.
bool may_vote(const RunState& state, const ir::Graph& /*loaded*/) {
  const config::Settings& settings = state.settings;
  return settings.ranges.calibrate_method == config::CalibrateMethod::kMinMSE &&
         settings.ranges.min_mse_mode_pof2_scale == "All" && !settings.ranges.save_and_restore &&
         !config::is_users(settings.origin_of("MinMSEModePof2Scale")) &&
         plan::activation_scale_kind(settings) == numeric::ScaleKind::kPowerOfTwo;
}

bool may_keep_sigmoid(const RunState& state, const ir::Graph& loaded) {
  return state.settings.npu.convert_sigmoid_to_hard_sigmoid &&
         !config::is_users(state.settings.origin_of("ConvertSigmoidToHardSigmoid")) && has_op(loaded, "Sigmoid");
}

bool may_keep_clip(const RunState& state, const ir::Graph& loaded) {
  return state.settings.replaces_clip6() && !config::is_users(state.settings.origin_of("ReplaceClip6Relu")) &&
         has_op(loaded, "Clip");
}

}  // namespace

const std::vector<FloatRemedy>& float_remedies() {
  static const std::vector<FloatRemedy> remedies = {
      {kSearchedRanges.data(), "ranges of activations have the least squared error", may_search_ranges,
       [](config::Settings& settings) { settings.ranges.calibrate_method = config::CalibrateMethod::kFloatMinMSE; }},
      {"MinMSEModePof2Scale=MostCommon", "scales of activations are those that most samples are closest with", may_vote,
       [](config::Settings& settings) { settings.ranges.min_mse_mode_pof2_scale = "MostCommon"; }},
      {"ReplaceClip6Relu=false", "Clip(0, 6) stays as it is", may_keep_clip,
       [](config::Settings& settings) { settings.preprocessing.replace_clip6_relu = false; }},
      {"quarkq.equalize_clipped=true", "layers with a Clip between them are equalized", may_equalize,
       [](config::Settings& settings) { settings.tool.equalize_clipped = true; }},
      {"ConvertSigmoidToHardSigmoid=false", "Sigmoid stays as it is", may_keep_sigmoid,
       [](config::Settings& settings) { settings.npu.convert_sigmoid_to_hard_sigmoid = false; }},
  };
  return remedies;
}

Result<std::optional<Trial>> try_remedy(const FloatRemedy& remedy, const RunState& state, const FloatRun& run,
                                        const RunnerOptions& options) {
  // Samples that were transposed for the converted model would be transposed once more.
  if (!state.channels_last_inputs.empty() || !remedy.is_open(state, run.loaded.graph)) return std::optional<Trial>();
  Trial trial{{.model = run.loaded,
               .settings = state.settings,
               .environment = state.environment,
               .source = state.source,
               .tuning = state.tuning,
               .tail = state.tail,
               .progress = state.progress}};
  trial.state.diagnostics = trial.state.before_passes = state.before_passes;
  trial.state.tuning.rounded = std::make_shared<pass::RoundingCache>();
  remedy.apply(trial.state.settings);
  const std::string_view setting = remedy.setting;
  trial.state.settings.origins[std::string(setting.substr(0, setting.find('=')))] = config::Origin::kRescue;
  const Result<ir::Model> planned = plan_model(run.source, trial.state, pass::Phase::kWrite, run.times, options);
  const Result<Agreement> outputs = planned.ok() ? judge_plan(trial.state, run.expected) : planned.status();
  if (outputs.ok()) {
    trial.outputs = outputs.value();
    return std::optional<Trial>(std::move(trial));
  }
  if (outputs.status().code() == Code::kInterrupted) return outputs.status();
  return std::optional<Trial>();
}

bool takes_channel_scales(const config::Settings& settings) {
  return settings.may_rescue_with("channel_scales") && plan::weight_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

bool takes_16_bit_activations(const config::Settings& settings) {
  return settings.may_rescue_with("16_bits") && config::traits_of(settings.quantizer).runs_16_bits &&
         plan::activation_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

config::DataType wide_type(const config::Settings& settings) {
  return settings.formats.activation_type == config::DataType::kUInt8 ? config::DataType::kUInt16
                                                                      : config::DataType::kInt16;
}

std::set<ir::ValueId> widened_tensors(const Remedies& remedies, const plan::Selection& selection,
                                      const ir::Graph& graph) {
  std::set<ir::ValueId> found;
  const auto take = [&](ir::ValueId value) {
    if (value.valid() && graph.constant(value) == nullptr && graph.value(value).type.element == ElementType::kFloat &&
        plan::find_override(selection.overrides, value) == nullptr)
      found.insert(value);
  };
  for (const ir::NodeId id : remedies.in_16_bits) {
    for (const ir::ValueId value : graph.node(id).inputs) take(value);
    for (const ir::ValueId value : graph.node(id).outputs) take(value);
  }
  return found;
}

void apply(const Remedies& remedies, RunState& state) {
  config::Settings& settings = state.settings;
  if (!remedies.weights.rounding.empty()) {
    settings.tool.rounding = remedies.weights.rounding;
    settings.origins["quarkq.rounding"] = config::Origin::kRescue;
  }
  if (remedies.weights.searched_scales) {
    settings.ranges.weight_calibrate_method = config::CalibrateMethod::kFloatMinMSE;
    settings.origins["WeightCalibrateMethod"] = config::Origin::kRescue;
  }
  if (remedies.channel_scales) {
    settings.formats.per_channel = true;
    settings.origins["per_channel"] = config::Origin::kRescue;
  }
  for (const ir::ValueId value : widened_tensors(remedies, state.selection, state.graph()))
    state.selection.overrides[value].type = wide_type(settings);
  state.selection.left_float.insert(remedies.left_float.begin(), remedies.left_float.end());
}

namespace {

struct NoisyPart {
  size_t first = 0, last = 0;  ///< of the nodes, `last` not included
  double noise = 0;

  size_t size() const { return last - first; }
};

class Search {
 public:
  Search(const std::vector<ir::NodeId>& nodes, const PartNoise& noise, const SearchLimits& limits)
      : nodes_(nodes), noise_(noise), limits_(limits) {}

  Status run() {
    const size_t parts = std::min(limits_.first_parts, nodes_.size());
    for (size_t i = 0; i < parts; ++i) {
      QQ_RETURN_IF_ERROR(measure(nodes_.size() * i / parts, nodes_.size() * (i + 1) / parts));
    }
    while (trials_ + 2 <= limits_.trials) {
      const auto worst = std::max_element(parts_.begin(), parts_.end(), is_less_divisible);
      if (worst == parts_.end() || worst->size() == 1 || divisible_noise() < limits_.small_noise) break;
      const NoisyPart part = *worst;
      parts_.erase(worst);
      QQ_RETURN_IF_ERROR(divide(part));
    }
    return Status();
  }

  std::vector<NoisyNode> ranked() {
    // Node for node, so that a part that was not divided counts as the mean of its nodes.
    const auto mean = [](const NoisyPart& part) { return part.noise / static_cast<double>(part.size()); };
    std::stable_sort(parts_.begin(), parts_.end(),
                     [&](const NoisyPart& a, const NoisyPart& b) { return mean(a) > mean(b); });
    std::vector<NoisyNode> found;
    for (const NoisyPart& part : parts_) {
      for (size_t i = part.first; i < part.last; ++i) found.push_back({nodes_[i], mean(part)});
    }
    return found;
  }

 private:
  /// Single nodes cannot be divided and come last.
  static bool is_less_divisible(const NoisyPart& a, const NoisyPart& b) {
    if ((a.size() == 1) != (b.size() == 1)) return a.size() == 1;
    return a.noise < b.noise;
  }

  double divisible_noise() const {
    double sum = 0;
    for (const NoisyPart& part : parts_) sum += part.size() > 1 ? part.noise : 0;
    return sum;
  }

  /// The second half has what the first one leaves of the noise, unless errors of the two clearly cancel out.
  Status divide(const NoisyPart& part) {
    const size_t middle = part.first + part.size() / 2;
    QQ_RETURN_IF_ERROR(measure(part.first, middle));
    const double rest = part.noise - parts_.back().noise;
    constexpr double kCancelled = -0.125;  // relative to the whole part
    if (!(rest >= kCancelled * part.noise)) return measure(middle, part.last);
    parts_.push_back({middle, part.last, std::max(rest, 0.0)});
    return Status();
  }

  Status measure(size_t first, size_t last) {
    const auto begin = nodes_.begin();
    QQ_TRY(const double noise,
           noise_({begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)}));
    parts_.push_back({first, last, noise});
    ++trials_;
    return Status();
  }

  const std::vector<ir::NodeId>& nodes_;
  const PartNoise& noise_;
  const SearchLimits& limits_;
  std::vector<NoisyPart> parts_;
  size_t trials_ = 0;
};

}  // namespace

Result<std::vector<NoisyNode>> rank_by_noise(const std::vector<ir::NodeId>& nodes, const PartNoise& noise,
                                             const SearchLimits& limits) {
  Search search(nodes, noise, limits);
  QQ_RETURN_IF_ERROR(search.run());
  return search.ranked();
}

}  // namespace quarkq::pipeline
