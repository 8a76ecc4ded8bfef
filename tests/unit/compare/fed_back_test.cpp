// SPDX-License-Identifier: MIT
// States: which outputs are inputs of the next frame, and how errors add up.
#include "compare/fed_back.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/legalize_samples.h"
#include "support/pass_support.h"

namespace quarkq::compare {
namespace {

std::vector<StatePair> states(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  return states_of(test::model_of(cat("g (", inputs, ") => (", outputs, ") { ", nodes, " }")).graph);
}

TEST(StatesTest, AreRecognizedByNameTypeAndDimensions) {
  const std::string nodes = "y = Relu (x) stateN = Relu (state)";
  EXPECT_EQ(states("float[1, 4] x, float[2, 3] state", "float[1, 4] y, float[2, 3] stateN", nodes),
            (std::vector<StatePair>{{1, 1}}));
  EXPECT_TRUE(states("float[1, 4] x, float[2, 3] state", "float[1, 4] y, float[3, 2] stateN",
                     "y = Relu (x) stateN = Transpose (state)")
                  .empty())
      << "other dimensions";
  EXPECT_EQ(states("float[4] x, float[4] h", "float[4] y, float[4] new_H", "y = Relu (x) new_H = Relu (h)"),
            (std::vector<StatePair>{{1, 1}}));
  EXPECT_TRUE(states("float[4] h", "float[4] h_a, float[4] h_b", "h_a = Relu (h) h_b = Neg (h)").empty())
      << "more than one output could be the state";
  EXPECT_TRUE(states("float[4] x", "float[4] y", "y = Relu (x)").empty());
}

std::map<std::string, Agreement> fed_back(const std::string& second, size_t count) {
  const auto model = [](const std::string& factor) {
    return test::model_of(cat("g (float[4] x, float[4] h) => (float[4] y, float[4] hn) <float[4] f = {", factor,
                              "}> { a = Mul (h, f) hn = Add (a, x) y = Identity (hn) }"));
  };
  const ir::Model first = model("1, 1, 1, 1"), other = model(second);
  const test::RandomSamples samples{first.graph, 8};
  const exec::Environment environment;
  ChosenSamples frames{samples, environment, {}};
  for (size_t i = 0; i < count; ++i) frames.numbers.push_back(i % 8);
  const auto found = compare_fed_back(first, other, nullptr, frames);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.value();
}

TEST(FedBackTest, ErrorsOfAStateAddUp) {
  const double one = fed_back("0.9, 1, 1, 1", 1).at("y").cosine, many = fed_back("0.9, 1, 1, 1", 20).at("y").cosine;
  EXPECT_GT(one, 0.99);
  EXPECT_LT(many, one);
  EXPECT_NEAR(fed_back("1, 1, 1, 1", 20).at("y").cosine, 1, 1e-12);
  EXPECT_EQ(fed_back("1, 1, 1, 1", 20).count("hn"), 0u) << "a state is not a result";
}

}  // namespace
}  // namespace quarkq::compare
