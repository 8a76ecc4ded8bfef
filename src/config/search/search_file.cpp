// SPDX-License-Identifier: MIT
// Reads the files: the keys of both searches stand in tables, their spaces are read in search_space.cpp.
#include "config/search/search_file.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "config/convert.h"
#include "config/load.h"
#include "config/search/search_space.h"

namespace quarkq::config {

namespace {

/// A key that nothing here is done with, and what to use in its place. With the reference's own default it asks for
/// nothing.
struct LeftOut {
  const char *key, *by_default, *instead;
};

constexpr LeftOut kProKeys[] = {
    {"n_jobs", "1", "start more processes with the same --state DIR"},
    {"output_dir", "./output", "the best model is written to --output, trials are kept in --state DIR"},
    {"temp_dir", "./temp_dir", "no temporary files are needed"},
    {"search_evaluator", "null", "pass --metric-cmd COMMAND, or a metric of quarkq list metrics"},
    {"direction", "minimize", "each metric has its own direction, --lower-is-better is that of a command"},
    {"study_storage_db", "auto_search.db", "--state DIR keeps trials"},
    {"load_study_if_exists", "true", "trials in --state DIR are always taken"},
    {"study_name", "AutoSearch", "trials are found again by model, samples and settings"},
    {"model_input", "null", "give the model as argument"},
    {"calib_data_reader", "null", "pass --calib DIR"},
    {"eval_data_reader", "null", "pass --eval DIR"},
    {"plot_results", "false", "quarkq report draws what --report FILE wrote"},
};

constexpr LeftOut kFirstKeys[] = {
    {"search_evaluator", "null", "pass --metric-cmd COMMAND, or a metric of quarkq list metrics"},
    {"search_metric_tolerance", "20000.0", "pass --goal 'value<=X'"},
    {"search_cache_dir", "./", "no temporary files are needed"},
    {"search_output_dir", "./", "the best model is written to --output"},
    {"search_log_path", "./auto_search.log", "--report FILE lists the trials"},
    {"n_jobs", "2", "start more processes with the same --state DIR"},
    {"search_devices", "cuda:0,1", "trials run on the CPU"},
};

void name_left_out(const Node& root, std::span<const LeftOut> rows, Diagnostics& findings) {
  for (const LeftOut& row : rows) {
    const Node* given = root.find(row.key);
    if (given == nullptr || *given == Node::from_plain_scalar(row.by_default)) continue;
    findings.add("search-left-out", row.key, cat("found ", describe(*given), "; ", row.instead));
  }
}

std::vector<std::string> keys_of(std::span<const LeftOut> rows, std::vector<std::string> keys) {
  for (const LeftOut& row : rows) keys.emplace_back(row.key);
  return keys;
}

Status read_metric(const OptionMap& map, SearchFile& file) {
  static constexpr std::pair<const char*, const char*> kNames[] = {
      {"L2", "l2"}, {"L1", "l2"}, {"cos", "cosine"}, {"psnr", "psnr"}, {"ssim", "ssim"}};
  std::string name = "L2";
  QQ_RETURN_IF_ERROR(map.take("search_metric", name));
  for (const auto& [theirs, ours] : kNames) {
    if (name == theirs) file.metric = ours;
  }
  if (!file.metric) return invalid_argument("search_metric: found ", name, ", allowed is L2, L1, cos, psnr or ssim");
  if (name == "L1") file.findings.add("search-left-out", "search_metric", "found L1; l2 judges");
  return Status();
}

Status read_algorithm_of_search(const OptionMap& map, SearchFile& file) {
  static constexpr std::pair<const char*, bool> kKnown[] = {
      {"grid_search", true}, {"random", false}, {"Grid", true}, {"Random", false}};
  static constexpr const char* kModelled[] = {"TPE", "CmaEs", "GPS", "NSGAII", "QMC"};
  std::string name = file.form == SearchFile::Form::kFields ? "grid_search" : "Random";
  QQ_RETURN_IF_ERROR(map.take("search_algo", name));
  for (const auto& [known, is_grid] : kKnown) {
    if (name != known) continue;
    file.is_grid = is_grid;
    return Status();
  }
  if (std::ranges::find(kModelled, name) == std::end(kModelled)) {
    return invalid_argument("search_algo: found ", name,
                            ", allowed is grid_search, random, Grid, Random, TPE, CmaEs, GPS, NSGAII or QMC");
  }
  file.findings.add("search-left-out", "search_algo",
                    cat("found ", name, "; combinations are drawn at random with a fixed seed"));
  return Status();
}

Status read_trial_count(const OptionMap& map, const char* key, size_t& count) {
  double asked = -1;  // 1e5 is a real number in the reference's class
  QQ_RETURN_IF_ERROR(map.take(key, asked));
  if (asked >= 1) count = static_cast<size_t>(std::min(asked, static_cast<double>(kMostSearchTrials)));
  return Status();
}

Status read_pro(const Node& root, SearchFile& file) {
  const OptionMap map(root, "search file");
  QQ_RETURN_IF_ERROR(check_keys(root, "",
                                keys_of(kProKeys, {"search_space", "n_trials", "search_algo", "search_metric",
                                                   "base_framework", "two_stage_search"})));
  std::string framework = "onnx";
  QQ_RETURN_IF_ERROR(map.take("base_framework", framework));
  if (framework != "onnx") return invalid_argument("base_framework: found ", framework, ", allowed is onnx");
  name_left_out(root, kProKeys, file.findings);
  file.trials = 20;  // ref:search#files
  QQ_RETURN_IF_ERROR(read_trial_count(map, "n_trials", file.trials));
  return map.take("two_stage_search", file.has_two_stages);
}

Status read_stop(const Node& stop, SearchFile& file) {
  const OptionMap map(stop, "search_stop_condition");
  QQ_RETURN_IF_ERROR(map.check_keys({"find_n_candidates", "find_best_candidate", "iteration_limit", "time_limit"}));
  QQ_RETURN_IF_ERROR(read_trial_count(map, "iteration_limit", file.trials));
  double seconds = -1;
  QQ_RETURN_IF_ERROR(map.take("time_limit", seconds));
  if (seconds > 0) file.seconds = seconds;
  static constexpr LeftOut kStops[] = {{"find_n_candidates", "1000.0", "pass --goal 'value<=X'"},
                                       {"find_best_candidate", "-1", "pass --goal 'value<=X'"}};
  name_left_out(stop, kStops, file.findings);
  return Status();
}

Status read_first(const Node& root, SearchFile& file) {
  const OptionMap map(root, "search file");
  QQ_RETURN_IF_ERROR(
      check_keys(root, "",
                 keys_of(kFirstKeys, {"search_space", "search_metric", "search_algo", "two_stage_search",
                                      "advanced_fastft_search", "advanced_fastft_params", "search_stop_condition"})));
  name_left_out(root, kFirstKeys, file.findings);
  file.trials = kMostSearchTrials;
  if (const Node* stop = map.find("search_stop_condition")) QQ_RETURN_IF_ERROR(read_stop(*stop, file));
  bool is_advanced = false;
  QQ_RETURN_IF_ERROR(map.take("two_stage_search", file.has_two_stages));
  QQ_RETURN_IF_ERROR(map.take("advanced_fastft_search", is_advanced));
  if (!is_advanced) return Status();
  file.has_two_stages = true;
  file.trials = 10;  // ref:search#files
  const Node* advanced = map.find("advanced_fastft_params");
  if (advanced == nullptr) return Status();
  const OptionMap params(*advanced, "advanced_fastft_params");
  QQ_RETURN_IF_ERROR(params.check_keys({"sampler_algo", "direction", "n_trials"}));
  return read_trial_count(params, "n_trials", file.trials);
}

Result<SearchFile> read_search(const Node& root) {
  if (!root.is_map()) return wrong_kind(root, "a map with search_space");
  const Node* space = root.find("search_space");
  if (space == nullptr || !space->is_map()) return invalid_argument("needs search_space, a map");
  SearchFile file;
  const bool has_specs = space->find("activation") != nullptr || space->find("weight") != nullptr;
  file.form = has_specs ? SearchFile::Form::kSpecs : SearchFile::Form::kFields;
  QQ_TRY(file.choices, has_specs ? read_spec_space(*space) : read_field_space(*space));
  QQ_RETURN_IF_ERROR(has_specs ? read_pro(root, file) : read_first(root, file));
  const OptionMap map(root, "search file");
  QQ_RETURN_IF_ERROR(read_metric(map, file));
  QQ_RETURN_IF_ERROR(read_algorithm_of_search(map, file));
  const bool trains = std::ranges::any_of(file.choices, &SearchChoice::is_training);
  file.has_two_stages = file.has_two_stages && trains;
  return file;
}

}  // namespace

Result<SearchFile> load_search(const std::string& path) {
  QQ_TRY(const Node root, load_file(path));
  return read_search(root).context(path);
}

// From a combination to the settings of a trial.

namespace {

/// What was chosen: of no group by key, of a group as a map.
Node chosen_values(const std::vector<SearchChoice>& choices, const Combination& made) {
  Node values(Node::Map{});
  for (const Chosen& one : made) {
    const SearchChoice& choice = choices[one.choice];
    if (choice.group.empty()) {
      values = values.with(choice.key, one.value);
      continue;
    }
    const Node* group = values.find(choice.group);
    values = values.with(choice.group, (group == nullptr ? Node(Node::Map{}) : *group).with(choice.key, one.value));
  }
  return values;
}

/// {spec: Int8Spec, symmetric: true}
Node tensor_spec(const Node& values, const char* spec, const char* params) {
  Node node(Node::Map{});
  if (const Node* name = values.find(spec)) node = node.with("spec", *name);
  const Node* more = values.find(params);
  if (more == nullptr) return node;
  for (const Node::Entry& entry : more->entries()) node = node.with(entry.key, entry.value);
  return node;
}

/// NumIterLR: [iterations, rate] chooses both together.
Node with_rate(const Node& params) {
  const Node* pair = params.find("NumIterLR");
  if (pair == nullptr || pair->items().size() != 2) return params;
  return params.without("NumIterLR").with("num_iterations", pair->items()[0]).with("learning_rate", pair->items()[1]);
}

/// Adds {name: cle, cle_steps: 1} when the algorithm was chosen.
void add_algorithm(const Node& values, const char* key, Node::List& all) {
  const Node* name = values.find(key);
  if (name == nullptr || !name->is_text()) return;
  Node algorithm(Node::Map{{"name", *name, {}}});
  const Node* params = values.find(name->as_text() + "_params");
  const Node trained = params == nullptr ? Node() : with_rate(*params);
  for (const Node::Entry& entry : trained.entries()) algorithm = algorithm.with(entry.key, entry.value);
  all.push_back(algorithm);
}

bool is_taken_apart(const std::string& key) {
  return key == "activation" || key == "weight" || key == "algorithms" || key == "cle_algo" || key.ends_with("_params");
}

}  // namespace

std::vector<std::string> settings_of(SearchFile::Form form, const std::vector<SearchChoice>& choices,
                                     const Combination& made) {
  const Node values = chosen_values(choices, made);
  std::vector<std::string> settings;
  const bool has_specs = form == SearchFile::Form::kSpecs;
  if (has_specs) {
    const Node global(Node::Map{{"input_tensors", tensor_spec(values, "activation", "activation_params"), {}},
                                {"weight", tensor_spec(values, "weight", "weight_params"), {}}});
    settings.push_back(cat("global_config=", to_flow(global)));
    Node::List algorithms;
    add_algorithm(values, "cle_algo", algorithms);
    add_algorithm(values, "algorithms", algorithms);
    if (!algorithms.empty()) settings.push_back(cat("algo_config=", to_flow(Node(std::move(algorithms)))));
  }
  for (const Node::Entry& entry : values.entries()) {
    if (entry.value.is_null() || (has_specs && is_taken_apart(entry.key))) continue;
    settings.push_back(cat(entry.key, "=", to_flow(entry.value)));
  }
  return settings;
}

std::string name_of(const std::vector<SearchChoice>& choices, const Combination& made) {
  std::vector<std::string> parts;
  for (const Chosen& one : made) {
    if (choices[one.choice].varies()) parts.push_back(cat(choices[one.choice].key, "=", to_flow(one.value)));
  }
  return parts.empty() ? "the only combination" : join(parts, ", ");
}

std::vector<SearchChoice> choices_of_stage(const SearchFile& file, bool first) {
  std::vector<SearchChoice> chosen;
  std::ranges::copy_if(file.choices, std::back_inserter(chosen),
                       [&](const SearchChoice& choice) { return choice.is_training != first; });
  return chosen;
}

}  // namespace quarkq::config
