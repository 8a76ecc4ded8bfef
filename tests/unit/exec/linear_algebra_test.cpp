// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

TEST(DetTest, MatricesAndBatches) {
  expect_op({"Det", "", 11}, {floats({2, 2}, {1, 2, 3, 4})}, {}, {-2});
  expect_op({"Det", "", 11}, {floats({2, 2, 2}, {0, 1, 1, 0, 2, 0, 0, 5})}, {2}, {-1, 10});
  expect_op({"Det", "", 11}, {floats({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 1})}, {}, {0});
  expect_op({"Det", "", 11}, {floats({3, 3}, {0, 2, 1, 1, 3, 2, 4, 1, 1})}, {}, {3});
  expect_op({"Det", "", 11}, {floats({2, 2}, {1, 2, 2, 4})}, {}, {0});
  expect_op({"Det", "", 11}, {as_type(floats({1, 1}, {7}), ElementType::kDouble)}, {}, {7});
  expect_op({"Det", "", 11}, {ir::Tensor::zeros(ElementType::kFloat, {2, 0, 0})}, {2}, {1, 1});
  expect_error({"Det", "", 11}, {floats({2, 1}, {1, 2})}, "square");
  expect_error({"Det", "", 11}, {floats({1}, {1})}, "square");
  expect_error({"Det", "", 11}, {ints({1, 1}, {1})}, "allowed");
}

}  // namespace
}  // namespace quarkq::test
