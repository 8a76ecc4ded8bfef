// SPDX-License-Identifier: MIT
// Node, its text forms, and the loader's behaviour on good and hostile input.
#include <gtest/gtest.h>

#include "config/load.h"

namespace quarkq::config {
namespace {

Node parse(const std::string& text) {
  const Result<Node> node = parse_text(text, "t.yaml");
  EXPECT_TRUE(node.ok()) << node.status().message();
  return node.ok() ? node.value() : Node();
}

std::string node_error_of(const std::string& text) {
  const Result<Node> node = parse_text(text, "t.yaml");
  EXPECT_FALSE(node.ok()) << text.substr(0, 60);
  if (node.ok()) return "";
  EXPECT_TRUE(node.status().code() == Code::kInvalidArgument || node.status().code() == Code::kResource);
  EXPECT_TRUE(node.status().message().starts_with("t.yaml")) << node.status().message();
  return node.status().message();
}

TEST(SettingsNodeTest, FollowsTheCoreSchema) {
  const struct {
    const char* text;
    Node::Kind kind;
  } rows[] = {
      {"true", Node::Kind::kBool},
      {"False", Node::Kind::kBool},
      {"on", Node::Kind::kText},
      {"yes", Node::Kind::kText},
      {"no", Node::Kind::kText},
      {"1", Node::Kind::kInt},
      {"-17", Node::Kind::kInt},
      {"0x1F", Node::Kind::kInt},
      {"0o17", Node::Kind::kInt},
      {"1e-5", Node::Kind::kReal},
      {"1.", Node::Kind::kReal},
      {".5", Node::Kind::kReal},
      {"-.inf", Node::Kind::kReal},
      {"1.2.3", Node::Kind::kText},
      {"1_000", Node::Kind::kText},
      {"~", Node::Kind::kNull},
      {"null", Node::Kind::kNull},
      {"\"true\"", Node::Kind::kText},
      {"'1'", Node::Kind::kText},
      {"e5", Node::Kind::kText},
      {"12:30", Node::Kind::kText},
      {"+3", Node::Kind::kInt},
      {"99999999999999999999", Node::Kind::kReal},
      {".", Node::Kind::kText},
      {"-", Node::Kind::kList},
  };
  for (const auto& row : rows) EXPECT_EQ(parse(row.text).kind(), row.kind) << row.text;
  EXPECT_EQ(parse("0o17").as_int(), 15);
  EXPECT_EQ(parse("1e-5").as_real(), 1e-5);
}

TEST(SettingsNodeTest, JsonEqualsYaml) {
  EXPECT_EQ(parse("{\"a\": [1, 2.5, null, true], \"b\": {\"c\": \"x\"}}"), parse("b:\n  c: x\na: [1, 2.5, ~, true]\n"));
}

TEST(SettingsNodeTest, EveryTextFormReadsBack) {
  const Node node = parse(
      "a: {b: [x, 'true', '', '- y', \"q\\\"\\n\", 1.0, 1e-05, -3]}\n'1': '#'\n/m/x.0: [[a, {s: 1}], []]\nz: {}\n");
  EXPECT_EQ(parse(to_yaml(node)), node) << to_yaml(node);
  EXPECT_EQ(parse(to_flow(node)), node) << to_flow(node);
  EXPECT_EQ(parse(to_json(node)), node) << to_json(node);
}

TEST(SettingsNodeTest, KeepsTheOrderOfKeys) {
  Node node = parse("b: 1\na: 2\n").with("c", Node(true)).with("b", Node(false));
  EXPECT_EQ(to_flow(node), "{b: false, a: 2, c: true}");
  EXPECT_EQ(to_flow(node.without("a")), "{b: false, c: true}");
}

TEST(SettingsLoadTest, NamesFileAndLine) {
  EXPECT_NE(node_error_of("a: 1\nb: [1, 2\nc: 3\n").find("t.yaml:"), std::string::npos);
  EXPECT_EQ(node_error_of("a: 1\na: 2\n"), "t.yaml:2: key a is given twice");
  EXPECT_EQ(parse("a: 1\nb: 2\n").find("b")->mark().prefix(), "t.yaml:2: ");
}

TEST(SettingsLoadTest, EmptyTextIsNull) {
  EXPECT_TRUE(parse("").is_null());
  EXPECT_TRUE(parse("# only a comment\n").is_null());
}

TEST(SettingsLoadTest, RefusesDeepNesting) {
  node_error_of(std::string(100000, '['));
  EXPECT_NE(node_error_of(std::string(100, '[') + std::string(100, ']')).find("nested deeper"), std::string::npos);
  std::string maps;
  for (int i = 0; i < 200; ++i) maps += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_NE(node_error_of(maps).find("nested deeper"), std::string::npos);
}

TEST(SettingsLoadTest, RefusesAliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 0; k < 9; ++k) bomb += ", " + below;
    bomb += "]\n";
  }
  EXPECT_NE(node_error_of(bomb).find("more than"), std::string::npos);
  node_error_of("&a [*a]");
}

TEST(SettingsLoadTest, TakesAnOrdinaryAlias) {
  EXPECT_EQ(parse("a: &x {k: 1}\nb: *x\n"), parse("a: {k: 1}\nb: {k: 1}\n"));
}

TEST(SettingsLoadTest, RefusesWhatIsNotText) {
  node_error_of(
      std::string("\x7f"
                  "ELF\0\1\2",
                  7));
  node_error_of(std::string("a: \0", 4));
  node_error_of(
      "\xff\xfe"
      "a");
  node_error_of("a: 1\n---\nb: 2\n");
  node_error_of("? [a, b]\n: 1\n");
  node_error_of("a: 1\n b: 2\n");
  node_error_of("a: *nowhere\n");
}

TEST(SettingsLoadTest, SaysHowTuplesAreWritten) {
  for (const char* text : {"subgraphs_to_exclude: [(['a'], ['b'])]\n", "a: 1\nsubgraphs_to_exclude: [([a, c], [b])]\n",
                           "exclude:\n  - x\n  - [(['a'], ['b']), c]\n"}) {
    const std::string said = node_error_of(text);
    EXPECT_NE(said.find("tuples are written as lists, such as [[[starts], [ends]]]"), std::string::npos)
        << text << said;
  }
  EXPECT_EQ(node_error_of("a: [1, 2\n").find("tuples"), std::string::npos);
  EXPECT_EQ(node_error_of("pattern: '^([ab]).*'\nb: [1, 2\n").find("tuples"), std::string::npos) << "another line";
}

TEST(SettingsLoadTest, KeysOfAnyLengthReadAsWritten) {
  for (const size_t length : {size_t{999}, size_t{1001}, size_t{5000}}) {
    const std::string key(length, 'k');
    const Node node = parse(cat("a:\n  ? ", key, "\n  : {? ", key, " : 1}\n  b: 2\n"));
    EXPECT_EQ(parse(to_yaml(node)), node) << length;
    EXPECT_EQ(parse(to_flow(node)), node) << length;
  }
}

TEST(SettingsLoadTest, NoGarbageCrashesIt) {
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`# \n\tab01.~<=";
  uint32_t state = 1;
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525u + 1013904223u;
      text += alphabet[(state >> 16) % alphabet.size()];
    }
    const Result<Node> node = parse_text(text, "t.yaml");
    EXPECT_TRUE(node.ok() || node.status().message().starts_with("t.yaml"));
  }
}

TEST(SettingsLoadTest, AnUnreadableFileIsAnError) { EXPECT_FALSE(load_file("/nowhere/x.yaml").ok()); }

TEST(NodeTest, AliasesOfALongTextAreBounded) {
  const std::string text(100'000, 'x');
  const auto repeated = [&](int count) {
    std::string yaml = "a: &a \"" + text + "\"\nb: [";
    for (int i = 0; i < count; ++i) yaml += "*a, ";
    return parse_text(yaml + "1]\n", "t.yaml");
  };
  EXPECT_TRUE(repeated(40).ok());
  EXPECT_EQ(repeated(50).status().message(), "t.yaml:2: aliases repeat more than 4194304 bytes of text");
}

TEST(NodeTest, AMissingQuoteTakesInNoOtherKey) {
  for (const char* yaml :
       {"exclude:\n  - \"fc\nquant_config: {per_channel: true}\nx: \"y\"\n", "a: 'b\nc: 'd\ne: f\n",
        "a:\n  b: \"c\n  d: 1\n  e: \"f\"\n", "a: [\"b\nc: d\ne: \"f\"]\n", "a: \"b\n\n\nc: \"d\"\n"}) {
    const Result<Node> node = parse_text(yaml, "t.yaml");
    ASSERT_FALSE(node.ok()) << yaml;
    EXPECT_NE(node.status().message().find("a text in quotes continues in line"), std::string::npos)
        << node.status().message();
  }
  for (const char* yaml : {"a: \"b\n  c\"\n", "a: 'it''s\n  c'\nd: 1\n", "\"a\": [\"b\",\n\"c\"]\n", "[\"a\nb\"]\n",
                           "a:\n- \"b\n  c\"\n", "a: \"b\n\n  c\"\n"}) {
    EXPECT_TRUE(parse_text(yaml, "t.yaml").ok()) << yaml;
  }
}

}  // namespace
}  // namespace quarkq::config
