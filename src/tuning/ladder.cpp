// SPDX-License-Identifier: MIT
#include "tuning/ladder.h"

#include <algorithm>

#include "pipeline/json.h"
#include "pipeline/rescue.h"

namespace quarkq::tuning {
namespace {

bool always(const Base&) { return true; }
bool can_be_rescued(const Base& base) { return base.has_integers && !base.tunes; }
bool calibrates(const Base& base) { return base.has_integers; }
bool can_be_trained(const Base& base) { return base.has_plan && !base.tunes; }
bool can_be_excluded(const Base& base) { return can_be_rescued(base) && base.max_wide > 0 && base.may_exclude; }
bool can_be_widened(const Base& base) { return can_be_rescued(base) && base.max_wide > 0; }

std::vector<Candidate> found_later(const Base&) { return {}; }

std::vector<Candidate> plain(const Base&) { return {{"plain", {"quarkq.on_collapse=warn"}}}; }
std::vector<Candidate> rescued(const Base&) { return {{"rescued", {"quarkq.on_collapse=rescue"}}}; }

std::vector<Candidate> ranges(const Base& base) {
  static constexpr std::string_view kFloatMethods[] = {"CalibrationMethod.MinMax", "CalibrationMethod.Percentile",
                                                       "LayerWiseMethod.LayerWisePercentile",
                                                       "CalibrationMethod.Entropy"};
  static constexpr std::string_view kPowerOfTwoMethods[] = {"PowerOfTwoMethod.MinMSE", "PowerOfTwoMethod.NonOverflow"};
  std::vector<Candidate> candidates;
  const auto add = [&](std::string_view method) {
    if (method == base.calibrate_method) return;
    candidates.push_back({cat("ranges: ", method.substr(method.find('.') + 1)), {cat("calibrate_method=", method)}});
  };
  for (const std::string_view method : base.is_power_of_two ? std::span<const std::string_view>(kPowerOfTwoMethods)
                                                            : std::span<const std::string_view>(kFloatMethods)) {
    add(method);
  }
  candidates.push_back({"ranges: a quarter wider", {"quarkq.range_headroom=1.25"}});
  return candidates;
}

std::vector<Candidate> weights(const Base& base) {
  std::vector<Candidate> candidates = {
      {"weights: compensated rounding", {"quarkq.rounding=compensated"}},
      {"weights: compensated rounding, biases as they are", {"quarkq.rounding=compensated_weights"}},
      {"weights: equalized across Clip", {"quarkq.equalize_clipped=true"}}};
  if (!base.is_power_of_two && !base.has_channel_scales)
    candidates.push_back({"weights: a scale per channel", {"per_channel=true"}});
  return candidates;
}

/// A rescue goes on until the cosine that is asked for, or as far as it may.
std::vector<Candidate> wider(const Base& base) {
  std::vector<Candidate> candidates;
  for (const double cosine : {0.995, 0.998, 0.9995}) {
    candidates.push_back({cat("wider: until the cosine is ", cosine),
                          {"quarkq.on_collapse=rescue", cat("quarkq.min_cosine=", cosine)},
                          cosine});
  }
  constexpr double kNeverReached = 0.99999;
  for (const double part : {0.5, 1.0}) {
    const double share = part * base.max_wide;
    candidates.push_back(
        {cat("wider: up to ", 100 * share, " % of the multiply-accumulates"),
         {"quarkq.on_collapse=rescue", cat("quarkq.min_cosine=", kNeverReached), cat("quarkq.max_wide=", share)},
         kNeverReached});
  }
  return candidates;
}

/// JSON is what a value of --set may be; names come from model files and may not be UTF-8.
std::string names_text(const SettingList& names) {
  return pipeline::Json(names).dump(-1, ' ', /*ensure_ascii=*/false, pipeline::Json::error_handler_t::replace);
}

SettingList training(const std::string& more) {
  return {"include_fast_ft=true", "quarkq.rounding=nearest",
          cat("FastFinetune={DataSize: 1000, FixedSeed: 1705472343, BatchSize: 2, LearningRate: 0.1, ",
              "OptimAlgorithm: adaround, OptimDevice: cpu, InferDevice: cpu, EarlyStop: true, ", more, "}")};
}

std::vector<Candidate> adaround(const Base&) { return {{"adaround", training("NumIterations: 1000")}}; }
std::vector<Candidate> blocks(const Base&) {
  return {{"blocks", training("NumIterations: 300, RegParam: 0.1, Unit: block")}};
}

constexpr std::string_view kExclude = "nodes_to_exclude";

constexpr Step kLadder[] = {
    {"plain", "the settings as asked for, without a rescue", "none", 1, always, plain},
    {"rescued", "remedies where outputs are poor, the cheapest first (docs/guards.md)",
     "some nodes may get wider formats", 2, can_be_rescued, rescued},
    {"ranges", "other methods to find the ranges of activations", "fitted to the evaluation samples", 1.5, calibrates,
     ranges},
    {"weights",
     "rounding by the error of the layers, equalization, a scale per channel where scales are not powers of two",
     "some compilers take one scale per tensor only", 1.5, calibrates, weights},
    {"sensitivity", "each of the blocks that cost most in float, found layer by layer", "more time on the target", 2,
     can_be_excluded, found_later, /*needs_sensitivity=*/true},
    {"wider", "wider formats for the nodes that cost most", "more time on the target", 4, can_be_widened, wider},
    {"adaround", "rounding of the weights learned layer by layer", "minutes", 20, can_be_trained, adaround},
    {"blocks", "rounding learned for whole blocks", "many minutes", 40, can_be_trained, blocks},
};

std::string name_of(config::CalibrateMethod method) {
  for (const auto& row : config::enum_names<config::CalibrateMethod>()) {
    if (row.value == method) return row.text;
  }
  return "";
}

}  // namespace

Base base_of(const config::Settings& settings) {
  constexpr double kDefaultWide = 0.2;  // of a rescue's float nodes
  Base base;
  base.has_plan = settings.inserts_qdq();
  base.tunes = settings.tunes();
  config::Settings untuned = settings;
  untuned.algorithms.include_auto_mp = untuned.algorithms.include_fast_ft = false;
  base.has_integers = pipeline::may_rescue(untuned);
  base.is_power_of_two = config::family(settings.ranges.calibrate_method) == config::Family::kPow2;
  base.has_channel_scales = settings.formats.per_channel;
  base.calibrate_method = name_of(settings.ranges.calibrate_method);
  base.max_wide = settings.tool.max_wide.value_or(kDefaultWide);
  base.may_exclude = settings.may_rescue_with("float_nodes");
  base.max_islands = settings.tool.max_islands.value_or(0);
  base.excluded = settings.selection.nodes_to_exclude;
  return base;
}

std::span<const Step> ladder() { return kLadder; }

std::vector<Candidate> blocks_in_float(const Base& base, const Reached& reached) {
  if (reached.sensitivity == nullptr)
    return {{"sensitivity: first block in float", {}},
            {"sensitivity: second block in float", {}},
            {"sensitivity: third block in float", {}}};
  if (reached.best != nullptr && reached.best->wide_macs > 0) return {};
  std::vector<Candidate> candidates;
  for (const LayerBlock& block : reached.sensitivity->blocks) {
    if (block.names.empty()) continue;
    SettingList names = base.excluded;
    names.insert(names.end(), block.names.begin(), block.names.end());
    const std::string span = block.first == block.last ? block.first : cat(block.first, " to ", block.last);
    candidates.push_back(
        {cat("sensitivity: ", span, " in float"), {cat(kExclude, "=", names_text(names))}, 2, block.mac_share});
  }
  return candidates;
}

std::vector<Rung> rungs_of(const Base& base, const SettingList& asked) {
  std::vector<Rung> rungs;
  for (const Step& step : kLadder) {
    if (!step.applies(base)) continue;
    std::vector<Candidate> open = open_candidates(step, base, asked);
    if (open.empty() && !step.needs_sensitivity) continue;
    if (step.needs_sensitivity && sets_key(asked, kExclude)) continue;
    Rung rung;
    rung.name = step.name, rung.what = step.what, rung.risk = step.risk, rung.cost = step.cost;
    rung.needs_sensitivity = step.needs_sensitivity, rung.max_wide = base.max_wide;
    rung.max_islands = base.max_islands;
    if (step.needs_sensitivity) {
      rung.candidates = [base](const Reached& reached) { return blocks_in_float(base, reached); };
    } else {
      rung.candidates = [open = std::move(open)](const Reached&) { return open; };
    }
    rungs.push_back(std::move(rung));
  }
  return rungs;
}

std::vector<Candidate> open_candidates(const Step& step, const Base& base, const SettingList& asked) {
  std::vector<Candidate> candidates;
  for (Candidate& candidate : step.candidates(base)) {
    // A trial's share of wide formats is a part of what was asked for.
    const bool is_asked = std::ranges::any_of(candidate.settings, [&](const std::string& setting) {
      return key_of(setting) != "quarkq.max_wide" && sets_key(asked, setting);
    });
    if (!is_asked) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

bool sets_key(const SettingList& settings, std::string_view setting) {
  return std::ranges::any_of(settings, [&](const std::string& own) { return key_of(own) == key_of(setting); });
}

std::string_view key_of(std::string_view setting) { return setting.substr(0, setting.find('=')); }

SettingList merged(const SettingList& settings, const SettingList& more) {
  SettingList all;
  for (const std::string& setting : settings) {
    if (!sets_key(more, setting)) all.push_back(setting);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace quarkq::tuning
