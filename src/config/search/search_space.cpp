// SPDX-License-Identifier: MIT
#include "config/search/search_space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include "base/parse_text.h"
#include "base/random.h"
#include "base/strings.h"
#include "config/algorithms.h"
#include "config/convert.h"
#include "config/fields.h"

namespace quarkq::config {

namespace {

constexpr uint32_t kSeed = 42;
constexpr size_t kDrawsPerTrial = 50;  // a small space is exhausted before as many combinations are found

/// Values of enums may be written with their class or without.
bool is_same(const Node& value, const Node& wanted) {
  if (!value.is_text() || !wanted.is_text()) return value == wanted;
  const auto member = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  return member(value.as_text()) == member(wanted.as_text());
}

bool is_met_by(const SearchCondition& condition, const std::vector<SearchChoice>& choices, const Combination& made) {
  return std::ranges::any_of(made, [&](const Chosen& one) {
    const SearchChoice& choice = choices[one.choice];
    if (!choice.group.empty() || choice.key != condition.key) return false;
    return condition.value ? is_same(one.value, *condition.value) : !one.value.is_null();
  });
}

bool applies(const SearchChoice& choice, const std::vector<SearchChoice>& choices, const Combination& made) {
  return std::ranges::all_of(choice.conditions,
                             [&](const SearchCondition& condition) { return is_met_by(condition, choices, made); });
}

Result<std::vector<Node>> values_of(const SearchChoice& choice) {
  if (!choice.range) return choice.values;
  const SearchRange& range = *choice.range;
  if (!range.is_integer) {
    return invalid_argument("search_space.", choice.group.empty() ? "" : choice.group + ".", choice.key,
                            ": found a range of real numbers, of which Grid search cannot try each; allowed is a list, "
                            "or search_algo: Random");
  }
  std::vector<Node> values;
  for (auto value = static_cast<int64_t>(range.low); static_cast<double>(value) <= range.high;
       value += static_cast<int64_t>(range.step))
    values.emplace_back(value);
  return values;
}

/// Goes through the choices from left to right, one value of each at a time.
class Grid {
 public:
  Grid(const std::vector<SearchChoice>& choices, std::vector<std::vector<Node>> values, size_t most)
      : choices_(choices), values_(std::move(values)), most_(most) {}

  std::vector<Combination> run() {
    Combination made;
    choose(0, made);
    return std::move(found_);
  }

 private:
  void choose(size_t index, Combination& made) {  // NOLINT(misc-no-recursion): one level for each choice of a file
    if (found_.size() == most_) return;
    if (index == choices_.size()) {
      found_.push_back(made);
      return;
    }
    if (!applies(choices_[index], choices_, made)) {
      choose(index + 1, made);
      return;
    }
    for (const Node& value : values_[index]) {
      made.push_back({index, value});
      choose(index + 1, made);
      made.pop_back();
    }
  }

  const std::vector<SearchChoice>& choices_;
  std::vector<std::vector<Node>> values_;
  size_t most_;
  std::vector<Combination> found_;
};

/// Digits that names and files show.
double six_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return parse_finite(text).value_or(value);
}

Node drawn_number(const SearchRange& range, NumpyRandom& random) {
  if (range.is_integer) {
    const auto steps = static_cast<int64_t>(std::floor((range.high - range.low) / range.step));
    return Node(static_cast<int64_t>(range.low) + random.integer(0, steps) * static_cast<int64_t>(range.step));
  }
  const double place = random.uniform();
  double number = range.low + place * (range.high - range.low);
  if (range.is_log) number = range.low * std::pow(range.high / range.low, place);
  if (range.step > 0) number = range.low + std::floor(place * (1 + (range.high - range.low) / range.step)) * range.step;
  return Node(std::clamp(six_digits(number), range.low, range.high));
}

Combination drawn(const std::vector<SearchChoice>& choices, NumpyRandom& random) {
  Combination made;
  for (size_t i = 0; i < choices.size(); ++i) {
    const SearchChoice& choice = choices[i];
    if (!applies(choice, choices, made)) continue;
    if (choice.range) {
      made.push_back({i, drawn_number(*choice.range, random)});
    } else {
      const auto last = static_cast<int64_t>(choice.values.size()) - 1;
      made.push_back({i, choice.values[static_cast<size_t>(random.integer(0, last))]});
    }
  }
  return made;
}

std::string text_of(const Combination& made) {
  std::string text;
  for (const Chosen& one : made) text += cat(one.choice, "=", to_flow(one.value), "\n");
  return text;
}

}  // namespace

Result<std::vector<Combination>> all_combinations(const std::vector<SearchChoice>& choices, size_t most) {
  std::vector<std::vector<Node>> values;
  values.reserve(choices.size());
  for (const SearchChoice& choice : choices) {
    QQ_TRY(std::vector<Node> own, values_of(choice));
    values.push_back(std::move(own));
  }
  return Grid(choices, std::move(values), most).run();
}

std::vector<Combination> drawn_combinations(const std::vector<SearchChoice>& choices, size_t count) {
  NumpyRandom random(kSeed);
  std::vector<Combination> found;
  std::set<std::string> known;
  for (size_t draw = 0; draw < kDrawsPerTrial * count && found.size() < count; ++draw) {
    Combination made = drawn(choices, random);
    if (known.insert(text_of(made)).second) found.push_back(std::move(made));
  }
  return found;
}

namespace {

constexpr size_t kMostChoices = 500;  // all fields and options are fewer

/// The groups of a space of specs: on what they depend when only_if is absent.
struct GroupInfo {
  const char *name, *key, *value;  // value null: any
  bool is_training;
};
constexpr GroupInfo kGroups[] = {{"activation_params", "activation", nullptr, false},
                                 {"weight_params", "weight", nullptr, false},
                                 {"cle_params", "cle_algo", "cle", false},
                                 {"adaround_params", "algorithms", "adaround", true},
                                 {"adaquant_params", "algorithms", "adaquant", true}};

/// Options that only count beside another one (ref:search#search-space).
struct OptionNeed {
  const char *option, *key, *value;
};
constexpr OptionNeed kOptionNeeds[] = {
    {"CalibMovingAverage", "calibrate_method", "CalibrationMethod.MinMax"},
    {"CalibMovingAverageConstant", "calibrate_method", "CalibrationMethod.MinMax"},
    {"CalibMovingAverageConstant", "CalibMovingAverage", "true"},
    {"Percentile", "calibrate_method", "CalibrationMethod.Percentile"},
    {"SmoothAlpha", "include_sq", "true"},
};

Result<SearchRange> read_range(const Node& node, const std::string& path) {
  const OptionMap map(node, path.c_str());
  QQ_RETURN_IF_ERROR(map.check_keys({"type", "low", "high", "step", "log"}));
  SearchRange range;
  std::string type;
  QQ_RETURN_IF_ERROR(map.take("type", type));
  for (const char* key : {"low", "high"}) {
    if (map.find(key) == nullptr) return invalid_argument(node.mark().prefix(), path, ": needs ", key);
  }
  QQ_RETURN_IF_ERROR(map.take("low", range.low));
  QQ_RETURN_IF_ERROR(map.take("high", range.high));
  QQ_RETURN_IF_ERROR(map.take("log", range.is_log));
  range.is_integer = type == "int";
  range.step = range.is_integer ? 1 : 0;
  QQ_RETURN_IF_ERROR(map.take("step", range.step));
  const std::string where = node.mark().prefix() + path;
  if (type != "int" && type != "float")
    return invalid_argument(where, ".type: found ", type.empty() ? "nothing" : type, ", allowed is int or float");
  if (range.high < range.low || (range.is_log && range.low <= 0))
    return invalid_argument(where, ": found low ", range.low, " and high ", range.high,
                            ", allowed is low <= high, and low above 0 with log");
  constexpr double kExact = 9007199254740992;  // integers up to here are doubles
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.step < 0 || size > kExact || (range.is_integer && (range.step < 1 || range.high - range.low > 1e9)))
    return invalid_argument(where, ": found step ", range.step, " from ", range.low, " to ", range.high,
                            ", allowed is a step of at least 1 for integers, and 1e9 of them");
  return range;
}

Result<std::vector<SearchCondition>> read_only_if(const Node& node, const std::string& path) {
  if (node.is_text()) return std::vector<SearchCondition>{{node.as_text(), std::nullopt}};
  if (!node.is_map()) return wrong_kind(node, "a key, or {key: value}").context(node.mark().prefix() + path);
  std::vector<SearchCondition> conditions;
  conditions.reserve(node.entries().size());
  for (const Node::Entry& entry : node.entries()) conditions.push_back({entry.key, entry.value});
  return conditions;
}

/// `choice` with the values or the range of `node`.
Result<SearchChoice> with_values(SearchChoice choice, const Node& node, const std::string& path) {
  if (node.is_map() && node.find("type") != nullptr) {
    QQ_TRY(choice.range, read_range(node, path));
    return choice;
  }
  if (!node.is_list() || node.items().empty())
    return wrong_kind(node, "a list of values, or {type, low, high}").context(node.mark().prefix() + path);
  choice.values = node.items();
  return choice;
}

Status check_known(const Node::Entry& entry, const std::string& path, const std::vector<std::string>& known) {
  if (std::ranges::find(known, entry.key) != known.end()) return Status();
  return invalid_argument(entry.key_mark.prefix(), path, ": unknown key", did_you_mean(entry.key, known));
}

std::vector<std::string> keys_of_group(const std::string& group) {
  if (group == "activation_params" || group == "weight_params")
    return {"only_if", "symmetric", "calibration_method", "scale_type", "quant_granularity", "data_type"};
  std::vector<std::string> keys = {"only_if", "NumIterLR"};
  for (const AlgorithmParam& param : algorithm_params(group.substr(0, group.find('_')))) keys.emplace_back(param.name);
  return keys;
}

Status read_param_group(const GroupInfo& info, const Node& node, std::vector<SearchChoice>& choices) {
  const std::string path = cat("search_space.", info.name);
  if (!node.is_map()) return wrong_kind(node, "a map").context(node.mark().prefix() + path);
  std::vector<SearchCondition> conditions = {
      {info.key, info.value == nullptr ? std::nullopt : std::optional(Node(info.value))}};
  if (const Node* only_if = node.find("only_if")) {
    QQ_TRY(conditions, read_only_if(*only_if, path + ".only_if"));
  }
  for (const Node::Entry& entry : node.entries()) {
    const std::string place = cat(path, ".", entry.key);
    QQ_RETURN_IF_ERROR(check_known(entry, place, keys_of_group(info.name)));
    if (entry.key == "only_if") continue;
    QQ_TRY(SearchChoice choice, with_values({.group = info.name,
                                             .key = entry.key,
                                             .values = {},
                                             .range = {},
                                             .conditions = conditions,
                                             .is_training = info.is_training},
                                            entry.value, place));
    choices.push_back(std::move(choice));
  }
  return Status();
}

/// Every option, and the keys of extra_options that set a field.
std::vector<std::string> with_options(std::vector<std::string> keys) {
  for (const std::string& name : option_names()) keys.push_back(name);
  for (const FieldKey& key : field_keys()) keys.emplace_back(key.name);
  return keys;
}

std::vector<SearchChoice> ungrouped_first(std::vector<SearchChoice> choices) {
  std::stable_partition(choices.begin(), choices.end(),
                        [](const SearchChoice& choice) { return choice.group.empty(); });
  return choices;
}

/// The conditions of an option, as far as the space has a choice of what they name.
std::vector<SearchCondition> needs_of(const std::string& option, const std::vector<SearchChoice>& choices) {
  std::vector<SearchCondition> conditions;
  for (const OptionNeed& need : kOptionNeeds) {
    const bool is_chosen =
        std::ranges::any_of(choices, [&](const SearchChoice& choice) { return choice.key == need.key; });
    if (option == need.option && is_chosen) conditions.push_back({need.key, Node::from_plain_scalar(need.value)});
  }
  return conditions;
}

Status read_list_entry(const Node::Entry& entry, const std::string& path, SearchChoice choice,
                       std::vector<SearchChoice>& choices) {
  choice.key = entry.key;
  choice.conditions = needs_of(entry.key, choices);
  QQ_TRY(choice, with_values(std::move(choice), entry.value, path));
  choices.push_back(std::move(choice));
  return Status();
}

Status read_training(const Node& node, std::vector<SearchChoice>& choices) {
  const std::string path = "search_space.extra_options.FastFinetune";
  if (!node.is_map()) return wrong_kind(node, "a map").context(node.mark().prefix() + path);
  const bool is_switched =
      std::ranges::any_of(choices, [](const SearchChoice& choice) { return choice.key == "include_fast_ft"; });
  for (const Node::Entry& entry : node.entries()) {
    SearchChoice choice{
        .group = "FastFinetune", .key = entry.key, .values = {}, .range = {}, .conditions = {}, .is_training = true};
    if (is_switched) choice.conditions = {{"include_fast_ft", Node(true)}};
    QQ_TRY(choice, with_values(std::move(choice), entry.value, cat(path, ".", entry.key)));
    choices.push_back(std::move(choice));
  }
  return Status();
}

Status read_options_of_space(const Node& node, std::vector<SearchChoice>& choices) {
  const std::string path = "search_space.extra_options";
  if (!node.is_map()) return wrong_kind(node, "a map").context(node.mark().prefix() + path);
  for (const Node::Entry& entry : node.entries()) {
    const std::string place = cat(path, ".", entry.key);
    QQ_RETURN_IF_ERROR(check_known(entry, place, with_options({})));
    if (entry.key != "FastFinetune") QQ_RETURN_IF_ERROR(read_list_entry(entry, place, {}, choices));
  }
  const Node* training = node.find("FastFinetune");
  return training == nullptr ? Status() : read_training(*training, choices);
}

Status check_size(const Node& space) {
  size_t count = 0;
  for (const Node::Entry& entry : space.entries()) count += 1 + entry.value.entries().size();
  if (count <= kMostChoices) return Status();
  return invalid_argument("search_space: found ", count, " keys, allowed are ", kMostChoices);
}

}  // namespace

Result<std::vector<SearchChoice>> read_spec_space(const Node& space) {
  QQ_RETURN_IF_ERROR(check_size(space));
  const std::vector<std::string> known =
      with_options({"activation", "weight", "algorithms", "cle_algo", "specific_layer_config", "layer_type_config",
                    "exclude", "use_external_data_format"});
  std::vector<SearchChoice> choices;
  for (const char* key : {"activation", "weight"}) {
    if (space.find(key) == nullptr) return invalid_argument("search_space: needs ", key, ", a list of spec classes");
  }
  for (const Node::Entry& entry : space.entries()) {
    const auto* group = std::ranges::find(kGroups, entry.key, &GroupInfo::name);
    if (group != std::end(kGroups)) {
      QQ_RETURN_IF_ERROR(read_param_group(*group, entry.value, choices));
      continue;
    }
    const std::string path = cat("search_space.", entry.key);
    QQ_RETURN_IF_ERROR(check_known(entry, path, known));
    SearchChoice choice;
    choice.key = entry.key;
    choice.is_training = entry.key == "algorithms";
    QQ_TRY(choice, with_values(std::move(choice), entry.value, path));
    choices.push_back(std::move(choice));
  }
  return ungrouped_first(std::move(choices));
}

Result<std::vector<SearchChoice>> read_field_space(const Node& space) {
  QQ_RETURN_IF_ERROR(check_size(space));
  std::vector<SearchChoice> choices;
  const Node* options = nullptr;
  std::vector<std::string> known = field_names();
  known.emplace_back("extra_options");
  for (const Node::Entry& entry : space.entries()) {
    const std::string path = cat("search_space.", entry.key);
    QQ_RETURN_IF_ERROR(check_known(entry, path, known));
    if (entry.key == "extra_options") {
      options = &entry.value;
      continue;
    }
    SearchChoice choice;
    choice.is_training = entry.key == "include_fast_ft";
    QQ_RETURN_IF_ERROR(read_list_entry(entry, path, std::move(choice), choices));
  }
  if (options != nullptr) QQ_RETURN_IF_ERROR(read_options_of_space(*options, choices));
  return ungrouped_first(std::move(choices));
}

}  // namespace quarkq::config
