// SPDX-License-Identifier: MIT
// Automatic mixed precision (ref:mixed-precision): nodes are tried in other formats one by one, ranked by how close the
// outputs stay to the float model's, and promoted in that order as far as the threshold allows.
#include <algorithm>
#include <cmath>

#include "compare/run_models.h"
#include "config/mixed_precision.h"
#include "exec/simulate.h"
#include "ir/parts.h"
#include "planning/mark/dual_pairs.h"
#include "planning/passes.h"
#include "planning/tune/mixed_plan.h"

namespace quarkq::planning {
namespace {

using Outputs = std::vector<std::vector<std::vector<double>>>;  // Indexed by sample, then by output.

/// Nodes that are promoted together: one, or a group of SubgraphJson.
struct Candidate {
  std::string name = {};
  std::vector<ir::NodeId> nodes = {};
  std::vector<double> scores = {};  ///< with each config
  size_t config = 0;
  bool enabled = true;
};

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Mixer {
 public:
  Mixer(pass::PlanContext& context, const MixedOptions& options) : context_(context), options_(options) {}

  Result<Changed> run() {
    std::vector<Candidate> candidates = find_candidates();
    if (candidates.empty()) return Changed::kNo;
    const bool must_measure = options_.threshold != 0.0 || options_.configs.size() > 1 || !options_.cache_file.empty();
    if (must_measure) {
      QQ_RETURN_IF_ERROR(open_samples());
      QQ_TRY(const bool goes_on, check_baseline());
      if (!goes_on) return Changed::kNo;
      QQ_RETURN_IF_ERROR(rank(candidates));
    }
    if (!options_.threshold) return Changed::kNo;
    QQ_TRY(const size_t promoted, promote(candidates));
    const std::string left_out =
        beyond_limits_ == 0 ? "" : cat("; ", beyond_limits_, " would pass quarkq.max_islands or quarkq.max_wide");
    context_.diagnostics.add("mixed-precision", "",
                             cat("promoted ", promoted, " of ", candidates.size(), " candidate ",
                                 context_.selection.promotion_groups.empty() ? "nodes" : "groups", left_out));
    return promoted > 0 ? Changed::kYes : Changed::kNo;
  }

 private:
  bool is_candidate(const ir::Node& node) const {
    const ir::Graph& graph = context_.model.graph;
    const bool is_named = options_.include.empty() || contains(options_.include, node.name);
    if (!contains(options_.target_ops, node.op) || !is_named || contains(options_.exclude, node.name)) return false;
    const bool is_shared = graph.use_count(node.input(0)) > 1;
    if (options_.skip_shared_inputs && is_shared) return false;
    return reads_quantized(node);
  }

  bool reads_quantized(const ir::Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ir::ValueId input) { return context_.plan.has(input); });
  }

  /// In the order of the groups; the nodes of no group are the last one.
  std::vector<Candidate> find_candidates() const {
    const auto& groups = context_.selection.promotion_groups;
    std::vector<Candidate> candidates(groups.empty() ? 0 : groups.size() + 1);
    for (size_t i = 0; i < candidates.size(); ++i)
      candidates[i].name = i < groups.size() ? groups[i].name : "__ungrouped__";  // ref:mixed-precision#partition-files
    for (const ir::NodeId id : context_.model.graph.order()) {
      const ir::Node& node = context_.model.graph.node(id);
      if (!is_candidate(node)) continue;
      if (groups.empty()) {
        candidates.push_back({node.name, {id}});
        continue;
      }
      const auto group =
          std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.nodes.contains(node); });
      candidates[static_cast<size_t>(group - groups.begin())].nodes.push_back(id);
    }
    std::erase_if(candidates, [](const Candidate& one) { return one.nodes.empty(); });
    return candidates;
  }

  /// The reference runs one sample more than configured.
  Status open_samples() {
    if (context_.source.data == nullptr || context_.source.data->size() == 0) {
      return invalid_argument("AutoMixprecision: needs samples (--calib DIR) to compare with the float model");
    }
    const auto wanted = static_cast<size_t>(std::max<int64_t>(options_.data_size, 0));
    const size_t all = context_.source.data->size();
    samples_ = !context_.settings.quirk(config::Quirk::kMixOnSamplesAsked) ? std::min(wanted + 1, all)
               : wanted == 0                                               ? all
                                                                           : std::min(wanted, all);
    reference_.resize(samples_);
    return run(context_.model, [&](size_t sample, const compare::Tensors& results) -> Status {
      QQ_TRY(reference_[sample], float_values(results));
      return Status();
    });
  }

  Status run(const ir::Model& model, const compare::ModelRunner::Results& results) const {
    const auto read = [&](size_t i) -> Result<compare::Tensors> {
      QQ_TRY(calib::Sample sample, context_.source.data->read(i));
      return std::move(sample.inputs);
    };
    return compare::ModelRunner(model, context_.environment, samples_).run(0, samples_, read, results);
  }

  /// Returns the values of the floating-point outputs of one sample.
  static Result<std::vector<std::vector<double>>> float_values(const compare::Tensors& results) {
    std::vector<std::vector<double>> outputs;
    for (const ir::Tensor& tensor : results) {
      if (!is_floating(tensor.type())) continue;
      QQ_TRY(std::vector<double> values, ir::to_double(tensor));
      outputs.push_back(std::move(values));
    }
    return outputs;
  }

  /// Distance of the planned model from the float one.
  Result<double> score_of(const plan::QuantPlan& plan) const {
    QQ_TRY(const ir::Model simulated, exec::simulate(context_.model, plan));
    std::vector<std::vector<double>> distances(samples_);  // Distances of the measured outputs.
    const auto measure = [&](size_t i, const compare::Tensors& results) -> Status {
      QQ_TRY(const auto own, float_values(results));
      const bool is_one = options_.output_index >= 0 && static_cast<size_t>(options_.output_index) < own.size();
      const size_t first = is_one ? static_cast<size_t>(options_.output_index) : 0;
      for (size_t k = first; k < (is_one ? first + 1 : own.size()); ++k) {
        if (own[k].size() == reference_[i][k].size())
          distances[i].push_back(mixed_metric(options_.metric, reference_[i][k], own[k]));
      }
      return Status();
    };
    QQ_RETURN_IF_ERROR(run(simulated, measure));
    double sum = 0;
    size_t count = 0;
    for (const std::vector<double>& sample : distances) {
      for (const double distance : sample) sum += distance;
      count += sample.size();
    }
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  }

  /// False when the threshold is met, or missed, before anything is promoted.
  Result<bool> check_baseline() {
    QQ_TRY(const double score, score_of(context_.plan));
    if (!options_.threshold || *options_.threshold == 0.0) return true;
    const bool is_speed = options_.goal == config::MixedGoal::kSpeed;
    const bool is_useless = is_speed ? score > *options_.threshold : score <= *options_.threshold;
    if (is_useless) {
      context_.diagnostics.add("nothing-promoted", "",
                               cat("the score ", score, is_speed ? " already exceeds" : " already meets",
                                   " the threshold ", *options_.threshold, ", nothing is promoted"));
    }
    return !is_useless;
  }

  /// Returns the same context over a separate plan for trials.
  pass::PlanContext with_plan(plan::QuantPlan& plan) const {
    return {.model = context_.model,
            .settings = context_.settings,
            .selection = context_.selection,
            .plan = plan,
            .diagnostics = context_.diagnostics,
            .environment = context_.environment};
  }

  Status promote_all(const Candidate& candidate, size_t config, MixedPlan& mixed) const {
    for (const ir::NodeId id : candidate.nodes) QQ_RETURN_IF_ERROR(mixed.promote(id, options_.configs[config]));
    return Status();
  }

  Status rank(std::vector<Candidate>& candidates) {
    QQ_TRY(const bool is_known, take_known_scores(candidates));
    if (!is_known) {
      QQ_RETURN_IF_ERROR(measure(candidates));
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.scores[a.config] < b.scores[b.config]; });
      return keep_scores(candidates);
    }
    return Status();
  }

  /// Reads the scores of the cache, in its order. A cache of another run only specifies which candidates are skipped.
  Result<bool> take_known_scores(std::vector<Candidate>& candidates) {
    if (options_.cache_file.empty()) return false;
    QQ_TRY(const std::optional<config::SensitivityCache> cache, config::load_sensitivity(options_.cache_file));
    if (!cache) return false;
    std::vector<Candidate> known;
    for (const config::RankedCandidate& row : cache->candidates) {
      const auto own = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate& one) { return one.name == row.name; });
      if (own == candidates.end()) continue;
      own->enabled = row.enabled;
      if (row.scores.size() != options_.configs.size()) continue;
      known.push_back(*own);
      known.back().scores = row.scores;
      known.back().config = row.config;
    }
    const bool is_own = cache->key == sensitivity_key(context_.graph(), options_) && known.size() == candidates.size();
    if (is_own) candidates = std::move(known);
    if (!is_own)
      context_.diagnostics.add("sensitivity-cache", options_.cache_file, "its key is another; scores are measured");
    return is_own;
  }

  Status keep_scores(const std::vector<Candidate>& candidates) const {
    if (options_.cache_file.empty()) return Status();
    config::SensitivityCache cache{sensitivity_key(context_.graph(), options_), {}};
    for (const Candidate& one : candidates) {
      config::RankedCandidate row{one.name, {}, one.scores, one.config, one.enabled};
      for (const ir::NodeId id : one.nodes) row.nodes.push_back(context_.graph().node(id).name);
      cache.candidates.push_back(std::move(row));
    }
    return config::save_sensitivity(options_.cache_file, cache);
  }

  Status measure(std::vector<Candidate>& candidates) {
    for (Candidate& candidate : candidates) {
      for (size_t c = 0; c < options_.configs.size(); ++c) {
        plan::QuantPlan tried = context_.plan;
        pass::PlanContext trial = with_plan(tried);
        MixedPlan mixed(trial, options_);
        QQ_RETURN_IF_ERROR(promote_all(candidate, c, mixed));
        QQ_RETURN_IF_ERROR(mixed.finish());
        QQ_TRY(const double score, score_of(tried));
        candidate.scores.push_back(score);
        if (c == 0 || score < candidate.scores[candidate.config]) candidate.config = c;
      }
    }
    return Status();
  }

  ir::IslandLimits limits() const {
    const config::ToolBlock& asked = context_.settings.tool;
    ir::IslandLimits limits{.most = static_cast<size_t>(asked.max_islands.value_or(0)),
                            .mac_share = asked.max_wide.value_or(1)};
    for (const ir::NodeId id : context_.graph().order()) {
      if (contains(options_.exclude, context_.graph().node(id).name)) limits.barred.insert(id);
    }
    return limits;
  }

  /// With the nodes that connect it to others, where islands are limited; nothing when it would pass a limit.
  std::optional<Candidate> within_limits(Candidate candidate, ir::Islands& islands) {
    const std::set<ir::NodeId> before = islands.nodes();
    const std::set<ir::NodeId> own(candidate.nodes.begin(), candidate.nodes.end());
    if (!islands.add(own)) {
      ++beyond_limits_;
      return std::nullopt;
    }
    for (const ir::NodeId id : context_.graph().order()) {
      const bool is_between = islands.nodes().contains(id) && !before.contains(id) && !own.contains(id);
      if (is_between && reads_quantized(context_.graph().node(id))) candidate.nodes.push_back(id);
    }
    return candidate;
  }

  Result<size_t> promote(const std::vector<Candidate>& candidates) {
    MixedPlan mixed(context_, options_);
    ir::Islands islands(context_.graph(), limits());
    size_t promoted = 0;
    for (const Candidate& ranked : candidates) {
      if (!ranked.enabled) continue;
      const std::optional<Candidate> candidate = within_limits(ranked, islands);
      if (!candidate) continue;
      const plan::QuantPlan before = context_.plan;
      const MixedPlan mixed_before = mixed;
      QQ_RETURN_IF_ERROR(promote_all(*candidate, candidate->config, mixed));
      QQ_RETURN_IF_ERROR(mixed.finish());
      ++promoted;
      if (*options_.threshold == 0.0) continue;
      QQ_TRY(const double score, score_of(context_.plan));
      const bool is_speed = options_.goal == config::MixedGoal::kSpeed;
      if (is_speed && score > *options_.threshold) {
        context_.plan = before;
        --promoted;
        if (context_.settings.quirk(config::Quirk::kForgetUndonePromotions)) return finish(mixed_before, promoted);
        break;
      }
      if (!is_speed && score <= *options_.threshold) break;
    }
    return finish(mixed, promoted);
  }

  Result<size_t> finish(const MixedPlan& mixed, size_t promoted) {
    if (promoted > 0 && context_.settings.quirk(config::Quirk::kRefineMixedBlockAxes))
      QQ_RETURN_IF_ERROR(refine_block_axis(context_).status());
    if (!options_.dual_pairs || context_.settings.qdq.enable_dual_quant_node_pairs) return promoted;
    DualPairRules rules;
    rules.is_special = [&](ir::ValueId value) {
      return mixed.tensors().contains(value) || context_.selection.overrides.contains(value);
    };
    rules.is_special_node = [&](const ir::Node& node) { return mixed.nodes().contains(node.id); };
    find_extra_stages(context_, rules);
    QQ_RETURN_IF_ERROR(mixed.refresh_constraints());
    return promoted;
  }

  pass::PlanContext& context_;
  const MixedOptions& options_;
  size_t samples_ = 0;
  size_t beyond_limits_ = 0;
  Outputs reference_;
};

}  // namespace

Result<Changed> mix_precision(pass::PlanContext& context) {
  QQ_TRY(const std::optional<MixedOptions> options, mixed_options(context.settings));
  if (!options) {
    context.diagnostics.add("nothing-promoted", "AutoMixprecision",
                            "names no TargetLayerConfig, so nothing is promoted");
    return Changed::kNo;
  }
  return Mixer(context, *options).run();
}

}  // namespace quarkq::planning
