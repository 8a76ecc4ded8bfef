// SPDX-License-Identifier: MIT
// GridSample, RoiAlign, DeformConv, Col2Im. Recorded numbers are ONNX Runtime's.
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

ir::Attribute text(std::string name, std::string value) { return attribute(std::move(name), std::move(value)); }
// ---- GridSample -----------------------------------------------------------------------------------------------------

struct Recorded {
  const char* mode;
  const char* padding;
  int64_t align;
  std::vector<double> expected;
};

TEST(GridSampleTest, EveryModeAndPadding) {
  const ir::Tensor x = floats({1, 1, 3, 4}, {0, -1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11});
  const ir::Tensor grid = floats({1, 1, 4, 2}, {-1.5f, -0.4f, 0.1f, 0.3f, 0.9f, -1.2f, 2.6f, 1.4f});
  const std::vector<Recorded> rows = {
      {"linear", "zeros", 0, {0, 3.42, -0.42, 0}},
      {"linear", "zeros", 1, {0.6, 2.51, -1.8, 0}},
      {"linear", "border", 0, {1.6, 3.42, -3, -11}},
      {"linear", "border", 1, {2.4, 2.51, -2.25, -11}},
      {"linear", "reflection", 0, {-0.5, 3.42, -3, 2.74}},
      {"linear", "reflection", 1, {-1.95, 2.51, -2.81, -1.88}},
      {"nearest", "zeros", 0, {0, 6, 0, 0}},
      {"nearest", "zeros", 1, {0, 6, -3, 0}},
      {"nearest", "border", 1, {4, 6, -3, -11}},
      {"nearest", "reflection", 0, {-1, 6, -3, 8}},
      {"nearest", "reflection", 1, {-5, 6, -3, -9}},
      {"cubic", "zeros", 0, {-0.1185, 5.69811, -0.387324, 0}},
      {"cubic", "border", 0, {1.264, 5.1793, -3.43408, -11}},
      {"cubic", "border", 1, {2.19291, 3.92163, -2.04361, -11.432}},
      {"cubic", "reflection", 0, {-1.01825, 5.1793, -3.1563, 2.25465}},
      {"cubic", "reflection", 1, {-2.24269, 4.00413, -2.92173, -2.98574}},
  };
  for (const Recorded& row : rows) {
    SCOPED_TRACE(cat(row.mode, " ", row.padding, " ", row.align));
    OpCall call{"GridSample", "", 20, {text("mode", row.mode), text("padding_mode", row.padding)}};
    call.attributes.push_back(number("align_corners", row.align));
    expect_op(call, {x, grid}, {1, 1, 1, 4}, row.expected, 1e-5);
  }
}

TEST(GridSampleTest, OldNamesOfModes) {
  const ir::Tensor x = random_floats({2, 3, 4, 5}), grid = random_floats({2, 3, 6, 2}, -1.2f, 1.2f, 2);
  for (const auto& [old_name, new_name] : {std::pair{"bilinear", "linear"}, std::pair{"bicubic", "cubic"}}) {
    const auto expected = run_op({"GridSample", "", 20, {text("mode", new_name)}}, {x, grid}).value()[0];
    expect_op({"GridSample", "", 16, {text("mode", old_name)}}, {x, grid}, {2, 3, 3, 6}, values(expected), 0);
  }
}

TEST(GridSampleTest, ThreeAndOneSpatialDimensions) {
  const ir::Tensor x = floats({1, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const ir::Tensor grid = floats({1, 1, 1, 2, 3}, {0.2f, -0.3f, 0.6f, -1.4f, 0.5f, 1.1f});
  expect_op({"GridSample", "", 20}, {x, grid}, {1, 1, 1, 1, 2}, {4.59, 0.24}, 1e-5);
  expect_op({"GridSample", "", 20, {text("padding_mode", "border")}}, {x, grid}, {1, 1, 1, 1, 2}, {5.1, 6}, 1e-5);
  expect_op({"GridSample", "", 20, {text("mode", "nearest")}}, {x, grid}, {1, 1, 1, 1, 2}, {5, 0});
  expect_op({"GridSample", "", 20}, {floats({1, 1, 2}, {2, 4}), floats({1, 3, 1}, {-0.5f, 0, 0.5f})}, {1, 1, 3},
            {2, 3, 4});
}

TEST(GridSampleTest, ManyChannelsAgreeWithOne) {
  const ir::Tensor x = random_floats({2, 37, 6, 5}), grid = random_floats({2, 9, 11, 2}, -1.1f, 1.1f, 2);
  const auto all = values(run_op({"GridSample", "", 20}, {x, grid}).value()[0]);
  for (const int64_t channel : {0, 17, 36}) {
    ir::Tensor one = ir::Tensor::zeros(ElementType::kFloat, {2, 1, 6, 5});
    for (int64_t n = 0; n < 2; ++n) {
      std::copy_n(x.data<float>().data() + (n * 37 + channel) * 30, 30, one.mutable_data<float>().data() + n * 30);
    }
    const auto found = values(run_op({"GridSample", "", 20}, {one, grid}).value()[0]);
    for (size_t n = 0; n < 2; ++n) {
      for (size_t i = 0; i < 99; ++i) {
        ASSERT_EQ(found[n * 99 + i], all[(n * 37 + static_cast<size_t>(channel)) * 99 + i]);
      }
    }
  }
}

TEST(GridSampleTest, OtherTypesAndWildPlaces) {
  const ir::Tensor x = random_floats({1, 2, 3, 3}), grid = random_floats({1, 2, 2, 2}, -1, 1, 2);
  const auto expected = values(run_op({"GridSample", "", 20}, {x, grid}).value()[0]);
  expect_op({"GridSample", "", 20}, {as_type(x, ElementType::kFloat16), grid}, {1, 2, 2, 2}, expected, 4e-3);
  expect_op({"GridSample", "", 20}, {x, as_type(grid, ElementType::kDouble)}, {1, 2, 2, 2}, expected);
  const ir::Tensor wild = floats({1, 1, 4, 2}, {NAN, NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 0, NAN});
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const char* mode : {"linear", "nearest", "cubic"}) {
      const auto found = run_op({"GridSample", "", 20, {text("mode", mode), text("padding_mode", padding)}}, {x, wild});
      ASSERT_TRUE(found.ok());
      for (const double v : values(found.value()[0])) EXPECT_TRUE(std::isfinite(v));
    }
  }
  expect_op({"GridSample", "", 20, {text("padding_mode", "reflection"), number("align_corners", 1)}},
            {floats({1, 1, 1, 1}, {7}), floats({1, 1, 1, 2}, {5, -3})}, {1, 1, 1, 1}, {7});
  expect_op({"GridSample", "", 20}, {x, ir::Tensor::zeros(ElementType::kFloat, {1, 0, 2, 2})}, {1, 2, 0, 2}, {});
}

TEST(GridSampleTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = random_floats({1, 2, 3, 3}), grid = random_floats({1, 2, 2, 2});
  const OpCall call{"GridSample", "", 20};
  expect_error(call, {x}, "input 1 is missing");
  expect_error(call, {random_floats({3, 3}), grid}, "rank 2");
  expect_error(call, {x, random_floats({1, 2, 2, 3})}, "does not fit");
  expect_error(call, {x, random_floats({2, 2, 2, 2})}, "does not fit");
  expect_error(call, {x, random_floats({1, 2, 2})}, "does not fit");
  expect_error(call, {ints({1, 1, 1, 1}, {1}), grid}, "allowed");
  expect_error(call, {ir::Tensor::zeros(ElementType::kFloat, {1, 1, 0, 3}), grid}, "without elements");
  expect_error({"GridSample", "", 20, {text("mode", "x")}}, {x, grid}, "mode is 'x'");
  expect_error({"GridSample", "", 20, {text("padding_mode", "x")}}, {x, grid}, "padding_mode is 'x'");
}

// ---- RoiAlign -------------------------------------------------------------------------------------------------------

ir::Tensor counting_image(ir::Shape dims) {
  std::vector<float> values(static_cast<size_t>(ir::checked_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return floats(std::move(dims), values);
}

OpCall roi_call(std::string mode, std::string coordinates) {
  return {"RoiAlign",
          "",
          16,
          {text("mode", std::move(mode)), number("output_height", 2), number("output_width", 2),
           number("sampling_ratio", 2), text("coordinate_transformation_mode", std::move(coordinates))}};
}

TEST(RoiAlignTest, BothModesAndCoordinates) {
  const ir::Tensor x = counting_image({1, 1, 5, 5}), rois = floats({2, 4}, {0.5f, 1, 3.5f, 4, -3, -3, 1, 2});
  const std::vector<ir::Tensor> inputs = {x, rois, ints({0, 0})};
  const ir::Shape dims = {2, 1, 2, 2};
  expect_op(roi_call("avg", "half_pixel"), inputs, dims, {7, 8.5, 14.5, 16, 0, 0, 0, 2.1875}, 1e-5);
  expect_op(roi_call("avg", "output_half_pixel"), inputs, dims, {10, 11.5, 17.5, 19, 0, 0, 0, 4}, 1e-5);
  expect_op(roi_call("max", "half_pixel"), inputs, dims, {6.01562, 6.5625, 12.25, 13.0156, 0, 0, 0, 4.375}, 1e-5);
  expect_op(roi_call("max", "output_half_pixel"), inputs, dims, {8.42188, 9.95312, 12.25, 13.7812, 0, 0, 0, 3.75},
            1e-5);
  expect_op({"RoiAlign", "", 10, {number("output_width", 2), attribute("spatial_scale", 0.5f)}}, inputs, {2, 1, 1, 2},
            {6.875, 7.625, 0.972222, 0.972222}, 1e-5);
}

TEST(RoiAlignTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = counting_image({1, 1, 5, 5}), rois = floats({1, 4}, {0, 0, 1, 1});
  const OpCall call{"RoiAlign", "", 22};
  expect_error(call, {x, rois, ints({1})}, "batch index 1");
  expect_error(call, {x, rois, ints({-1})}, "batch index -1");
  expect_error(call, {x, floats({1, 4}, {0, NAN, 1, 1}), ints({0})}, "not finite");
  expect_error(call, {x, floats({1, 4}, {-1e9f, -1e9f, 1e9f, 1e9f}), ints({0})}, "points for each bin");
  expect_error({"RoiAlign", "", 22, {attribute("spatial_scale", 1e30f)}},
               {x, floats({1, 4}, {-1e30f, -1e30f, 1e30f, 1e30f}), ints({0})}, "region 0 is not finite");
  expect_error({"RoiAlign", "", 22, {attribute("spatial_scale", NAN)}}, {x, rois, ints({0})}, "region 0 is not finite");
  expect_error(call, {x, floats({1, 3}, {0, 0, 1}), ints({0})}, "must be [regions, 4]");
  expect_error(call, {x, rois, ints({0, 0})}, "must be [1]");
  expect_error(call, {counting_image({1, 5, 5}), rois, ints({0})}, "rank 3");
  expect_error({"RoiAlign", "", 22, {number("output_height", 0)}}, {x, rois, ints({0})}, "output size is 0");
  expect_error({"RoiAlign", "", 22, {number("output_height", int64_t{1} << 40)}}, {x, rois, ints({0})}, "output size");
  expect_error({"RoiAlign", "", 22, {number("sampling_ratio", -1)}}, {x, rois, ints({0})}, "sampling_ratio is -1");
  expect_error({"RoiAlign", "", 22, {text("mode", "x")}}, {x, rois, ints({0})}, "mode is 'x'");
}

// ---- DeformConv -----------------------------------------------------------------------------------------------------

ir::Tensor spread(ir::Shape dims, float low, float high) {
  const auto count = static_cast<size_t>(ir::checked_count(dims));
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = low + (high - low) * static_cast<float>(i) / static_cast<float>(count - 1);
  return floats(std::move(dims), values);
}

TEST(DeformConvTest, SamplesWhereTheOffsetsSay) {
  const ir::Tensor x = spread({1, 1, 3, 3}, 0, 4), w = floats({1, 1, 2, 2}, {1, 2, 3, 4}),
                   offset = spread({1, 8, 2, 2}, -1, 1), mask = spread({1, 4, 2, 2}, 0, 1);
  expect_op({"DeformConv", "", 19}, {x, w, offset, floats({1}, {0.5f}), mask}, {1, 1, 2, 2},
            {13.6388, 6.56673, 11.8078, 8.88841}, 1e-5);
  expect_op({"DeformConv", "", 22}, {x, w, offset}, {1, 1, 2, 2}, {18.3835, 9.81061, 16.1093, 13.3039}, 1e-5);
}

TEST(DeformConvTest, WithoutOffsetsIsAConvolution) {
  const ir::Tensor x = random_floats({2, 6, 7, 9}), w = random_floats({8, 3, 3, 3}, -1, 1, 2),
                   bias = random_floats({8}, -1, 1, 3);
  const std::vector<ir::Attribute> attributes = {
      number("group", 2), attribute("pads", std::vector<int64_t>{1, 2, 1, 0}),
      attribute("strides", std::vector<int64_t>{2, 1}), attribute("dilations", std::vector<int64_t>{1, 2})};
  const ir::Tensor expected = run_op({"Conv", "", 11, attributes}, {x, w, bias}).value()[0];
  OpCall call{"DeformConv", "", 19, attributes};
  call.attributes.push_back(number("offset_group", 3));
  const ir::Shape& y = expected.dims();
  const ir::Tensor none = ir::Tensor::zeros(ElementType::kFloat, {2, 2 * 3 * 9, y[2], y[3]});
  expect_op(call, {x, w, none, bias}, y, values(expected), 1e-5);
}

TEST(DeformConvTest, ManyPositionsGoInChunks) {
  const ir::Tensor x = random_floats({1, 64, 70, 70}), w = random_floats({2, 64, 3, 3}, -1, 1, 2);
  const std::vector<ir::Attribute> attributes = {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})};
  const ir::Tensor expected = run_op({"Conv", "", 11, attributes}, {x, w}).value()[0];
  const ir::Tensor none = ir::Tensor::zeros(ElementType::kFloat, {1, 18, 70, 70});
  const auto found = run_op({"DeformConv", "", 19, attributes}, {x, w, none});
  ASSERT_TRUE(found.ok()) << found.status().message();
  expect_near(found.value()[0], values(expected), 1e-4);
}

TEST(DeformConvTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = random_floats({1, 2, 3, 3}), w = random_floats({1, 2, 2, 2}),
                   offset = random_floats({1, 8, 2, 2});
  const OpCall call{"DeformConv", "", 19};
  expect_error(call, {x, w}, "input 2 is missing");
  expect_error(call, {random_floats({1, 2, 3}), w, offset}, "rank 3");
  expect_error(call, {x, random_floats({1, 3, 2, 2}), offset}, "do not fit 2 channels");
  expect_error(call, {x, w, random_floats({1, 8, 2, 3})}, "offset is");
  expect_error(call, {x, w, offset, random_floats({2})}, "bias is");
  expect_error(call, {x, w, offset, {}, random_floats({1, 8, 2, 2})}, "mask is");
  expect_error({"DeformConv", "", 19, {number("group", 0)}}, {x, w, offset}, "group 0");
  expect_error({"DeformConv", "", 19, {number("offset_group", 3)}}, {x, w, offset}, "offset_group 3");
  expect_error({"DeformConv", "", 19, {attribute("strides", std::vector<int64_t>{0, 1})}}, {x, w, offset}, "strides");
}

// ---- Col2Im ---------------------------------------------------------------------------------------------------------

TEST(Col2ImTest, AddsOverlappingBlocks) {
  // Blocks of two in an image of four, one apart: the inner elements lie in two blocks.
  expect_op({"Col2Im", "", 18}, {floats({1, 2, 3}, {1, 2, 3, 10, 20, 30}), ints({4}), ints({2})}, {1, 1, 4},
            {1, 12, 23, 30});
  const std::vector<ir::Attribute> attributes = {attribute("pads", std::vector<int64_t>{0, 1, 0, 1}),
                                                 attribute("strides", std::vector<int64_t>{1, 2}),
                                                 attribute("dilations", std::vector<int64_t>{1, 2})};
  // Rows are blocks of one; columns -1 + {0, 2} + 2 k of three: the first block has column 1 only.
  expect_op({"Col2Im", "", 18, attributes}, {floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), ints({2, 3}), ints({1, 2})},
            {1, 1, 2, 3}, {0, 5 + 2, 0, 0, 7 + 4, 0});
}

TEST(AffineGridTest, MapsCentresOrCornersOfPixels) {
  const ir::Tensor theta = floats({1, 2, 3}, {1, 0, 0.5f, 0, 2, 0});
  const ir::Tensor size = ints({1, 3, 2, 4});
  expect_op({"AffineGrid", "", 20}, {theta, size}, {1, 2, 4, 2},
            {-0.25, -1, 0.25, -1, 0.75, -1, 1.25, -1, -0.25, 1, 0.25, 1, 0.75, 1, 1.25, 1}, 1e-6);
  const OpCall aligned{"AffineGrid", "", 20, {number("align_corners", 1)}};
  expect_op(aligned, {theta, ints({1, 3, 2, 3})}, {1, 2, 3, 2}, {-0.5, -2, 0.5, -2, 1.5, -2, -0.5, 2, 0.5, 2, 1.5, 2},
            1e-6);
  expect_op(aligned, {theta, ints({1, 3, 1, 1})}, {1, 1, 1, 2}, {0.5, 0}, 1e-6);  // a single place is the middle
}

TEST(AffineGridTest, MapsVolumesAndBatches) {
  const ir::Tensor theta = floats({2, 3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 3});
  expect_op({"AffineGrid", "", 20}, {theta, ints({2, 1, 1, 2, 1})}, {2, 1, 2, 1, 3},
            {0, -0.5, 0, 0, 0.5, 0, 0, -0.5, 3, 0, 0.5, 3}, 1e-6);
}

TEST(AffineGridTest, RejectsWhatDoesNotFit) {
  const OpCall call{"AffineGrid", "", 20};
  const ir::Tensor theta = random_floats({1, 2, 3});
  expect_error(call, {theta, ints({1, 3, 4})}, "allowed: 4 or 5");
  expect_error(call, {theta, ints({2, 3, 4, 4})}, "does not fit");
  expect_error(call, {theta, ints({1, 3, -1, 4})}, "negative");
  expect_error(call, {theta, ints({1, 1, int64_t{1} << 40, int64_t{1} << 40})}, "AffineGrid");
}

TEST(Col2ImTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = random_floats({1, 2, 3});
  const OpCall call{"Col2Im", "", 18};
  expect_error(call, {random_floats({2, 3}), ints({4}), ints({2})}, "rank 2");
  expect_error(call, {x, ints({5}), ints({2})}, "must be [N");
  expect_error(call, {x, ints({4}), ints({0})}, "outside");
  expect_error(call, {x, ints({4}), ints({5})}, "does not fit");
  expect_error(call, {x, ints({4, 4}), ints({2})}, "block_shape 1");
  expect_error(call, {x, ints({int64_t{1} << 40}), ints({2})}, "outside");
  expect_error(call, {x, ints(std::vector<int64_t>(40, 2)), ints(std::vector<int64_t>(40, 1))}, "allowed: 1 to 16");
  expect_error({"Col2Im", "", 18, {attribute("strides", std::vector<int64_t>{0})}}, {x, ints({4}), ints({2})},
               "strides");
  expect_error({"Col2Im", "", 18, {attribute("pads", std::vector<int64_t>{1})}}, {x, ints({4}), ints({2})},
               "pads has 1");
}

}  // namespace
}  // namespace quarkq::test
