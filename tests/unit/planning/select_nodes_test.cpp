// SPDX-License-Identifier: MIT
// Names, patterns, subgraphs and positions of the settings become marks (ref:settings#node-selectors,
// ref:settings#subgraphs, ref:settings#checks-of-the-model).
#include "planning/select/selectors.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// A fork and a join: a feeds b and c, d joins them, e follows.
const std::string kFork =
    "g (float[2] x) => (float[2] y) { [a] s = Sigmoid (x) [b] t = Tanh (s) [c] u = Sigmoid (s) [d] v = Add (t, u) "
    "[e] y = Sigmoid (v) }";

/// Names of the nodes that are left out, in order; or the error.
std::string excluded(const std::vector<std::string>& sets) {
  PassBench bench(test::model_of(kFork), test::settings_for("A8W8", sets));
  const Result<Changed> done = pipeline::run_pass(bench.context, select_nodes);
  if (!done.ok()) return done.status().message();
  std::vector<std::string> names;
  for (const ir::NodeId id : bench.graph().order()) {
    if (!bench.context.selection.selects(bench.graph().node(id))) names.push_back(bench.graph().node(id).name);
  }
  return join(names, " ");
}

TEST(SelectNodesTest, NamesAndPatterns) {
  EXPECT_EQ(excluded({}), "");
  EXPECT_EQ(excluded({"nodes_to_exclude=[b, d]"}), "b d");
  EXPECT_EQ(excluded({"nodes_to_exclude=[\"^[bc].*\"]"}), "b c");
  EXPECT_NE(excluded({"nodes_to_exclude=[nothing]"}).find("no node or tensor"), std::string::npos);
  EXPECT_EQ(excluded({"nodes_to_exclude=[nothing]", "quarkq.compat=quark-0.13"}), "");
  EXPECT_EQ(excluded({"nodes_to_exclude=[\"^b\", d]"}), "d");  // a pattern without .* is left out
  EXPECT_NE(excluded({"nodes_to_exclude=[\"^z.*\"]"}).find("no node matches"), std::string::npos);
  EXPECT_NE(excluded({"nodes_to_exclude=[\"^(.*\"]"}).find("malformed"), std::string::npos);
  EXPECT_EQ(excluded({"nodes_to_quantize=[a, e]"}), "b c d");
}

TEST(SelectNodesTest, TensorsAndLabelsMeanNodes) {
  EXPECT_EQ(excluded({"nodes_to_exclude=[v]"}), "d");
  EXPECT_EQ(excluded({"nodes_to_exclude=[x]"}), "a");  // an input: its readers
  EXPECT_EQ(excluded({"nodes_to_exclude=[node c (Sigmoid)]"}), "c");
  EXPECT_EQ(excluded({"nodes_to_exclude=[v]", "quarkq.compat=quark-0.13"}), "");
  EXPECT_EQ(excluded({"input_nodes=[s]"}), "");  // the producer of s is the first node
}

TEST(SelectNodesTest, SubgraphsAreClosed) {
  EXPECT_EQ(excluded({"subgraphs_to_exclude=[[[a], [d]]]"}), "a b c d");
  EXPECT_EQ(excluded({"subgraphs_to_exclude=[[[b, c], [d]]]"}), "b c d");
  EXPECT_NE(excluded({"subgraphs_to_exclude=[[[b], [d]]]"}).find("is open"), std::string::npos);
  EXPECT_NE(excluded({"subgraphs_to_exclude=[[[b], [q]]]"}).find("no node is named q"), std::string::npos);
}

TEST(SelectNodesTest, CompatWalksOnlyToTheFirstEnd) {
  EXPECT_EQ(excluded({"subgraphs_to_exclude=[[[a], [d]]]", "quarkq.compat=quark-0.13"}), "a b c d");
  EXPECT_EQ(excluded({"subgraphs_to_exclude=[[[b], [d]]]", "quarkq.compat=quark-0.13"}), "b d");  // c is forgotten
}

TEST(SelectNodesTest, PositionsBetweenInputAndOutputNodes) {
  EXPECT_EQ(excluded({"input_nodes=[b]"}), "a");
  EXPECT_EQ(excluded({"output_nodes=[c]"}), "d e");
  EXPECT_EQ(excluded({"input_nodes=[b]", "output_nodes=[d]"}), "a e");
  EXPECT_EQ(excluded({"input_nodes=[x]", "output_nodes=[y]"}), "");
}

TEST(SelectNodesTest, LayersFollowTheNodesThatStandForThem) {
  const std::string model =
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {0.5}, float[1] b = {0.1}, float[1] s = {2}, "
      "float[1] o = {1}, float[1] m = {0}, float[1] v = {1}> { [conv] c = Conv (x, w, b) "
      "[norm] y = BatchNormalization (c, s, o, m, v) }";
  const std::vector<std::string> sets = {
      "specific_layer_config=[{config: {weight: {data_type: Int16}}, layers: [conv]}]"};
  PassBench bench(test::model_of(model), test::settings_for("A8W8", sets));
  bench.run(select_nodes);
  bench.run(fuse_batch_norm);  // the weight gets a new name
  EXPECT_TRUE(bench.run(find_overrides));
  const ir::ValueId weight = bench.node("Conv").input(1);
  ASSERT_EQ(bench.context.selection.overrides.count(weight), 1u);
  EXPECT_EQ(bench.context.selection.overrides.at(weight).type, config::DataType::kInt16);
}

bool pattern_matches(const std::string& pattern, const std::string& name) {
  return planning::NamePattern::parse(pattern).value().matches(name);
}

std::string pattern_refusal(const std::string& pattern) {
  const Result<planning::NamePattern> parsed = planning::NamePattern::parse(pattern);
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(NamePatternTest, MatchesPartsOfNames) {
  EXPECT_TRUE(pattern_matches("^conv1.*", "conv1"));
  EXPECT_TRUE(pattern_matches("^conv[0-9]+_(weight|bias).*$", "conv12_bias_q"));
  EXPECT_FALSE(pattern_matches("^conv1.*", "a/conv1"));
  EXPECT_TRUE(pattern_matches("^(?!head).*conv", "body/conv"));
  EXPECT_FALSE(pattern_matches("^(?!head).*conv", "head/conv"));
}

TEST(NamePatternTest, RefusesByName) {
  EXPECT_NE(pattern_refusal("^(.*"), "");
  EXPECT_NE(pattern_refusal("^[z-a].*"), "");
  EXPECT_EQ(pattern_refusal("^(a)\\1.*"), "pattern '^(a)\\1.*' refers to a group, which is not supported");
}

TEST(NamePatternTest, LongNamesTakeNoStack) {
  EXPECT_FALSE(pattern_matches("^a.*b", std::string(1'000'000, 'a')));
  EXPECT_TRUE(pattern_matches("^a.*b", std::string(1'000'000, 'a') + "b"));
}

TEST(NamePatternTest, RepetitionsWithinRepetitionsEnd) {
  EXPECT_FALSE(pattern_matches("^(a*)*b.*", std::string(2000, 'a')));
  EXPECT_FALSE(pattern_matches("^((a|a)*)*$.*", std::string(2000, 'a') + "!"));
}

TEST(NamePatternTest, RefusesPatternsThatAreTooLarge) {
  const std::string deep = std::string(100'000, '(') + "a" + std::string(100'000, ')') + ".*";
  EXPECT_NE(pattern_refusal(deep).find("has 200003 bytes, allowed are 1000"), std::string::npos);
  EXPECT_TRUE(pattern_matches(std::string(400, '(') + "a" + std::string(400, ')') + ".*", "a"));
  EXPECT_NE(pattern_refusal("^((a?){100}){400}.*"), "");
}

}  // namespace
}  // namespace quarkq::pass_tests
