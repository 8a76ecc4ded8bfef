// SPDX-License-Identifier: MIT
// Layer settings, selectors, algorithms and the file of rotations: every form there and back, and what is refused.
#include "config/layer_config.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "config/algorithms.h"
#include "config/convert.h"
#include "config/load.h"
#include "config/rewrite_settings.h"
#include "unit/base/temp_folder.h"

namespace quarkq::config {
namespace {

Node parsed(const std::string& text) { return parse_text(text, "t.yaml").value(); }

template <typename T>
std::string message(const Result<T>& result) {
  return result.ok() ? "taken" : result.status().message();
}

struct Refusal {
  const char *given, *said;
};

TEST(TensorSpecTest, EveryClassIsFoundByItsName) {
  for (const SpecClass& row : spec_classes()) {
    const Result<TensorSpec> made = read_tensor_spec(Node(row.name), "p");
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made.value().data_type, row.data_type);
    EXPECT_EQ(made.value().type, row.type);
    EXPECT_EQ(made.value().symmetric, row.symmetric) << row.name;
    EXPECT_EQ(made.value().scale_type, row.scale_type) << row.name;
    EXPECT_EQ(made.value().calibration_method, row.calibration_method) << row.name;
    EXPECT_EQ(made.value().quant_granularity, QuantGranularity::kTensor) << row.name;
  }
}

TEST(TensorSpecTest, WrittenOutItReadsTheSame) {
  for (const SpecClass& row : spec_classes()) {
    TensorSpec spec = read_tensor_spec(Node(row.name), "p").value();
    spec.symmetric = !spec.symmetric;
    spec.quant_granularity = QuantGranularity::kChannel;
    const Node written = to_node(spec);
    const Result<TensorSpec> again = read_tensor_spec(parsed(to_yaml(written)), "p");
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(to_node(again.value()), written) << row.name;
  }
}

TEST(TensorSpecTest, MembersOverrideTheClass) {
  struct Row {
    const char* given;
    DataType type;
    bool symmetric;
    ScaleType scale;
  };
  const Row rows[] = {
      {"{spec: XInt8Spec}", DataType::kInt8, true, ScaleType::kPowerOf2},
      {"{data_type: Int8}", DataType::kInt8, true, ScaleType::kFloat32},
      {"{spec: XInt8Spec, symmetric: false}", DataType::kInt8, false, ScaleType::kPowerOf2},
      {"{spec: XInt8Spec, data_type: Int16}", DataType::kInt16, true, ScaleType::kPowerOf2},
      {"{spec: UInt8Spec, symmetric: null}", DataType::kUInt8, false, ScaleType::kFloat32},
  };
  for (const Row& row : rows) {
    const Result<TensorSpec> made = read_tensor_spec(parsed(row.given), "p");
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made.value().type, row.type) << row.given;
    EXPECT_EQ(made.value().symmetric, row.symmetric) << row.given;
    EXPECT_EQ(made.value().scale_type, row.scale) << row.given;
  }
}

TEST(TensorSpecTest, RefusalsNamePlaceFoundAndAllowed) {
  const Refusal rows[] = {
      {"Int8Spek", "t.yaml:1: p: found Int8Spek, no spec class, did you mean Int8Spec?"},
      {"{data_type: Int9}", "p.data_type: found Int9, no data type, did you mean Int8?"},
      {"{symmetric: true}", "t.yaml:1: p: needs spec or data_type"},
      {"{spec: Int8Spec, simmetric: true}", "did you mean symmetric?"},
      {"{spec: Int8Spec, symmetric: 3}", "p.symmetric"},
      {"{spec: Int8Spec, scale_type: huge}", "p.scale_type"},
      {"{spec: 7}", "p.spec"},
      {"[Int8Spec]", "p"},
      {"{spec: zzzzzzzzzzz}", "allowed are Int8Spec, XInt8Spec"},
  };
  for (const Refusal& row : rows) {
    const Result<TensorSpec> made = read_tensor_spec(parsed(row.given), "p");
    EXPECT_NE(message(made).find(row.said), std::string::npos) << row.given << ": " << message(made);
  }
}

TEST(LayerSpecTest, GlobalOnesNeedInputsAndWeight) {
  EXPECT_TRUE(read_layer_spec(parsed("{}"), "p", false).ok());
  EXPECT_TRUE(read_layer_spec(parsed("{activation: Int8Spec, weight: Int8Spec}"), "p", true).value().input_tensors);
  const std::pair<Refusal, bool> rows[] = {
      {{"{weight: Int8Spec}", "p: needs input_tensors"}, true},
      {{"{input_tensors: Int8Spec}", "p: needs weight"}, true},
      {{"{input_tensors: Int8Spec, weight: null}", "p: needs weight"}, true},
      {{"{activation: Int8Spec, input_tensors: Int8Spec}", "allowed is only one of the two"}, true},
      {{"{activation: Int8Spec}", "found activation, allowed is input_tensors"}, false},
      {{"{weights: Int8Spec}", "did you mean weight?"}, false},
      {{"{bias: Int88}", "p.bias: found Int88"}, false},
  };
  for (const auto& [row, is_global] : rows) {
    const Result<LayerSpec> made = read_layer_spec(parsed(row.given), "p", is_global);
    EXPECT_NE(message(made).find(row.said), std::string::npos) << row.given << ": " << message(made);
  }
}

TEST(LayerRulesTest, BothFormsMeanTheSame) {
  const auto text = [](const std::string& given, const std::string& key) {
    const Result<std::vector<LayerRule>> rules = read_layer_rules(parsed(given), "p", key);
    EXPECT_TRUE(rules.ok()) << message(rules);
    std::string all;
    for (const LayerRule& rule : rules.value()) all += to_flow(to_node(rule)) + "\n";
    return all;
  };
  EXPECT_EQ(text("[[{weight: Int8Spec}, [a, ^b.*]]]", "layers"),
            text("[{config: {weight: Int8Spec}, layers: [a, ^b.*]}]", "layers"));
  EXPECT_EQ(text("[[null, [Conv]]]", "op_types"), text("[{op_types: [Conv]}]", "op_types"));
  EXPECT_EQ(text("null", "layers"), "");
  EXPECT_EQ(text("[{config: {weight: Int8Spec}, layers: []}, [{weight: Int8Spec}, null]]", "layers"), "");
  EXPECT_EQ(text("[{op_types: []}]", "op_types"), "");
  const Refusal rows[] = {
      {"{a: 1}", "p: "},
      {"[{config: {weight: Int8Spec}}]", "p[0]: needs layers"},
      {"[{layers: [a]}]", "p[0]: needs config"},
      {"[{config: {}, layers: [a]}, {config: {}, layers: [3]}]", "p[1].layers[0]"},
      {"[{config: {}, layers: [a], op_types: [Conv]}]", "op_types"},
  };
  for (const Refusal& row : rows) {
    const auto rules = read_layer_rules(parsed(row.given), "p", "layers");
    EXPECT_NE(message(rules).find(row.said), std::string::npos) << row.given << ": " << message(rules);
  }
}

/// The spelling of the JSON files that come with the compiler for Versal AI Edge Gen 2.
TEST(LayerRulesTest, TheVendorsSpellingMeansTheSame) {
  const auto flow = [](const char* given) {
    const auto rules = read_layer_rules(parsed(given), "p", "layers");
    return rules.ok() ? to_flow(to_node(rules.value()[0])) : message(rules);
  };
  EXPECT_EQ(flow("[{target_node_names: [a, ^b.*], layer_config: {weight: XInt8Spec}}]"),
            flow("[{layers: [a, ^b.*], config: {weight: XInt8Spec}}]"));
  const Refusal rows[] = {{"[{target_node_names: [a]}]", "p[0]: needs config"},
                          {"[{layer_config: {weight: Int8Spec}}]", "p[0]: needs target_node_names"},
                          {"[{target_node_names: [a], config: {weight: Int8Spec}}]", "config: unknown key"},
                          {"[{target_node_names: 3, layer_config: {}}]", "p[0].layers"}};
  for (const Refusal& row : rows) {
    const auto refused = read_layer_rules(parsed(row.given), "p", "layers");
    EXPECT_NE(message(refused).find(row.said), std::string::npos) << row.given << ": " << message(refused);
  }
}

TEST(SelectorsTest, ExclusionsMayStandInAMap) {
  const auto flow = [](const char* given) {
    const auto selectors = read_exclusions(parsed(given), "exclude");
    if (!selectors.ok()) return message(selectors);
    std::string all;
    for (const Selector& one : selectors.value()) all += to_flow(to_node(one)) + ";";
    return all;
  };
  EXPECT_EQ(flow("{node_names: [conv1, ^head.*], subgraphs: [[[a], [b]]]}"), flow("[conv1, ^head.*, [[a], [b]]]"));
  EXPECT_EQ(flow("{subgraphs: [[[a], [b]]]}"), flow("[[[a], [b]]]"));
  EXPECT_EQ(flow("{}"), "");
  EXPECT_NE(flow("{nodes: [a]}").find("unknown key"), std::string::npos) << flow("{nodes: [a]}");
  EXPECT_NE(flow("{node_names: a}").find("exclude.node_names"), std::string::npos) << flow("{node_names: a}");
}

TEST(SelectorsTest, KindsFollowTheForm) {
  const Result<std::vector<Selector>> made =
      read_selectors(parsed("[conv1, ^conv.*, [[a, b], [c]], {starts: [d], ends: []}]"), "p");
  ASSERT_TRUE(made.ok()) << message(made);
  using Kind = Selector::Kind;
  const std::vector<Kind> kinds = {Kind::kName, Kind::kPattern, Kind::kSubgraph, Kind::kSubgraph};
  ASSERT_EQ(made.value().size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(made.value()[i].kind, kinds[i]) << i;
    const Node written = to_node(made.value()[i]);
    const auto again = read_selectors(Node(Node::List{written}), "p");
    ASSERT_TRUE(again.ok()) << message(again);
    EXPECT_EQ(to_node(again.value()[0]), written);
  }
  EXPECT_EQ(made.value()[2].starts, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(made.value()[3].ends.empty());
  const Refusal rows[] = {{"[3]", "p[0]"},
                          {"[[[a], [b], [c]]]", "p[0]"},
                          {"[{starts: [a]}]", "p[0]: needs starts and ends"},
                          {"[{starts: [a], end: [b]}]", "did you mean ends?"},
                          {"[[a, [b]]]", "p[0].starts"},
                          {"conv1", "p: "}};
  for (const Refusal& row : rows) {
    const auto refused = read_selectors(parsed(row.given), "p");
    EXPECT_NE(message(refused).find(row.said), std::string::npos) << row.given << ": " << message(refused);
  }
}

TEST(AlgorithmsTest, TakeTheirOwnParametersOnly) {
  for (const AlgorithmInfo& info : algorithms()) {
    Node with_all(Node::Map{{"name", Node(info.name), {}}});
    for (const AlgorithmParam& param : algorithm_params(info.name)) with_all = with_all.with(param.name, Node(1.5));
    const auto made = read_algorithms(Node(Node::List{with_all}), "p");
    ASSERT_TRUE(made.ok()) << message(made);
    EXPECT_EQ(to_node(made.value()[0]), with_all) << info.name;
    const auto wrong = read_algorithms(Node(Node::List{with_all.with("no_such_parameter", Node(1.0))}), "p");
    EXPECT_NE(message(wrong).find("no_such_parameter"), std::string::npos) << message(wrong);
  }
  const Refusal rows[] = {{"[{alpha: 0.5}]", "p[0]: needs name"},
                          {"[{name: smooth}]", "p[0]: found algorithm smooth, allowed are smooth_quant, cle"},
                          {"[{name: [cle]}]", "p[0].name"},
                          {"[{name: cle, alpha: 1}]", "alpha"}};
  for (const Refusal& row : rows) {
    const auto refused = read_algorithms(parsed(row.given), "p");
    EXPECT_NE(message(refused).find(row.said), std::string::npos) << row.given << ": " << message(refused);
  }
}

TEST(AlgorithmsTest, NamesAndParametersAreUnique) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : algorithms()) {
    EXPECT_EQ(find_algorithm(info.name), &info);
    names.emplace_back(info.name);
    std::vector<std::string> params;
    for (const AlgorithmParam& param : algorithm_params(info.name)) params.emplace_back(param.name);
    std::sort(params.begin(), params.end());
    EXPECT_EQ(std::adjacent_find(params.begin(), params.end()), params.end()) << info.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(find_algorithm("no such algorithm"), nullptr);
}

TEST(RotationConfigTest, ReadsEntriesAndNamesWhatIsWrong) {
  const test::TempFolder folder;
  const auto load = [&](const std::string& text) { return load_rotation_config(folder.write("r.yaml", text)); };
  const auto pairs = load(
      "R1_pairs: [{prev_nodes: [a, b], norm_node: n, next_nodes: [c]}, "
      "{prev_nodes: [], next_nodes: [d], norm_node: null}]");
  ASSERT_TRUE(pairs.ok()) << message(pairs);
  ASSERT_EQ(pairs.value().size(), 2u);
  EXPECT_EQ(pairs.value()[0].previous, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(pairs.value()[0].norm, "n");
  EXPECT_TRUE(pairs.value()[0].label.ends_with("r.yaml: R1_pairs[0]")) << pairs.value()[0].label;
  EXPECT_FALSE(pairs.value()[1].norm.has_value());
  const Refusal rows[] = {
      {"R2_pairs: []", "r.yaml: R1_pairs: a list of pairs is expected, found nothing"},
      {"R1_pairs: {a: 1}", "R1_pairs: a list of pairs is expected, found a map"},
      {"R1_pairs: [x]", "R1_pairs[0]: a map is expected, found \"x\""},
      {"R1_pairs: [{prev_nodes: [a]}]", "R1_pairs[0]: next_nodes: a list of node names is expected, found nothing"},
      {"R1_pairs: [{prev_nodes: [3], next_nodes: []}]", "prev_nodes: a node's name is expected, found 3"},
      {"R1_pairs: [{prev_nodes: [], next_nodes: [], norm: x}]", "unknown key 'norm'"},
      {"R1_pairs: [{prev_nodes: [], next_nodes: [], norm_node: [x]}]", "norm_node: a node's name is expected"},
  };
  for (const Refusal& row : rows) {
    EXPECT_NE(message(load(row.given)).find(row.said), std::string::npos) << message(load(row.given));
  }
  EXPECT_FALSE(load_rotation_config(folder / "missing.yaml").ok());
}

}  // namespace
}  // namespace quarkq::config
