// SPDX-License-Identifier: MIT
// What C functions return as C++: null pointers, failures, and tensors without dimensions or names.
#include "c_api/request.h"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

namespace quarkq::c_api {
namespace {

/// A caller that returns what it is told to.
struct Caller {
  int code = 0;
  const quarkq_tensor* tensors = nullptr;
  size_t count = 0;
  std::vector<std::string> heard = {};
  double score = 0;

  static Caller& of(void* context) { return *static_cast<Caller*>(context); }
  static int read(void* context, size_t index, const quarkq_tensor** tensors, size_t* count) {
    Caller& self = of(context);
    self.heard.push_back(std::to_string(index));
    *tensors = self.tensors;
    *count = self.count;
    return self.code;
  }
  static int progress(void* context, const quarkq_progress* given) {
    of(context).heard.push_back(std::string(given->phase) + " " + std::to_string(given->done) + "/" +
                                std::to_string(given->total) + " " + given->unit);
    return of(context).code;
  }
  static constexpr auto kMetric = [](void* context, auto... rest) {
    const auto [sample, expected, found, count, value] = std::tuple(rest...);
    of(context).heard.push_back(std::to_string(sample) + " " + expected[0].name + " " + found[0].name + " " +
                                std::to_string(count));
    *value = of(context).score;
    return of(context).code;
  };
  static int result(void* context, const char* sample, const quarkq_tensor* outputs, size_t count) {
    of(context).heard.push_back(std::string(sample) + " " + std::to_string(count));
    if (count > 0) of(context).heard.push_back(outputs[0].type);
    return of(context).code;
  }
};

TEST(CallbacksTest, AbsentFunctionsAreEmpty) {
  EXPECT_FALSE(bytes_of({}).has_value());
  EXPECT_FALSE(progress_of({}));
  EXPECT_FALSE(metric_of({}));
  EXPECT_FALSE(result_of({}));
  EXPECT_FALSE(source_of({.count = 5, .read = nullptr, .context = nullptr}).read);
}

TEST(CallbacksTest, BytesAreCopied) {
  std::string model = "abc";
  const std::optional<std::string> copy = bytes_of({model.data(), model.size()});
  model[0] = 'x';
  EXPECT_EQ(copy, "abc");
  EXPECT_EQ(bytes_of({model.data(), 0}), "") << "a pointer without bytes is an empty model, not none";
}

TEST(CallbacksTest, SamplesAreReadByNumber) {
  const std::array<int64_t, 2> dims = {2, 3};
  const std::array<float, 6> data = {};
  const quarkq_tensor tensors[] = {{"x", "FLOAT", dims.data(), dims.size(), data.data(), sizeof data},
                                   {nullptr, nullptr, nullptr, 9, nullptr, 0}};
  Caller caller{.tensors = tensors, .count = 2};
  const SampleSource source = source_of({7, Caller::read, &caller});
  EXPECT_EQ(source.count, 7u);
  const Result<std::vector<SampleTensor>> sample = source.read(5);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  ASSERT_EQ(sample.value().size(), 2u);
  EXPECT_EQ(sample.value()[0].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(sample.value()[0].data, data.data()) << "not copied";
  EXPECT_EQ(sample.value()[1].name, "");
  EXPECT_TRUE(sample.value()[1].dims.empty()) << "a rank without dimensions is not read";
  EXPECT_EQ(caller.heard, std::vector<std::string>{"5"});
}

TEST(CallbacksTest, FailedReadsNameTheSample) {
  struct Row {
    int code;
    size_t count;
  };
  for (const Row& row : {Row{1, 0}, Row{-1, 1}, Row{0, 1}}) {  // the last one: a count without tensors
    Caller caller{.code = row.code, .count = row.count};
    const auto sample = source_of({9, Caller::read, &caller}).read(3);
    ASSERT_FALSE(sample.ok());
    EXPECT_EQ(sample.status().code(), Code::kBadData);
    EXPECT_EQ(sample.status().message(), "sample 3: the caller's function did not return it");
  }
  Caller none{};
  EXPECT_TRUE(source_of({9, Caller::read, &none}).read(0).value().empty()) << "no inputs are the reader's to judge";
}

TEST(CallbacksTest, ZeroInterrupts) {
  Caller caller;
  const auto progress =
      progress_of({.context = &caller, .on_progress = Caller::progress, .metric = nullptr, .on_result = nullptr});
  Progress at;
  at.phase = "calibrate";
  at.done = 3;
  at.total = 8;
  EXPECT_FALSE(progress(at));
  caller.code = 2;
  EXPECT_TRUE(progress(at));
  EXPECT_EQ(caller.heard[0], "calibrate 3/8 samples");
}

TEST(CallbacksTest, MetricsSeePairsOfOutputs) {
  Caller caller;
  caller.score = 0.25;
  const Metric metric =
      metric_of({.context = &caller, .on_progress = nullptr, .metric = Caller::kMetric, .on_result = nullptr});
  const std::vector<SampleTensor> expected = {{"y", "FLOAT", {1}, nullptr, 0}},
                                  found = {{"z", "FLOAT", {1}, nullptr, 0}};
  EXPECT_EQ(metric(4, expected, found).value(), 0.25);
  EXPECT_EQ(caller.heard, std::vector<std::string>{"4 y z 1"});
  const Result<double> uneven = metric(4, expected, {});
  EXPECT_EQ(uneven.status().message(), "metric: found 0 outputs, the float model has 1");
  EXPECT_EQ(caller.heard.size(), 1u) << "never called with fewer outputs than it is told";
  caller.code = 1;
  EXPECT_EQ(metric(6, expected, found).status().message(), "metric: the caller's function failed on sample 6");
}

TEST(CallbacksTest, ResultsAreHandedOver) {
  Caller caller;
  const auto on_result =
      result_of({.context = &caller, .on_progress = nullptr, .metric = nullptr, .on_result = Caller::result});
  EXPECT_TRUE(on_result("img7", {{"y", "UINT8", {2}, nullptr, 2}}).ok());
  EXPECT_TRUE(on_result("img8", {}).ok());
  EXPECT_EQ(caller.heard, (std::vector<std::string>{"img7 1", "UINT8", "img8 0"}));
  caller.code = 5;
  const Status refused = on_result("img9", {});
  EXPECT_EQ(refused.code(), Code::kBadData);
  EXPECT_EQ(refused.message(), "sample img9: the caller's function rejected its results");
}

}  // namespace
}  // namespace quarkq::c_api
