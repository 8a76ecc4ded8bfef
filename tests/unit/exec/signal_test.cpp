// SPDX-License-Identifier: MIT
#include <numbers>

#include "support/run_node.h"

namespace quarkq::test {
namespace {

ir::Tensor scalar(int64_t value) { return ir::Tensor::scalar(value); }

/// The sum that defines the transform of the rows of x [rows, n, parts], taken as `length` long.
std::vector<double> transform(const ir::Tensor& x, int64_t length, int64_t bins, double sign) {
  const ir::Shape& dims = x.dims();
  std::vector<double> result;
  for (int64_t row = 0; row < dims[0]; ++row) {
    for (int64_t k = 0; k < bins; ++k) {
      double real = 0, imaginary = 0;
      for (int64_t i = 0; i < std::min(length, dims[1]); ++i) {
        const double a = at(x, {row, i, 0}), b = dims[2] == 2 ? at(x, {row, i, 1}) : 0;
        const double angle =
            sign * 2 * std::numbers::pi * static_cast<double>(i * k % length) / static_cast<double>(length);
        real += a * std::cos(angle) - b * std::sin(angle);
        imaginary += a * std::sin(angle) + b * std::cos(angle);
      }
      const double scale = sign > 0 ? 1.0 / static_cast<double>(length) : 1.0;
      result.insert(result.end(), {real * scale, imaginary * scale});
    }
  }
  return result;
}

TEST(DftTest, EveryLengthAgreesWithTheSum) {
  for (const int64_t length : {1, 2, 3, 5, 8, 12, 17, 30, 64, 97}) {
    for (const int64_t parts : {1, 2}) {
      const ir::Tensor x = random_floats({2, length, parts});
      expect_op({"DFT", "", 20}, {x}, {2, length, 2}, transform(x, length, length, -1), 1e-5);
      expect_op({"DFT", "", 17, {number("inverse", 1)}}, {x}, {2, length, 2}, transform(x, length, length, 1), 1e-5);
    }
  }
}

TEST(DftTest, PadsCutsAndHalves) {
  const ir::Tensor x = random_floats({2, 6, 1});
  for (const int64_t length : {4, 9}) {
    expect_op({"DFT", "", 20}, {x, scalar(length)}, {2, length, 2}, transform(x, length, length, -1), 1e-5);
    expect_op({"DFT", "", 17, {number("onesided", 1)}}, {x, scalar(length)}, {2, length / 2 + 1, 2},
              transform(x, length, length / 2 + 1, -1), 1e-5);
  }
}

TEST(DftTest, OtherAxesAndTypes) {
  const ir::Tensor x = random_floats({6, 1, 1});
  const ir::Tensor row = x.reshaped({1, 6, 1});
  expect_op({"DFT", "", 20}, {x, {}, scalar(0)}, {6, 1, 2}, transform(row, 6, 6, -1), 1e-5);
  expect_op({"DFT", "", 17, {number("axis", 0)}}, {x}, {6, 1, 2}, transform(row, 6, 6, -1), 1e-5);
  expect_op({"DFT", "", 20}, {as_type(row, ElementType::kDouble)}, {1, 6, 2}, transform(row, 6, 6, -1), 1e-12);
  expect_op({"DFT", "", 20}, {as_type(row, ElementType::kFloat16)}, {1, 6, 2}, transform(row, 6, 6, -1), 2e-2);
}

TEST(DftTest, RejectsWhatMakesNoSense) {
  const ir::Tensor x = random_floats({2, 6, 1});
  expect_error({"DFT", "", 20}, {random_floats({2, 6, 3})}, "end in 1");
  expect_error({"DFT", "", 20}, {random_floats({2})}, "rank 2");
  expect_error({"DFT", "", 20}, {x, scalar(0)}, "transforms 0 values");
  expect_error({"DFT", "", 20}, {x, scalar(int64_t{1} << 40)}, "allowed: 1 to");
  expect_error({"DFT", "", 20}, {x, {}, scalar(-1)}, "real and imaginary");
  expect_error({"DFT", "", 20}, {x, {}, scalar(3)}, "outside");
  expect_error({"DFT", "", 20}, {x, ints({1, 2})}, "must be a scalar");
  expect_error({"DFT", "", 20, {number("inverse", 1), number("onesided", 1)}}, {x}, "both 1");
}

TEST(StftTest, TransformsWindowedFrames) {
  const ir::Tensor x = floats({1, 6, 1}, {0, 1, 2, 3, 4, 5}), window = floats({4}, {0.5f, 1, 1, 0.5f});
  expect_op({"STFT", "", 17}, {x, scalar(2), window, scalar(4)}, {1, 2, 3, 2},
            {4.5, 0, -2, 0.5, -0.5, 0, 10.5, 0, -3, -0.5, -0.5, 0}, 1e-6);
  expect_op({"STFT", "", 17}, {x, scalar(2), window}, {1, 2, 3, 2},
            {4.5, 0, -2, 0.5, -0.5, 0, 10.5, 0, -3, -0.5, -0.5, 0}, 1e-6);
  const ir::Tensor frame = floats({1, 6, 1}, {0, 1, 2, 3, 4, 5});
  expect_op({"STFT", "", 17, {number("onesided", 0)}}, {x, scalar(1), {}, scalar(6)}, {1, 1, 6, 2},
            transform(frame, 6, 6, -1), 1e-5);
}

TEST(StftTest, RejectsWhatMakesNoSense) {
  const ir::Tensor x = random_floats({1, 6, 1});
  expect_error({"STFT", "", 17}, {random_floats({6, 1}), scalar(1)}, "rank 3");
  expect_error({"STFT", "", 17}, {x, scalar(0), {}, scalar(4)}, "frame_step is 0");
  expect_error({"STFT", "", 17}, {x, scalar(1), {}, scalar(7)}, "does not fit");
  expect_error({"STFT", "", 17}, {x, scalar(1), {}, scalar(0)}, "transforms 0");
  expect_error({"STFT", "", 17}, {x, scalar(1), random_floats({3}), scalar(4)}, "window is [3]");
}

TEST(MelWeightMatrixTest, Triangles) {
  const std::vector<ir::Tensor> inputs = {scalar(3), scalar(16), scalar(8192), ir::Tensor::scalar(0.0f),
                                          ir::Tensor::scalar(4096.0f)};
  std::vector<double> expected(27);
  expected[0] = expected[4] = 1;
  expected[7] = expected[8] = 0.5;
  expected[11] = 1;
  expected[14] = 0.5;
  expect_op({"MelWeightMatrix", "", 17}, inputs, {9, 3}, expected, 1e-6);
  expect_error({"MelWeightMatrix", "", 17}, {scalar(0), inputs[1], inputs[2], inputs[3], inputs[4]}, "input 0 is 0");
  expect_error({"MelWeightMatrix", "", 17}, {inputs[0], inputs[1], inputs[2], inputs[4], inputs[3]}, "frequencies");
  expect_error({"MelWeightMatrix", "", 17}, {inputs[0], inputs[1], inputs[2], inputs[3], ir::Tensor::scalar(NAN)},
               "frequencies");
  expect_error({"MelWeightMatrix", "", 17, {number("output_datatype", 99)}}, inputs, "output_datatype is 99");
}

struct WindowRow {
  const char* op;
  double a0, a1, a2;  ///< of a0 - a1 cos(t) + a2 cos(2 t)
};

TEST(WindowFunctionsTest, AreSumsOfCosines) {
  const WindowRow rows[] = {
      {"HannWindow", 0.5, 0.5, 0}, {"HammingWindow", 25.0 / 46, 21.0 / 46, 0}, {"BlackmanWindow", 0.42, 0.5, 0.08}};
  for (const WindowRow& row : rows) {
    for (const int64_t size : {2, 3, 8, 25}) {
      for (const int64_t periodic : {0, 1}) {
        std::vector<double> expected;
        const double period = static_cast<double>(periodic == 1 ? size : size - 1);
        for (int64_t i = 0; i < size; ++i) {
          const double t = 2 * M_PI * static_cast<double>(i) / period;
          expected.push_back(row.a0 - row.a1 * std::cos(t) + row.a2 * std::cos(2 * t));
        }
        SCOPED_TRACE(cat(row.op, " of ", size, periodic == 1 ? ", periodic" : ""));
        // Without a kernel of their own they run through the bodies that ONNX gives them.
        const auto found = run_node({row.op, {number("periodic", periodic)}, 1, 17}, {ints({}, {size})});
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(found.value().dims(), ir::Shape{size});
        expect_near(found.value(), expected, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace quarkq::test
