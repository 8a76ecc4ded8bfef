// SPDX-License-Identifier: MIT
#include "pipeline/rescue/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "base/stopwatch.h"
#include "compare/output_kinds.h"
#include "config/settings.h"
#include "ir/graph_analysis.h"
#include "ir/parts.h"
#include "pipeline/report/json.h"
#include "pipeline/rescue/remedies.h"
#include "pipeline/run/part_plans.h"
#include "pipeline/run/trial.h"
#include "plan/stage.h"

namespace quarkq::pipeline {
namespace {

using pass::Phase;

/// The outputs are as good as a rescue aims at.
constexpr double kGoodCosine = 0.99;
/// The same on the samples that the plain result was worst on.
constexpr double kGoodOnWorst = 0.9;
/// Better than this is not worth another format.
constexpr double kEnoughCosine = 0.97;
/// A remedy must leave at most this part of the noise, else it is not worth another format.
constexpr double kWorthwhile = 0.8;
/// Another way of rounding must leave at most this part of the noise of the first one, which formats need more.
constexpr double kMuchBetter = 0.5;
/// Float layers run elsewhere: more multiply-accumulates than this are no longer a quantized model.
constexpr double kMostFloatMacs = 0.2;
/// Share of the multiply-accumulates that a node costs beside its own: tensors that go to and fro.
constexpr double kCostOfNode = 0.01;

/// Q/DQ of ai.onnx have an axis from here on.
constexpr int64_t kOpsetOfAxes = 13;
/// ONNX Runtime quantizes the weights of float layers between pairs itself, with operators that older opsets lack.
constexpr int64_t kOpsetOfFloatLayers = 11;

bool writes_contrib_pairs(const config::Settings& settings) {
  return config::traits_of(settings.quantizer).domains == config::DomainPolicy::kContrib;
}

/// Power-of-two targets take one weight scale per tensor (ref:npu#targets).
bool takes_channel_scales(const config::Settings& settings) {
  return settings.may_rescue_with("channel_scales") && plan::weight_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

bool takes_16_bit_activations(const config::Settings& settings) {
  return settings.may_rescue_with("16_bits") && config::traits_of(settings.quantizer).runs_16_bits &&
         plan::activation_scale_kind(settings) == numeric::ScaleKind::kFloat;
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

/// On one line; JSON is what a value of --set may be. Names come from model files and may not be UTF-8.
std::string flow_text(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

/// What single nodes get, and how the weights of all are rounded while they are looked for.
struct Spared {
  bool in_float = false;  ///< else 16 bits for the activations that they read and write
  std::string rounding;   ///< empty: as the settings say, which takes less time
};

class Rescuer {
 public:
  explicit Rescuer(const RescueInputs& inputs) : in_(inputs), graph_(inputs.state.calibrated->graph) {}

  /// With biases, then without: rare values that matter may lose by what the mean of all gains.
  Result<std::optional<Rescued>> find_rounding() {
    after_ = in_.before;
    if (in_.state.settings.tool.rounding) return std::optional<Rescued>();  // as the settings say
    for (const char* rounding : {"compensated", "compensated_weights"}) {
      const Remedies remedies{.rounding = rounding, .in_16_bits = {}, .left_float = {}};
      QQ_TRY(const Agreement found, outputs_rounded(remedies));
      if (leaves_noise(found, after_, best_.empty() ? kWorthwhile : kMuchBetter)) accept(remedies, found);
      if (is_enough(found, in_.state.settings)) break;
    }
    if (best_.empty()) return std::optional<Rescued>();
    return rescued();
  }

  /// The cheapest formats first, the next ones only where outputs stay poor.
  Result<std::optional<Rescued>> find_formats(const std::optional<Rescued>& rounded) {
    after_ = in_.before;
    if (!in_.applied.empty()) {  // else the plan of the run itself is the plain one
      QQ_TRY(const Agreement plain, outputs_with({}));
      accept({}, plain);
    }
    QQ_RETURN_IF_ERROR(try_channel_scales());
    const Remedies common = best_;
    const std::string rounding = rounded ? rounded->remedies.rounding : std::string();
    const std::vector<Spared> ways = ways_to_spare(rounded);
    if (ways.empty()) QQ_RETURN_IF_ERROR(add_rounding(rounding));
    for (const Spared& way : ways) {
      if (&way != ways.data() && is_enough(after_, in_.state.settings)) break;
      spared_ = way;
      base_ = common;
      base_.rounding = way.rounding;
      if (ranked_.empty()) {
        QQ_TRY(ranked_, ranked_nodes());
      }
      QQ_RETURN_IF_ERROR(spare_nodes());
      QQ_RETURN_IF_ERROR(add_rounding(rounding));
    }
    if (rounded && !is_better(after_, rounded->report.after)) return rounded;
    if (!is_better(after_, in_.before)) return std::optional<Rescued>();
    return rescued();
  }

 private:
  /// Wider activations do not help where the weights carry the loss, which a gain by other rounding shows: both
  /// together come next, then float nodes.
  /// `rounded`: as in find_formats().
  std::vector<Spared> ways_to_spare(const std::optional<Rescued>& rounded) const {
    const config::Settings& settings = in_.state.settings;
    const bool is_wide = bits(plan::element_type(settings.formats.activation_type)) > 8;
    if (is_wide || is_good(after_)) return {};
    const bool takes_float = settings.may_rescue_with("float_nodes") && in_.state.model.opset() >= kOpsetOfFloatLayers;
    const bool in_float = !takes_16_bit_activations(settings);
    if (in_float && !takes_float) return {};
    std::vector<Spared> ways = {{.in_float = in_float, .rounding = {}}};
    if (!rounded && settings.tool.rounding) return ways;
    // Errors of weights can hide what formats gain, so rounding is tried with them even if it was not enough alone.
    ways.push_back({.in_float = in_float, .rounding = rounded ? rounded->remedies.rounding : "compensated"});
    // Another format of activations does not help weights that lose much.
    const bool is_weighty = rounded && leaves_noise(rounded->report.after, in_.before, kMuchBetter);
    if (is_weighty && !in_float && takes_float) ways.push_back({.in_float = true, .rounding = {}});
    return ways;
  }

  bool is_good(const Agreement& outputs) const {
    return outputs.cosine >= std::max(kGoodCosine, asked_cosine(in_.state.settings)) &&
           outputs.same_choices >= compare::kGoodChoices;
  }

  std::optional<Rescued> rescued() {
    Rescued found{best_, report(), best_trial_};
    found.report.seconds = watch_.seconds();
    return found;
  }

  Status add_rounding(const std::string& rounding) {
    if (rounding.empty() || rounding == best_.rounding) return Status();
    Remedies remedies = best_;
    remedies.rounding = rounding;
    QQ_TRY(const Agreement found, outputs_with(remedies));
    if (leaves_noise(found, after_, 1)) accept(remedies, found);
    return Status();
  }

  Result<Agreement> outputs_with(const Remedies& remedies) {
    if (in_.next_trial && !in_.next_trial()) return Status(Code::kInterrupted, "interrupted");
    RunState state = trial_before_mark(in_.state);
    apply(remedies, state);
    Result<Trial> found = run_trial(std::move(state), Phase::kMark, in_.expected);
    if (!found.ok() && found.status().code() == Code::kInterrupted) return found.status();
    // A remedy that this model cannot take is worse than any other.
    const Agreement worst{-1, -std::numeric_limits<double>::infinity()};
    last_trial_ = std::make_shared<const Trial>(found.ok() ? std::move(found).value() : Trial{{}, worst});
    return last_trial_->outputs;
  }

  /// As outputs_with(), but not a second time for the same state.
  Result<Agreement> outputs_rounded(const Remedies& remedies) {
    if (in_.tried == nullptr) return outputs_with(remedies);
    const auto known = in_.tried->find(remedies.rounding);
    if (known != in_.tried->end()) {
      last_trial_ = known->second;
      return last_trial_->outputs;
    }
    QQ_TRY(const Agreement found, outputs_with(remedies));
    in_.tried->emplace(remedies.rounding, last_trial_);
    return found;
  }

  /// The last trial is good, also on the samples that were worst.
  Result<bool> is_good_throughout(const Agreement& outputs) const {
    if (!is_good(outputs) || in_.hard == nullptr) return is_good(outputs);
    RunState last = last_trial_->state;
    QQ_TRY(const Agreement worst, judge_plan(last, *in_.hard));
    return worst.cosine >= kGoodOnWorst;
  }

  Status try_channel_scales() {
    const bool is_written = in_.state.model.opset() >= kOpsetOfAxes || writes_contrib_pairs(in_.state.settings);
    if (!takes_channel_scales(in_.state.settings) || in_.state.settings.formats.per_channel || !is_written)
      return Status();
    const Remedies remedies{.rounding = {}, .channel_scales = true, .in_16_bits = {}, .left_float = {}};
    QQ_TRY(const Agreement found, outputs_with(remedies));
    if (is_better(found, after_)) accept(remedies, found);
    return Status();
  }

  /// By what each node costs alone, with weights rounded to nearest.
  Result<std::vector<NoisyNode>> ranked_nodes() {
    Remedies remedies = base_;
    remedies.rounding.clear();
    RunState planned = trial_before_mark(in_.state);
    apply(remedies, planned);
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
    return {.most = static_cast<size_t>(asked.max_islands.value_or(0)),
            .mac_share = asked.max_wide.value_or(spared_.in_float ? kMostFloatMacs : 1)};
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

  /// Nothing helps on the samples that are worst: what is good on the others.
  Status take_first(const Steps& steps, size_t count) {
    const Remedies remedies = with_spared(steps.first(count));
    QQ_TRY(const Agreement found, outputs_with(remedies));
    accept(remedies, found);
    return Status();
  }

  /// Twice as many nodes each time, until the outputs are good; then as few as keep them so.
  Status spare_nodes() {
    const bool is_limited = limits().mac_share < 1;
    const Steps steps = affordable(is_limited ? by_gain(ranked_) : ranked_);
    size_t enough = 0, too_few = 0, nearly = 0;
    for (size_t count = 1; enough == 0 && too_few < steps.size(); count *= 2) {
      count = std::min(count, steps.size());
      const Remedies remedies = with_spared(steps.first(count));
      QQ_TRY(const Agreement found, outputs_with(remedies));
      QQ_TRY(const bool is_settled, is_good_throughout(found));
      if (is_good(found) && nearly == 0) nearly = count;
      if (is_better(found, after_)) accept(remedies, found);
      (is_settled ? enough : too_few) = count;
    }
    if (enough == 0 && nearly > 0) return take_first(steps, nearly);
    if (is_limited && enough == 0) return try_noisiest(ranked_);
    while (enough > too_few + std::max<size_t>(1, enough / 8)) {
      const size_t count = too_few + (enough - too_few) / 2;
      const Remedies remedies = with_spared(steps.first(count));
      QQ_TRY(const Agreement found, outputs_with(remedies));
      QQ_TRY(const bool is_settled, is_good_throughout(found));
      if (is_settled) accept(remedies, found);
      (is_settled ? enough : too_few) = count;
    }
    return Status();
  }

  /// The last trial.
  void accept(const Remedies& remedies, const Agreement& outputs) {
    best_ = remedies;
    after_ = outputs;
    best_trial_ = last_trial_;
  }

  /// Names that settings take, of the nodes as loaded.
  std::vector<std::string> names_of(const std::set<ir::NodeId>& nodes) const {
    std::vector<std::string> names;
    for (const ir::NodeId id : nodes) {
      for (std::string& name : loaded_names(in_.loaded, graph_.node(id))) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
      }
    }
    return names;
  }

  RescueReport report() const {
    RescueReport report;
    report.before = in_.before;
    for (const FloatRemedy* remedy : in_.applied) report.float_changes.push_back(remedy->setting);
    report.rounding = best_.rounding;
    report.after = after_;
    report.samples = in_.expected.sample_count();
    report.channel_scales = best_.channel_scales;
    report.float_nodes = names_of(best_.left_float);
    report.unnamed_float_nodes =
        static_cast<size_t>(std::count_if(best_.left_float.begin(), best_.left_float.end(), [&](ir::NodeId id) {
          return loaded_names(in_.loaded, graph_.node(id)).empty();
        }));
    report.float_macs = ir::mac_share(graph_, best_.left_float);
    report.macs_in_16_bits = ir::mac_share(graph_, best_.in_16_bits);
    ir::Islands islands(graph_, {});
    islands.add(best_.left_float);
    islands.add(best_.in_16_bits);
    report.islands = islands.count();
    for (const ir::ValueId value : widened_tensors(best_, in_.state.selection, graph_))
      report.tensors_in_16_bits.push_back(graph_.value(value).name);
    report.settings = report.float_changes;
    if (!best_.rounding.empty()) report.settings.push_back("quarkq.rounding=" + best_.rounding);
    if (best_.channel_scales) report.settings.push_back("per_channel=true");
    if (!report.float_nodes.empty()) report.settings.push_back("nodes_to_exclude=" + excluded_text(report.float_nodes));
    if (!report.tensors_in_16_bits.empty())
      report.settings.push_back("TensorQuantOverrides=" + overrides_text(report.tensors_in_16_bits));
    return report;
  }

  /// With those that the settings name already: the list replaces theirs.
  std::string excluded_text(const std::vector<std::string>& more) const {
    std::vector<std::string> names = in_.state.settings.selection.nodes_to_exclude;
    names.insert(names.end(), more.begin(), more.end());
    return flow_text(names);
  }

  std::string overrides_text(const std::vector<std::string>& tensors) const {
    Json overrides = Json::object();
    const char* type =
        wide_type(in_.state.settings) == config::DataType::kUInt16 ? "QuantType.QUInt16" : "QuantType.QInt16";
    for (const std::string& name : tensors) overrides[name] = Json::array({{{"quant_type", type}}});
    return flow_text(overrides);
  }

  const RescueInputs& in_;
  const ir::Graph& graph_;
  Agreement after_;
  Spared spared_;  ///< what single nodes are given now
  std::vector<NoisyNode> ranked_;
  Remedies base_;  ///< what counts for all tensors
  Remedies best_;  ///< with single nodes; what `after_` was measured with
  std::shared_ptr<const Trial> last_trial_, best_trial_;
  Stopwatch watch_;
};

}  // namespace

size_t most_format_trials(size_t nodes) {
  constexpr size_t kMostWays = 3;  // of ways_to_spare()
  const size_t steps = std::bit_width(nodes);
  const size_t plain_and_channels = 2, rounded = 1, fallback = 1;
  return SearchLimits().trials + plain_and_channels + kMostWays * (2 * steps + fallback + rounded);
}

bool may_rescue(const config::Settings& settings) {
  const ElementType weights = plan::element_type(settings.formats.weight_type);
  const ElementType activations = plan::element_type(settings.formats.activation_type);
  return settings.guards() && settings.inserts_qdq() && !settings.tunes() && !settings.algorithms.use_gptq &&
         !settings.algorithms.bias_correction && is_integer(weights) && bits(weights) <= 8 && is_integer(activations);
}

std::string rescue_text(const RescueReport& report) {
  const auto where_text = [](const std::vector<std::string>& names, double macs, size_t islands) {
    constexpr size_t kShown = 3;
    const std::span<const std::string> first(names.data(), std::min(kShown, names.size()));
    return cat(join(first, ", "), names.size() > kShown ? ", ..." : "", names.empty() ? "" : "; ",
               std::round(1000 * macs) / 10, " % of the multiply-accumulates, ", islands,
               islands == 1 ? " connected part" : " connected parts");
  };
  const auto same_by_settings = [](const RescueReport& found) -> std::string {
    if (found.unnamed_float_nodes > 0)
      return cat("Settings cannot express the same: ", found.unnamed_float_nodes, " of the float nodes have no name");
    if (!found.settings_path.empty()) return cat("The same by settings: --config ", found.settings_path);
    constexpr size_t kReadable = 200;  // characters; a detector's list of nodes has thousands
    const std::string settings = join(found.settings, "' --set '");
    if (settings.size() > kReadable)
      return "The same by settings: rescue.settings in the JSON report (--report FILE.json)";
    return cat("The same by settings: --set '", settings, "'");
  };
  std::vector<std::string> changes;
  for (const FloatRemedy& remedy : float_remedies()) {
    if (std::find(report.float_changes.begin(), report.float_changes.end(), remedy.setting) !=
        report.float_changes.end())
      changes.emplace_back(remedy.text);
  }
  if (!report.rounding.empty()) changes.emplace_back("weights are rounded to minimize the error of their layers");
  if (report.channel_scales) changes.push_back("weights have a scale per channel");
  if (!report.tensors_in_16_bits.empty())
    changes.push_back(cat(report.tensors_in_16_bits.size(), " activations have 16 bits (",
                          where_text(report.tensors_in_16_bits, report.macs_in_16_bits, report.islands), ")"));
  if (const size_t count = report.float_nodes.size() + report.unnamed_float_nodes; count > 0)
    changes.push_back(
        cat(count, " nodes stay float (", where_text(report.float_nodes, report.float_macs, report.islands), ")"));
  return cat("cosine ", report.before.cosine, " becomes ", report.after.cosine, " on ", report.samples,
             " calibration samples: ", join(changes, "; "), ". ", same_by_settings(report),
             "; --on-collapse warn leaves the plain result");
}

Result<std::optional<Rescued>> find_rounding(const RescueInputs& inputs) { return Rescuer(inputs).find_rounding(); }

Result<std::optional<Rescued>> find_formats(const RescueInputs& inputs, const std::optional<Rescued>& rounded) {
  return Rescuer(inputs).find_formats(rounded);
}

bool is_enough(const Agreement& outputs, const config::Settings& settings) {
  return outputs.cosine >= std::max(kEnoughCosine, asked_cosine(settings)) &&
         outputs.same_choices >= compare::kEnoughChoices;
}

bool is_better(const Agreement& a, const Agreement& b) { return leaves_noise(a, b, kWorthwhile); }

}  // namespace quarkq::pipeline
