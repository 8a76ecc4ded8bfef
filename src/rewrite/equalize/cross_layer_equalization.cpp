// SPDX-License-Identifier: MIT
// Cross-layer equalization (ref:equalization): finds the chains, then sweeps over them until the requested number of
// sweeps is reached or a sweep changes almost nothing.
#include <cmath>
#include <map>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "pass/gate_clip.h"
#include "rewrite/driver.h"
#include "rewrite/equalize/layer_chains.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

// Clip(0, 6) becomes Relu of the same name, input and output (ref:equalization#clip-to-relu): equalization steps
// through Relu only, and the range of the scaled values makes the limit 6 meaningless.

namespace {

bool is_near(std::optional<double> value, double wanted) {
  return value && std::abs(*value - wanted) <= 1e-8 + 1e-5 * std::abs(wanted);
}

bool is_clip6(const ir::Graph& graph, const ir::Node& node) {
  return node.is("Clip") && is_near(ir::number_of(graph, node, 1, "min", NAN), 0) &&
         is_near(ir::number_of(graph, node, 2, "max", NAN), 6);
}

}  // namespace

Result<Changed> replace_clip6_relu(pass::FloatContext& context) {
  size_t kept = 0;
  std::string first_kept;
  const auto rule = [&](const ir::Graph& graph, const ir::Node& clip) -> Proposal {
    if (!is_clip6(graph, clip)) return std::optional<ir::GraphPatch>();
    if (context.settings.guards() && pass::is_gate(graph, clip)) {
      if (kept++ == 0) first_kept = graph.label(clip.id);
      return std::optional<ir::GraphPatch>();
    }
    ir::GraphPatch patch;
    patch.remove(clip.id);
    patch.node({"Relu", "", clip.name, {clip.input(0)}, {clip.output(0)}, {}});
    patch.place_at_end();
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  if (kept > 0) {
    context.diagnostics.add("guard-hard-swish", first_kept,
                            cat("and ", kept - 1, " others are part of a hard-swish or hard-sigmoid; they are kept"));
  }
  if (changed == Changed::kNo) return changed;
  ir::GraphEdit(context.graph()).remove_dead();  // the limits, where nothing else reads them
  QQ_RETURN_IF_ERROR(ir::sort_topologically(context.graph()).status());
  return changed;
}

namespace {

/// The reference skips a Conv that does not write `group`, although it counts it.
bool leaves_missing_group_alone(const config::Settings& settings) {
  return !settings.quirk(config::Quirk::kEqualizeMissingGroup);
}

bool misses_group(const ir::Graph& graph, const LayerChain& chain) {
  for (const ir::NodeId id : chain) {
    if (graph.node(id).is("Conv") && graph.node(id).find("group") == nullptr) return true;
  }
  return false;
}

Risks risks_taken(const config::Settings& settings) {
  const bool changes_function = !settings.quirk(config::Quirk::kEqualizeKeepingFunction);
  return {!settings.quirk(config::Quirk::kKeepSharedBiases), changes_function, changes_function};
}

/// The chains in their order, without those that cannot be scaled; each of these is reported once.
std::vector<LayerChain> usable_chains(pass::FloatContext& context) {
  const ir::Graph& graph = context.graph();
  const Risks taken = risks_taken(context.settings);
  std::map<LayerChain, bool> usable;
  std::vector<LayerChain> result;
  for (const LayerChain& chain : order_chains(graph, find_chains(graph, context.selection))) {
    const auto [known, first_time] = usable.emplace(chain, false);
    if (first_time) {
      const std::string reason = unsafe_reason(graph, chain, taken);
      if (!reason.empty()) {
        context.diagnostics.add("cle-skipped", graph.label(chain.front()),
                                cat("not equalized with ", graph.label(chain.back()), ": ", reason));
      }
      known->second = reason.empty() && !(leaves_missing_group_alone(context.settings) && misses_group(graph, chain));
    }
    if (known->second) result.push_back(chain);
  }
  return result;
}

using Snapshot = std::map<ir::ValueId, std::vector<float>>;

/// Sum over the layers of the mean |before - now| of their weights.
double change_since(const Snapshot& before, WorkingWeights& weights) {
  double change = 0;
  for (const auto& [value, old] : before) {
    const std::vector<float>& now = weights.at(value);
    double sum = 0;
    for (size_t i = 0; i < old.size(); ++i) sum += std::abs(old[i] - now[i]);
    change += old.empty() ? 0 : sum / static_cast<double>(old.size());
  }
  return change;
}

/// Weights of the layers in `chains`: no others can change.
Snapshot take_snapshot(const ir::Graph& graph, const std::vector<LayerChain>& chains, WorkingWeights& weights) {
  Snapshot snapshot;
  for (const LayerChain& chain : chains) {
    for (const ir::NodeId id : chain)
      snapshot.try_emplace(graph.node(id).input(1), weights.at(graph.node(id).input(1)));
  }
  return snapshot;
}

}  // namespace

Result<Changed> cross_layer_equalization(pass::FloatContext& context) {
  constexpr int kPatience = 20;  // sweeps in a row that change the measure by no more than kStagnation
  constexpr double kStagnation = 1e-9;
  const config::Settings& settings = context.settings;
  const std::vector<LayerChain> chains = usable_chains(context);
  if (chains.empty() || settings.algorithms.cle_steps == 0) return Changed::kNo;
  WorkingWeights weights(context.graph());
  double measure = 10;
  int stagnant = 0;
  for (int64_t step = 0; settings.algorithms.cle_steps < 0 || step < settings.algorithms.cle_steps; ++step) {
    if (measure <= settings.algorithms.cle_total_layer_diff_threshold || stagnant >= kPatience) break;
    const bool may_stop_early = settings.algorithms.cle_steps != step + 1;
    const Snapshot before = may_stop_early ? take_snapshot(context.graph(), chains, weights) : Snapshot{};
    for (const LayerChain& chain : chains) equalize_chain(context.graph(), chain, settings, weights);
    if (!may_stop_early) break;
    const double change = change_since(before, weights);
    stagnant = std::abs(measure - change) > kStagnation ? 0 : stagnant + 1;
    if (stagnant == 0) measure = change;
  }
  return weights.commit() ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::rewrite
