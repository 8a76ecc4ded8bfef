// SPDX-License-Identifier: MIT
// New values of attributes: which kinds they have, what is refused.
#include "config/rewrite_settings.h"

#include <gtest/gtest.h>

namespace quarkq::config {
namespace {

AttributeUpdate value_of(const std::string& text) {
  const auto updates = parse_node_updates("[{node_name: n, attributes: {a: " + text + "}}]");
  EXPECT_TRUE(updates.ok()) << text << ": " << updates.status().message();
  return updates.ok() ? updates.value().at(0).attributes.at(0).second : AttributeUpdate();
}

TEST(NodeUpdatesTest, ValuesHaveTheKindsTheyAreWrittenIn) {
  const struct {
    const char* text;
    AttributeUpdate wanted;
  } rows[] = {{"3", int64_t{3}},
              {"3.0", 3.0f},
              {"'3'", std::string("3")},
              {"same_upper", std::string("same_upper")},
              {"[1, -2]", std::vector<int64_t>{1, -2}},
              {"[1.0, 0.5]", std::vector<float>{1, 0.5f}},
              {"[a, '1']", std::vector<std::string>{"a", "1"}},
              {"true", NoValue()},
              {"[1, 2.0]", NoValue()},
              {"[true]", NoValue()},
              {"[]", NoValue()},
              {"{b: 1}", NoValue()},
              {"[[1]]", NoValue()}};
  for (const auto& row : rows) EXPECT_TRUE(value_of(row.text) == row.wanted) << row.text;
}

TEST(NodeUpdatesTest, NodesAndAttributesKeepTheirOrder) {
  const auto updates = parse_node_updates(
      "[{node_name: b, attributes: {z: 1, a: 2}}, {node_name: a, attributes: {}}, "
      "{node_name: b, attributes: {z: 3}}]");
  ASSERT_TRUE(updates.ok()) << updates.status().message();
  ASSERT_EQ(updates.value().size(), 3U);
  EXPECT_EQ(updates.value()[0].node, "b");
  ASSERT_EQ(updates.value()[0].attributes.size(), 2U);
  EXPECT_EQ(updates.value()[0].attributes[0].first, "z");
  EXPECT_EQ(updates.value()[0].attributes[1].first, "a");
  EXPECT_TRUE(updates.value()[1].attributes.empty());
  EXPECT_EQ(updates.value()[2].node, "b");
  EXPECT_TRUE(parse_node_updates("[]").value().empty());
}

TEST(NodeUpdatesTest, OtherFormsAreRefused) {
  const struct {
    const char *text, *said;
  } rows[] = {{"{node_name: n}", "a list of updates"},
              {"3", "a list of updates"},
              {"[3]", "updates"},
              {"[{node_name: n}]", "allowed is {node_name: N, attributes: {A: V}}"},
              {"[{attributes: {a: 1}}]", "allowed is {node_name: N, attributes: {A: V}}"},
              {"[{node_name: 3, attributes: {a: 1}}]", "allowed is {node_name: N, attributes: {A: V}}"},
              {"[{node_name: n, attributes: [1]}]", "allowed is {node_name: N, attributes: {A: V}}"},
              {"[{node_name: n, attribute: {a: 1}}]", "attribute"},
              {"[{node_name: n", "updates"}};
  for (const auto& row : rows) {
    const auto updates = parse_node_updates(row.text);
    ASSERT_FALSE(updates.ok()) << row.text;
    EXPECT_EQ(updates.status().code(), Code::kInvalidArgument) << row.text;
    EXPECT_NE(updates.status().message().find(row.said), std::string::npos)
        << row.text << ": " << updates.status().message();
  }
}

}  // namespace
}  // namespace quarkq::config
