// SPDX-License-Identifier: MIT
// Memory that a tensor does not get is an exception, which ends the program with its exit code, and no broken check.
#include <gtest/gtest.h>

#include <new>

#include "ir/shape.h"
#include "ir/tensor.h"

namespace quarkq::ir {
namespace {

TEST(TensorMemoryTest, MoreThanThereIsIsBadAlloc) {
  EXPECT_THROW(Tensor::allocate(ElementType::kUInt8, {kMostElements}), std::bad_alloc);
}

}  // namespace
}  // namespace quarkq::ir
