// SPDX-License-Identifier: MIT
// The reference's recorded numbers for single algorithms (golden/algorithms.json of the shared folder), and small
// models around them. Tests that need them skip without the folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/shared_records.h"

namespace quarkq::test {

/// The whole file, or null.
inline const nlohmann::json& golden_algorithms() {
  static const nlohmann::json file = [] {
    const char* given = std::getenv("QUARKQ_SHARED");
    std::ifstream in(cat(given != nullptr ? given : QUARKQ_SHARED_DIR, "/golden/algorithms.json"));
    return in ? nlohmann::json::parse(in) : nlohmann::json();
  }();
  return file;
}

#define QQ_SKIP_WITHOUT_ALGORITHMS() QQ_NEED_RECORD(!::quarkq::test::golden_algorithms().is_null())

/// The numbers of nested lists, row by row.
inline std::vector<float> flat(const nlohmann::json& list) {
  std::vector<float> numbers;
  if (list.is_number()) return {list.get<float>()};
  for (const auto& entry : list) {
    const std::vector<float> part = flat(entry);
    numbers.insert(numbers.end(), part.begin(), part.end());
  }
  return numbers;
}

/// "{1, -2.5}": an initializer of a model in text form.
inline std::string text_of(const nlohmann::json& list) {
  std::vector<std::string> parts;
  for (const float number : flat(list)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(number));
    parts.emplace_back(text);
  }
  return "{" + join(parts, ", ") + "}";
}

/// The initializer called `name` holds these numbers, to 1e-5 of each.
inline void expect_stored(const ir::Graph& graph, const std::string& name, const nlohmann::json& expected) {
  const ir::Tensor* stored = graph.constant(graph.find(name));
  ASSERT_NE(stored, nullptr) << name;
  const std::vector<float> numbers = flat(expected);
  ASSERT_EQ(static_cast<size_t>(stored->size()), numbers.size()) << name;
  const std::vector<double> found = ir::to_double(*stored).value();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto wanted = static_cast<double>(numbers[i]);
    EXPECT_NEAR(found[i], wanted, 1e-5 * std::max(std::abs(wanted), 1e-4)) << name << " element " << i;
  }
}

}  // namespace quarkq::test
