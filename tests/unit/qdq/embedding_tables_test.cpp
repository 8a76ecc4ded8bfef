// SPDX-License-Identifier: MIT
// Tables of embeddings in 8 bits: the blocks of a row, and which tables the pass takes.
#include <cmath>

#include "numeric/element_type.h"
#include "qdq/write/embedding_tables.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

TEST(EmbeddingTablesTest, EachBlockHasTheScaleOfItsLargestValue) {
  std::vector<float> values(40, 0.0f);  // two rows
  values[3] = -2.54f;
  values[17] = 1.0f;
  values[20] = 127.0f;
  values[21] = 0.5f;  // half a step: to even
  values[22] = 1.5f;
  const TableCodes made = round_table(values, {2, 20, 16}, ElementType::kFloat);
  ASSERT_EQ(made.scales.size(), 4u);
  EXPECT_FLOAT_EQ(made.scales[0], 0.02f);
  EXPECT_FLOAT_EQ(made.scales[1], 1.0f / 127);
  EXPECT_EQ(made.scales[2], 1.0f);
  EXPECT_EQ(made.scales[3], 0.0f);
  EXPECT_EQ(made.codes[3], 1);
  EXPECT_EQ(made.codes[17], 255);
  EXPECT_EQ(made.codes[0], 128);
  EXPECT_EQ(made.codes[21], 128);
  EXPECT_EQ(made.codes[22], 130);
  EXPECT_EQ(made.codes[39], 128);
}

TEST(EmbeddingTablesTest, CodesAreThoseOfTheStoredScale) {
  std::vector<float> values(16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.001f * static_cast<float>(i) - 0.0071f;
  const TableCodes made = round_table(values, {1, 16, 16}, ElementType::kFloat16);
  const float scale = made.scales[0];
  EXPECT_EQ(scale, float_from_float16(float16_from_float(scale)));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_LE(std::abs((static_cast<float>(made.codes[i]) - 128) * scale - values[i]),
              0.51f * scale + 0.0005f * 0.0079f);
}

TEST(EmbeddingTablesTest, ValuesBelowAStoredScaleAreZero) {
  const TableCodes made = round_table(std::vector<float>(16, 1e-9f), {1, 16, 16}, ElementType::kFloat16);
  EXPECT_EQ(made.scales[0], 0.0f);
  EXPECT_EQ(made.codes, std::vector<uint8_t>(16, 128));
}

Result<Changed> in_8_bits(pass::QdqContext& context) {
  config::MatMulNBitsSettings options;
  options.tables = {8, 32, true};
  options.has_tables = true;
  QQ_TRY(const std::vector<LookupTable> tables, find_lookup_tables(context, options, {}));
  for (const LookupTable& table : tables) QQ_RETURN_IF_ERROR(write_table(context, table));
  ir::GraphEdit(context.graph()).remove_unused_initializers();
  return tables.empty() ? Changed::kNo : Changed::kYes;
}

/// A table of 64 rows; `nodes` reads it.
ir::Model model_with(const std::string& nodes, const std::string& output) {
  return test::model_of(
      cat("g (int64[3] i) => (", output, " y) <float[64, 64] t = ", test::numbers(4096, 2), "> { ", nodes, " }"));
}

TEST(EmbeddingTablesTest, TakesTablesThatGatherAloneReads) {
  PassBench bench(model_with("a = Gather (t, i) b = Gather <axis = -2> (t, i) y = Add (a, b)", "float[3, 64]"));
  EXPECT_TRUE(bench.run(in_8_bits));
  EXPECT_EQ(bench.ops(), "GatherBlockQuantized GatherBlockQuantized Add");
  EXPECT_TRUE(bench.graph().find("t_Q8").valid());
  EXPECT_FALSE(bench.graph().find("t").valid());
  EXPECT_EQ(bench.graph().initializers().size(), 2u) << "both read the same codes and scales";
  EXPECT_FALSE(bench.run(in_8_bits));
}

TEST(EmbeddingTablesTest, LeavesOthersAlone) {
  PassBench columns(model_with("y = Gather <axis = 1> (t, i)", "float[64, 3]"));
  test::expect_idle(columns, in_8_bits);
  PassBench computed(model_with("a = Neg (t) y = Gather (a, i)", "float[3, 64]"));
  test::expect_idle(computed, in_8_bits);
  EXPECT_TRUE(columns.diagnostics.all().empty());
  EXPECT_TRUE(computed.diagnostics.all().empty());
}

TEST(EmbeddingTablesTest, ReportsTablesThatOtherNodesRead) {
  PassBench bench(model_with("a = Gather (t, i) y = MatMul (a, t)", "float[3, 64]"));
  test::expect_idle(bench, in_8_bits);
  EXPECT_EQ(test::diagnostic_ids(bench.diagnostics), std::vector<std::string>{"embedding-left-out"});
}

TEST(EmbeddingTablesTest, LeavesExcludedLookupsAlone) {
  PassBench bench(model_with("y = Gather (t, i)", "float[3, 64]"));
  ir::GraphEdit edit(bench.model.graph);
  for (const ir::NodeId id : bench.graph().order()) edit.node(id).origins = {id};
  bench.context.selection.excluded = plan::NodeMarks(bench.graph(), false);
  bench.context.selection.excluded.add(bench.node("Gather"));
  test::expect_idle(bench, in_8_bits);
}

}  // namespace
}  // namespace quarkq::pass_tests
