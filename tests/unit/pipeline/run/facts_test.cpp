// SPDX-License-Identifier: MIT
// What is counted of a model, and how findings name nodes: by the model as the user knows it.
#include "pipeline/run/facts.h"

#include "base/file_system.h"
#include "support/pass_support.h"
#include "unit/base/temp_folder.h"

namespace quarkq::pipeline {
namespace {

TEST(ModelFactsTest, Float16IsAllOrNothing) {
  struct Row {
    const char* body;
    bool all_half;
  };
  const Row rows[] = {
      {"g (float16[2] x) => (float16[2] y) { y = Relu (x) }", true},
      {"g (float16[2] x) => (float16[2] y) <float16[2] w = {0, 0}> { y = Add (x, w) }", true},
      {"g (float16[2] x) => (float16[2] y) <float[2] w = {0, 0}> { v = Cast <to = 10> (w) y = Add (x, v) }", false},
      {"g (float[2] x) => (float16[2] y) { y = Cast <to = 10> (x) }", false},
      {"g (float[2] x) => (float[2] y) { y = Relu (x) }", false},
      {"g (int64[2] x) => (int64[2] y) { y = Neg (x) }", false},
  };
  for (const Row& row : rows) EXPECT_EQ(model_facts(test::model_of(row.body)).all_float16, row.all_half) << row.body;
}

TEST(ModelFactsTest, OperatorsCountByDomain) {
  const ir::Model model = test::model_of(
      "g (float[2] x) => (float[2] y) { a = Relu (x) b = com.microsoft.QuickGelu (a) c = Relu (b) y = Relu (c) }", 18);
  const std::map<std::string, int> counts = count_ops(model.graph);
  EXPECT_EQ(counts, (std::map<std::string, int>{{"Relu", 3}, {"com.microsoft::QuickGelu", 1}}));
  EXPECT_EQ(model_facts(model).op_types, (std::vector<std::string>{"Relu", "com.microsoft::QuickGelu"}));
  EXPECT_EQ(model_facts(model).opset, 18);
}

TEST(ModelFactsTest, QuantizingOperatorsOfNestedGraphsCount) {
  const ir::Model model = test::model_of(
      "g (bool k, float[2] x) => (float[2] y) <float s = {0.5}, int8 z = {0}> { q = QuantizeLinear (x, s, z) d = "
      "DequantizeLinear (q, s, z) y = If (k) <then_branch = t () => (float[2] p) { u = QuantizeLinear (d, s, z) p = "
      "DequantizeLinear (u, s, z) }, else_branch = e () => (float[2] r) { r = Neg (d) }> }");
  EXPECT_EQ(count_quantizing_ops(model.graph),
            (std::map<std::string, int>{{"DequantizeLinear", 2}, {"QuantizeLinear", 2}}));
}

class LoadedLabelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ir::GraphEdit edit(now_.graph);
    for (const ir::NodeId id : now_.graph.order()) edit.node(id).origins = {id};
    edit.node(named("Relu")).name = "fused(1)";
    edit.node(named("Neg")).origins = {named("Relu"), named("Neg")};
    edit.node(named("Neg")).name = "made";
    labels_.add(loaded_.graph, now_.graph);
  }
  ir::NodeId named(const char* op) const {
    for (const ir::NodeId id : now_.graph.order()) {
      if (now_.graph.node(id).op == op) return id;
    }
    return {};
  }

  ir::Model loaded_ = test::model_of("g (float[2] x) => (float[2] y) { [first] a = Relu (x) [second] y = Neg (a) }");
  ir::Model now_ = loaded_;
  LoadedLabels labels_;
};

TEST_F(LoadedLabelsTest, NodesAreNamedAsTheyWereLoaded) {
  struct Row {
    const char *text, *translated;
  };
  const Row rows[] = {
      {"", ""},
      {"nothing to see", "nothing to see"},
      {"node fused(1) (Relu)", "node first (Relu)"},
      {"at node made (Neg): x", "at node second (Neg): x"},
      {"node made (Neg) and node fused(1) (Relu)", "node second (Neg) and node first (Relu)"},
      {"node other (Relu)", "node other (Relu)"},
      {"node made (Neg", "node made (Neg"},
      {"a node, then node made (Neg)", "a node, then node second (Neg)"},
  };
  for (const Row& row : rows) EXPECT_EQ(labels_.translated(row.text), row.translated);
}

TEST_F(LoadedLabelsTest, TheOriginOfTheSameOperatorWins) {
  EXPECT_EQ(loaded_label(loaded_.graph, now_.graph, named("Neg")), "node second (Neg)");
  ir::GraphEdit(now_.graph).node(named("Neg")).op = "Exp";
  EXPECT_EQ(loaded_label(loaded_.graph, now_.graph, named("Exp")), "node first (Relu)") << "else the first one";
  ir::GraphEdit(now_.graph).node(named("Exp")).origins.clear();
  EXPECT_EQ(loaded_label(loaded_.graph, now_.graph, named("Exp")), "node made (Exp)");
}

TEST_F(LoadedLabelsTest, FindingsAreTranslatedWhole) {
  Diagnostics diagnostics;
  diagnostics.add("option-no-effect", "node made (Neg)", "see node fused(1) (Relu)");
  const std::vector<Finding> findings = findings_of(diagnostics, labels_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subject, "node second (Neg)");
  EXPECT_EQ(findings[0].text, "see node first (Relu)");
  EXPECT_EQ(findings_of(diagnostics)[0].subject, "node made (Neg)");
}

TEST(ProgressTest, PhasesAreCountedInTheirOrder) {
  const config::Settings settings;
  size_t last = 0;
  for (const char* phase : {"select", "convert", "prepare", "equalize", "adapt", "mark", "calibrate", "restructure",
                            "constrain", "tune", "write", "legalize", "verify"}) {
    const Progress progress = progress_of(phase, 1, 2, settings);
    EXPECT_GT(progress.number, last) << phase;
    EXPECT_LE(progress.number, progress.count) << phase;
    last = progress.number;
  }
  EXPECT_EQ(progress_of("load", 0, 0, settings).number, 0u) << "a phase of its own";
  EXPECT_EQ(progress_of("rescue", 0, 0, settings).unit, "trials");
  config::Settings tuned;
  tuned.algorithms.include_fast_ft = true;
  EXPECT_EQ(progress_of("tune", 0, 0, tuned).unit, "layers");
  EXPECT_EQ(progress_of("tune", 0, 0, settings).unit, "samples");
}

TEST(FileSizeTest, OfWhatIsNotThereIsZero) {
  const test::TempFolder folder;
  EXPECT_EQ(file_size(folder.write("a", "12345")), 5u);
  EXPECT_EQ(file_size(folder / "none"), 0u);
}

}  // namespace
}  // namespace quarkq::pipeline
