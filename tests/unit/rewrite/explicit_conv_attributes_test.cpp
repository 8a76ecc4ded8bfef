// SPDX-License-Identifier: MIT
// Every Conv with its five attributes written: the values that ONNX's defaults and auto_pad mean, by the outputs.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

const char* const kNames[] = {"strides", "pads", "dilations", "kernel_shape", "group"};

/// A Conv from `channels` to 2 of them over `image`, with a kernel of size `kernel` in each dimension.
std::string conv_of(const std::vector<int64_t>& image, int64_t kernel, const std::string& attributes) {
  const std::vector<int64_t> kernels(image.size(), kernel);
  size_t weights = 2 * 3;
  for (size_t i = 0; i < image.size(); ++i) weights *= static_cast<size_t>(kernel);
  return cat("g (float[1, 3, ", join(image, ", "), "] x) => (float[] y) <float[2, 3, ", join(kernels, ", "),
             "] w = ", test::numbers(weights, 1), "> { y = Conv ", attributes, " (x, w) }");
}

/// The pass adds what is missing and keeps the outputs to the bit.
void expect_explicit(const std::string& body) {
  SCOPED_TRACE(body);
  PassBench bench(body);
  test::expect_fires(bench, explicit_conv_attributes, 0);
  for (const char* name : kNames) EXPECT_NE(bench.node("Conv").find(name), nullptr) << name;
  EXPECT_EQ(bench.node("Conv").find("auto_pad"), nullptr) << "excludes pads";
}

std::string list_of(size_t rank, int64_t value) { return cat("[", join(std::vector<int64_t>(rank, value), ", "), "]"); }

TEST(ExplicitConvAttributesTest, AutomaticPadsAreTheOnesOfTheImage) {
  const std::vector<std::vector<int64_t>> images = {{9}, {8}, {7, 10}, {6, 5}, {5, 6, 7}};
  for (const std::vector<int64_t>& image : images) {
    for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t kernel : {1, 2, 3}) {
          expect_explicit(
              conv_of(image, kernel, cat("<auto_pad = \"", pad, "\", strides = ", list_of(image.size(), stride), ">")));
        }
      }
      expect_explicit(conv_of(image, 3, cat("<auto_pad = \"", pad, "\">")));
    }
  }
}

TEST(ExplicitConvAttributesTest, PadsThatAreMoreOnOneSide) {
  PassBench upper(conv_of({6, 6}, 3, "<auto_pad = \"SAME_UPPER\", strides = [2, 2]>"));
  ASSERT_TRUE(upper.run(explicit_conv_attributes));
  EXPECT_EQ(upper.node("Conv").ints_or("pads", {}), (std::vector<int64_t>{0, 0, 1, 1}));
  PassBench lower(conv_of({6, 6}, 3, "<auto_pad = \"SAME_LOWER\", strides = [2, 2]>"));
  ASSERT_TRUE(lower.run(explicit_conv_attributes));
  EXPECT_EQ(lower.node("Conv").ints_or("pads", {}), (std::vector<int64_t>{1, 1, 0, 0}));
}

TEST(ExplicitConvAttributesTest, Dilations) {
  expect_explicit(conv_of({9, 8}, 3, "<dilations = [2, 1]>"));
  expect_explicit(conv_of({9, 8}, 3, "<auto_pad = \"VALID\", dilations = [2, 2], strides = [2, 1]>"));
  PassBench same(conv_of({9, 8}, 3, "<auto_pad = \"SAME_UPPER\", dilations = [2, 3]>"));
  ASSERT_TRUE(same.run(explicit_conv_attributes));
  EXPECT_EQ(same.node("Conv").ints_or("pads", {}), (std::vector<int64_t>{2, 3, 2, 3}));
}

TEST(ExplicitConvAttributesTest, KeepsWhatIsWritten) {
  PassBench bench(conv_of({9, 8}, 3, "<pads = [1, 0, 2, 1], strides = [2, 1]>"));
  test::expect_fires(bench, explicit_conv_attributes, 0);
  EXPECT_EQ(bench.node("Conv").ints_or("pads", {}), (std::vector<int64_t>{1, 0, 2, 1}));
  EXPECT_EQ(bench.node("Conv").ints_or("strides", {}), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(bench.node("Conv").int_or("group", 0), 1);
}

TEST(ExplicitConvAttributesTest, LeavesAutomaticPadsOfAnUnknownImage) {
  PassBench bench(cat("g (float[1, 3, H, 6] x) => (float[] y) <float[2, 3, 3, 3] w = ", test::numbers(54, 1),
                      "> { y = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }"));
  EXPECT_TRUE(bench.run(explicit_conv_attributes));
  EXPECT_EQ(bench.node("Conv").string_or("auto_pad", ""), "SAME_UPPER");
  EXPECT_EQ(bench.node("Conv").find("pads"), nullptr);
  EXPECT_NE(bench.node("Conv").find("strides"), nullptr);
}

TEST(ExplicitConvAttributesTest, AWeightThatIsComputedHasAKernelToo) {
  PassBench bench(cat("g (float[1, 3, 6, 6] x) => (float[] y) <float[2, 3, 3, 3] w = ", test::numbers(54, 1),
                      "> { k = Neg (w) y = Conv (x, k) }"));
  test::expect_fires(bench, explicit_conv_attributes, 0);
  EXPECT_EQ(bench.node("Conv").ints_or("kernel_shape", {}), (std::vector<int64_t>{3, 3}));
}

TEST(ExplicitConvAttributesTest, NotInCompatModeUnlessAskedFor) {
  EXPECT_TRUE(test::settings_for("A8W8").writes_conv_attributes());
  EXPECT_FALSE(test::settings_for("A8W8", {"quarkq.compat=quark-0.13"}).writes_conv_attributes());
  EXPECT_FALSE(test::settings_for("A8W8", {"legalize.explicit_conv_attributes=false"}).writes_conv_attributes());
}

}  // namespace
}  // namespace quarkq::pass_tests
