// SPDX-License-Identifier: MIT
// Files of node groups for automatic mixed precision.
#include "config/mixed_precision.h"

#include <gtest/gtest.h>

#include "../base/temp_folder.h"

namespace quarkq::config {
namespace {

std::string file_refusal(const std::string& text) {
  const test::TempFolder folder;
  const auto groups = load_subgraphs(folder.write("groups.json", text));
  return groups.ok() ? "" : groups.status().message();
}

TEST(SubgraphFileTest, ReadsGroupsInTheirOrder) {
  const test::TempFolder folder;
  const std::string path = folder.write("groups.json", R"({"quantized": false, "num_subgraphs": 2, "subgraphs": [
    {"name": "stem", "description": "input part", "start_nodes": ["/conv1/Conv"], "end_nodes": ["/relu/Relu"]},
    {"name": "head", "quantized": true, "start_nodes": ["/pool", "/fc"]}]})");
  const std::vector<NodeGroup> groups = load_subgraphs(path).value();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].name, "stem");
  EXPECT_EQ(groups[0].starts, std::vector<std::string>{"/conv1/Conv"});
  EXPECT_EQ(groups[0].ends, std::vector<std::string>{"/relu/Relu"});
  EXPECT_EQ(groups[1].starts.size(), 2u);
  EXPECT_TRUE(groups[1].ends.empty());
  EXPECT_TRUE(load_subgraphs(folder.write("none.json", R"({"subgraphs": []})")).value().empty());
}

TEST(SubgraphFileTest, RefusesWhatIsNoSuchFile) {
  const std::string group = R"({"name": "a", "start_nodes": ["n"]})";
  const struct {
    std::string text, said;
  } rows[] = {
      {"[]", "a map with subgraphs"},
      {"{}", "needs subgraphs, a list"},
      {R"({"subgraphs": {}})", "needs subgraphs, a list"},
      {R"({"subgraphs": [], "sub": 1})", "unknown key"},
      {R"({"num_subgraphs": 2, "subgraphs": [)" + group + "]}", "num_subgraphs: found 2, but the list has 1"},
      {R"({"subgraphs": [)" + group + ", " + group + "]}", "two subgraphs are named a"},
      {R"({"subgraphs": [{"start_nodes": ["n"]}]})", "subgraphs[0]: needs a name"},
      {R"({"subgraphs": [{"name": "a"}]})", "subgraphs[0]: needs start_nodes"},
      {R"({"subgraphs": [{"name": "a", "start_nodes": "n"}]})", "start_nodes"},
      {R"({"subgraphs": [{"name": "a", "start_nodes": ["n"], "starts": []}]})", "unknown key"},
      {R"({"subgraphs": [3]})", "subgraphs[0]"},
  };
  for (const auto& row : rows)
    EXPECT_NE(file_refusal(row.text).find(row.said), std::string::npos) << row.text << ": " << file_refusal(row.text);
  EXPECT_NE(load_subgraphs("/nothing/here.json").status().message().find("/nothing/here.json"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::config
