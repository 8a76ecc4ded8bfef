// SPDX-License-Identifier: MIT
#include "tuning/asked.h"

#include "base/file_system.h"
#include "config/print.h"
#include "config/resolve.h"
#include "tuning/search_ladder.h"

namespace quarkq::tuning {
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
