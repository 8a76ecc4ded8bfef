// SPDX-License-Identifier: MIT
#include <numeric>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

ir::Attribute resize_text(const char* name, const char* value) { return attribute(name, std::string(value)); }
ir::Tensor image() { return floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}); }

/// Position of output `i` in the input, by coordinate mode, in double.
double position(const std::string& mode, double i, double in, double out, double scale) {
  if (mode == "asymmetric") return i / scale;
  if (mode == "align_corners") return out == 1 ? 0 : i * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel") return out > 1 ? (i + 0.5) / scale - 0.5 : 0;
  if (mode == "half_pixel_symmetric") return in / 2 * (1 - out / (scale * in)) + (i + 0.5) / scale - 0.5;
  return (i + 0.5) / scale - 0.5;
}

double cubic_weight(double d) {
  const double a = -0.75, t = std::fabs(d);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

struct Sampler {
  std::string mode, coordinates;
  ir::Shape in, out;
  std::vector<double> scales;
  bool exclude = false;

  /// Weights of all input indices for output `i` of axis `d`.
  std::vector<double> weights(size_t d, int64_t i) const {
    const auto length = static_cast<double>(in[d]);
    std::vector<double> w(static_cast<size_t>(in[d]));
    const auto add = [&](double at, double weight) {
      if (exclude && (at < 0 || at > length - 1)) return;
      w[static_cast<size_t>(std::clamp(at, 0.0, length - 1))] += weight;
    };
    if (in[d] == out[d]) {
      w[static_cast<size_t>(i)] = 1;
      return w;
    }
    const double x = position(coordinates, static_cast<double>(i), length, static_cast<double>(out[d]), scales[d]);
    const double low = std::floor(x);
    if (mode == "linear") {
      add(low, low + 1 - x);
      add(low + 1, x - low);
    } else {
      for (int k = -1; k < 3; ++k) add(low + k, cubic_weight(x - low - k));
    }
    double total = 0;
    for (const double v : w) total += v;
    for (double& v : w) v /= total;
    return w;
  }

  std::vector<double> run(const ir::Tensor& x) const {
    std::vector<double> result;
    const auto v = values(x);
    for_each_index(out, [&](const ir::Shape& index) {
      std::vector<std::vector<double>> w;
      for (size_t d = 0; d < out.size(); ++d) w.push_back(weights(d, index[d]));
      double sum = 0;
      size_t next = 0;
      for_each_index(in, [&](const ir::Shape& source) {
        double weight = 1;
        for (size_t d = 0; d < out.size(); ++d) weight *= w[d][static_cast<size_t>(source[d])];
        sum += weight * v[next++];
      });
      result.push_back(sum);
    });
    return result;
  }
};

TEST(ResizeTest, LinearAndCubicInEveryCoordinateMode) {
  const ir::Tensor x = random_floats({1, 3, 5, 4});
  for (const char* mode : {"linear", "cubic"}) {
    for (const char* coordinates :
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"}) {
      for (const ir::Shape& out : {ir::Shape{1, 3, 10, 9}, {1, 3, 3, 2}, {1, 3, 5, 7}, {1, 3, 1, 4}, {1, 6, 5, 8}}) {
        SCOPED_TRACE(cat(mode, " ", coordinates, " ", shape_text(out)));
        Sampler sampler{mode, coordinates, x.dims(), out, {}, false};
        for (size_t d = 0; d < 4; ++d) {
          sampler.scales.push_back(static_cast<double>(out[d]) / static_cast<double>(x.dims()[d]));
        }
        expect_op(
            {"Resize", "", 19, {resize_text("mode", mode), resize_text("coordinate_transformation_mode", coordinates)}},
            {x, ir::Tensor(), ir::Tensor(), ints(out)}, out, sampler.run(x), 1e-5);
      }
    }
  }
}

TEST(ResizeTest, ExcludeOutsideRenormalizes) {
  const ir::Tensor x = random_floats({1, 2, 4, 4});
  Sampler sampler{"cubic", "half_pixel", x.dims(), {1, 2, 8, 6}, {1, 1, 2, 1.5}, true};
  expect_op({"Resize", "", 13, {resize_text("mode", "cubic"), attribute("exclude_outside", int64_t{1})}},
            {x, ir::Tensor(), floats({4}, {1, 1, 2, 1.5f})}, {1, 2, 8, 6}, sampler.run(x), 1e-5);
}

TEST(ResizeTest, NearestModes) {
  const auto run = [](std::vector<ir::Attribute> attributes, int64_t opset, float scale,
                      const std::vector<double>& expected) {
    const auto length = static_cast<int64_t>(expected.size());
    std::vector<ir::Tensor> inputs = {floats({1, 1, 1, 4}, {0, 1, 2, 3}), ir::Tensor(), floats({4}, {1, 1, 1, scale})};
    if (opset < 11) inputs.erase(inputs.begin() + 1);
    expect_op({"Resize", "", opset, std::move(attributes)}, inputs, {1, 1, 1, length}, expected, 0);
  };
  run({}, 13, 2, {0, 0, 1, 1, 2, 2, 3, 3});
  run({}, 13, 0.5f, {0, 2});
  run({resize_text("nearest_mode", "round_prefer_ceil")}, 13, 0.5f, {1, 3});
  run({resize_text("nearest_mode", "floor")}, 13, 0.5f, {0, 2});
  run({resize_text("nearest_mode", "ceil"), resize_text("coordinate_transformation_mode", "asymmetric")}, 13, 0.75f,
      {0, 2, 3});
  run({resize_text("nearest_mode", "floor"), resize_text("coordinate_transformation_mode", "asymmetric")}, 13, 2,
      {0, 0, 1, 1, 2, 2, 3, 3});
  run({resize_text("coordinate_transformation_mode", "tf_half_pixel_for_nn"), resize_text("nearest_mode", "floor")}, 11,
      0.5f, {1, 3});
  run({}, 10, 2, {0, 0, 1, 1, 2, 2, 3, 3});
  run({}, 10, 0.75f, {0, 2, 3});
}

/// Positions that are ties, but for the rounding of float32. Recorded: ONNX Runtime 1.32, and the onnx library's
/// reference.
TEST(ResizeTest, RoundedTiesAreTies) {
  const auto expect = [](const char* nearest, const char* coordinates, int64_t length, const std::vector<double>& out) {
    std::vector<float> row(static_cast<size_t>(length));
    std::iota(row.begin(), row.end(), 0.0f);
    const auto size = static_cast<int64_t>(out.size());
    const std::vector attributes = {resize_text("nearest_mode", nearest),
                                    resize_text("coordinate_transformation_mode", coordinates)};
    expect_op({"Resize", "", 19, attributes},
              {floats({1, 1, 1, length}, row), ir::Tensor(), ir::Tensor(), ints({1, 1, 1, size})}, {1, 1, 1, size}, out,
              0);
  };
  expect("round_prefer_ceil", "asymmetric", 7, {0, 4});
  expect("round_prefer_ceil", "asymmetric", 7, {0, 1, 2, 3, 4, 4, 5, 6});
  expect("round_prefer_ceil", "half_pixel", 14, {7});
  expect("round_prefer_floor", "half_pixel", 14, {0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12, 12, 13});
}

TEST(ResizeTest, NearestMovesChannelsAndTypes) {
  const ir::Tensor x = random_floats({2, 3, 2, 3}, -100, 100);
  for (const ElementType type : {ElementType::kFloat, ElementType::kInt8, ElementType::kFloat16, ElementType::kInt64}) {
    const ir::Tensor typed = as_type(x, type);
    std::vector<double> expected;
    for_each_index({2, 3, 4, 9}, [&](const ir::Shape& i) {
      expected.push_back(at(typed, {i[0], i[1], i[2] / 2, i[3] / 3}));
    });
    const std::vector attributes = {resize_text("coordinate_transformation_mode", "asymmetric"),
                                    resize_text("nearest_mode", "floor")};
    expect_op({"Resize", "", 13, attributes}, {typed, ir::Tensor(), floats({4}, {1, 1, 2, 3})}, {2, 3, 4, 9}, expected,
              0);
    expect_op({"Upsample", "", 9}, {typed, floats({4}, {1, 1, 2, 3})}, {2, 3, 4, 9}, expected, 0);
    expect_op({"Upsample", "", 7, {attribute("scales", std::vector<float>{1, 1, 2, 3})}}, {typed}, {2, 3, 4, 9},
              expected, 0);
  }
}

TEST(ResizeTest, AxesAndAspectRatio) {
  const ir::Tensor x = random_floats({1, 2, 4, 8});
  const auto dims_of = [&](const char* policy) {
    const std::vector attributes = {attribute("axes", std::vector<int64_t>{3, 2}),
                                    resize_text("keep_aspect_ratio_policy", policy)};
    const auto result = run_op({"Resize", "", 18, attributes}, {x, ir::Tensor(), ir::Tensor(), ints({4, 3})});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.value()[0].dims();
  };
  EXPECT_EQ(dims_of("stretch"), (ir::Shape{1, 2, 3, 4}));
  EXPECT_EQ(dims_of("not_larger"), (ir::Shape{1, 2, 2, 4}));
  EXPECT_EQ(dims_of("not_smaller"), (ir::Shape{1, 2, 3, 6}));
}

TEST(ResizeTest, CropAndResizeExtrapolates) {
  const std::vector attributes = {resize_text("mode", "linear"),
                                  resize_text("coordinate_transformation_mode", "tf_crop_and_resize"),
                                  attribute("extrapolation_value", 10.0f)};
  // Rows 0.4..0.6 of the height, columns 0.6..1.2 of the width: the last column lies outside.
  expect_op({"Resize", "", 13, attributes},
            {image(), floats({8}, {0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 1.7f}), ir::Tensor(), ints({1, 1, 3, 3})},
            {1, 1, 3, 3}, {7.6, 10, 10, 8.8, 10, 10, 10, 10, 10}, 1e-5);
}

TEST(ResizeTest, PlacesThatAreNoNumbersLieOutside) {
  // 3e38 * 1 overflows, and the step back is as large: infinity - infinity.
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const std::vector attributes = {resize_text("mode", mode),
                                    resize_text("coordinate_transformation_mode", "tf_crop_and_resize"),
                                    attribute("extrapolation_value", 10.0f)};
    expect_op({"Resize", "", 13, attributes},
              {image(), floats({8}, {0, 0, 3e38f, 0, 1, 1, -3e38f, 1}), ir::Tensor(), ints({1, 1, 2, 2})}, {1, 1, 2, 2},
              {10, 10, 10, 10}, 0);
  }
}

TEST(ResizeTest, AntialiasWidensTheFilterOfShrinkingAxes) {
  const ir::Tensor row = floats({1, 1, 1, 6}, {1, 5, 2, 8, 3, 7}), none;  // recorded: ONNX Runtime
  const auto expect = [&](const char* mode, int64_t exclude, const std::vector<double>& expected) {
    const std::vector attributes = {attribute("antialias", int64_t{1}), resize_text("mode", mode),
                                    attribute("exclude_outside", exclude)};
    expect_op({"Resize", "", 18, attributes}, {row, none, floats({4}, {1, 1, 1, 0.5f})}, {1, 1, 1, 3}, expected, 1e-5);
  };
  expect("linear", 0, {2.625, 4.75, 5.625});
  expect("linear", 1, {2.85714, 4.75, 5.42857});
  expect("cubic", 0, {2.48438, 4.87891, 5.67188});
  expect("cubic", 1, {2.58004, 4.84906, 5.58628});
  std::vector<float> grown;
  grown.reserve(16);
  for (int i = 0; i < 16; ++i) grown.push_back(std::pow(static_cast<float>(i), 1.5f));
  expect_op({"Resize", "", 18, {attribute("antialias", int64_t{1}), resize_text("mode", "linear")}},
            {floats({1, 1, 4, 4}, grown), none, none, ints({1, 1, 2, 3})}, {1, 1, 2, 3},
            {6.43912, 9.47302, 13.224, 31.5486, 37.4229, 43.6372}, 1e-5);
}

TEST(ResizeTest, CopiesWhenNoSizeChanges) {
  const ir::Tensor row = floats({1, 1, 1, 5}, {0, 1, 2, 3, 4});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const std::vector attributes = {resize_text("mode", mode),
                                    resize_text("coordinate_transformation_mode", "asymmetric")};
    expect_op({"Resize", "", 18, attributes}, {row, ir::Tensor(), floats({4}, {1, 1, 1, 1.15f})}, row.dims(),
              values(row), 0);
  }
}

TEST(ResizeTest, BlocksMoveBothWays) {
  const ir::Tensor x = random_floats({2, 8, 2, 3});
  std::vector<double> dcr, crd;
  for_each_index({2, 2, 4, 6}, [&](const ir::Shape& i) {
    const int64_t block = i[2] % 2 * 2 + i[3] % 2;
    dcr.push_back(at(x, {i[0], block * 2 + i[1], i[2] / 2, i[3] / 2}));
    crd.push_back(at(x, {i[0], i[1] * 4 + block, i[2] / 2, i[3] / 2}));
  });
  const ir::Attribute size = attribute("blocksize", int64_t{2});
  expect_op({"DepthToSpace", "", 13, {size}}, {x}, {2, 2, 4, 6}, dcr, 0);
  expect_op({"DepthToSpace", "", 13, {size, resize_text("mode", "CRD")}}, {x}, {2, 2, 4, 6}, crd, 0);
  std::vector<float> moved(dcr.begin(), dcr.end());
  expect_op({"SpaceToDepth", "", 13, {size}}, {floats({2, 2, 4, 6}, moved)}, x.dims(), values(x), 0);
  moved.assign(crd.begin(), crd.end());
  expect_op({"SpaceToDepth", "", 28, {size, resize_text("mode", "CRD")}}, {floats({2, 2, 4, 6}, moved)}, x.dims(),
            values(x), 0);
  expect_error({"SpaceToDepth", "", 28, {size, resize_text("mode", "RCD")}}, {floats({2, 2, 4, 6}, moved)},
               "mode is 'RCD'");
  expect_error({"DepthToSpace", "", 13, {attribute("blocksize", int64_t{3})}}, {x}, "does not divide");
  expect_error({"DepthToSpace", "", 13}, {x}, "blocksize is 0");
  expect_error({"SpaceToDepth", "", 13, {size}}, {floats({1}, {1})}, "rank");
}

TEST(ResizeTest, RejectsWhatMakesNoSense) {
  const ir::Tensor x = image(), none;
  expect_error({"Resize", "", 13}, {x, none, floats({3}, {1, 1, 1})}, "for 4 axes");
  expect_error({"Resize", "", 13}, {x, none, floats({4}, {1, 1, 0, 1})}, "scale 0");
  expect_error({"Resize", "", 13}, {x, none, floats({4}, {1, 1, NAN, 1})}, "scale nan");
  expect_error({"Resize", "", 13}, {x, none, floats({4}, {1, 1, 1e30f, 1})}, "allowed");
  expect_error({"Resize", "", 13}, {x, none, floats({4}, {1, 1, 0.1f, 1})}, "leaves nothing");
  expect_error({"Resize", "", 13}, {x, none, none, ints({1, 1, 0, 4})}, "size 0");
  expect_error({"Resize", "", 13}, {x}, "0 scales and 0 sizes");
  expect_error({"Resize", "", 13, {resize_text("mode", "x")}}, {x, none, floats({4}, {1, 1, 2, 2})}, "mode");
  expect_error({"Resize", "", 13, {resize_text("mode", "linear")}}, {ints({1, 1}, {1}), none, floats({2}, {2, 2})},
               "allowed");
  expect_error({"Resize", "", 13, {resize_text("coordinate_transformation_mode", "tf_crop_and_resize")}},
               {x, none, floats({4}, {1, 1, 2, 2})}, "roi");
}

struct AnyResize {
  const char *mode, *coordinates;
  bool antialias, exclude;
};

class ResizePropertyTest : public ::testing::TestWithParam<AnyResize> {
 protected:
  OpCall call() const {
    const AnyResize& row = GetParam();
    OpCall made = {"Resize", "", 19, {resize_text("mode", row.mode)}};
    made.attributes.push_back(resize_text("coordinate_transformation_mode", row.coordinates));
    if (row.antialias) made.attributes.push_back(number("antialias", 1));
    if (row.exclude) made.attributes.push_back(number("exclude_outside", 1));
    return made;
  }
  std::string text() const { return cat(GetParam().mode, " ", GetParam().coordinates); }
};
INSTANTIATE_TEST_SUITE_P(
    Modes, ResizePropertyTest,
    ::testing::Values(AnyResize{"nearest", "asymmetric", false, false},
                      AnyResize{"nearest", "half_pixel", false, false}, AnyResize{"linear", "half_pixel", false, false},
                      AnyResize{"linear", "align_corners", false, false},
                      AnyResize{"linear", "asymmetric", false, false}, AnyResize{"linear", "half_pixel", true, false},
                      AnyResize{"linear", "pytorch_half_pixel", false, false},
                      AnyResize{"cubic", "half_pixel", false, false}, AnyResize{"cubic", "half_pixel", false, true},
                      AnyResize{"cubic", "align_corners", false, false}, AnyResize{"cubic", "half_pixel", true, false},
                      AnyResize{"cubic", "half_pixel_symmetric", false, false}));

/// The weights of every output sum to one.
TEST_P(ResizePropertyTest, AConstantImageStaysConstant) {
  for (const auto& [height, width] : {std::pair(1, 1), std::pair(3, 11), std::pair(16, 2), std::pair(7, 6)}) {
    const ir::Tensor flat = floats({1, 2, 5, 6}, std::vector<float>(60, 2.5f));
    const ir::Shape dims = {1, 2, height, width};
    SCOPED_TRACE(text());
    expect_op(call(), {flat, ir::Tensor(), ir::Tensor(), ints(dims)}, dims,
              std::vector<double>(static_cast<size_t>(ir::checked_count(dims)), 2.5), 1e-5);
  }
}

/// Each channel is resized by itself, and resizing is linear in the values.
TEST_P(ResizePropertyTest, SumsAreResizedAsTheirParts) {
  const ir::Tensor a = random_floats({1, 1, 5, 6}, -2, 2, 1), b = random_floats({1, 1, 5, 6}, -2, 2, 2);
  std::vector<float> sum;
  const std::vector<double> as = values(a), bs = values(b);
  for (size_t i = 0; i < as.size(); ++i) sum.push_back(static_cast<float>(as[i] + bs[i]));
  const auto resized = [&](const ir::Tensor& x) {
    const auto found = run_op(call(), {x, ir::Tensor(), floats({4}, {1, 1, 1.7f, 0.6f})});
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? values(found.value()[0]) : std::vector<double>{};
  };
  const std::vector<double> ra = resized(a), rb = resized(b), rs = resized(floats({1, 1, 5, 6}, sum));
  ASSERT_EQ(rs.size(), ra.size());
  for (size_t i = 0; i < rs.size(); ++i) EXPECT_NEAR(rs[i], ra[i] + rb[i], 2e-5) << i;
}

/// A symmetric rule sees a mirrored image mirrored.
TEST_P(ResizePropertyTest, AMirroredImageGivesAMirroredResult) {
  if (text().starts_with("nearest") || text().ends_with("asymmetric")) return;  // those are not symmetric
  const ir::Tensor x = random_floats({1, 1, 1, 9}, -2, 2, 3);
  std::vector<double> xs = values(x);
  const std::vector<float> mirrored(xs.rbegin(), xs.rend());
  for (const int64_t width : {2, 4, 5, 14, 27}) {
    const ir::Tensor sizes = ints({1, 1, 1, width});
    const auto found = run_op(call(), {x, ir::Tensor(), ir::Tensor(), sizes});
    const auto turned = run_op(call(), {floats({1, 1, 1, 9}, mirrored), ir::Tensor(), ir::Tensor(), sizes});
    ASSERT_TRUE(found.ok() && turned.ok());
    const std::vector<double> y = values(found.value()[0]), z = values(turned.value()[0]);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[y.size() - 1 - i], 2e-5) << text() << " " << width;
  }
}

}  // namespace
}  // namespace quarkq::test
