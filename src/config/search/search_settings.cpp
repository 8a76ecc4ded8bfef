// SPDX-License-Identifier: MIT
// From a combination to the settings of a trial.
#include "config/search/search_file.h"

#include <algorithm>
#include <iterator>

namespace quarkq::config {
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
