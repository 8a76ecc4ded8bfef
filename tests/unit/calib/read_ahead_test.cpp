// SPDX-License-Identifier: MIT
// Decoding ahead: order, errors in their place, how much is held, and stopping early.
#include "calib/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <numeric>

namespace quarkq::calib {
namespace {

/// Sample k is named "k" and takes a time that follows no order.
class SlowReader : public DataReader {
 public:
  explicit SlowReader(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  Result<Sample> read(size_t index) const override {
    const size_t begun = ++begun_;
    const size_t ahead = begun - taken.load();
    for (size_t seen = most_ahead.load(); ahead > seen && !most_ahead.compare_exchange_weak(seen, ahead);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(index * 7919 % 13 * 100));
    if (index == fails_at) return bad_data("sample ", index, " is bad");
    if (index == throws_at) throw std::bad_alloc();
    Sample sample;
    sample.name = cat(index);
    return sample;
  }
  size_t begun() const { return begun_.load(); }

  size_t fails_at = ~size_t{0}, throws_at = ~size_t{0};
  std::atomic<size_t> taken{0};
  mutable std::atomic<size_t> most_ahead{0};

 private:
  size_t size_;
  mutable std::atomic<size_t> begun_{0};
};

std::vector<size_t> first(size_t count) {
  std::vector<size_t> indices(count);
  std::iota(indices.begin(), indices.end(), size_t{0});
  return indices;
}

TEST(ReadAheadTest, SamplesComeInOrderForAnyNumberOfThreads) {
  for (const size_t threads : {0, 1, 2, 5}) {
    for (const size_t depth : {0, 1, 3, 100}) {
      SlowReader reader(40);
      ReadAhead ahead(reader, first(40), threads, depth);
      for (size_t i = 0; i < 40; ++i) {
        ASSERT_FALSE(ahead.is_done());
        EXPECT_EQ(ahead.next().value().name, cat(i)) << threads << " " << depth;
      }
      EXPECT_TRUE(ahead.is_done());
      EXPECT_EQ(reader.begun(), 40u);
    }
  }
}

TEST(ReadAheadTest, AShardReadsItsSamplesOnly) {
  const SlowReader reader(20);
  const std::vector<size_t> shard = {17, 3, 3, 11};
  ReadAhead ahead(reader, shard, 2, 2);
  for (const size_t index : shard) EXPECT_EQ(ahead.next().value().name, cat(index));
  EXPECT_TRUE(ahead.is_done());
  ReadAhead nothing(reader, {}, 2, 2);
  EXPECT_TRUE(nothing.is_done());
}

TEST(ReadAheadTest, ErrorsAndExceptionsComeInTheirPlace) {
  SlowReader reader(10);
  reader.fails_at = 4;
  reader.throws_at = 6;
  ReadAhead ahead(reader, first(10), 3, 4);
  for (size_t i = 0; i < 10; ++i) {
    if (i == 6) {
      EXPECT_THROW((void)ahead.next(), std::bad_alloc);
      continue;
    }
    const Result<Sample> sample = ahead.next();
    EXPECT_EQ(sample.status().code(), i == 4 ? Code::kBadData : Code::kOk) << i << ": " << sample.status().message();
  }
}

TEST(ReadAheadTest, AtMostDepthSamplesAreHeld) {
  SlowReader reader(60);
  ReadAhead ahead(reader, first(60), 4, 3);
  for (size_t i = 0; i < 60; ++i) {
    ++reader.taken;  // before next() makes room, so that the count never runs late
    ASSERT_TRUE(ahead.next().ok());
    if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_LE(reader.most_ahead.load(), 3u);
  EXPECT_GE(reader.most_ahead.load(), 2u);
}

TEST(ReadAheadTest, EarlyDestructionDoesNotReadTheRest) {
  for (int round = 0; round < 20; ++round) {
    const SlowReader reader(1000);
    {
      ReadAhead ahead(reader, first(1000), 3, 4);
      for (int i = 0; i < round; ++i) ASSERT_TRUE(ahead.next().ok());
    }
    EXPECT_LE(reader.begun(), static_cast<size_t>(round) + 4);
  }
}

}  // namespace
}  // namespace quarkq::calib
