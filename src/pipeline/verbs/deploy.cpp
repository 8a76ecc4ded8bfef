// SPDX-License-Identifier: MIT
#include "quarkq/quantize.h"

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "config/targets/target.h"
#include "pipeline/report/json.h"
#include "pipeline/run/job.h"

namespace quarkq {
namespace {

using pipeline::Json;

constexpr const char kConfigFile[] = "vitisai_config.json";
constexpr const char kSessionFile[] = "session.py";
constexpr std::string_view kConfigPrefix = "vaiml_config.";  ///< of options that stand in that file
constexpr std::string_view kSessionPrefix = "session.";      ///< of options of the session, not of the provider
constexpr const char kModelHash[] = "model-hash";            ///< a value that stands for the model's content

Result<std::string> hash_of(const std::string& path) {
  ContentHash hash;
  QQ_RETURN_IF_ERROR(pipeline::add_file(path, hash));
  return hash.text();
}

Json value_of(const config::ProviderOption& option, const std::string& model_hash) {
  if (!option.set_is_text) return parse_json<Json>(*option.set);
  return *option.set == kModelHash ? model_hash : *option.set;
}

struct Options {
  Json provider = Json::object(), session = Json::object(), vaiml = Json::object();
};

Options options_of(const config::Target& target, const std::string& model_hash) {
  Options options;
  for (const config::ProviderOption& row : target.options) {
    if (!row.set) continue;
    const std::string_view name = row.name;
    Json value = value_of(row, model_hash);
    if (name.starts_with(kConfigPrefix)) {
      options.vaiml[row.name.substr(kConfigPrefix.size())] = std::move(value);
    } else if (name.starts_with(kSessionPrefix)) {
      options.session[row.name] = std::move(value);
    } else {
      options.provider[row.name] = std::move(value);
    }
  }
  return options;
}

/// The frame that the provider expects around the options (Ryzen AI 1.6 and later, Vitis AI 6.2).
Json config_file(const Json& vaiml) {
  Json config = Json::object();
  config["passes"] =
      Json::array({{{"name", "init"}, {"plugin", "vaip-pass_init"}},
                   {{"name", "vaiml_partition"}, {"plugin", "vaip-pass_vaiml_partition"}, {"vaiml_config", vaiml}}});
  config["target"] = "VAIML";
  config["targets"] = Json::array({{{"name", "VAIML"}, {"pass", {"init", "vaiml_partition"}}}});
  return config;
}

/// Returns a literal of Python. Names come from model files and may not be UTF-8.
std::string literal(const Json& names) {
  return names.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

/// The files of a deployed model, and the outputs of the network if the file is a body.
struct Deployed {
  std::string model, tail;  ///< File names; the tail may be empty.
  std::vector<std::string> outputs;
};

Result<Deployed> deployed_files(const std::string& path) {
  Deployed files{paths::name_of(path), "", {}};
  onnx_io::LoadReport loaded;
  QQ_TRY(const ir::Model body, pipeline::load_model(path, &loaded));
  if (!pipeline::is_body(body)) return files;
  files.tail = paths::name_of(pipeline::tail_path(path));
  QQ_TRY(const ir::Model whole, pipeline::load_whole(path, loaded));
  for (const ir::ValueId output : whole.graph.outputs()) files.outputs.push_back(whole.graph.value(output).name);
  return files;
}

/// The function that runs both sessions.
std::string pair_text(const Deployed& files) {
  return cat("tail = onnxruntime.InferenceSession(", literal(files.tail),
             ", providers=[\"CPUExecutionProvider\"])\n\n\n"
             "def run(feed):\n"
             "    values = dict(feed)\n"
             "    for part in (session, tail):\n"
             "        found = part.run(None, {one.name: values[one.name] for one in part.get_inputs()})\n"
             "        values.update(zip([one.name for one in part.get_outputs()], found))\n"
             "    return {name: values[name] for name in ",
             literal(files.outputs), "}\n");
}

std::string session_text(const Deployed& files, const Options& options) {
  std::string text = "import json\n\nimport onnxruntime\n\nsession_options = onnxruntime.SessionOptions()\n";
  for (const auto& [name, value] : options.session.items())
    text += cat("session_options.add_session_config_entry(\"", name, "\", ", value.dump(), ")\n");
  text += "with open(\"provider_options.json\") as file:\n    provider_options = json.load(file)\n";
  text += cat("session = onnxruntime.InferenceSession(\n    ", literal(files.model),
              ", session_options,\n    providers=[\"VitisAIExecutionProvider\"], "
              "provider_options=[provider_options])\n");
  return files.tail.empty() ? text : text + pair_text(files);
}

std::string table_text(const config::Target& target) {
  if (target.options.empty()) return "No options are known for this target.\n";
  std::string text = "| option | value | note | evidence |\n|---|---|---|---|\n";
  for (const config::ProviderOption& row : target.options) {
    const config::Evidence& evidence = row.evidence;
    text += cat("| `", row.name, "` | ", row.value, " | ", evidence.note, " | ", grade_name(evidence.grade), ", ",
                evidence.source, " |\n");
  }
  return text;
}

std::string deployment_page(const config::Target& target, const Deployed& files, const Options& options) {
  const std::string& model = files.model;
  std::string text =
      cat("# ", model, " on ", target.name, "\n\n", target.title, ". Devices: ", target.devices, ".\n\n");
  if (!options.vaiml.empty()) text += cat("The compiler reads `", kConfigFile, "` in this folder.\n\n");
  if (!files.tail.empty())
    text += cat("The network is two models: ", model, " is compiled, ", files.tail,
                " (float) runs on the CPU. `run` returns the outputs of the network.\n\n");
  text +=
      cat("Run this (`", kSessionFile, "`) in the folder of these files, with the path of the model:\n\n```python\n",
          session_text(files, options), "```\n\n");
  text += cat("What would run on the ", target.label, ": `quarkq check ", model, " --target ", target.name, "`.\n\n");
  text += "## Options\n\n" + table_text(target);
  return text + "\nGrades: A vendor document, B vendor log, configuration or code, C third party, D derived.\n";
}

}  // namespace

Result<std::vector<std::string>> write_deployment(const std::string& model_path, const std::string& target,
                                                  const std::string& folder) {
  QQ_TRY(const config::Target facts, config::load_target(target));
  QQ_TRY(const std::string hash, hash_of(model_path));
  QQ_TRY(const Deployed deployed, deployed_files(model_path));
  const Options options = options_of(facts, hash);
  QQ_RETURN_IF_ERROR(paths::make_folders(folder));
  std::vector<std::pair<const char*, std::string>> files;
  if (!options.vaiml.empty()) files.emplace_back(kConfigFile, pipeline::text(config_file(options.vaiml)));
  files.emplace_back("provider_options.json", pipeline::text(options.provider));
  files.emplace_back(kSessionFile, session_text(deployed, options));
  files.emplace_back("deployment.md", deployment_page(facts, deployed, options));
  std::vector<std::string> written;
  for (const auto& [name, text] : files) {
    written.push_back(paths::joined(folder, name));
    QQ_RETURN_IF_ERROR(write_file(written.back(), text));
  }
  return written;
}

}  // namespace quarkq
