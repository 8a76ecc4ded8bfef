// SPDX-License-Identifier: MIT
// Convolutions and pools of one to three dimensions with random windows, against loops written from the definitions of
// ONNX: strides, dilations, uneven pads, groups, auto_pad, ceil_mode.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/random_draws.h"
#include "support/run_node.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

/// A window as the attributes say it; `pads` has all begins, then all ends.
struct WindowCase {
  Ints spatial, kernel, strides, dilations, pads;
  std::string auto_pad = "NOTSET";
  bool ceil = false;

  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  std::vector<ir::Attribute> attributes() const {
    std::vector<ir::Attribute> all = {attribute("kernel_shape", kernel), attribute("strides", strides),
                                      attribute("dilations", dilations)};
    if (auto_pad == "NOTSET") {
      all.push_back(attribute("pads", pads));
    } else {
      all.push_back(attribute("auto_pad", auto_pad));
    }
    return all;
  }
  /// What auto_pad means for an output of ceil(size / stride).
  void resolve_pads() {
    for (size_t d = 0; d < rank(); ++d) {
      int64_t total = 0;
      if (auto_pad.starts_with("SAME")) {
        const int64_t out = (spatial[d] + strides[d] - 1) / strides[d];
        total = std::max<int64_t>((out - 1) * strides[d] + extent(d) - spatial[d], 0);
      } else if (auto_pad == "NOTSET") {
        continue;
      }
      const int64_t begin = auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
      pads[d] = begin;
      pads[d + rank()] = total - begin;
    }
  }
  Ints output() const {
    Ints out;
    for (size_t d = 0; d < rank(); ++d) {
      const int64_t room = spatial[d] + pads[d] + pads[d + rank()] - extent(d);
      int64_t steps = room / strides[d];
      // A window that ceil_mode adds begins inside the input or the padding in front of it.
      if (ceil && room % strides[d] != 0 && (steps + 1) * strides[d] < spatial[d] + pads[d]) ++steps;
      out.push_back(steps + 1);
    }
    return out;
  }
  /// Calls visit(tap, place, is inside the input, is inside the padded input) for each tap of the window at `at`.
  template <typename Visit>
  void each_tap(const ir::Shape& at, const Visit& visit) const {
    for_each_index(kernel, [&](const ir::Shape& tap) {
      ir::Shape place(rank());
      bool inside = true, padded = true;
      for (size_t d = 0; d < rank(); ++d) {
        place[d] = at[d] * strides[d] - pads[d] + tap[d] * dilations[d];
        inside = inside && place[d] >= 0 && place[d] < spatial[d];
        padded = padded && place[d] >= -pads[d] && place[d] < spatial[d] + pads[d + rank()];
      }
      visit(tap, place, inside, padded);
    });
  }
};

/// Pads are smaller than the window, so that every window meets the input.
WindowCase draw_window(Draws& draws, bool dilated) {
  WindowCase drawn;
  const auto rank = static_cast<size_t>(draws.integer(1, 3));
  const std::vector<std::string> choices = {"NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  drawn.auto_pad = draws.one_of(choices);
  drawn.kernel = draws.integers(rank, 1, 3);
  drawn.strides = draws.integers(rank, 1, 3);
  drawn.dilations = draws.integers(rank, 1, dilated ? 2 : 1);
  for (size_t d = 0; d < rank; ++d) drawn.spatial.push_back(drawn.extent(d) + draws.integer(0, rank == 3 ? 3 : 6));
  for (size_t d = 0; d < 2 * rank; ++d) drawn.pads.push_back(draws.integer(0, drawn.kernel[d % rank] - 1));
  drawn.resolve_pads();
  return drawn;
}

ir::Shape with_front(const Ints& front, const Ints& rest) {
  ir::Shape joined = front;
  joined.insert(joined.end(), rest.begin(), rest.end());
  return joined;
}

std::string window_text(const WindowCase& window) {
  return cat(window.auto_pad, " ", shape_text(window.spatial), " kernel ", shape_text(window.kernel), " strides ",
             shape_text(window.strides), " dilations ", shape_text(window.dilations), " pads ", shape_text(window.pads),
             window.ceil ? " ceil" : "");
}

class RandomWindowsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  Draws draws_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomWindowsTest, ::testing::Range(1u, 21u));

TEST_P(RandomWindowsTest, ConvolutionIsItsDefinition) {
  const WindowCase window = draw_window(draws_, /*dilated=*/true);
  const int64_t group = draws_.integer(1, 3), in = draws_.integer(1, 3), out = draws_.integer(1, 3);
  SCOPED_TRACE(cat(window_text(window), " group ", group));
  const ir::Shape x_dims = with_front({draws_.integer(1, 2), group * in}, window.spatial);
  const ir::Shape w_dims = with_front({group * out, in}, window.kernel);
  const ir::Tensor x = draws_.tensor(x_dims), w = draws_.tensor(w_dims), b = draws_.tensor({group * out});
  const std::vector<double> xs = values(x), ws = values(w), bs = values(b);
  const ir::Shape dims = with_front({x_dims[0], w_dims[0]}, window.output());
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    double sum = bs[static_cast<size_t>(at[1])];
    window.each_tap({at.begin() + 2, at.end()}, [&](const ir::Shape& tap, const ir::Shape& place, bool inside, bool) {
      for (int64_t c = 0; inside && c < in; ++c) {
        sum += xs[offset_of(x_dims, with_front({at[0], at[1] / out * in + c}, place))] *
               ws[offset_of(w_dims, with_front({at[1], c}, tap))];
      }
    });
    expected.push_back(sum);
  });
  std::vector<ir::Attribute> attributes = window.attributes();
  attributes.push_back(number("group", group));
  for (const size_t constants_from : {size_t{1}, size_t{3}}) {
    const auto found = run_node({"Conv", attributes, constants_from}, {x, w, b});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found.value().dims(), dims);
    expect_near(found.value(), expected, 2e-5);
  }
}

/// Every input element adds its window of the output; what falls on the pads is dropped.
TEST_P(RandomWindowsTest, TransposedConvolutionIsItsDefinition) {
  WindowCase window = draw_window(draws_, /*dilated=*/true);
  if (window.auto_pad != "NOTSET") window.auto_pad = "NOTSET";
  const int64_t group = draws_.integer(1, 2), in = draws_.integer(1, 3), out = draws_.integer(1, 3);
  Ints extra(window.rank()), made;
  for (size_t d = 0; d < window.rank(); ++d) {
    extra[d] = draws_.integer(0, window.strides[d] - 1);
    made.push_back((window.spatial[d] - 1) * window.strides[d] + window.extent(d) + extra[d] - window.pads[d] -
                   window.pads[d + window.rank()]);
  }
  SCOPED_TRACE(cat(window_text(window), " output_padding ", shape_text(extra), " group ", group));
  const ir::Shape x_dims = with_front({1, group * in}, window.spatial);
  const ir::Shape w_dims = with_front({group * in, out}, window.kernel);
  const ir::Shape dims = with_front({1, group * out}, made);
  const ir::Tensor x = draws_.tensor(x_dims), w = draws_.tensor(w_dims);
  const std::vector<double> xs = values(x), ws = values(w);
  std::vector<double> expected(static_cast<size_t>(ir::checked_count(dims)));
  for_each_index(x_dims, [&](const ir::Shape& at) {
    for_each_index(window.kernel, [&](const ir::Shape& tap) {
      ir::Shape place(window.rank());
      for (size_t d = 0; d < window.rank(); ++d) {
        place[d] = at[d + 2] * window.strides[d] - window.pads[d] + tap[d] * window.dilations[d];
        if (place[d] < 0 || place[d] >= made[d]) return;
      }
      for (int64_t o = 0; o < out; ++o) {
        expected[offset_of(dims, with_front({0, at[1] / in * out + o}, place))] +=
            xs[offset_of(x_dims, at)] * ws[offset_of(w_dims, with_front({at[1], o}, tap))];
      }
    });
  });
  std::vector<ir::Attribute> attributes = window.attributes();
  attributes.push_back(number("group", group));
  attributes.push_back(attribute("output_padding", extra));
  const auto found = run_node({"ConvTranspose", attributes, 1}, {x, w});
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().dims(), dims);
  expect_near(found.value(), expected, 2e-5);
}

TEST_P(RandomWindowsTest, MaxPoolIsItsDefinition) {
  WindowCase window = draw_window(draws_, /*dilated=*/true);
  window.ceil = window.auto_pad == "NOTSET" && draws_.coin();
  SCOPED_TRACE(window_text(window));
  const ir::Shape x_dims = with_front({2, draws_.integer(1, 9)}, window.spatial);
  const ir::Tensor x = draws_.tensor(x_dims, -3, -1);  // padding is not a zero
  const std::vector<double> xs = values(x);
  const ir::Shape dims = with_front({x_dims[0], x_dims[1]}, window.output());
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    double largest = -std::numeric_limits<double>::infinity();
    window.each_tap({at.begin() + 2, at.end()}, [&](const ir::Shape&, const ir::Shape& place, bool inside, bool) {
      if (inside) largest = std::max(largest, xs[offset_of(x_dims, with_front({at[0], at[1]}, place))]);
    });
    expected.push_back(largest);
  });
  std::vector<ir::Attribute> attributes = window.attributes();
  attributes.push_back(number("ceil_mode", window.ceil));
  const auto found = run_node({"MaxPool", attributes, 1}, {x});
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().dims(), dims);
  expect_near(found.value(), expected, 0);
}

TEST_P(RandomWindowsTest, AveragePoolIsItsDefinition) {
  WindowCase window = draw_window(draws_, /*dilated=*/true);
  window.ceil = window.auto_pad == "NOTSET" && draws_.coin();
  const bool with_pad = draws_.coin();
  SCOPED_TRACE(cat(window_text(window), with_pad ? " count_include_pad" : ""));
  const ir::Shape x_dims = with_front({1, draws_.integer(1, 9)}, window.spatial);
  const ir::Tensor x = draws_.tensor(x_dims);
  const std::vector<double> xs = values(x);
  const ir::Shape dims = with_front({1, x_dims[1]}, window.output());
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    double sum = 0, count = 0;
    window.each_tap({at.begin() + 2, at.end()},
                    [&](const ir::Shape&, const ir::Shape& place, bool inside, bool padded) {
                      if (inside) sum += xs[offset_of(x_dims, with_front({0, at[1]}, place))];
                      count += with_pad ? padded : inside;
                    });
    expected.push_back(sum / count);
  });
  std::vector<ir::Attribute> attributes = window.attributes();
  attributes.push_back(number("ceil_mode", window.ceil));
  attributes.push_back(number("count_include_pad", with_pad));
  const auto found = run_node({"AveragePool", attributes, 1, 19}, {x});
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().dims(), dims);
  expect_near(found.value(), expected, 1e-5);
}

TEST_P(RandomWindowsTest, LpPoolIsItsDefinition) {
  const WindowCase window = draw_window(draws_, /*dilated=*/true);
  const int64_t power = draws_.integer(1, 3);
  SCOPED_TRACE(cat(window_text(window), " p ", power));
  const ir::Shape x_dims = with_front({1, draws_.integer(1, 9)}, window.spatial);
  const ir::Tensor x = draws_.tensor(x_dims);
  const std::vector<double> xs = values(x);
  const ir::Shape dims = with_front({1, x_dims[1]}, window.output());
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    double sum = 0;
    window.each_tap({at.begin() + 2, at.end()}, [&](const ir::Shape&, const ir::Shape& place, bool inside, bool) {
      if (inside) sum += std::pow(std::abs(xs[offset_of(x_dims, with_front({0, at[1]}, place))]), power);
    });
    expected.push_back(std::pow(sum, 1.0 / static_cast<double>(power)));
  });
  std::vector<ir::Attribute> attributes = window.attributes();
  attributes.push_back(number("p", power));
  const auto found = run_node({"LpPool", attributes, 1, 18}, {x});
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().dims(), dims);
  expect_near(found.value(), expected, 1e-4);
}

/// A global pool is the pool whose window is the image.
TEST_P(RandomWindowsTest, GlobalPoolsAreThoseOfTheWholeImage) {
  const Ints spatial = draws_.integers(static_cast<size_t>(draws_.integer(1, 3)), 1, 6);
  const ir::Shape dims = with_front({draws_.integer(1, 3), draws_.integer(1, 70)}, spatial);
  const ir::Tensor x = draws_.tensor(dims);
  SCOPED_TRACE(shape_text(dims));
  for (const std::string op : {"AveragePool", "MaxPool", "LpPool"}) {
    const auto window = run_node({op, {attribute("kernel_shape", spatial)}, 1, 18}, {x});
    const auto global = run_node({"Global" + op, {}, 1, 18}, {x});
    ASSERT_TRUE(window.ok() && global.ok()) << window.status().message() << global.status().message();
    EXPECT_EQ(global.value().dims(), window.value().dims());
    expect_near(global.value(), values(window.value()), 1e-5);
  }
}

}  // namespace
}  // namespace quarkq::test
