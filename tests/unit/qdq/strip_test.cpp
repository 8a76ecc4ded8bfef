// SPDX-License-Identifier: MIT
// The float model that is left of a written one.
#include "qdq/import/lift.h"

#include <gtest/gtest.h>

#include "ir/check_graph.h"
#include "ir/quantizing_ops.h"
#include "support/pass_support.h"

namespace quarkq::qdq {
namespace {

std::string ops_of(const ir::Model& model) {
  std::vector<std::string> ops;
  for (const ir::NodeId id : model.graph.order()) ops.push_back(model.graph.node(id).op);
  return join(ops, " ");
}

/// x -> Conv -> pair -> y, with this zero point of the pair.
ir::Model conv_with_pair(const std::string& type, int zero_point, const std::string& scale) {
  return test::model_of(cat(
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {0.5}, float s = {", scale, "}, ", type,
      " z = {", zero_point, "}> { c = Conv (x, w) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z) }"));
}

TEST(StripTest, RemovesPairsAndKeepsTheOutput) {
  const ir::Model written = conv_with_pair("int8", 0, "0.1");
  const Result<ir::Model> stripped = strip(written);
  ASSERT_TRUE(stripped.ok()) << stripped.status().message();
  EXPECT_EQ(ir::verify(stripped.value().graph).message(), "");
  EXPECT_EQ(ops_of(stripped.value()), "Conv");
  EXPECT_EQ(stripped.value().graph.value(stripped.value().graph.outputs()[0]).name, "y");
}

TEST(StripTest, ARangeFromZeroOnWasAnActivation) {
  EXPECT_EQ(ops_of(strip(conv_with_pair("uint8", 0, "0.1")).value()), "Conv Relu");
  EXPECT_EQ(ops_of(strip(conv_with_pair("int8", -128, "0.1")).value()), "Conv Relu");
  EXPECT_EQ(ops_of(strip(conv_with_pair("uint8", 0, "0.02352941")).value()), "Conv Clip");
  EXPECT_EQ(ops_of(strip(conv_with_pair("uint8", 1, "0.1")).value()), "Conv");
  EXPECT_EQ(ir::verify(strip(conv_with_pair("uint8", 0, "0.1")).value().graph).message(), "");
}

TEST(StripTest, WhatIsNoPairStays) {
  const ir::Model written = test::model_of(
      "g (float[1, 4] x) => (uint8[1, 4] y) <float s = {0.1}, uint8 z = {0}> { y = QuantizeLinear (x, s, z) }");
  EXPECT_EQ(ops_of(strip(written).value()), "QuantizeLinear");
}

}  // namespace
}  // namespace quarkq::qdq
