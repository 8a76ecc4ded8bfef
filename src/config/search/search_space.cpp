// SPDX-License-Identifier: MIT
#include "config/search/search_space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "base/parse_number.h"
#include "base/random.h"

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

}  // namespace quarkq::config
