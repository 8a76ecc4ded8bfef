// SPDX-License-Identifier: MIT
#include "verb.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "base/platform/process.h"
#include "calib/data_reader.h"
#include "config/named_files.h"
#include "config/preprocess.h"
#include "config/quant_config.h"
#include "output.h"
#include "pipeline/report/check_target.h"
#include "quarkq/quantize.h"
#include "quarkq/tune.h"

namespace quarkq::tool {

void add_compute_options(CLI::App& app, ComputeOptions& options) {
  app.add_option("--threads", options.threads,
                 "Threads; auto (the default, also 0) uses the free cores, at most as many as the container allows")
      ->type_name("N|auto")
      ->transform([](const std::string& text) { return text == "auto" ? std::string("0") : text; })
      ->check(CLI::Range(0, 1024));
  app.add_option("--isa", options.isa, "Instruction set: sse41, avx2, avx512, avx512-vnni or native");
}

void add_preprocess_option(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option_function<std::string>(
      "--preprocess",
      [&settings](const std::string& name) {
        const Result<config::Preprocess> block = config::read_recipe(name);
        if (!block.ok()) throw CLI::ValidationError("--preprocess", block.status().message());
        settings.push_back("--preprocess=" + name);
      },
      cat("How photos are converted to the model's input: ", config::recipe_names(), " (quarkq list recipes)"));
}

namespace {

/// Returns the text as JSON, which is also valid YAML.
std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Converts "x=1,3,224,224" to "--shape={"x": [1,3,224,224]}". The last '=' is the separator, because names may contain
/// one.
std::string shape_setting(const std::string& text) {
  const size_t divide = text.rfind('=');
  const std::string dims = divide == std::string::npos ? "" : text.substr(divide + 1);
  const bool is_list = !dims.empty() && dims.find_first_not_of("0123456789,") == std::string::npos;
  if (divide == 0 || !is_list)
    throw CLI::ValidationError("--shape", cat("found ", text, ", allowed is INPUT=1,3,224,224"));
  return cat("--shape={", json_text(text.substr(0, divide)), ": [", dims, "]}");
}

}  // namespace

void add_backend_option(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option_function<std::string>(
         "--backend", [&settings](const std::string& name) { settings.push_back("--backend=" + json_text(name)); },
         "What runs float models: native (the default), ort (ONNX Runtime, which must be installed) or ort:PROVIDER, "
         "such as ort:cuda (docs/running-elsewhere.md)")
      ->type_name("native|ort[:PROVIDER]");
}

void add_shape_option(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option_function<std::vector<std::string>>(
         "--shape",
         [&settings](const std::vector<std::string>& shapes) {
           for (const std::string& shape : shapes) settings.push_back(shape_setting(shape));
         },
         "Fix the shape of an input; may be repeated")
      ->type_name("INPUT=1,3,224,224")
      ->allow_extra_args(false);
}

void add_target_options(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option_function<std::string>(
         "--target", [&settings](const std::string& name) { settings.push_back("--target=" + json_text(name)); },
         "Rewrite the model for this NPU compiler and predict what would run there: a name of `quarkq list targets`, "
         "a target file, or none (default: the target of the preset)")
      ->type_name("NAME|FILE");
  app.add_flag_callback(
      "--allow-float", [&settings] { settings.emplace_back("--allow-float=true"); },
      "Let remedies leave nodes in float even if the target's compiler then refuses the model");
  add_shape_option(app, settings);
}

void add_deployable_gate(CLI::App& app, std::vector<std::string>& requirements) {
  app.add_option("--require", requirements,
                 "deployable: exit code 5 unless the compiler of the target accepts the result")
      ->check(CLI::IsMember({std::string(pipeline::kDeployable)}))
      ->allow_extra_args(false)
      ->type_name("GOAL");
}

Result<double> share_of(const std::string& option, const std::string& text) {
  const bool is_percent = text.ends_with('%');
  const std::string number = is_percent ? text.substr(0, text.size() - 1) : text;
  double value = -1;
  const bool is_number = CLI::detail::lexical_cast(number, value);
  if (is_number && (is_percent || value > 1)) value /= 100;
  if (!is_number || !(value >= 0 && value <= 1))
    return invalid_argument(option, ": found ", text, ", allowed is 0% to 100%, for example 95%");
  return value;
}

void add_size_option(CLI::App& app, const std::string& name, const std::string& help,
                     std::function<void(int64_t)> use) {
  const auto read = [name, use = std::move(use)](const std::string& text) {
    const std::optional<int64_t> bytes = parse_size(text);
    if (!bytes) throw CLI::ValidationError(cat(name, ": found '", text, "', ", kAllowedSizes));
    use(*bytes);
  };
  app.add_option_function<std::string>(name, read, help)->type_name("SIZE");
}

void add_weight_options(CLI::App& app, std::vector<std::string>& settings) {
  const struct {
    const char *name, *help, *type;
  } rows[] = {
      {"--target-bits", "Stored bits per weight of matrices in few bits: chooses the bits and the block of each matrix",
       "NUMBER"},
      {"--target-size", "Size of the result's weights, such as 800M: chooses the bits and the block of each matrix",
       "SIZE"},
      {"--nbits-plan", "File with the bits and the block of each matrix, as --nbits-plan-out writes it", "FILE"},
      {"--nbits-plan-out", "File for the bits and the block of each matrix", "FILE"},
  };
  for (const auto& row : rows) {
    app.add_option_function<std::string>(
           row.name,
           [&settings, name = row.name](const std::string& text) { settings.push_back(cat(name, "=", text)); },
           row.help)
        ->type_name(row.type);
  }
}

void add_island_options(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option_function<std::string>(
         "--max-wide",
         [&settings](const std::string& text) {
           const Result<double> share = share_of("--max-wide", text);
           if (!share.ok()) throw CLI::ValidationError(share.status().message());
           settings.push_back(cat("--max-wide=", share.value()));
         },
         "Largest share of multiply-accumulates in wider formats after a rescue or mixed precision (default: 20% in "
         "float, "
         "any share in 16 bits)")
      ->type_name("SHARE");
  app.add_option_function<int64_t>(
         "--max-islands", [&settings](int64_t most) { settings.push_back(cat("--max-islands=", most)); },
         "Largest number of connected parts in these formats; nodes between them are then included (default: any "
         "number)")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}))
      ->type_name("N");
}

Status check_has_config(const std::string& config, const std::vector<std::string>& settings) {
  if (config::selects_mode(config, settings)) return {};
  return invalid_argument(
      "--config is required: a preset such as xint8 (quarkq list presets) or a settings file; or "
      "pass --target NAME (quarkq list targets), which implies a preset");
}

void add_requantize_option(CLI::App& app, bool& requantize) {
  app.add_flag("--requantize", requantize,
               "Accept a quantized model: remove its Q/DQ nodes and block formats, and quantize it again");
}

void bound_spinning(char** argv) {
  constexpr const char kSpins[] = "1000";  // 0.02 to 0.05 ms: longer than the gaps between most kernels (ADR 0003)
  for (const char* set : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
    if (std::getenv(set) != nullptr) return;
  platform::set_environment("GOMP_SPINCOUNT", kSpins);
  platform::restart(argv);  // returns only on failure; then the default stays in force
}

namespace {

constexpr struct {
  std::string_view name;
  Place place;
} kOutputs[] = {{"--output", Place::kFile},        {"--report", Place::kFile},           {"--json", Place::kFile},
                {"--csv", Place::kFile},           {"--layers-csv", Place::kFile},       {"--write", Place::kFile},
                {"--outputs", Place::kFolder},     {"--deploy", Place::kFolder},         {"--joined", Place::kFile},
                {"--state", Place::kFolder},       {"--workers-folder", Place::kFolder}, {"--learn", Place::kFile},
                {"--nbits-plan-out", Place::kFile}};

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
  if (name == "report") return paths::with_suffix(value_of(verb, "REPORT"), ".html");
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
