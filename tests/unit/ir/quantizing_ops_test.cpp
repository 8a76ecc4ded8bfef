// SPDX-License-Identifier: MIT
// The table of operators that quantize: what each of its questions answers, for every row.
#include "ir/quantizing_ops.h"

#include <gtest/gtest.h>

#include <set>

#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

TEST(QuantizingOpsTest, RowsAreFoundByNameAndAppearOnce) {
  std::set<std::string_view> seen;
  for (const QuantizingOp& row : kQuantizingOps) {
    EXPECT_TRUE(seen.insert(row.op).second) << row.op;
    EXPECT_EQ(find_quantizing_op(row.op), &row);
    EXPECT_EQ(quantizing_part(row.op), row.part);
    EXPECT_TRUE(is_quantizing_op(row.op, row.part, row.family));
  }
  for (const char* other : {"", "Conv", "quantizelinear", "QuantizeLinear ", "Cast"}) {
    EXPECT_EQ(find_quantizing_op(other), nullptr) << other;
    EXPECT_EQ(quantizing_part(other), QuantizingPart::kNone) << other;
  }
  EXPECT_EQ(quantizing_part(static_cast<const Node*>(nullptr)), QuantizingPart::kNone);
}

TEST(QuantizingOpsTest, FamiliesHaveOneOfEachPart) {
  for (const QuantizingFamily family : {QuantizingFamily::kStandard, QuantizingFamily::kExtended}) {
    int quantize = 0, dequantize = 0;
    for (const QuantizingOp& row : kQuantizingOps) {
      if (row.family != family) continue;
      quantize += row.part == QuantizingPart::kQuantize;
      dequantize += row.part == QuantizingPart::kDequantize;
    }
    EXPECT_EQ(quantize, 1);
    EXPECT_EQ(dequantize, 1);
  }
}

TEST(QuantizingOpsTest, InputsOfARowAreDifferent) {
  for (const QuantizingOp& row : kQuantizingOps) {
    std::set<size_t> places;
    size_t given = 0;
    for (const size_t place : {row.inputs.values, row.inputs.scale, row.inputs.zero_point}) {
      if (place == kNoInput) continue;
      ++given;
      places.insert(place);
    }
    EXPECT_EQ(places.size(), given) << row.op;
  }
}

TEST(QuantizingOpsTest, NodesAreWhatTheirOperatorsSay) {
  struct Row {
    const char* op;
    bool standard_q, standard_dq, extended_q, extended_dq;
  };
  const Row rows[] = {
      {"QuantizeLinear", true, false, false, false},         {"DequantizeLinear", false, true, false, false},
      {"ExtendedQuantizeLinear", false, false, true, false}, {"ExtendedDequantizeLinear", false, false, false, true},
      {"BFPQuantizeDequantize", false, false, false, false}, {"VitisQuantizeLinear", false, false, false, false},
      {"DynamicQuantizeLinear", false, false, false, false}, {"Relu", false, false, false, false}};
  for (const Row& row : rows) {
    Node node;
    node.op = row.op;
    for (const char* domain : {"", kMicrosoftDomain, kQuarkDomain}) {
      node.domain = domain;
      EXPECT_EQ(is_standard_q(node), row.standard_q) << row.op;
      EXPECT_EQ(is_standard_dq(node), row.standard_dq) << row.op;
      EXPECT_EQ(is_extended_q(node), row.extended_q) << row.op;
      EXPECT_EQ(is_extended_dq(node), row.extended_dq) << row.op;
      EXPECT_EQ(is_q(node), row.standard_q || row.extended_q) << row.op;
      EXPECT_EQ(is_dq(node), row.standard_dq || row.extended_dq) << row.op;
    }
  }
}

TEST(QuantizingOpsTest, SourcesOfInputs) {
  test::PassBench bench("g (float[4] x) => (float[4] y) { a = Relu (x) y = Clip (a, , ) }");
  const Graph& graph = bench.graph();
  EXPECT_EQ(source_of(graph, bench.node("Clip"), 0)->op, "Relu");
  EXPECT_EQ(source_of(graph, bench.node("Clip"), 1), nullptr);
  EXPECT_EQ(source_of(graph, bench.node("Clip"), 7), nullptr);
  EXPECT_EQ(source_of(graph, bench.node("Relu"), 0), nullptr);
}

}  // namespace
}  // namespace quarkq::ir
