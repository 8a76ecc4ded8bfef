// SPDX-License-Identifier: MIT
// Rows of probabilities: which count, and which are the same.
#include "compare/output_kinds.h"

#include "compare/expected_outputs.h"
#include "support/pass_support.h"

namespace quarkq::compare {
namespace {

TEST(ChoicesTest, OnlyRowsInWhichTheFloatModelIsSureCount) {
  const std::vector<double> expected = {0.9, 0.05, 0.05, 0.4, 0.3, 0.3, 0.1, 0.1, 0.8, 0.0, 1.0, 0.0};
  const std::vector<double> found = {0.5, 0.3, 0.2, 0.1, 0.9, 0.0, 0.6, 0.1, 0.3, 0.2, 0.5, 0.3};
  const Choices choices = count_choices(expected, found, 3);
  EXPECT_EQ(choices.sure, 3u);  // the second row is not sure
  EXPECT_EQ(choices.same, 2u);  // the third has another class
  EXPECT_EQ(count_choices(expected, found, 0).sure, 0u);
  EXPECT_EQ(count_choices(expected, found, 5).sure, 0u) << "12 values are no rows of 5";
  EXPECT_EQ(count_choices(expected, {1, 0, 0}, 3).sure, 0u);
  const double nan = std::nan("");
  EXPECT_EQ(count_choices({nan, nan, nan}, {1, 0, 0}, 3).sure, 0u);
}

TEST(ChoicesTest, ASoftmaxOverTheLastAxisMakesThem) {
  struct Row {
    const char* node;
    int opset;
    bool expected;
  };
  const Row rows[] = {{"y = Softmax (x)", 17, true},
                      {"y = Softmax <axis = 2> (x)", 17, true},
                      {"y = Softmax <axis = 1> (x)", 17, false},
                      {"y = Softmax (x)", 11, false},
                      {"y = Softmax <axis = 2> (x)", 11, true},
                      {"y = Sigmoid (x)", 17, false},
                      {"y = LogSoftmax (x)", 17, false},
                      {"a = Softmax (x) y = Identity (a)", 17, true},
                      {"w = Reshape (x, wide) a = Softmax (w) y = Reshape (a, dims)", 17, true},
                      {"w = Reshape (x, long) a = Softmax (w) y = Reshape (a, dims)", 17, false}};
  for (const Row& row : rows) {
    test::PassBench bench(cat("g (float[1, 3, 4] x) => (float[1, 3, 4] y) <int64[3] dims = {1, 3, 4}, "
                              "int64[4] wide = {1, 1, 3, 4}, int64[2] long = {1, 12}> { ",
                              row.node, " }"),
                          row.opset);
    EXPECT_EQ(makes_choices(bench.model, bench.graph().outputs()[0]), row.expected) << row.node << row.opset;
  }
}

TEST(ChoicesTest, TheWorstOutputDecides) {
  const auto output = [](std::optional<Grade> grade) {
    OutputAgreement one{"y", 1, 50, 1, "", false};
    if (grade) one.task = TaskAgreement{"rows", 0.9, *grade, ""};
    return one;
  };
  EXPECT_EQ(worst_agreement({output(std::nullopt)}).value().task, Grade::kGood);
  EXPECT_EQ(worst_agreement({output(Grade::kFair), output(std::nullopt), output(Grade::kPoor)}).value().task,
            Grade::kPoor);
}

TEST(PictureTest, HasFewChannelsAndTwoLongSides) {
  const struct {
    const char* dims;
    bool is_picture;
  } rows[] = {{"1, 3, 224, 224", true}, {"1, 64, 64, 1", true}, {"N, 1, H, W", true},   {"1, 21, 257, 257", false},
              {"1, 3, 16, 64", false},  {"1, 3, 224", false},   {"1, C, 64, 64", false}};
  for (const auto& row : rows) {
    const ir::Model model =
        test::model_of(cat("g (float[", row.dims, "] x) => (float[", row.dims, "] y) { y = Relu (x) }"));
    EXPECT_EQ(is_picture(model.graph, model.graph.outputs()[0]), row.is_picture) << row.dims;
  }
}

}  // namespace
}  // namespace quarkq::compare
