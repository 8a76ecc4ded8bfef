// SPDX-License-Identifier: MIT
#include "calib/sample_readers.h"

#include <gtest/gtest.h>

#include <set>

namespace quarkq::calib {
namespace {

/// Samples whose names are their numbers.
class Numbered final : public DataReader {
 public:
  explicit Numbered(size_t count) : count_(count) {}
  size_t size() const override { return count_; }
  Result<Sample> read(size_t index) const override { return Sample{std::to_string(index), {}, {}}; }

 private:
  size_t count_;
};

std::set<std::string> names(const SpreadSamples& samples) {
  std::set<std::string> found;
  for (size_t i = 0; i < samples.size(); ++i) found.insert(samples.read(i).value().name);
  return found;
}

TEST(SpreadSamplesTest, PartsHaveNoSampleInCommon) {
  for (size_t size = 2; size <= 70; ++size) {
    const Numbered all(size);
    for (const size_t count : {1, 2, 4, 16, 100}) {
      const SpreadSamples even(all, count, SpreadSamples::Part::kEven), odd(all, count, SpreadSamples::Part::kOdd);
      const std::set<std::string> a = names(even), b = names(odd);
      EXPECT_EQ(a.size(), std::min(count, (size + 1) / 2)) << size;
      EXPECT_EQ(b.size(), std::min(count, size / 2)) << size;
      for (const std::string& name : a) {
        EXPECT_FALSE(b.contains(name)) << size << ", " << count;
        EXPECT_LT(std::stoul(name), size);
      }
      for (const std::string& name : b) EXPECT_LT(std::stoul(name), size);
    }
  }
}

TEST(SpreadSamplesTest, AreSpreadOverAll) {
  const Numbered all(64);
  const SpreadSamples odd(all, 4, SpreadSamples::Part::kOdd);
  EXPECT_EQ(names(odd), (std::set<std::string>{"1", "17", "33", "49"}));
  EXPECT_EQ(odd.number(3), 49u);
}

TEST(SpreadSamplesTest, OneSampleIsBothParts) {
  const Numbered one(1);
  for (const auto part : {SpreadSamples::Part::kEven, SpreadSamples::Part::kOdd})
    EXPECT_EQ(names(SpreadSamples(one, 4, part)), std::set<std::string>{"0"});
  EXPECT_EQ(SpreadSamples(Numbered(0), 4, SpreadSamples::Part::kEven).size(), 0u);
}

}  // namespace
}  // namespace quarkq::calib
