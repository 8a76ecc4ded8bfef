// SPDX-License-Identifier: MIT
// Samples from the caller's memory: copied, checked, named in errors.
#include "calib/sample_readers.h"

#include <gtest/gtest.h>

namespace quarkq::calib {
namespace {

const std::vector<InputSpec> kInputs = {{"a", ElementType::kFloat, true, {1, 2}},
                                        {"n", ElementType::kInt64, true, {1}}};
constexpr float kFloats[] = {1.5f, -2};
constexpr int64_t kNumber[] = {7};
const SampleTensor kA{"a", "FLOAT", {1, 2}, kFloats, sizeof kFloats};
const SampleTensor kN{"n", "INT64", {1}, kNumber, sizeof kNumber};

Result<Sample> read(std::vector<SampleTensor> tensors) {
  const auto hand_over = [&](size_t) { return Result<std::vector<SampleTensor>>(tensors); };
  const auto reader = make_callback_reader(kInputs, {3, hand_over});
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.value()->size(), 3u);
  return reader.value()->read(2);
}

TEST(CallbackReaderTest, CopiesInInputOrder) {
  const Result<Sample> sample = read({kN, kA});
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample.value().name, "2") << "messages begin with \"sample \"";
  EXPECT_EQ(sample.value().inputs[0].data<float>()[1], -2);
  EXPECT_NE(sample.value().inputs[0].data<float>().data(), kFloats);
  EXPECT_EQ(sample.value().inputs[1].data<int64_t>()[0], 7);
}

TEST(CallbackReaderTest, AddsAMissingBatchDimension) {
  SampleTensor flat = kA;
  flat.dims = {2};
  const Result<Sample> sample = read({flat, kN});
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  EXPECT_EQ(sample.value().inputs[0].dims(), (ir::Shape{1, 2}));
}

TEST(CallbackReaderTest, RefusesWhatDoesNotFit) {
  SampleTensor short_one = kA, wrong_type = kA, unknown = kA, huge = kA, null = kA;
  short_one.bytes = 4;
  wrong_type.type = "STRING";
  unknown.name = "aa";
  huge.dims = {int64_t{1} << 40, int64_t{1} << 40};
  null.data = nullptr;
  const struct {
    std::vector<SampleTensor> tensors;
    const char* words;
  } rows[] = {{{kA}, "found 1 tensors, the model takes 2"},
               {{kA, kA}, "input a is given twice"},
               {{unknown, kN}, "no input 'aa', did you mean a"},
               {{short_one, kN}, "found 4 bytes"},
               {{wrong_type, kN}, "STRING is not supported"},
               {{huge, kN}, "input a"},
               {{null, kN}, "input a"}};
  for (const auto& row : rows) {
    const Result<Sample> sample = read(row.tensors);
    ASSERT_FALSE(sample.ok()) << row.words;
    EXPECT_EQ(sample.status().code(), Code::kBadData);
    EXPECT_NE(sample.status().message().find(row.words), std::string::npos) << sample.status().message();
    EXPECT_NE(sample.status().message().find("sample 2"), std::string::npos) << sample.status().message();
  }
}

TEST(CallbackReaderTest, PassesTheCallersErrorOnAndRefusesNoSamples) {
  const auto fails = [](size_t) { return Result<std::vector<SampleTensor>>(Status(Code::kInterrupted, "stopped")); };
  EXPECT_EQ(make_callback_reader(kInputs, {1, fails}).value()->read(0).status().code(), Code::kInterrupted);
  EXPECT_EQ(make_callback_reader(kInputs, {0, fails}).status().code(), Code::kBadData);
}

/// Batches of `rows` rows [row, row + 0.5] for each of two calls.
SampleSource batches_of(int64_t rows, std::vector<std::vector<float>>& kept) {
  kept.assign(2, {});
  for (size_t i = 0; i < kept.size() * static_cast<size_t>(rows); ++i)
    kept[i / static_cast<size_t>(rows)].insert(kept[i / static_cast<size_t>(rows)].end(), {float(i), float(i) + 0.5f});
  return {2, [rows, &kept](size_t index) -> Result<std::vector<SampleTensor>> {
            const auto& values = kept[index];
            return std::vector<SampleTensor>{{"a", "FLOAT", {rows, 2}, values.data(), values.size() * sizeof(float)}};
          }};
}

TEST(OpenSourceTest, CutsBatchesForInputsOfOneRow) {
  std::vector<std::vector<float>> kept;
  const auto reader = open_source({kInputs[0]}, batches_of(3, kept), 5);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader.value()->size(), 5u) << "the limit counts rows";
  const Result<Sample> sample = reader.value()->read(4);
  EXPECT_EQ(sample.value().name, "1_1");
  EXPECT_EQ(sample.value().inputs[0].dims(), (ir::Shape{1, 2}));
  EXPECT_EQ(sample.value().inputs[0].data<float>()[1], 4.5f);
  EXPECT_EQ(std::string(reader.value()->notes().at(0).id.row().id), "samples-split");
}

TEST(OpenSourceTest, LeavesOtherSamplesAsTheyAre) {
  std::vector<std::vector<float>> kept;
  InputSpec pair = kInputs[0], wide = kInputs[0];
  pair.dims[0] = 3;
  wide.dims[1] = 4;
  EXPECT_EQ(open_source({kInputs[0]}, batches_of(1, kept), 0).value()->size(), 2u);
  EXPECT_EQ(open_source({pair}, batches_of(3, kept), 0).value()->size(), 2u);
  const auto refused = open_source({wide}, batches_of(3, kept), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("takes [1,4]"), std::string::npos) << refused.status().message();
}

}  // namespace
}  // namespace quarkq::calib
