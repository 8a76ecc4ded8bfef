// SPDX-License-Identifier: MIT
#include "pipeline/rescue.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/stopwatch.h"
#include "config/quantizer_traits.h"
#include "pipeline/json.h"
#include "pipeline/macs.h"
#include "pipeline/part_plans.h"
#include "pipeline/pass_runner.h"
#include "pipeline/rescue_search.h"
#include "plan/data_types.h"

namespace quarkq::pipeline {
namespace {

using pass::Phase;

/// The outputs are as good as a rescue aims at.
constexpr double kGoodCosine = 0.99;
/// A remedy must leave at most this part of the noise, else it is not worth another format.
constexpr double kWorthwhile = 0.8;
/// Float layers run elsewhere: more multiply-accumulates than this are no longer a quantized model.
constexpr double kMostFloatMacs = 0.2;

/// Q/DQ of ai.onnx have an axis from here on.
constexpr int64_t kOpsetOfAxes = 13;
/// ONNX Runtime quantizes the weights of float layers between pairs itself, with operators that older opsets lack.
constexpr int64_t kOpsetOfFloatLayers = 11;

bool writes_contrib_pairs(const config::Settings& settings) {
  return config::traits_of(settings.quantizer).domains == config::DomainPolicy::kContrib;
}

/// Power-of-two targets take one weight scale per tensor (spec 06 A.1).
bool takes_channel_scales(const config::Settings& settings) {
  return plan::weight_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

bool takes_16_bit_activations(const config::Settings& settings) {
  return config::traits_of(settings.quantizer).runs_16_bits &&
         plan::activation_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

double noise_of(const Agreement& agreement) { return std::pow(10, -agreement.sqnr_db / 10); }

/// On one line; JSON is what a value of --set may be. Names come from model files and may not be UTF-8.
std::string flow_text(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

config::DataType wide_type(const config::Settings& settings) {
  return settings.activation_type == config::DataType::kUInt8 ? config::DataType::kUInt16 : config::DataType::kInt16;
}

/// Activations that the nodes read and write, without those that have settings of their own.
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

/// A plan of its own on the calibrated model.
struct Attempt {
  ir::Model model;
  config::Settings settings;
  Diagnostics ignored;
  RunState state;

  Attempt(const RunState& from, const Remedies& remedies)
      : model(*from.calibrated),
        settings(from.settings),
        state{.model = model,
              .settings = settings,
              .diagnostics = ignored,
              .selection = from.selection,
              .source = from.source,
              .channels_last_inputs = from.channels_last_inputs,
              .measured = from.measured} {
    apply(remedies, model.graph, settings, state.selection);
  }

  Status plan(Phase until) {
    std::vector<PassTime> times;
    return run_passes(state, {.from = Phase::kMark, .until = until}, times, {});
  }
};

class Rescuer {
 public:
  explicit Rescuer(const RescueInputs& inputs) : in_(inputs), graph_(inputs.state.calibrated->graph) {}

  Result<std::optional<Rescued>> run() {
    const Stopwatch watch;
    QQ_TRY(before_, outputs_with({}));
    after_ = before_;
    QQ_RETURN_IF_ERROR(try_channel_scales());
    base_ = best_;
    if (!is_good(after_)) QQ_RETURN_IF_ERROR(spare_nodes());
    if (best_.empty()) return std::optional<Rescued>();
    Rescued found{best_, report()};
    found.report.seconds = watch.seconds();
    return std::optional<Rescued>(std::move(found));
  }

 private:
  static bool is_good(const Agreement& outputs) { return outputs.cosine >= kGoodCosine; }
  static bool is_better(const Agreement& a, const Agreement& b) { return noise_of(a) <= kWorthwhile * noise_of(b); }

  Result<Agreement> outputs_with(const Remedies& remedies) {
    if (in_.progress && !in_.progress(++trials_, 0)) return Status(Code::kInterrupted, "interrupted");
    Attempt attempt(in_.state, remedies);
    QQ_RETURN_IF_ERROR(attempt.plan(Phase::kWrite));
    return run_plan(attempt.state, in_.expected);
  }

  Status try_channel_scales() {
    const bool is_written = in_.state.model.opset() >= kOpsetOfAxes || writes_contrib_pairs(in_.state.settings);
    if (!takes_channel_scales(in_.state.settings) || in_.state.settings.per_channel || !is_written) return Status();
    const Remedies remedies{.channel_scales = true, .in_16_bits = {}, .left_float = {}};
    QQ_TRY(const Agreement found, outputs_with(remedies));
    if (is_better(found, after_)) accept(remedies, found);
    return Status();
  }

  Result<std::vector<ir::NodeId>> ranked_nodes() {
    Attempt planned(in_.state, base_);
    QQ_RETURN_IF_ERROR(planned.plan(Phase::kRestructure));
    const PartPlans parts(planned.state, in_.few);
    const PartNoise noise = [&](const std::vector<ir::NodeId>& nodes) -> Result<double> {
      if (in_.progress && !in_.progress(++trials_, 0)) return Status(Code::kInterrupted, "interrupted");
      QQ_TRY(const Agreement found, parts.quantize_only({nodes.begin(), nodes.end()}));
      return noise_of(found);
    };
    return rank_by_noise(parts.candidates(), noise, {});
  }

  /// The first `count` of the ranked nodes in more bits, or in float where the target has no other format.
  Remedies with_first(const std::vector<ir::NodeId>& ranked, size_t count) const {
    Remedies remedies = base_;
    std::set<ir::NodeId>& spared =
        takes_16_bit_activations(in_.state.settings) ? remedies.in_16_bits : remedies.left_float;
    spared.insert(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count));
    return remedies;
  }

  /// Without those whose multiply-accumulates would be too many in float.
  std::vector<ir::NodeId> affordable(const std::vector<ir::NodeId>& ranked) const {
    if (takes_16_bit_activations(in_.state.settings)) return ranked;
    std::vector<ir::NodeId> found;
    std::set<ir::NodeId> left_float;
    for (const ir::NodeId id : ranked) {
      left_float.insert(id);
      if (mac_share(graph_, left_float) <= kMostFloatMacs) {
        found.push_back(id);
      } else {
        left_float.erase(id);
      }
    }
    return found;
  }

  /// Twice as many nodes each time, until the outputs are good; then as few as keep them so.
  Status spare_nodes() {
    const bool in_float = !takes_16_bit_activations(in_.state.settings);
    if (in_float && in_.state.model.opset() < kOpsetOfFloatLayers) return Status();
    QQ_TRY(const std::vector<ir::NodeId> all, ranked_nodes());
    const std::vector<ir::NodeId> ranked = affordable(all);
    size_t enough = 0, too_few = 0;
    for (size_t count = 1; enough == 0 && too_few < ranked.size(); count *= 2) {
      count = std::min(count, ranked.size());
      const Remedies remedies = with_first(ranked, count);
      QQ_TRY(const Agreement found, outputs_with(remedies));
      if (is_better(found, after_)) accept(remedies, found);
      (is_good(found) ? enough : too_few) = count;
    }
    while (enough > too_few + std::max<size_t>(1, enough / 8)) {
      const size_t count = too_few + (enough - too_few) / 2;
      const Remedies remedies = with_first(ranked, count);
      QQ_TRY(const Agreement found, outputs_with(remedies));
      if (is_good(found)) accept(remedies, found);
      (is_good(found) ? enough : too_few) = count;
    }
    return Status();
  }

  void accept(const Remedies& remedies, const Agreement& outputs) {
    best_ = remedies;
    after_ = outputs;
  }

  /// Names that settings take, of the nodes as loaded.
  std::vector<std::string> names_of(const std::set<ir::NodeId>& nodes) const {
    std::vector<std::string> names;
    for (const ir::NodeId id : nodes) {
      for (const ir::NodeId origin : graph_.node(id).origins) {
        const std::string& name = in_.loaded.node(origin).name;
        if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }

  RescueReport report() const {
    RescueReport report;
    report.before = before_;
    report.after = after_;
    report.samples = in_.expected.sample_count();
    report.channel_scales = best_.channel_scales;
    report.float_nodes = names_of(best_.left_float);
    report.unnamed_float_nodes = static_cast<size_t>(std::count_if(
        best_.left_float.begin(), best_.left_float.end(), [&](ir::NodeId id) { return names_of({id}).empty(); }));
    report.float_macs = mac_share(graph_, best_.left_float);
    for (const ir::ValueId value : widened_tensors(best_, in_.state.selection, graph_))
      report.tensors_in_16_bits.push_back(graph_.value(value).name);
    if (best_.channel_scales) report.settings.push_back("per_channel=true");
    if (!report.float_nodes.empty()) report.settings.push_back("nodes_to_exclude=" + excluded_text(report.float_nodes));
    if (!report.tensors_in_16_bits.empty())
      report.settings.push_back("TensorQuantOverrides=" + overrides_text(report.tensors_in_16_bits));
    return report;
  }

  /// With those that the settings name already: the list replaces theirs.
  std::string excluded_text(const std::vector<std::string>& more) const {
    std::vector<std::string> names = in_.state.settings.nodes_to_exclude;
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
  Agreement before_, after_;
  Remedies base_;  ///< what counts for all tensors
  Remedies best_;  ///< with single nodes; what `after_` was measured with
  size_t trials_ = 0;
};

}  // namespace

bool may_rescue(const config::Settings& settings) {
  return settings.guards() && settings.inserts_qdq() && !settings.tunes() && !settings.use_gptq &&
         !settings.bias_correction && bits(plan::element_type(settings.activation_type)) == 8 &&
         bits(plan::element_type(settings.weight_type)) == 8;
}

void apply(const Remedies& remedies, const ir::Graph& graph, config::Settings& settings, plan::Selection& selection) {
  if (remedies.channel_scales) settings.per_channel = true;
  for (const ir::ValueId value : widened_tensors(remedies, selection, graph))
    selection.overrides[value].type = wide_type(settings);
  selection.left_float.insert(remedies.left_float.begin(), remedies.left_float.end());
}

std::string rescue_text(const RescueReport& report) {
  const auto same_by_settings = [](const RescueReport& found) -> std::string {
    if (found.unnamed_float_nodes > 0)
      return cat("Settings cannot say the same: ", found.unnamed_float_nodes, " of the float nodes have no name");
    return cat("The same by settings: --set '", join(found.settings, "' --set '"), "'");
  };
  std::vector<std::string> changes;
  if (report.channel_scales) changes.push_back("weights have a scale per channel");
  if (!report.tensors_in_16_bits.empty())
    changes.push_back(cat(report.tensors_in_16_bits.size(), " activations have 16 bits"));
  if (const size_t count = report.float_nodes.size() + report.unnamed_float_nodes; count > 0) {
    changes.push_back(cat(count, " nodes stay float (", std::round(1000 * report.float_macs) / 10,
                          " % of the multiply-accumulates)"));
  }
  return cat("cosine ", report.before.cosine, " becomes ", report.after.cosine, " on ", report.samples,
             " calibration samples: ", join(changes, "; "), ". ", same_by_settings(report),
             "; --on-collapse warn leaves the plain result");
}

Result<std::optional<Rescued>> find_rescue(const RescueInputs& inputs) { return Rescuer(inputs).run(); }

}  // namespace quarkq::pipeline
