// SPDX-License-Identifier: MIT
#include <functional>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using Values = std::vector<double>;
struct ReduceCase {
  const char* op;
  std::function<double(const Values&)> expected;
};

double sum_of(const Values& v, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double x : v) sum += f(x);
  return sum;
}
double identity(double x) { return x; }
double square(double x) { return x * x; }

const ReduceCase kCases[] = {
    {"ReduceSum", [](const Values& v) { return sum_of(v, identity); }},
    {"ReduceMean", [](const Values& v) { return sum_of(v, identity) / static_cast<double>(v.size()); }},
    {"ReduceMax", [](const Values& v) { return *std::max_element(v.begin(), v.end()); }},
    {"ReduceMin", [](const Values& v) { return *std::min_element(v.begin(), v.end()); }},
    {"ReduceProd",
     [](const Values& v) {
       double p = 1;
       for (const double x : v) p *= x;
       return p;
     }},
    {"ReduceSumSquare", [](const Values& v) { return sum_of(v, square); }},
    {"ReduceL1", [](const Values& v) { return sum_of(v, [](double x) { return std::fabs(x); }); }},
    {"ReduceL2", [](const Values& v) { return std::sqrt(sum_of(v, square)); }},
    {"ReduceLogSum", [](const Values& v) { return std::log(sum_of(v, identity)); }},
    {"ReduceLogSumExp", [](const Values& v) { return std::log(sum_of(v, [](double x) { return std::exp(x); })); }},
};

/// Reference: groups of covered values by output, in ONNX order.
std::vector<Values> groups(const ir::Tensor& x, const std::vector<bool>& reduced) {
  ir::Shape kept = x.dims();
  for (size_t d = 0; d < kept.size(); ++d) kept[d] = reduced[d] ? 1 : kept[d];
  std::vector<Values> result(static_cast<size_t>(ir::checked_count(kept)));
  const Values all = values(x);
  size_t next = 0;
  for_each_index(x.dims(), [&](const ir::Shape& index) {
    int64_t to = 0;
    for (size_t d = 0; d < kept.size(); ++d) to = to * kept[d] + (reduced[d] ? 0 : index[d]);
    result[static_cast<size_t>(to)].push_back(all[next++]);
  });
  return result;
}

ir::Shape reduced_dims(const ir::Shape& dims, const std::vector<bool>& reduced, bool keep) {
  ir::Shape out;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d])
      out.push_back(dims[d]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

TEST(ReduceTest, EverySetOfAxes) {
  const ir::Tensor x = random_floats({2, 70, 3, 5}, 0.7f, 1.2f);
  for (int set = 1; set < 16; ++set) {
    std::vector<bool> reduced;
    std::vector<int64_t> axes;
    for (int d = 0; d < 4; ++d) {
      reduced.push_back((set >> d & 1) != 0);
      if (reduced.back()) axes.push_back(d % 2 == 0 ? d : d - 4);
    }
    const auto parts = groups(x, reduced);
    for (const ReduceCase& c : kCases) {
      Values expected;
      for (const Values& part : parts) expected.push_back(c.expected(part));
      for (const bool keep : {true, false}) {
        SCOPED_TRACE(cat(c.op, " axes ", set, " keep ", keep));
        expect_op({c.op, "", 18, {attribute("keepdims", int64_t{keep})}}, {x, ints(axes)},
                  reduced_dims(x.dims(), reduced, keep), expected, 2e-6);
      }
    }
  }
}

TEST(ReduceTest, AxesComeFromWhereTheOpsetSays) {
  const ir::Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const std::vector axes = {attribute("axes", std::vector<int64_t>{1})};
  expect_op({"ReduceMean", "", 17, axes}, {x}, {2, 1}, {1.5, 3.5});
  expect_op({"ReduceSum", "", 12, axes}, {x}, {2, 1}, {3, 7});
  expect_op({"ReduceSum", "", 13}, {x, ints({0})}, {1, 2}, {4, 6});
  expect_op({"ReduceSum", "", 13}, {x}, {1, 1}, {10});
  expect_op({"ReduceSum", "", 13, {attribute("noop_with_empty_axes", int64_t{1})}}, {x, ints({0}, {})}, {2, 2},
            {1, 2, 3, 4});
  expect_op({"ReduceMax"}, {floats({}, {5})}, {}, {5});
  expect_error({"ReduceSum", "", 13}, {x, ints({2})}, "outside");
  expect_error({"ReduceSum", "", 13}, {x, floats({1}, {0})}, "allowed");
}

TEST(ReduceTest, ReductionsOfNoAxesKeepTheirOtherSteps) {
  const ir::Tensor x = floats({2}, {0.5f, -4});
  const std::vector none = {number("noop_with_empty_axes", 1)};
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceLogSumExp"})
    expect_op({op, "", 18, none}, {x}, {2}, {0.5, -4}, 0);
  for (const char* op : {"ReduceL1", "ReduceL2"}) expect_op({op, "", 18, none}, {x}, {2}, {0.5, 4}, 0);
  expect_op({"ReduceSumSquare", "", 18, none}, {x}, {2}, {0.25, 16}, 0);
  expect_op({"ReduceLogSum", "", 18, none}, {floats({2}, {1, 4})}, {2}, {0, std::log(4.0)}, 1e-6);
  expect_op({"ReduceL1", "", 18, none}, {ints({-3, 2})}, {2}, {3, 2});
  expect_op({"ReduceSumSquare", "", 18, none}, {floats({}, {-3})}, {}, {9});
}

TEST(ReduceTest, OtherTypes) {
  expect_op({"ReduceSum"}, {ints({1, 2, 3})}, {1}, {6});
  expect_op({"ReduceMax"}, {ints({-1, -2, -3})}, {1}, {-1});
  expect_op({"ReduceMean"}, {ints({1, 2, 4})}, {1}, {2});
  expect_op({"ReduceProd"}, {ints({2, 3, 7})}, {1}, {42});
  expect_op({"ReduceL2"}, {ints({3, 4})}, {1}, {5});
  expect_op({"ReduceMean"}, {as_type(floats({2}, {1, 2}), ElementType::kFloat16)}, {1}, {1.5});
  expect_op({"ReduceMin"}, {as_type(floats({2}, {1, 2}), ElementType::kUInt8)}, {1}, {1});
  expect_op({"ReduceSum"}, {random_floats({0, 3}), ints({0})}, {1, 3}, {0, 0, 0});
}

TEST(ReduceTest, NanIsTheExtreme) {
  expect_op({"ReduceMax"}, {floats({3}, {1, NAN, 2})}, {1}, {NAN});
  expect_op({"ReduceMin"}, {floats({3}, {NAN, 1, 2})}, {1}, {NAN});
  expect_op({"ReduceLogSumExp"}, {floats({2}, {1000, 1000})}, {1}, {1000 + std::log(2.0)});
}

TEST(ReduceTest, LongSumsStayAccurate) {
  const ir::Tensor x = random_floats({1, 2, 300, 500}, 0, 1);
  const auto parts = groups(x, {false, false, true, true});
  expect_op({"ReduceMean", "", 18}, {x, ints({2, 3})}, {1, 2, 1, 1},
            {kCases[1].expected(parts[0]), kCases[1].expected(parts[1])}, 1e-7);
}

TEST(ReduceTest, ArgExtremes) {
  const ir::Tensor x = random_floats({2, 7, 3, 5}, -1, 1);
  for (int64_t a = -4; a < 4; ++a) {
    std::vector<bool> reduced(4);
    reduced[static_cast<size_t>(a < 0 ? a + 4 : a)] = true;
    Values largest, smallest;
    for (const Values& part : groups(x, reduced)) {
      largest.push_back(static_cast<double>(std::max_element(part.begin(), part.end()) - part.begin()));
      smallest.push_back(static_cast<double>(std::min_element(part.begin(), part.end()) - part.begin()));
    }
    for (const bool keep : {true, false}) {
      const std::vector attributes = {attribute("axis", a), attribute("keepdims", int64_t{keep})};
      expect_op({"ArgMax", "", 13, attributes}, {x}, reduced_dims(x.dims(), reduced, keep), largest);
      expect_op({"ArgMin", "", 13, attributes}, {x}, reduced_dims(x.dims(), reduced, keep), smallest);
    }
  }
  expect_op({"ArgMax", "", 13, {attribute("select_last_index", int64_t{1})}}, {floats({3}, {2, 2, 1})}, {1}, {1});
  expect_error({"ArgMax"}, {random_floats({0, 2})}, "empty");
}

}  // namespace
}  // namespace quarkq::test
