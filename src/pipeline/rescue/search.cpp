// SPDX-License-Identifier: MIT
#include "pipeline/rescue/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "config/settings.h"
#include "ir/graph_analysis.h"
#include "ir/parts.h"
#include "pipeline/rescue/describe.h"
#include "pipeline/rescue/remedies.h"
#include "pipeline/run/part_plans.h"
#include "pipeline/run/trial.h"
#include "plan/stage.h"

namespace quarkq::pipeline {
namespace {

using pass::Phase;

/// The outputs are as good as a rescue aims at, by nodes in 16 bits and by float nodes, which cost more.
constexpr double kGoodCosine = 0.995, kGoodWithFloat = 0.99;
/// Limit of the cosine on the samples that the plain result was worst on.
constexpr double kGoodOnWorst = 0.9;
/// Better than this is not worth another format.
constexpr double kEnoughCosine = 0.97;
/// A remedy must leave at most this part of the noise, else it is not worth another format.
constexpr double kWorthwhile = 0.8;
/// Another way of rounding costs nothing on the target, but must be better on other samples as well.
constexpr double kOtherRounding = 0.95;
/// Float layers run elsewhere: more multiply-accumulates than this are no longer a quantized model.
constexpr double kMostFloatMacs = 0.2;
/// Layers with 16-bit activations take about twice the time: more of them only if fewer are not enough.
constexpr double kFewWideMacs = 0.2;
/// Share of the multiply-accumulates that a node costs beside its own: tensors that go to and fro.
constexpr double kCostOfNode = 0.01;

/// Q/DQ of ai.onnx have an axis from here on.
constexpr int64_t kOpsetOfAxes = 13;
/// ONNX Runtime quantizes the weights of float layers between pairs itself, with operators that older opsets lack.
constexpr int64_t kOpsetOfFloatLayers = 11;

bool writes_contrib_pairs(const config::Settings& settings) {
  return config::traits_of(settings.quantizer).domains == config::DomainPolicy::kContrib &&
         !settings.legalize.qdq_in_ai_onnx.value_or(false);
}

double noise_of(const Agreement& agreement) { return std::pow(10, -agreement.sqnr_db / 10); }

/// `a` has at most this part of the noise of `b`, and points no worse: outputs of zeros have less noise than poor ones.
/// Returns false if the noise of `a` cannot be measured, so that no remedy without a measured gain is kept.
bool leaves_noise(const Agreement& a, const Agreement& b, double part) {
  const double noise = noise_of(a);
  return std::isfinite(noise) && a.cosine >= b.cosine && noise <= part * noise_of(b);
}

/// What the user calls collapsed must not be left so.
double asked_cosine(const config::Settings& settings) { return settings.tool.min_cosine.value_or(0); }

/// What single nodes get, and how the weights of all become integers while the nodes are looked for.
struct Spared {
  bool in_float = false;  ///< Otherwise 16 bits for the activations that they read and write.
  double mac_share = 1;   ///< Upper bound on their share of the multiply-accumulates.
  WeightRemedy weights;   ///< Empty: as the settings say, which takes less time.
};

class Rescuer {
 public:
  explicit Rescuer(const RescueInputs& inputs) : in_(inputs), graph_(inputs.state.calibrated->graph) {}

  /// With biases, then without: rare values that matter may lose by the correction that the mean of all gains by.
  Result<std::optional<Rescued>> find_rounding() {
    after_ = in_.before;
    if (in_.state.settings.tool.rounding) return std::optional<Rescued>();  // as the settings say
    QQ_RETURN_IF_ERROR(in_.proven != nullptr ? try_weights(*in_.proven, kOtherRounding) : try_all_weights());
    if (best_.empty()) return std::optional<Rescued>();
    return rescued();
  }

  /// The cheapest formats first, the next ones only where outputs stay poor.
  Result<std::optional<Rescued>> find_formats(const std::optional<Rescued>& rounded) {
    QQ_TRY(const std::optional<Rescued> start, start_of_formats(rounded));
    const Agreement reached = start ? start->report.after : in_.before;
    const WeightRemedy weights = rounded ? rounded->remedies.weights : unproven_weights();
    is_proven_ = rounded.has_value();
    const bool was_enough = is_enough(reached, in_.state.settings);
    if (was_enough && reached.task == Grade::kGood) {
      QQ_RETURN_IF_ERROR(spare_first_enough(cheap_ways(reached), {}));
      QQ_RETURN_IF_ERROR(add_weights(weights));
    } else {
      QQ_RETURN_IF_ERROR(change_formats(weights));
    }
    const bool is_kept = is_better(after_, reached) && (!was_enough || is_placed_alike());
    if (!is_kept && start) return start;
    return is_kept ? rescued() : std::optional<Rescued>();
  }

 private:
  /// Few nodes in 16 bits, scales per channel, more nodes in 16 bits, float nodes: each only if the ones before are not
  /// enough. Scales per channel come first unless quarkq.rescue lists them after 16 bits.
  Status change_formats(const WeightRemedy& weights) {
    const config::Settings& settings = in_.state.settings;
    const bool channels_first = settings.rescues_first_with("channel_scales", "16_bits");
    if (channels_first) QQ_RETURN_IF_ERROR(try_channel_scales({}));
    Remedies common = best_;
    QQ_RETURN_IF_ERROR(spare_first_enough(few_ways(weights), common));
    if (!channels_first && !is_good(after_) && may_add_channel_scales()) {
      Remedies with_channels = common;
      with_channels.channel_scales = true;
      QQ_RETURN_IF_ERROR(spare_first_enough(few_ways(weights), with_channels));
      if (best_.channel_scales) common = with_channels;
    }
    if (!is_enough(after_, settings)) QQ_RETURN_IF_ERROR(spare_first_enough(costly_ways(weights), common));
    QQ_RETURN_IF_ERROR(add_weights(weights));
    return try_channel_scales(weights);
  }

  Status spare_first_enough(const std::vector<Spared>& ways, const Remedies& common) {
    for (const Spared& way : ways) {
      if (&way != ways.data() && is_enough(after_, in_.state.settings)) break;
      QQ_RETURN_IF_ERROR(spare_nodes(way, common));
    }
    return Status();
  }

  /// What formats are compared with: other weights, or the float model with its remedies.
  Result<std::optional<Rescued>> start_of_formats(const std::optional<Rescued>& rounded) {
    after_ = in_.before;
    if (in_.applied.empty()) return rounded;  // the plan of the run itself is the plain one
    QQ_TRY(const Agreement plain, outputs_with({}));
    accept({}, plain);
    if (rounded) return rounded;
    return is_better(after_, in_.before) ? rescued() : std::optional<Rescued>();
  }

  /// What weights get where nothing was gained by it alone: errors of weights can hide what formats gain.
  WeightRemedy unproven_weights() const {
    return in_.state.settings.tool.rounding ? WeightRemedy() : WeightRemedy{.rounding = "compensated"};
  }

  bool is_placed_alike() const { return !in_.is_placed_alike || in_.is_placed_alike(best_trial_->state); }

  bool takes_wide_nodes() const {
    const config::Settings& settings = in_.state.settings;
    return bits(plan::element_type(settings.formats.activation_type)) <= 8 && takes_16_bit_activations(settings);
  }

  double few_wide_macs() const { return std::min(in_.state.settings.tool.max_wide.value_or(1), kFewWideMacs); }

  /// What brings outputs closer that are enough already.
  std::vector<Spared> cheap_ways(const Agreement& reached) const {
    if (is_good(reached) || !takes_wide_nodes()) return {};
    return {{.in_float = false, .mac_share = few_wide_macs(), .weights = {}}};
  }

  /// Nodes with a limit on their multiply-accumulates: with weights as the settings specify, unless `weights` proved
  /// better, and with `weights`. While nodes are looked for, biases stay: correcting them takes most of the time, and
  /// add_weights() does it for the nodes that were found.
  std::vector<Spared> both_ways(bool in_float, double mac_share, const WeightRemedy& weights) const {
    std::vector<Spared> ways;
    if (weights.empty() || !is_proven_) ways.push_back({in_float, mac_share, {}});
    if (!weights.empty()) ways.push_back({in_float, mac_share, {"compensated_weights", weights.searched_scales}});
    return ways;
  }

  std::vector<Spared> few_ways(const WeightRemedy& weights) const {
    return takes_wide_nodes() ? both_ways(false, few_wide_macs(), weights) : std::vector<Spared>();
  }

  /// As many nodes in 16 bits as it takes, then float nodes.
  std::vector<Spared> costly_ways(const WeightRemedy& weights) const {
    const config::Settings& settings = in_.state.settings;
    const std::optional<double>& asked = settings.tool.max_wide;
    std::vector<Spared> ways;
    if (takes_wide_nodes() && asked.value_or(1) > kFewWideMacs) {
      ways = both_ways(false, asked.value_or(1), weights);
      if (asked.value_or(1) >= 1 && ways.size() > 1) ways.erase(ways.begin());
    }
    // Without multiply-accumulates nothing limits float nodes, up to a model that is not quantized at all.
    const bool has_limit = ir::macs_of(graph_) > 0;
    if (has_limit && settings.may_rescue_with("float_nodes") && in_.state.model.opset() >= kOpsetOfFloatLayers)
      std::ranges::copy(both_ways(true, asked.value_or(kMostFloatMacs), weights), std::back_inserter(ways));
    return ways;
  }

  bool is_good(const Agreement& outputs) const {
    const double good = spared_.in_float ? kGoodWithFloat : kGoodCosine;
    return outputs.cosine >= std::max(good, asked_cosine(in_.state.settings)) && outputs.task == Grade::kGood;
  }

  std::optional<Rescued> rescued() {
    Rescued found{best_, report(), best_trial_};
    return found;
  }

  /// Float scales of weights that the user did not choose.
  bool may_search_scales() const {
    const config::Settings& settings = in_.state.settings;
    return plan::weight_scale_kind(settings) == numeric::ScaleKind::kFloat && !settings.ranges.weight_calibrate_method;
  }

  Status try_all_weights() {
    QQ_RETURN_IF_ERROR(try_weights({.rounding = "compensated"}, kOtherRounding));
    if (may_search_scales())
      QQ_RETURN_IF_ERROR(try_weights({.rounding = "compensated", .searched_scales = true}, kOtherRounding));
    if (!best_.empty() && is_enough(after_, in_.state.settings)) return Status();
    return try_weights({"compensated_weights", best_.weights.searched_scales},
                       best_.empty() ? kOtherRounding : kWorthwhile);
  }

  /// Accepts the remedy if it leaves at most this part of the noise.
  Status try_weights(const WeightRemedy& weights, double part) {
    const Remedies remedies{.weights = weights, .in_16_bits = {}, .left_float = {}};
    QQ_TRY(const Agreement found, outputs_with_weights(remedies));
    if (leaves_noise(found, after_, part)) accept(remedies, found);
    return Status();
  }

  /// The best formats with better weights. Nothing is left to try if no format was: find_rounding() tried the weights.
  Status add_weights(const WeightRemedy& weights) {
    if (weights.empty() || weights == best_.weights || all_ranked_.empty()) return Status();
    Remedies remedies = best_;
    remedies.weights = weights;
    QQ_TRY(const Agreement found, outputs_with(remedies));
    if (leaves_noise(found, after_, 1)) accept(remedies, found);
    return Status();
  }

  RunState state_with(const Remedies& remedies) const {
    RunState state = trial_before_mark(in_.state);
    if (measured_) state.measured = *measured_;
    apply(remedies, state);
    return state;
  }

  /// Later plans need not measure the ranges again that this one added. What is found in tensors is a finding of plans
  /// that quantize them only.
  void remember(const pass::Measured& measured) {
    if (measured.findings.size() == in_.state.measured.findings.size()) measured_ = measured;
  }

  Result<Agreement> outputs_with(const Remedies& remedies) {
    if (in_.next_trial && !in_.next_trial()) return Status(Code::kInterrupted, "interrupted");
    if (last_.trial != nullptr && remedies == last_.remedies) return last_.trial->outputs;
    Result<Trial> found = run_trial(state_with(remedies), Phase::kMark, in_.expected);
    if (!found.ok() && found.status().code() == Code::kInterrupted) return found.status();
    if (found.ok()) remember(found.value().state.measured);
    // A remedy that this model cannot take is worse than any other.
    const Agreement worst{-1, -std::numeric_limits<double>::infinity()};
    last_ = {remedies, std::make_shared<const Trial>(found.ok() ? std::move(found).value() : Trial{{}, worst})};
    return last_.trial->outputs;
  }

  /// As outputs_with(), but not a second time for the same state. REQUIRES: `remedies` are of weights only.
  Result<Agreement> outputs_with_weights(const Remedies& remedies) {
    if (in_.tried == nullptr) return outputs_with(remedies);
    const auto known = in_.tried->find(remedies.weights);
    if (known != in_.tried->end()) {
      last_ = {remedies, known->second};
      return last_.trial->outputs;
    }
    QQ_TRY(const Agreement found, outputs_with(remedies));
    in_.tried->emplace(remedies.weights, last_.trial);
    return found;
  }

  /// The last trial is good, also on the samples that were worst.
  Result<bool> is_good_throughout(const Agreement& outputs) const {
    if (!is_good(outputs) || in_.hard == nullptr) return is_good(outputs);
    RunState last = last_.trial->state;
    QQ_TRY(const Agreement worst, judge_plan(last, *in_.hard));
    return worst.cosine >= kGoodOnWorst;
  }

  bool may_add_channel_scales() const {
    const config::Settings& settings = in_.state.settings;
    const bool is_written = in_.state.model.opset() >= kOpsetOfAxes || writes_contrib_pairs(settings);
    return takes_channel_scales(settings) && !settings.formats.per_channel && is_written;
  }

  /// The best formats with a scale for each channel of the weights, which get `weights` as well.
  Status try_channel_scales(const WeightRemedy& weights) {
    if (!may_add_channel_scales() || best_.channel_scales || is_good(after_)) return Status();
    Remedies remedies = best_;
    remedies.channel_scales = true;
    if (!weights.empty()) remedies.weights = weights;
    QQ_TRY(const Agreement found, outputs_with(remedies));
    if (is_better(found, after_)) accept(remedies, found);
    return Status();
  }

  /// By what each node costs alone, with weights rounded to nearest.
  Result<std::vector<NoisyNode>> ranked_nodes() {
    Remedies remedies = base_;
    remedies.weights = {};
    RunState planned = state_with(remedies);
    std::vector<PassTime> times;
    QQ_RETURN_IF_ERROR(run_passes(planned, {.from = Phase::kMark, .until = Phase::kRestructure}, times, {}));
    const PartPlans parts(planned, in_.few);
    const PartNoise noise = [&](const std::vector<ir::NodeId>& nodes) -> Result<double> {
      if (in_.next_trial && !in_.next_trial()) return Status(Code::kInterrupted, "interrupted");
      QQ_TRY(const Agreement found, parts.quantize_only({nodes.begin(), nodes.end()}));
      return noise_of(found);
    };
    return rank_by_noise(parts.candidates(), noise, {});
  }

  Remedies with_spared(const std::set<ir::NodeId>& nodes) const {
    Remedies remedies = base_;
    (spared_.in_float ? remedies.left_float : remedies.in_16_bits) = nodes;
    return remedies;
  }

  ir::IslandLimits limits() const {
    const config::ToolBlock& asked = in_.state.settings.tool;
    return {.most = static_cast<size_t>(asked.max_islands.value_or(0)), .mac_share = spared_.mac_share};
  }

  /// Growing sets of nodes, each the start of one list.
  struct Steps {
    std::vector<ir::NodeId> nodes;
    std::vector<size_t> ends;

    size_t size() const { return ends.size(); }
    std::set<ir::NodeId> first(size_t count) const {
      return {nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(ends[count - 1])};
    }
  };

  /// Each step has one more of the ranked nodes, without those that would pass a limit, and the nodes between that the
  /// limit of islands asks for.
  Steps affordable(const std::vector<NoisyNode>& ranked) const {
    Steps steps;
    ir::Islands islands(graph_, limits());
    for (const auto& [id, noise] : ranked) {
      if (!islands.nodes().contains(id) && islands.add({id})) steps.ends.push_back(islands.joined().size());
    }
    steps.nodes = islands.joined();
    return steps;
  }

  /// What removes most noise for its multiply-accumulates first.
  std::vector<NoisyNode> by_gain(std::vector<NoisyNode> ranked) const {
    const double all = ir::macs_of(graph_);
    const auto gain = [&](const NoisyNode& one) {
      const double macs = ir::macs_of(graph_, graph_.node(one.node));
      return one.noise / ((all > 0 ? macs / all : 0) + kCostOfNode);
    };
    std::ranges::stable_sort(ranked, std::ranges::greater{}, gain);
    return ranked;
  }

  /// All that the limits allow when the noisiest nodes come first, whatever they cost.
  Status try_noisiest(const std::vector<NoisyNode>& ranked) {
    const Steps steps = affordable(ranked);
    if (steps.size() == 0) return Status();
    const Remedies remedies = with_spared(steps.first(steps.size()));
    QQ_TRY(const Agreement found, outputs_with(remedies));
    if (leaves_noise(found, after_, 1)) accept(remedies, found);
    return Status();
  }

  /// Whether the target places all nodes that would read or write an activation of 16 bits.
  bool may_widen(ir::NodeId id) const {
    const auto runs_wide = [&](ir::ValueId value) {
      if (!value.valid() || graph_.constant(value) != nullptr) return true;
      const ir::Node* producer = graph_.producer(value);
      return (producer == nullptr || in_.runs_wide(*producer)) &&
             std::ranges::all_of(graph_.value(value).uses,
                                 [&](const ir::Use& use) { return in_.runs_wide(graph_.node(use.node)); });
    };
    const ir::Node& node = graph_.node(id);
    return std::ranges::all_of(node.inputs, runs_wide) && std::ranges::all_of(node.outputs, runs_wide);
  }

  /// Nodes in the order of their noise; those with a limit by what they remove for their multiply-accumulates.
  Status spare_nodes(const Spared& way, const Remedies& common) {
    spared_ = way;
    base_ = common;
    base_.weights = way.weights;
    if (all_ranked_.empty()) {
      QQ_TRY(all_ranked_, ranked_nodes());
    }
    ranked_ = all_ranked_;
    if (!way.in_float && in_.runs_wide)
      std::erase_if(ranked_, [&](const NoisyNode& one) { return !may_widen(one.node); });
    return way.mac_share < 1 ? spare_few() : spare_many();
  }

  /// All that the limit allows. As few of them as keep the outputs good.
  Status spare_few() {
    const Steps steps = affordable(by_gain(ranked_));
    if (steps.size() == 0) return try_noisiest(ranked_);
    QQ_TRY(const bool is_settled, try_first(steps, steps.size()));
    return is_settled ? keep_good(steps) : try_noisiest(ranked_);
  }

  /// All nodes. As few of them as keep the outputs good, or, where all are not good, as keep nearly what all gain.
  Status spare_many() {
    const Steps steps = affordable(ranked_);
    if (steps.size() == 0) return Status();
    QQ_TRY(const bool is_settled, try_first(steps, steps.size()));
    const Agreement all = last_.trial->outputs;
    if (is_settled) return keep_good(steps);
    if (is_good(all)) return thin_out(steps, [&](const Agreement& outputs) { return is_good(outputs); });
    if (best_trial_ != last_.trial) return Status();  // not better than before
    constexpr double kNearly = 1.25;
    return thin_out(steps, [&](const Agreement& outputs) {
      return outputs.task <= all.task && noise_of(outputs) <= kNearly * noise_of(all);
    });
  }

  /// Accepts so many nodes if they are better than what was accepted. Returns whether they are good on all samples.
  Result<bool> try_first(const Steps& steps, size_t count) {
    const Remedies remedies = with_spared(steps.first(count));
    QQ_TRY(const Agreement found, outputs_with(remedies));
    QQ_TRY(const bool is_settled, is_good_throughout(found));
    if (is_better(found, after_)) accept(remedies, found);
    return is_settled;
  }

  /// Accepts the fewest nodes for which `holds` is true, within an eighth. REQUIRES: it is true for all.
  Status thin_out(const Steps& steps, const std::function<Result<bool>(const Agreement& outputs)>& holds) {
    size_t too_few = 0, enough = steps.size();
    while (enough > too_few + std::max<size_t>(1, enough / 8)) {
      const size_t count = too_few + (enough - too_few) / 2;
      const Remedies remedies = with_spared(steps.first(count));
      QQ_TRY(const Agreement found, outputs_with(remedies));
      QQ_TRY(const bool is_enough_of_them, holds(found));
      if (is_enough_of_them) accept(remedies, found);
      (is_enough_of_them ? enough : too_few) = count;
    }
    return Status();
  }
  Status keep_good(const Steps& steps) {
    return thin_out(steps, [&](const Agreement& outputs) { return is_good_throughout(outputs); });
  }

  /// The last trial.
  void accept(const Remedies& remedies, const Agreement& outputs) {
    best_ = remedies;
    after_ = outputs;
    best_trial_ = last_.trial;
  }

  RescueReport report() const {
    RescueReport report = described({best_, in_.applied}, in_.state, in_.loaded);
    report.before = in_.before;
    report.after = after_;
    report.samples = in_.expected.sample_count();
    return report;
  }

  const RescueInputs& in_;
  const ir::Graph& graph_;
  Agreement after_;
  Spared spared_;                               ///< what single nodes are given now
  std::vector<NoisyNode> all_ranked_, ranked_;  ///< `ranked_`: without nodes that the target does not take wide.
  Remedies base_;                               ///< what counts for all tensors
  Remedies best_;                               ///< with single nodes; what `after_` was measured with
  bool is_proven_ = false;                      ///< other weights alone brought the outputs closer
  std::optional<pass::Measured> measured_;      ///< with the ranges that trials added
  Tried last_;
  std::shared_ptr<const Trial> best_trial_;
};

}  // namespace

size_t most_format_trials(size_t nodes) {
  constexpr size_t kMostWays = 8;  // of change_formats()
  const size_t steps = std::bit_width(nodes);
  const size_t plain_and_channels = 3, rounded = 1, fallback = 1;
  return SearchLimits().trials + plain_and_channels + rounded + kMostWays * (2 * steps + fallback);
}

bool may_rescue(const config::Settings& settings) {
  const ElementType weights = plan::element_type(settings.formats.weight_type);
  const ElementType activations = plan::element_type(settings.formats.activation_type);
  return settings.guards() && settings.inserts_qdq() && !settings.tunes() && !settings.algorithms.use_gptq &&
         !settings.algorithms.bias_correction && is_integer(weights) && bits(weights) <= 8 && is_integer(activations);
}

Result<std::optional<Rescued>> find_rounding(const RescueInputs& inputs) { return Rescuer(inputs).find_rounding(); }

Result<std::optional<Rescued>> find_formats(const RescueInputs& inputs, const std::optional<Rescued>& rounded) {
  return Rescuer(inputs).find_formats(rounded);
}

bool is_enough(const Agreement& outputs, const config::Settings& settings) {
  return outputs.cosine >= std::max(kEnoughCosine, asked_cosine(settings)) && outputs.task != Grade::kPoor;
}

bool is_better(const Agreement& a, const Agreement& b) { return leaves_noise(a, b, kWorthwhile); }

}  // namespace quarkq::pipeline
