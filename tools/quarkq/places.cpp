// SPDX-License-Identifier: MIT
#include "places.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/file_system.h"
#include "calib/sample_name.h"
#include "config/named_files.h"
#include "output.h"
#include "quarkq/quantize.h"
#include "quarkq/tune.h"

namespace quarkq::tool {
namespace {

constexpr struct {
  std::string_view name;
  Place place;
} kOutputs[] = {{"--output", Place::kFile},     {"--report", Place::kFile},
                {"--json", Place::kFile},       {"--csv", Place::kFile},
                {"--layers-csv", Place::kFile}, {"--write", Place::kFile},
                {"--outputs", Place::kFolder},  {"--deploy", Place::kFolder},
                {"--state", Place::kFolder},    {"--workers-folder", Place::kFolder}};

/// Options whose value may be a folder of samples or results. A folder with the name of another value, such as a
/// metric, is not an input.
constexpr std::string_view kSampleFolders[] = {
    "--calib", "--eval", "--data", "--inputs", "--baseline_results_folder", "--quantized_results_folder", "PLACES"};
/// Options whose value may be a folder in which every file is an input.
constexpr std::string_view kWholeFolders[] = {"--labels"};
/// Options whose value is a settings file or a preset.
constexpr std::string_view kSettings[] = {"--config", "source", "file"};
/// Options whose value is a file in YAML or JSON that may name further files.
constexpr std::string_view kNamingFiles[] = {"--search", "--passes", "--target"};

bool is_output(const CLI::Option& option) {
  return std::ranges::any_of(kOutputs, [&](const auto& row) { return option.check_name(std::string(row.name)); });
}

bool is_one_of(const CLI::Option& option, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return option.check_name(std::string(name)); });
}

std::vector<std::string> texts_of(const CLI::App& verb, std::string_view name) {
  const CLI::Option* option = verb.get_option_no_throw(std::string(name));
  return option == nullptr || option->count() == 0 ? std::vector<std::string>() : option->results();
}

/// Results of a verb without --output are named after an input.
std::string default_output(const CLI::App& verb) {
  const std::string& name = verb.get_name();
  if (name == "quantize" || name == "tune") return default_output_path(value_of(verb, "MODEL"));
  if (name == "report") return std::filesystem::path(value_of(verb, "REPORT")).replace_extension(".html").string();
  return "";
}

Status declare_settings(const CLI::App& verb, RunFiles& files) {
  std::string source;
  for (const std::string_view name : kSettings) {
    if (source.empty()) source = value_of(verb, name);
  }
  QQ_RETURN_IF_ERROR(config::declare(config::files_named_by(source, texts_of(verb, "--set")), files));
  for (const std::string_view name : kNamingFiles)
    QQ_RETURN_IF_ERROR(config::declare(config::files_named_in(value_of(verb, name)), files));
  return Status();
}

}  // namespace

const CLI::App& innermost(const CLI::App& verb) {
  const std::vector<CLI::App*> given = verb.get_subcommands();
  return given.empty() ? verb : innermost(*given.front());
}

std::string value_of(const CLI::App& verb, std::string_view option) {
  const std::vector<std::string> values = texts_of(verb, option);
  return values.empty() ? "" : values.front();
}

std::vector<OutputPlace> outputs_of(const CLI::App& verb) {
  std::vector<OutputPlace> places;
  for (const auto& [name, place] : kOutputs) {
    const std::string value = value_of(verb, name);
    if (!value.empty() && value != kStdout && verb.get_option_no_throw(std::string(name))->get_items_expected_max() > 0)
      places.push_back({value, place});
  }
  std::string output = value_of(verb, "--output");
  if (output.empty()) output = default_output(verb);
  if (output.empty() || output == kStdout) return places;
  if (value_of(verb, "--output").empty()) places.push_back({output, Place::kFile});
  if (verb.get_name() == "tune") places.push_back({settings_path_of(output), Place::kFile});
  return places;
}

Status declare_files(const CLI::App& verb, RunFiles& files) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0 || is_output(*option)) continue;
    const bool has_samples = is_one_of(*option, kSampleFolders), is_whole = is_one_of(*option, kWholeFolders);
    for (const std::string& value : option->results()) {
      if (!has_samples && !is_whole && !file_exists(value)) continue;
      QQ_RETURN_IF_ERROR(files.add_input(value, has_samples ? calib::is_sample_name : nullptr));
    }
  }
  for (const OutputPlace& one : outputs_of(verb))
    QQ_RETURN_IF_ERROR(one.place == Place::kFolder ? files.add_output_folder(one.path) : files.add_output(one.path));
  return declare_settings(verb, files);
}

}  // namespace quarkq::tool
