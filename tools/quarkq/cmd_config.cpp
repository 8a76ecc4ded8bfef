// SPDX-License-Identifier: MIT
// quarkq config show PRESET|FILE: what was asked, as a settings file, then every setting that holds, as comments.
// quarkq config check FILE: refuses what cannot run and lists what may not do what was meant.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "config/print.h"
#include "config/resolve.h"
#include "onnx_io/load.h"
#include "pipeline/facts.h"
#include "pipeline/pass_runner.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct ConfigArgs {
  std::string source, model, json;
  std::vector<std::string> sets;
};

/// What `config check --model` checks beside the settings: names that match no node of the model.
Status check_names(const ir::Model& model, const config::Settings& settings, Diagnostics& diagnostics) {
  pipeline::RunState state{.model = model, .settings = settings};
  std::vector<PassTime> times;
  const Status status = pipeline::run_passes(state, {.until = pass::Phase::kConvert}, times, {});
  diagnostics.add(state.diagnostics);
  return status;
}

std::string line_of(const Diagnostic& one) {
  return printable(cat(config::severity_name(one.severity), ": ", one.subject, ": ", one.text));
}

void show_text(const config::QuantConfig& asked, const Result<config::Settings>& settings,
               const Diagnostics& diagnostics) {
  std::string text = config::to_yaml(asked);
  if (!settings.ok()) text += cat("\n# cannot run: ", printable(settings.status().message()), "\n");
  if (settings.ok())
    text += "\n# what holds for an ordinary float32 model:\n" + config::resolved_text(settings.value(), "# ");
  for (const Diagnostic& one : diagnostics.all()) text += "# " + line_of(one) + "\n";
  print_lines(text);
}

Status run_show(const ConfigArgs& args) {
  QQ_TRY(const config::QuantConfig asked, config::load_config(args.source, args.sets));
  Diagnostics diagnostics;
  const Result<config::Settings> settings = config::resolve(asked, config::ModelFacts{}, diagnostics);
  if (!settings.ok() && settings.status().code() != Code::kUnsupported) return settings.status();
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  if (args.json != kStdout) show_text(asked, settings, diagnostics);
  return json_file.is_open() ? json_file.write(config::to_json(asked, settings, diagnostics)) : Status();
}

Status run_config_check(const ConfigArgs& args) {
  QQ_TRY(const config::QuantConfig asked, config::load_config(args.source, args.sets));
  Diagnostics diagnostics;
  std::optional<ir::Model> model;
  if (!args.model.empty()) {
    QQ_TRY(model, onnx_io::load(args.model));
  }
  const config::ModelFacts facts = model ? pipeline::model_facts(*model) : config::ModelFacts{};
  QQ_TRY(const config::Settings settings, config::resolve(asked, facts, diagnostics));
  config::validate(settings, config::Asked::kByUser, diagnostics);
  if (model) QQ_RETURN_IF_ERROR(check_names(*model, settings, diagnostics));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  if (args.json != kStdout) {
    for (const Diagnostic& one : diagnostics.all()) print_lines(line_of(one) + "\n");
    if (diagnostics.all().empty()) print_lines("ok\n");
  }
  return json_file.is_open() ? json_file.write(config::to_json(diagnostics)) : Status();
}

}  // namespace

Run setup_config(CLI::App& app) {
  auto args = std::make_shared<ConfigArgs>();
  app.require_subcommand(1);
  CLI::App* show = app.add_subcommand("show", "what a preset or file asks for, and every setting that then holds");
  show->add_option("source", args->source, "settings file, or a name from `quarkq list presets`")->required();
  CLI::App* check = app.add_subcommand("check", "errors, and settings without effect or in conflict");
  check->add_option("file", args->source, "settings file or preset")->required();
  check->add_option("--model", args->model, "check against this model");
  for (CLI::App* verb : {show, check}) {
    verb->add_option("--set", args->sets, "key=value, may be given several times")->allow_extra_args(false);
    add_json_option(*verb, args->json);
  }
  return [args, show] { return show->parsed() ? run_show(*args) : run_config_check(*args); };
}

}  // namespace quarkq::tool
