// SPDX-License-Identifier: MIT
#include "tuning/ladder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/file_system.h"
#include "config/layers.h"
#include "config/print.h"
#include "config/resolve.h"
#include "pipeline/report/json.h"
#include "pipeline/rescue/search.h"

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

/// A rescue continues until the requested cosine, or as far as it may.
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
    {"plain", "the requested settings, without a rescue", "none", 1, always, plain},
    {"rescued", "remedies for poor outputs, the cheapest first (docs/guards.md)", "some nodes may get wider formats", 2,
     can_be_rescued, rescued},
    {"ranges", "other methods to find the ranges of activations", "fitted to the evaluation samples", 1.5, calibrates,
     ranges},
    {"weights", "rounding by the error of the layers, equalization, per-channel scales if scales are not powers of two",
     "some compilers support only one scale per tensor", 1.5, calibrates, weights},
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
  constexpr double kDefaultWide = 0.2;  // Share of a rescue's float nodes.
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
    if (step.needs_sensitivity && sets_key(asked, std::string(kExclude))) continue;
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
    // A trial's share of wide formats counts towards the requested limit.
    const bool is_asked = std::ranges::any_of(candidate.settings, [&](const std::string& setting) {
      return key_of(setting) != "quarkq.max_wide" && sets_key(asked, setting);
    });
    if (!is_asked) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

bool sets_key(const SettingList& settings, const std::string& setting) {
  return std::ranges::any_of(settings, [&](const std::string& own) { return key_of(own) == key_of(setting); });
}

std::string key_of(const std::string& setting) { return config::setting_of(setting).key; }

SettingList merged(const SettingList& settings, const SettingList& more) {
  SettingList all;
  for (const std::string& setting : settings) {
    if (!sets_key(more, setting)) all.push_back(setting);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

namespace {

using config::Chosen;
using config::Combination;
using config::SearchChoice;
using config::SearchFile;

/// The combinations of the choices of one or both stages, as trials.
struct Stage {
  std::vector<SearchChoice> choices;
  std::vector<Combination> combinations;
};

/// At most `most` of them; a rest of a grid is reported.
Result<Stage> stage_of(std::vector<SearchChoice> choices, bool is_grid, size_t most, Diagnostics& diagnostics) {
  Stage stage{std::move(choices), {}};
  if (is_grid) {
    QQ_TRY(stage.combinations, config::all_combinations(stage.choices, most + 1));
  } else {
    stage.combinations = config::drawn_combinations(stage.choices, most);
  }
  if (stage.combinations.size() > most) {
    stage.combinations.resize(most);
    diagnostics.add("search-cut", "search_space", cat("the first ", most, " combinations are tried"));
  }
  if (stage.combinations.empty()) return invalid_argument("search_space: found no combination");
  return stage;
}

/// Without keys of the user's; as the combination is, without a rescue.
SettingList settings_of(SearchFile::Form form, const std::vector<SearchChoice>& choices, const Combination& made,
                        const SettingList& asked) {
  SettingList settings = {"quarkq.on_collapse=warn"};
  for (const std::string& setting : config::settings_of(form, choices, made)) settings.push_back(setting);
  std::erase_if(settings, [&](const std::string& setting) { return sets_key(asked, setting); });
  return settings;
}

/// The trials of `stage`, each after the choices `before` of an earlier stage.
std::vector<Candidate> trials_of(SearchFile::Form form, const Stage& stage, const Stage& earlier,
                                 const Combination& before, const SettingList& asked) {
  std::vector<SearchChoice> choices = earlier.choices;
  choices.insert(choices.end(), stage.choices.begin(), stage.choices.end());
  std::vector<Candidate> trials;
  for (const Combination& own : stage.combinations) {
    Combination made = before;
    for (const Chosen& one : own) made.push_back({one.choice + earlier.choices.size(), one.value});
    Candidate trial{cat("search: ", config::name_of(stage.choices, own)), settings_of(form, choices, made, asked)};
    const bool is_known =
        std::ranges::any_of(trials, [&](const Candidate& other) { return other.settings == trial.settings; });
    if (!is_known) trials.push_back(std::move(trial));
  }
  return trials;
}

constexpr double kTrainingCost = 20;

Rung rung(std::string name, std::string what, double cost) {
  Rung made;
  made.name = std::move(name), made.what = std::move(what), made.risk = "specified in the search file",
  made.cost = cost;
  made.is_search = true;
  return made;
}

}  // namespace

Result<std::vector<Rung>> search_ladder(const SearchFile& file, const SettingList& asked, Diagnostics& diagnostics) {
  const SearchFile::Form form = file.form;
  const bool trains = std::ranges::any_of(file.choices, &SearchChoice::is_training);
  if (!file.has_two_stages) {
    QQ_TRY(const Stage stage, stage_of(file.choices, file.is_grid, file.trials, diagnostics));
    Rung only = rung("search", "combinations of the search file", trains ? kTrainingCost : 1);
    only.candidates = [trials = trials_of(form, stage, {}, {}, asked)](const Reached&) { return trials; };
    return std::vector<Rung>{std::move(only)};
  }
  QQ_TRY(const Stage first, stage_of(config::choices_of_stage(file, /*first=*/true), /*is_grid=*/true,
                                     config::kMostSearchTrials, diagnostics));
  QQ_TRY(const Stage second,
         stage_of(config::choices_of_stage(file, /*first=*/false), file.is_grid, file.trials, diagnostics));
  Rung plain = rung("search", "combinations of everything but fine-tuning", 1);
  plain.candidates = [trials = trials_of(form, first, {}, {}, asked)](const Reached&) { return trials; };
  Rung training = rung("search-training", "fine-tuning on top of the best of these", kTrainingCost);
  training.candidates = [=](const Reached& reached) {
    size_t at = 0;  // a dry run has no best trial
    for (size_t i = 0; i < first.combinations.size() && reached.best != nullptr; ++i) {
      if (settings_of(form, first.choices, first.combinations[i], asked) == reached.best->settings) at = i;
    }
    return trials_of(form, second, first, first.combinations[at], asked);
  };
  return std::vector<Rung>{std::move(plain), std::move(training)};
}

namespace {

Result<config::QuantConfig> load_settings(const TuneRequest& request, const SettingList& more) {
  SettingList settings = request.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  QQ_TRY(config::QuantConfig config, config::load_config(request.config, settings));
  if (config.is_compat()) return invalid_argument("tune: found quarkq.compat, allowed is the default mode only");
  return config;
}

Status take_ladder(Asked& asked) {
  QQ_TRY(const config::QuantConfig config, load_settings(asked.request, {}));
  Diagnostics ignored;
  QQ_TRY(const config::Settings settings, config::resolve(config, config::ModelFacts{}, ignored));
  asked.settings_text = config::to_yaml(config);
  asked.preset = settings.preset;
  Base base = base_of(settings);
  base.may_exclude = base.may_exclude && config.mode == config::QuantConfig::Mode::kFields;
  asked.rungs = rungs_of(base, asked.request.settings);
  return Status();
}

/// The settings of all trials of a search have to be readable; whether the model takes them shows when they run.
Status check_trials(const Asked& asked) {
  for (const Rung& rung : asked.rungs) {
    for (const Candidate& candidate : rung.candidates({})) {
      QQ_RETURN_IF_ERROR(load_settings(asked.request, candidate.settings).context(candidate.name).status());
    }
  }
  return Status();
}

Status take_search(Asked& asked) {
  TuneRequest& request = asked.request;
  QQ_TRY(const config::SearchFile file, config::load_search(request.search_path));
  for (const Diagnostic& one : file.findings.all()) asked.diagnostics.add(one);
  QQ_TRY(asked.rungs, search_ladder(file, request.settings, asked.diagnostics).context(request.search_path));
  QQ_RETURN_IF_ERROR(check_trials(asked).context(request.search_path));
  asked.settings_text = cat(request.config, "\n", join(request.settings, "\n"));
  if (file_exists(request.config)) {
    QQ_TRY(asked.settings_text, read_text_file(request.config));
    asked.settings_text += join(request.settings, "\n");
  }
  const bool has_metric =
      !request.metric.names.empty() || !request.metric.command.empty() || request.metric.function != nullptr;
  if (!has_metric && file.metric) request.metric.names = {*file.metric};
  if (request.seconds <= 0 && file.seconds) request.seconds = *file.seconds;
  return Status();
}

}  // namespace

Result<Asked> read_request(const TuneRequest& request) {
  Asked asked;
  asked.request = request;
  QQ_RETURN_IF_ERROR(request.search_path.empty() ? take_ladder(asked) : take_search(asked));
  const std::vector<Candidate> first = asked.rungs.at(0).candidates({});
  if (!first.empty() && asked.rungs[0].is_search) asked.first = first[0].settings;
  return asked;
}

}  // namespace quarkq::tuning
