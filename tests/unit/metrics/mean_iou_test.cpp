// SPDX-License-Identifier: MIT
// Segmentation: masks of every kind of file, layouts of scores, ignored pixels.
#include <gtest/gtest.h>

#include <cmath>

#include "calib/npy.h"
#include "metrics/truth/masks.h"
#include "unit/base/temp_folder.h"
#include "unit/metrics/scored.h"

namespace quarkq::metrics {
namespace {

using test::Scored;

std::string write_mask(const test::TempFolder& folder, const std::string& name, const ir::Shape& dims,
                       const std::vector<uint8_t>& classes) {
  std::string path = folder / name;
  EXPECT_TRUE(calib::write_npy(path, ir::Tensor::from<uint8_t>(dims, classes)).ok());
  return path;
}

Result<std::vector<double>> miou(const std::string& truth, const std::vector<Scored>& samples) {
  return test::score({"miou"}, {.truth_path = truth}, samples);
}

/// Results that hold these classes, as a class map.
Scored class_map(const std::string& name, const ir::Shape& dims, const std::vector<int64_t>& classes) {
  return {name, ir::Tensor::from<int64_t>(dims, classes)};
}

TEST(MeanIouTest, IsTheMeanOverTheClassesThatOccur) {
  const test::TempFolder folder;
  write_mask(folder, "masks/a.npy", {2, 3}, {0, 0, 1, 1, 4, 255});
  // Class 0: 1 of 2. Class 1: 2 of 3. Class 2: found, not there. Class 4: there, not found. The last pixel is ignored.
  const auto found = miou(folder.path() + "/masks", {class_map("a", {1, 2, 3}, {0, 1, 1, 1, 2, 3})});
  EXPECT_NEAR(found.value()[0], (1.0 / 2 + 2.0 / 3 + 0 + 0) / 4, 1e-12);
}

TEST(MeanIouTest, PixelsOfAllSamplesAreCountedTogether) {
  const test::TempFolder folder;
  const std::string truth = write_mask(folder, "m.npy", {2, 1, 1, 2}, {0, 0, 0, 1});
  const auto found = miou(truth, {class_map("a", {1, 2}, {0, 0}), class_map("b", {1, 1, 1, 2}, {1, 1})});
  EXPECT_NEAR(found.value()[0], (2.0 / 3 + 1.0 / 2) / 2, 1e-12);
}

TEST(MeanIouTest, ReadsScoresInBothLayouts) {
  const test::TempFolder folder;
  const std::string truth = write_mask(folder, "m.npy", {1, 1, 3}, {1, 0, 1});
  const std::vector<float> first = {0, 5, 9, 1, 5, 2, 0, 4, 2}, last = {0, 1, 0, 5, 5, 4, 9, 2, 2};
  for (const auto& [dims, values] : {std::pair(ir::Shape{1, 3, 1, 3}, first), {{3, 1, 3}, first}}) {
    const auto found = miou(truth, {{"a", ir::Tensor::from<float>(dims, values)}});
    EXPECT_NEAR(found.value()[0], 0.5, 1e-12) << "1 0 0 was found";
  }
  const std::string tall = write_mask(folder, "t.npy", {1, 3, 1}, {1, 0, 1});
  EXPECT_NEAR(miou(tall, {{"a", ir::Tensor::from<float>({1, 3, 1, 3}, last)}}).value()[0], 0.5, 1e-12);
}

TEST(MeanIouTest, ScoresThatAreNoNumbersFindNothing) {
  const test::TempFolder folder;
  const std::string truth = write_mask(folder, "m.npy", {1, 1, 2}, {0, 0});
  const std::vector<float> scores = {1, 1, NAN, 0};
  EXPECT_NEAR(miou(truth, {{"a", ir::Tensor::from<float>({1, 2, 1, 2}, scores)}}).value()[0], 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(
      miou(write_mask(folder, "i.npy", {1, 1, 2}, {255, 255}), {class_map("a", {1, 2}, {0, 0})}).value()[0]));
}

TEST(MeanIouTest, RefusesWhatDoesNotFit) {
  const test::TempFolder folder;
  const std::string truth = write_mask(folder, "m.npy", {1, 4, 4}, std::vector<uint8_t>(16, 2));
  const auto refused = [&](const ir::Tensor& results) { return miou(truth, {{"a", results}}).status().message(); };
  const auto zeros = [](const ir::Shape& dims) { return ir::Tensor::zeros(ElementType::kFloat, dims); };
  const std::string size = refused(zeros({1, 3, 2, 2}));
  EXPECT_NE(size.find("sample a: the results are FLOAT[1,3,2,2], the mask " + truth + " is [4,4]"), size.npos) << size;
  EXPECT_NE(refused(zeros({1, 4, 4})).find("allowed are scores"), std::string::npos) << "a class map needs integers";
  EXPECT_NE(refused(zeros({1, 1, 4, 4})).find("allowed are scores"), std::string::npos) << "one class decides nothing";
  EXPECT_NE(refused(zeros({1, 4, 4, 4})).find("may be [1,C,H,W] or [1,H,W,C]"), std::string::npos);
  EXPECT_NE(refused(zeros({1, 2, 4, 4})).find("holds class 2, there are results for 2 classes"), std::string::npos);
  EXPECT_NE(miou(truth, {class_map("a", {4, 4}, std::vector<int64_t>(16, 1 << 20))}).status().message().find("65535"),
            std::string::npos);
  EXPECT_NE(
      miou(truth, {class_map("a", {4, 4}, std::vector<int64_t>(16)), class_map("b", {4, 4}, std::vector<int64_t>(16))})
          .status()
          .message()
          .find("holds 1 masks in order, there are 2"),
      std::string::npos);
}

TEST(MasksTest, AreFoundByName) {
  const test::TempFolder folder;
  write_mask(folder, "city/a.npy", {1, 1, 1, 1}, {1});
  write_mask(folder, "town/a.npy", {1, 1}, {2});
  write_mask(folder, "town/b.npy", {1, 1}, {3});
  const Masks masks = Masks::read(folder.path()).value();
  EXPECT_EQ(masks.of(7, "town/a").value().classes[0], 2);
  EXPECT_EQ(masks.of(7, "city/a.png").value().classes[0], 1);
  EXPECT_NE(masks.of(7, "a").status().message().find("has 2 masks called a"), std::string::npos);
  EXPECT_NE(masks.of(7, "c").status().message().find("has no mask called c"), std::string::npos);
}

TEST(MasksTest, RefusesDamagedFiles) {
  const test::TempFolder folder;
  const std::string rank = write_mask(folder, "r.npy", {2, 2}, {1, 2, 3, 4}), text = folder.write("m.txt", "1");
  EXPECT_NE(Masks::read(rank).status().message().find("needed are masks of integers [N,H,W]"), std::string::npos);
  EXPECT_NE(Masks::read(text).status().message().find("is neither a folder of masks"), std::string::npos);
  EXPECT_NE(Masks::read(folder.path() + "/none").status().message().find("is neither a folder"), std::string::npos);
  const std::string path = folder / "n/a.npy";
  ASSERT_TRUE(calib::write_npy(path, ir::Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{0, -3})).ok());
  const Masks negative = Masks::read(folder.path() + "/n").value();
  EXPECT_NE(negative.of(0, "a").status().message().find("holds class -3"), std::string::npos);
  ASSERT_TRUE(calib::write_npy(path, ir::Tensor::zeros(ElementType::kFloat, {1, 2})).ok());
  EXPECT_NE(negative.of(0, "a").status().message().find("a.npy: holds FLOAT[1,2]"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::metrics
