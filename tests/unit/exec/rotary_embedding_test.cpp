// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

TEST(RotaryEmbeddingTest, RotatesHalvesOrNeighbours) {
  const ir::Tensor x = floats({1, 1, 1, 4}, {1, 2, 3, 4}), c = floats({1, 1, 2}, {0, 1}), s = floats({1, 1, 2}, {1, 0});
  expect_op({"RotaryEmbedding", "", 23}, {x, c, s}, x.dims(), {-3, 2, 1, 4});
  expect_op({"RotaryEmbedding", "", 23, {number("interleaved", 1)}}, {x, c, s}, x.dims(), {-2, 1, 3, 4});
  expect_op({"RotaryEmbedding", "", 23, {number("rotary_embedding_dim", 2)}},
            {x, floats({1, 1, 1}, {0}), floats({1, 1, 1}, {1})}, x.dims(), {-2, 1, 3, 4});
}

TEST(RotaryEmbeddingTest, PositionsChooseRowsOfTheCaches) {
  const ir::Tensor x = floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), c = floats({3, 1}, {1, 0, -1}),
                   s = floats({3, 1}, {0, 1, 0});
  expect_op({"RotaryEmbedding", "", 23, {number("num_heads", 2)}}, {x, c, s, ints({1, 2}, {2, 1})}, x.dims(),
            {-1, -2, -3, -4, -6, 5, -8, 7});
  // The same by heads: [batch, heads, sequence, head size].
  const ir::Tensor by_head = floats({1, 2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8});
  expect_op({"RotaryEmbedding", "", 23}, {by_head, c, s, ints({1, 2}, {2, 1})}, by_head.dims(),
            {-1, -2, -6, 5, -3, -4, -8, 7});
}

TEST(RotaryEmbeddingTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), c = floats({3, 1}, {1, 0, -1});
  const ir::Tensor ids = ints({1, 2}, {0, 3});
  const OpCall call{"RotaryEmbedding", "", 23, {number("num_heads", 2)}};
  expect_error(call, {x, c, c, ids}, "position 3");
  expect_error(call, {x, c, c, ints({1, 2}, {0, -1})}, "position -1");
  expect_error(call, {x, c, c, ints({2}, {0, 1})}, "position_ids is [2]");
  expect_error(call, {x, c, c}, "must be [1,2,1]");
  expect_error(call, {x, c, random_floats({2, 1}), ints({1, 2}, {0, 1})}, "input 2 is [2,1]");
  expect_error({"RotaryEmbedding", "", 23}, {x, c, c, ids}, "num_heads is 0");
  expect_error({"RotaryEmbedding", "", 23, {number("num_heads", 3)}}, {x, c, c, ids}, "must divide 4");
  expect_error({"RotaryEmbedding", "", 23, {number("num_heads", 2), number("rotary_embedding_dim", 3)}}, {x, c, c, ids},
               "rotates 3 of 2");
  expect_error(call, {random_floats({2, 4}), c, c, ids}, "rank 2");
}

}  // namespace
}  // namespace quarkq::test
