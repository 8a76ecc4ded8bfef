// SPDX-License-Identifier: MIT
// Boxes in folders: YOLO's text files and PASCAL VOC's XML.
#include <gtest/gtest.h>

#include "metrics/truth/boxes.h"
#include "unit/base/temp_folder.h"
#include "unit/calib/file_bytes.h"
#include "unit/metrics/scored.h"

namespace quarkq::metrics {
namespace {

const std::string kVoc =
    "<?xml version=\"1.0\"?><!DOCTYPE annotation>\n<annotation kind='x'>\n <!-- <object> -->\n <filename/>"
    "<size><width>40</width><height> 30 </height></size>\n"
    "<object><name>dog</name><difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax>"
    "</bndbox></object>"
    "<object><part><name>head</name><bndbox><xmin>9</xmin></bndbox></part><name>cat</name>"
    "<bndbox><xmax>20.5</xmax><xmin>11</xmin><ymin>3</ymin><ymax>4</ymax></bndbox></object>\n</annotation>\n";

void expect_corners(const Box& box, double left, double top, double right, double bottom) {
  EXPECT_NEAR(box.left, left, 1e-9);
  EXPECT_NEAR(box.top, top, 1e-9);
  EXPECT_NEAR(box.right, right, 1e-9);
  EXPECT_NEAR(box.bottom, bottom, 1e-9);
}

TEST(VocBoxesTest, ReadsObjectsWithoutTheirParts) {
  const test::TempFolder folder;
  const TrueImage image = read_voc_file(folder.write("a.xml", kVoc), {{"cat", 0}, {"dog", 1}}).value();
  EXPECT_EQ(image.width, 40);
  EXPECT_EQ(image.height, 30);
  ASSERT_EQ(image.boxes.size(), 2u);
  expect_corners(image.boxes[0].box, 0, 0, 2, 2);  // four pixels
  EXPECT_TRUE(image.boxes[0].is_crowd);
  EXPECT_EQ(image.boxes[0].category, 1u);
  expect_corners(image.boxes[1].box, 10, 2, 20.5, 4);
  EXPECT_FALSE(image.boxes[1].is_crowd);
}

TEST(VocBoxesTest, RefusesDamagedFiles) {
  const test::TempFolder folder;
  const std::map<std::string, size_t> classes = {{"cat", 0}, {"dog", 1}};
  for (size_t size = 0; size + 2 < kVoc.size(); ++size) {
    const auto found = read_voc_file(folder.write("a.xml", kVoc.substr(0, size)), classes);
    EXPECT_TRUE(!found.ok() || found.value().boxes.empty()) << size;
  }
  const auto refused = [&](const std::string& text) {
    return read_voc_file(folder.write("a.xml", text), classes).status().message();
  };
  std::string deep, names(100, 'x');
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_NE(refused(deep).find("is damaged XML"), std::string::npos);
  EXPECT_NE(refused("<" + names + "/>").find("is damaged XML"), std::string::npos);
  EXPECT_NE(refused("<a></b>").find("is damaged XML"), std::string::npos);
  EXPECT_NE(refused("</a>").find("is damaged XML"), std::string::npos);
  EXPECT_NE(refused("<annotation><object><name>dog</name></object></annotation>").find("object 1 has no number xmin"),
            std::string::npos);
  EXPECT_NE(read_voc_file(folder.write("a.xml", kVoc), {{"cat", 0}}).status().message().find("found class \"dog\""),
            std::string::npos);
}

TEST(YoloBoxesTest, AreSharesOfThePhoto) {
  const test::TempFolder folder;
  const std::string path = folder.write("labels/val/a.txt", "1 0.5 0.5 0.5 1\r\n\n  0\t0.25 0.5 0.1 0.2 \n");
  const TrueImage relative = read_yolo_file(path, 2).value();
  EXPECT_TRUE(relative.is_relative);
  expect_corners(relative.boxes[0].box, 0.25, 0, 0.75, 1);
  folder.write("images/val/a.png", test::png_bytes(20, 10, 0, 0, 0));
  const TrueImage image = read_yolo_file(path, 2).value();
  EXPECT_FALSE(image.is_relative);
  EXPECT_EQ(image.width, 20);
  EXPECT_EQ(image.boxes[0].category, 1u);
  expect_corners(image.boxes[0].box, 5, 0, 15, 10);
  expect_corners(image.boxes[1].box, 4, 4, 6, 6);
  EXPECT_NEAR(image.boxes[1].area, 4, 1e-9);
  EXPECT_TRUE(read_yolo_file(folder.write("b.txt", ""), 2).value().boxes.empty());
}

TEST(YoloBoxesTest, RefusesOtherLines) {
  const test::TempFolder folder;
  for (const char* line : {"0 0.5 0.5 0.5", "0 1 1 1 1 1", "0.5 0 0 1 1", "-1 0 0 1 1", "0 nan 0 1 1", "0 20 30 5 5",
                           "x 0 0 1 1", "0 0.5 0.5 0.5x 1"}) {
    const auto found = read_yolo_file(folder.write("a.txt", "0 0 0 0 0\n" + std::string(line)), 2);
    EXPECT_NE(found.status().message().find("a.txt:2: found"), std::string::npos) << line;
  }
  EXPECT_NE(read_yolo_file(folder.write("a.txt", "2 0 0 1 1"), 2).status().message().find("there are 2 classes"),
            std::string::npos);
}

TEST(BoxFolderTest, IsOfOneKindAndNeedsClasses) {
  const test::TempFolder folder;
  folder.write("a.txt", "0 0.5 0.5 1 1\n");
  EXPECT_EQ(read_boxes(folder.path(), "").status().code(), Code::kInvalidArgument);
  folder.write("classes.txt", "cat\ndog\n\n");
  const BoxTruth truth = read_boxes(folder.path(), "").value();
  EXPECT_EQ(truth.categories, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(truth.images.size(), 1u);
  EXPECT_EQ(truth.find("photos/a.jpg").value(), 0u);
  folder.write("b.xml", kVoc);
  EXPECT_NE(read_boxes(folder.path(), "").status().message().find("holds 1 .txt and 1 .xml"), std::string::npos);
}

TEST(BoxFolderTest, PhotosOfUnknownSizeMayBeStretched) {
  const test::TempFolder folder;
  folder.write("t/a.txt", "0 0.5 0.5 0.5 0.5\n");
  const std::string classes = folder.write("c", "cat\n");
  const ir::Tensor row = ir::Tensor::from<float>({1, 1, 6}, std::vector<float>{50, 10, 50, 10, 1, 1});
  ScoringOptions options{{.truth_path = folder.path() + "/t", .detector = {.head = "yolov5"}}, 1, false};
  options.request.classes_path = classes;
  const auto map = [&] {
    MetricRun run = MetricRun::open(choose_metrics({"map"}).value(), options).value();
    const std::vector<std::string> outputs = {"y"};
    const std::vector<ir::Tensor> values = {row};
    const Status added = run.add({0, "a", outputs, values});
    return added.ok() ? cat(run.values().value()[0]->value) : added.message();
  };
  options.geometry.input = {20, 100};
  EXPECT_EQ(map(), "1");
  options.geometry.preprocess.emplace().resize.emplace().mode = config::ResizeMode::kLetterbox;
  EXPECT_NE(map().find("a.txt: contains coordinates relative to a photo of unknown size"), std::string::npos) << map();
}

}  // namespace
}  // namespace quarkq::metrics
