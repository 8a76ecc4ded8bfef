// SPDX-License-Identifier: MIT
#include <tuple>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

/// Three heaps of two boxes each, by corners; the second of each heap overlaps the first by 0.9 of 1.1.
ir::Tensor heaps() {
  return floats({1, 6, 4}, {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,  //
                            0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101});
}
const std::vector<float> kScores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f};

TEST(NonMaxSuppressionTest, KeepsTheBestOfEachHeap) {
  const std::vector<ir::Tensor> inputs = {heaps(), floats({1, 1, 6}, kScores), ints({3}), floats({1}, {0.5f}),
                                          floats({1}, {0})};
  expect_op({"NonMaxSuppression", "", 11}, inputs, {3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5});
}

TEST(NonMaxSuppressionTest, LimitsAndThresholds) {
  const ir::Tensor scores = floats({1, 1, 6}, kScores);
  expect_op({"NonMaxSuppression", "", 11}, {heaps(), scores, ints({2}), floats({1}, {0.5f}), floats({1}, {0})}, {2, 3},
            {0, 0, 3, 0, 0, 0});
  expect_op({"NonMaxSuppression", "", 11}, {heaps(), scores, ints({3}), floats({1}, {0.5f}), floats({1}, {0.4f})},
            {2, 3}, {0, 0, 3, 0, 0, 0});
  expect_op({"NonMaxSuppression", "", 11}, {heaps(), scores}, {0, 3}, {});  // none are asked for
  expect_op({"NonMaxSuppression", "", 11}, {heaps(), scores, ints({1}), floats({1}, {0.5f}), floats({1}, {0.99f})},
            {0, 3}, {});
}

TEST(NonMaxSuppressionTest, CornersInAnyOrderCentersAndTies) {
  const ir::Tensor turned = floats({1, 2, 4}, {1, 1, 0, 0, 0, 0.1f, 1, 1.1f});
  const ir::Tensor same = floats({1, 1, 2}, {0.5f, 0.5f});
  const std::vector<ir::Tensor> limits = {ints({5}), floats({1}, {0.5f})};
  expect_op({"NonMaxSuppression", "", 11}, {turned, same, limits[0], limits[1]}, {1, 3}, {0, 0, 0});
  const ir::Tensor centered = floats({1, 2, 4}, {0.5f, 0.5f, 1, 1, 0.6f, 0.5f, 1, 1});
  expect_op({"NonMaxSuppression", "", 11, {attribute("center_point_box", int64_t{1})}},
            {centered, floats({1, 1, 2}, {0.5f, 0.6f}), limits[0], limits[1]}, {1, 3}, {0, 0, 1});
}

TEST(NonMaxSuppressionTest, EveryClassOfEveryImage) {
  const ir::Tensor boxes = floats({2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  expect_op({"NonMaxSuppression", "", 10}, {boxes, floats({2, 2, 1}, {1, 2, 3, 4}), ints({1})}, {4, 3},
            {0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0});
  expect_op(
      {"NonMaxSuppression", "", 10},
      {ir::Tensor::zeros(ElementType::kFloat, {1, 0, 4}), ir::Tensor::zeros(ElementType::kFloat, {1, 2, 0}), ints({1})},
      {0, 3}, {});
}

TEST(NonMaxSuppressionTest, RejectsWhatDoesNotFit) {
  const ir::Tensor boxes = heaps(), scores = floats({1, 1, 6}, kScores);
  const OpCall call{"NonMaxSuppression", "", 11};
  expect_error(call, {boxes}, "input 1 is missing");
  expect_error(call, {boxes, floats({1, 1, 5}, {1, 2, 3, 4, 5})}, "must be [images, boxes, 4]");
  expect_error(call, {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 1}, {1})}, "must be [images, boxes, 4]");
  expect_error(call, {boxes, scores, ints({1, 2})}, "input 2 has 2 elements");
  expect_error(call, {boxes, scores, ints({1}), floats({1}, {1.5f})}, "iou_threshold is 1.5");
  expect_error(call, {boxes, scores, ints({1}), floats({1}, {NAN})}, "iou_threshold");
  expect_error({"NonMaxSuppression", "", 11, {attribute("center_point_box", int64_t{2})}}, {boxes, scores},
               "center_point_box is 2");
}

/// Regions of a constant image are constant, and regions of a ramp have the value of their middle.
TEST(RoiAlignPropertyTest, ConstantsAndRampsKeepTheirValue) {
  std::vector<float> ramp;
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 12; ++x) ramp.push_back(static_cast<float>(2 * x + y));
  }
  const ir::Tensor rois = floats({2, 4}, {2, 2, 6, 6, 3, 1, 9, 7}), batch = ints({2}, {0, 0});
  for (const auto& [side, samples] : {std::pair<int64_t, int64_t>(1, 2), {2, 2}, {4, 2}, {1, 300}, {4, 127}}) {
    OpCall call = {"RoiAlign", "", 16, {number("output_height", side), number("output_width", side)}};
    call.attributes.push_back(number("sampling_ratio", samples));
    call.attributes.push_back(attribute("coordinate_transformation_mode", std::string("output_half_pixel")));
    expect_op(call, {floats({1, 1, 12, 12}, std::vector<float>(144, 3)), rois, batch}, {2, 1, side, side},
              std::vector<double>(static_cast<size_t>(2 * side * side), 3), 1e-5);
    std::vector<double> expected;
    for (const auto& [left, top, size] : {std::tuple(2.0, 2.0, 4.0), std::tuple(3.0, 1.0, 6.0)}) {
      const double bin = size / static_cast<double>(side);
      for (int64_t y = 0; y < side; ++y) {
        for (int64_t x = 0; x < side; ++x)
          expected.push_back(2 * (left + (static_cast<double>(x) + 0.5) * bin) + top +
                             (static_cast<double>(y) + 0.5) * bin);
      }
    }
    expect_op(call, {floats({1, 1, 12, 12}, ramp), rois, batch}, {2, 1, side, side}, expected, 1e-4);
  }
}

}  // namespace
}  // namespace quarkq::test
