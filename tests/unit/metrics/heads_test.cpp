// SPDX-License-Identifier: MIT
// Decoders of detector heads, boxes brought back to the photo, and mAP of results as a whole.
#include "metrics/detect/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/detect/detections.h"
#include "metrics/metric_table.h"
#include "unit/base/temp_folder.h"

namespace quarkq::metrics {
namespace {

BoxTruth truth_of(size_t classes) {
  BoxTruth truth;
  for (size_t i = 0; i < classes; ++i) truth.categories.push_back(static_cast<int64_t>(i));
  truth.has_ids = false;
  return truth;
}

Result<std::vector<Detection>> decode_all(const std::string& head, const std::vector<std::string>& outputs,
                                          const std::vector<ir::Tensor>& values, const BoxTruth& truth,
                                          calib::ImageSize input = {}) {
  return find_head(head).value()->decode({outputs, values, input, truth, 0.1});
}

Result<std::vector<Detection>> decode(const std::string& head, const ir::Shape& dims, const std::vector<float>& values,
                                      size_t classes, calib::ImageSize input = {}) {
  const std::vector<ir::Tensor> tensors = {ir::Tensor::from<float>(dims, values)};
  return decode_all(head, {"y"}, tensors, truth_of(classes), input);
}

void expect_box(const Box& box, double left, double top, double right, double bottom) {
  EXPECT_NEAR(box.left, left, 1e-5);
  EXPECT_NEAR(box.top, top, 1e-5);
  EXPECT_NEAR(box.right, right, 1e-5);
  EXPECT_NEAR(box.bottom, bottom, 1e-5);
}

TEST(HeadsTest, Yolov5MultipliesByObjectness) {
  const auto found = decode("yolov5", {1, 2, 7}, {10, 20, 4, 6, 0.5F, 0.8F, 0.1F, 1, 1, 1, 1, 1, 0, 0.5F}, 2).value();
  ASSERT_EQ(found.size(), 2u);
  expect_box(found[0].box, 8, 17, 12, 23);
  EXPECT_NEAR(found[0].score, 0.4, 1e-7);
  EXPECT_EQ(found[0].category, 0u);
  EXPECT_EQ(found[1].category, 1u);
  EXPECT_EQ(found[1].score, 0.5);
}

TEST(HeadsTest, Yolov8TakesBothOrders) {
  const std::vector<float> rows = {10, 20, 4, 6, 0.9F, 0, 30, 40, 2, 2, 0, 0.7F, 1, 1, 1, 1, 0, 0};
  std::vector<float> columns(18);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 6; ++k) columns[k * 3 + i] = rows[i * 6 + k];
  }
  const auto by_rows = decode("yolov8", {1, 3, 6}, rows, 2).value();
  const auto by_columns = decode("yolov8", {1, 6, 3}, columns, 2).value();
  ASSERT_EQ(by_rows.size(), 2u);
  ASSERT_EQ(by_columns.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(by_rows[i].score, by_columns[i].score);
    EXPECT_EQ(by_rows[i].box.left, by_columns[i].box.left);
    EXPECT_EQ(by_rows[i].category, i);
  }
}

TEST(HeadsTest, YoloxDecodesGrids) {
  // Of 32 x 64 pixels: 4 x 8 cells of 8, 2 x 4 of 16, 1 x 2 of 32.
  const size_t cells = 32 + 8 + 2;
  std::vector<float> values(cells * 6, 0.0F);
  const auto set = [&](size_t cell, float x, float y, float width) {
    const float row[] = {x, y, width, 0, 1, 0.9F};
    std::copy(std::begin(row), std::end(row), values.begin() + static_cast<std::ptrdiff_t>(cell * 6));
  };
  set(9, 0.5F, 0.5F, 0);                           // row 1, column 1 of 8 pixels
  set(41, 0, 0, static_cast<float>(std::log(2)));  // column 1 of 32 pixels
  const auto found = decode("yolox", {1, 42, 6}, values, 1, {32, 64}).value();
  ASSERT_EQ(found.size(), 2u);
  expect_box(found[0].box, 8, 8, 16, 16);
  expect_box(found[1].box, 0, -16, 64, 16);
  EXPECT_EQ(decode("yolox", {1, 42, 6}, values, 1, {64, 64}).status().code(), Code::kBadData);
  EXPECT_EQ(decode("yolox", {1, 42, 6}, values, 1).status().code(), Code::kBadData);
}

/// Categories of COCO's file: ids with a gap.
BoxTruth truth_with_ids() {
  BoxTruth truth;
  truth.categories = {1, 2, 4};
  return truth;
}

ir::Tensor floats(const ir::Shape& dims, const std::vector<float>& values) {
  return ir::Tensor::from<float>(dims, values);
}

TEST(HeadsTest, TorchvisionNamesCategoriesById) {
  const std::vector<ir::Tensor> values = {floats({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 1}),
                                          ir::Tensor::from<int64_t>({3}, {4, 1, 3}), floats({3}, {0.5F, 0.75F, 0.9F})};
  const std::vector<std::string> names = {"boxes", "labels", "scores"};
  const auto found = decode_all("torchvision", names, values, truth_with_ids()).value();
  ASSERT_EQ(found.size(), 2u);  // 3 is no category
  EXPECT_EQ(found[0].category, 0u);
  expect_box(found[0].box, 5, 6, 7, 8);
  EXPECT_EQ(found[1].category, 2u);
  const auto of_folder = decode_all("torchvision", names, values, truth_of(4)).value();
  ASSERT_EQ(of_folder.size(), 3u);
  EXPECT_EQ(of_folder[0].category, 2u);  // labels count from 1
  const std::vector<ir::Tensor> two = {values[0], values[1]};
  EXPECT_NE(decode_all("torchvision", names, two, truth_of(4)).status().message().find("labels [3]"),
            std::string::npos);
  const std::vector<ir::Tensor> few = {values[0], values[1], floats({2}, {1, 1})};
  EXPECT_EQ(decode_all("torchvision", names, few, truth_of(4)).status().code(), Code::kBadData);
}

TEST(HeadsTest, ListsMayHoldOneBoxOrFourOrNone) {
  const std::vector<std::string> names = {"boxes", "labels", "scores"};
  for (const int64_t count : {0, 1, 4}) {
    const auto n = static_cast<size_t>(count);
    const std::vector<ir::Tensor> values = {floats({count, 4}, std::vector<float>(4 * n, 1)),
                                            ir::Tensor::from<int64_t>({count}, std::vector<int64_t>(n, 1)),
                                            floats({count}, std::vector<float>(n, 1))};
    EXPECT_EQ(decode_all("torchvision", names, values, truth_with_ids()).value().size(), n);
    const std::vector<ir::Tensor> batch = {floats({1, count, 4}, std::vector<float>(4 * n, 1)),
                                           floats({1, count}, std::vector<float>(n, 1)),
                                           floats({1, count}, std::vector<float>(n, 1))};
    EXPECT_EQ(decode_all("tf-ssd", names, batch, truth_with_ids(), {9, 9}).value().size(), n);
  }
}

TEST(HeadsTest, TfSsdTakesSharesAndNames) {
  const std::vector<ir::Tensor> values = {floats({1, 2}, {4, 2}),
                                          floats({1, 2, 4}, {0.25F, 0.5F, 0.75F, 1, 0, 0, 1, 1}),
                                          floats({1, 2}, {0.5F, 0.75F}), floats({1}, {2})};
  const std::vector<std::string> names = {"detection_classes:0", "detection_boxes:0", "detection_scores:0",
                                          "num_detections:0"};
  const auto found = decode_all("tf-ssd", names, values, truth_with_ids(), {100, 200}).value();
  ASSERT_EQ(found.size(), 2u);
  expect_box(found[0].box, 0, 0, 200, 100);
  EXPECT_EQ(found[0].category, 1u);
  expect_box(found[1].box, 100, 25, 200, 75);
  EXPECT_EQ(decode_all("tf-ssd", names, values, truth_with_ids()).status().code(), Code::kBadData);  // no size
}

TEST(HeadsTest, SsdLeavesTheBackgroundOut) {
  const std::vector<std::string> names = {"scores", "boxes"};
  const std::vector<ir::Tensor> values = {floats({1, 2, 3}, {0.9F, 0.05F, 0.4F, 0.2F, 0.7F, 0}),
                                          floats({1, 2, 4}, {0, 0, 0.5F, 0.5F, 0.5F, 0.5F, 1, 1})};
  const auto found = decode_all("ssd", names, values, truth_of(2), {10, 20}).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].category, 1u);
  expect_box(found[0].box, 0, 0, 10, 5);
  EXPECT_EQ(found[1].category, 0u);
  EXPECT_NE(decode_all("ssd", names, values, truth_of(5), {10, 20}).status().message().find("3 columns"),
            std::string::npos);
  const std::vector<ir::Tensor> by_id = {floats({1, 1, 5}, {0, 0, 0, 0.5F, 0.6F}), floats({1, 1, 4}, {0, 0, 1, 1})};
  const auto with_ids = decode_all("ssd", names, by_id, truth_with_ids(), {10, 20}).value();
  ASSERT_EQ(with_ids.size(), 1u);
  EXPECT_EQ(with_ids[0].category, 2u);  // id 4
}

TEST(HeadsTest, DetrTakesTheBestClassOrEach) {
  const std::vector<std::string> names = {"logits", "pred_boxes"};
  const ir::Tensor boxes = floats({1, 1, 4}, {0.5F, 0.5F, 0.5F, 1});
  const auto with = [&](const std::vector<float>& logits, const BoxTruth& truth) {
    return decode_all("detr", names, {floats({1, 1, static_cast<int64_t>(logits.size())}, logits), boxes}, truth,
                      {10, 20})
        .value();
  };
  const auto softmax = with({1, 2, 1.5F}, truth_of(2));  // the last column: no object
  ASSERT_EQ(softmax.size(), 1u);
  EXPECT_EQ(softmax[0].category, 1u);
  EXPECT_NEAR(softmax[0].score, std::exp(2) / (std::exp(1) + std::exp(2) + std::exp(1.5)), 1e-6);
  expect_box(softmax[0].box, 5, 0, 15, 10);
  const auto sigmoid = with({0, -1}, truth_of(2));
  ASSERT_EQ(sigmoid.size(), 2u);
  EXPECT_EQ(sigmoid[0].score, 0.5);
  const auto by_id = with({0, 0, 0, 9, 1, 0}, truth_with_ids());  // id 3 is highest, which the truth lacks
  EXPECT_TRUE(by_id.empty());
  EXPECT_EQ(with({0, 0, 0, 0, 9, 0}, truth_with_ids())[0].category, 2u);
  EXPECT_EQ(with({0, 0, 0, 0, 9}, truth_with_ids())[0].category, 2u);  // sigmoid
}

TEST(HeadsTest, RefusesOtherShapes) {
  const Status status = decode("yolov5", {1, 2, 7}, std::vector<float>(14), 80).status();
  EXPECT_EQ(status.message(), "shape [1,2,7] is not [1, boxes, 85] for the 80 classes of the truth");
  EXPECT_EQ(decode("yolov8", {2, 1, 6}, std::vector<float>(12), 2).status().code(), Code::kBadData);
  EXPECT_TRUE(decode("yolov8", {1, 0, 6}, {}, 2).value().empty());
  EXPECT_EQ(find_head("yolov4").status().code(), Code::kInvalidArgument);
  EXPECT_NE(find_head("").status().message().find("found none"), std::string::npos);
}

TEST(HeadsTest, LeavesOutWhatIsNoNumber) {
  const auto found = decode("yolov8", {1, 2, 5}, {NAN, 1, 1, 1, 0.9F, 1, 1, 1, 1, NAN}, 1).value();
  EXPECT_TRUE(found.empty());
}

Geometry geometry(config::ResizeMode mode, int64_t height, int64_t width) {
  Geometry all{config::Preprocess(), {height, width}};
  all.preprocess->resize.emplace().mode = mode;
  return all;
}

TEST(UnframeTest, LetterboxTakesTheBorderAway) {
  const Unframe unframe = unframe_for(geometry(config::ResizeMode::kLetterbox, 640, 640), {480, 320}).value();
  // 4/3: 640 x 427 pixels, 106 at the left
  expect_box(unframe.apply({106, 0, 106 + 40, 40}), 0, 0, 30, 30);
  expect_box(unframe.apply({0, -5, 640, 700}), 0, 0, 320, 480);
}

TEST(UnframeTest, StretchScalesSidesApart) {
  const Unframe unframe = unframe_for(geometry(config::ResizeMode::kStretch, 100, 200), {50, 50}).value();
  expect_box(unframe.apply({40, 40, 80, 80}), 10, 20, 20, 40);
}

TEST(UnframeTest, ACutMovesBoxes) {
  Geometry all = geometry(config::ResizeMode::kShorterSide, 224, 224);
  all.preprocess->resize->height = all.preprocess->resize->width = 256;
  all.preprocess->crop = {224, 224};
  const Unframe unframe = unframe_for(all, {512, 512}).value();
  expect_box(unframe.apply({0, 0, 224, 224}), 32, 32, 480, 480);
}

TEST(UnframeTest, SaysWhichSizeIsMissing) {
  EXPECT_EQ(unframe_for(geometry(config::ResizeMode::kStretch, 10, 10), {0, 0}).status().code(), Code::kBadData);
  EXPECT_EQ(unframe_for(geometry(config::ResizeMode::kStretch, -1, -1), {5, 5}).status().code(), Code::kBadData);
  const Unframe plain = unframe_for({}, {0, 0}).value();
  expect_box(plain.apply({-1, 2, 3, 4}), -1, 2, 3, 4);
}

constexpr const char* kTruth = R"({"images": [{"id": 4, "file_name": "val/a.jpg", "width": 100, "height": 100}],
  "categories": [{"id": 18}, {"id": 3}],
  "annotations": [{"image_id": 4, "category_id": 18, "bbox": [10, 10, 20, 20]}]})";

TEST(MapTest, ScoresResultsByTheNameOfTheImage) {
  const test::TempFolder folder;
  ScoringOptions options{{.truth_path = folder.write("t.json", kTruth), .detector = {.head = "yolov8"}}, 1, false};
  MetricRun run = MetricRun::open(choose_metrics({"map", "map50", "map75"}).value(), options).value();
  // of class 1, the second category by id; it overlaps by 0.8
  const std::vector<ir::Tensor> values = {ir::Tensor::from<float>({1, 1, 6}, std::vector<float>{20, 18, 20, 16, 0, 1})};
  const std::vector<std::string> outputs = {"y"};
  ASSERT_TRUE(run.add({0, "a", outputs, values}).ok());
  const auto found = run.values().value();
  EXPECT_NEAR(found[0]->value, 0.7, 1e-9);
  EXPECT_NEAR(found[1]->value, 1.0, 1e-9);
  EXPECT_NEAR(found[2]->value, 1.0, 1e-9);
  EXPECT_NE(run.add({1, "a", outputs, values}).message().find("scored already"), std::string::npos);
  EXPECT_NE(run.add({1, "b", outputs, values}).message().find("no image called b"), std::string::npos);
}

TEST(MapTest, NeedsAHead) {
  const test::TempFolder folder;
  const ScoringOptions options{{.truth_path = folder.write("t.json", kTruth)}, 1, false};
  const auto refused = MetricRun::open(choose_metrics({"map"}).value(), options);
  EXPECT_EQ(refused.status().message(),
            "--head: found none, allowed are yolov5, yolov8, yolox, ssd, detr, torchvision, tf-ssd");
}

TEST(CocoTest, ReadsBoxesByCategory) {
  const test::TempFolder folder;
  const BoxTruth truth = read_coco(folder.write("t.json", kTruth)).value();
  EXPECT_EQ(truth.categories, (std::vector<int64_t>{3, 18}));
  EXPECT_EQ(truth.images[truth.find("a").value()].boxes[0].category, 1u);
  EXPECT_EQ(truth.images[0].boxes[0].area, 400);
  EXPECT_EQ(truth.find("val/a.jpg").value(), 0u);
}

TEST(CocoTest, NamesWhatIsDamaged) {
  const test::TempFolder folder;
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& part) {
    std::string text = kTruth;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const Status status = read_coco(folder.write("t.json", text)).status();
    EXPECT_EQ(status.code(), Code::kBadData) << to;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused("\"annotations\"", "\"notes\"", "no list \"annotations\"");
  refused("\"id\": 4", "\"id\": \"4\"", "images[0]");
  refused("\"id\": 18", "\"id\": 1.5", "categories[0]");
  refused("\"id\": 18", "\"id\": 3", "same id");
  refused("10, 10, 20, 20", "10, 10, 20", "annotations[0]");
  refused("10, 10, 20, 20", "1e300, 10, 20, 20", "annotations[0]");
  refused("10, 10, 20, 20", "null, 10, 20, 20", "annotations[0]");
  refused("\"image_id\": 4", "\"image_id\": 5", "annotations[0]");
  refused("\"category_id\": 18", "\"category_id\": 99999999999999999999", "annotations[0]");
  refused("{\"images\"", "[\"images\"", "not a JSON object");
  EXPECT_EQ(read_coco(folder.path() + "/none.json").status().code(), Code::kBadData);
}

}  // namespace
}  // namespace quarkq::metrics
