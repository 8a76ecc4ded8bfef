// SPDX-License-Identifier: MIT
#include "tuning/search_ladder.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace quarkq::tuning {
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
  made.name = std::move(name), made.what = std::move(what), made.risk = "as the search file says", made.cost = cost;
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

}  // namespace quarkq::tuning
