// SPDX-License-Identifier: MIT
// Result: how long a value lives that is taken from a temporary.
#include "quarkq/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace quarkq {
namespace {

using Shared = std::vector<std::shared_ptr<int>>;

Result<Shared> result_of(const std::shared_ptr<int>& number) { return Shared{number, number}; }

TEST(ResultTest, ALoopOverTheValueOfATemporaryRunsWhileTheValueLives) {
  const auto number = std::make_shared<int>(1);
  size_t steps = 0;
  for ([[maybe_unused]] const std::shared_ptr<int>& each : result_of(number).value()) {
    EXPECT_EQ(number.use_count(), 3);
    ++steps;
  }
  EXPECT_EQ(steps, 2U);
  EXPECT_EQ(number.use_count(), 1);
}

TEST(ResultTest, AReferenceToTheValueOfATemporaryKeepsIt) {
  const auto number = std::make_shared<int>(1);
  const Shared& kept = result_of(number).value();
  EXPECT_EQ(number.use_count(), 3);
  EXPECT_EQ(kept.front(), number);
}

TEST(StatusTest, AReferenceToTheMessageOfATemporaryKeepsIt) {
  const auto refused = [] { return Status(Code::kBadData, "a message too long for the string itself"); };
  static_assert(std::is_same_v<decltype(refused().message()), std::string>);
  const std::string& kept = refused().message();
  EXPECT_EQ(kept, "a message too long for the string itself");
}

}  // namespace
}  // namespace quarkq
