// SPDX-License-Identifier: MIT
// Position rules against the recorded graphs and the shared models, and what happens to stored integers.
#include "planning/constrain/refine_positions.h"

#include <bit>
#include <cmath>

#include "support/npu_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;
using Json = nlohmann::ordered_json;

/// A graph and plan as golden/npu.json describes them: all tensors with a position have parameters.
struct RecordedGraph {
  ir::Model model;
  plan::QuantPlan plan;

  explicit RecordedGraph(const Json& record) {
    ir::GraphEdit edit(model.graph);
    std::map<std::string, ir::ValueId> values;
    auto value = [&](const std::string& name) {
      if (!values.contains(name)) values[name] = edit.add_value(name);
      return values[name];
    };
    for (const auto& name : record["model"]["inputs"]) edit.add_graph_input(value(name));
    for (const auto& node : record["model"]["nodes"]) {
      ir::NodeSpec spec{node["op"], "", node["name"], {}, {}};
      for (const auto& name : node["in"]) spec.inputs.push_back(value(name));
      for (const auto& name : node["out"]) spec.outputs.push_back(value(name));
      if (node.contains("attrs")) {
        for (const auto& [key, attribute] : node["attrs"].items()) {
          if (attribute.is_number_float()) spec.attributes.push_back({key, attribute.get<float>(), {}, {}});
        }
      }
      edit.add_node(std::move(spec));
    }
    plan = plan::QuantPlan(model.graph.value_count());
    std::map<std::string, plan::ParamId> ids;
    const Json shares = record["model"].value("share_scale", Json::object());
    auto id_of = [&](const std::string& name) {
      const std::string owner = shares.contains(name) ? shares[name].get<std::string>() : name;
      if (!ids.contains(owner)) ids[owner] = plan.params.add();
      return ids[owner];
    };
    for (const auto& [name, position] : record["before"].items()) {
      plan::QuantSlot& slot = plan.add(value(name));
      slot.stage = plan::Stage{};
      slot.stage.params = id_of(name);
      plan.params.set(id_of(name), {{numeric::scale_of_position(position), 0}});
    }
  }

  Json positions(const Json& names) const {
    Json found = Json::object();
    for (const auto& [name, position] : names.items()) {
      const plan::ParamId id = plan.slot(model.graph.find(name)).stage.params;
      found[name] = numeric::power_of_two_position(plan.params[id][0].scale);
    }
    return found;
  }
};

/// {loop, rule, changed} for every rule that changed something, as recorded.
Json trace_of(const Refinement& refinement, const RecordedGraph& graph, const Json& names) {
  Json trace = Json::array();
  for (const PositionMove& move : refinement.moves) {
    if (trace.empty() || trace.back()["loop"] != move.loop || trace.back()["rule"] != move.rule->name) {
      trace.push_back({{"loop", move.loop}, {"rule", move.rule->name}, {"changed", Json::object()}});
    }
    for (const auto& [name, position] : names.items()) {
      if (graph.plan.slot(graph.model.graph.find(name)).stage.params != move.position.params) continue;
      Json& change = trace.back()["changed"][name];
      const int from = change.is_null() ? move.position.at : change[0].get<int>();
      change = {from, move.to};
    }
  }
  return trace;
}

void expect_recorded(const std::string& name, const Json& record) {
  RecordedGraph graph(record);
  config::Settings settings = test::settings_for("XINT8");
  settings.npu.max_loop_num = record["max_loop"];
  const Refinement refinement = refine(graph.model.graph, graph.plan, settings);
  EXPECT_EQ(refinement.loops, record["loops"].get<int>()) << name;
  EXPECT_EQ(Json(graph.positions(record["after"])), record["after"]) << name;
  if (!record.contains("trace")) return;
  EXPECT_EQ(nlohmann::json(trace_of(refinement, graph, record["before"])), nlohmann::json(record["trace"])) << name;
}

TEST(PositionRulesTest, MovesAsRecorded) {
  const Json golden = test::golden_json("npu.json");
  QQ_NEED_RECORD(!golden.is_null());
  for (const char* part : {"positions", "positions_random"}) {
    for (const auto& [name, record] : golden[part].items()) expect_recorded(name, record);
  }
}

/// A Conv whose weight position is too large for the shift after the product.
struct ConvBench : PassBench {
  explicit ConvBench(bool is_compat = false, const std::vector<std::string>& sets = {})
      : PassBench(test::model_of("g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) "
                                 "<float[1, 1, 1, 1] w = {0.0001}, float[1] b = {1}> { y = Conv (x, w, b) }"),
                  is_compat ? test::compat_settings("XINT8", sets) : test::settings_for("XINT8", sets)) {
    test::run_phases(*this, {"select", "mark"});
    run(order_as_written);
    for (const auto& [name, position] : {std::pair{"x", 10}, {"w", 14}, {"b", 20}, {"y", 3}}) {
      plan::QuantSlot& slot = context.plan.slot(value(name));
      context.plan.params.set(slot.stage.params, {{numeric::scale_of_position(position), 0}});
      if (slot.role == plan::Role::kWeight) {
        slot.codes = plan::store_codes({64}, ElementType::kInt8, graph().constant(slot.value)->dims());
      }
    }
  }
  int position(const std::string& name) const {
    const plan::ParamId id = context.plan.slot(value(name)).stage.params;
    return numeric::power_of_two_position(context.plan.params[id][0].scale);
  }
  int code(const std::string& name) const { return context.plan.slot(value(name)).codes->data<int8_t>()[0]; }
};

TEST(RefinePositionsTest, EncodesConstantsAgain) {
  ConvBench bench;
  EXPECT_TRUE(bench.run(refine_positions));
  EXPECT_EQ(bench.position("w"), 9);   // shift_cut 21 becomes 16
  EXPECT_EQ(bench.position("b"), 19);  // shift_bias -1 becomes 0
  EXPECT_EQ(bench.code("w"), 0);       // 0.0001 * 2^9
  EXPECT_EQ(bench.code("b"), 127);
  const Diagnostic& found = bench.diagnostics.all()[0];
  EXPECT_EQ(found.id, "position-changed");
  EXPECT_EQ(found.subject, "w");
  EXPECT_EQ(found.text, "scale 2^-14 becomes 2^-9 (the NPU needs shift_cut 0 to 16, found 21)");
  EXPECT_FALSE(bench.run(refine_positions));
}

TEST(RefinePositionsTest, CompatModeKeepsStoredIntegers) {
  ConvBench bench(/*is_compat=*/true);
  EXPECT_TRUE(bench.run(refine_positions));
  EXPECT_EQ(bench.position("w"), 9);
  EXPECT_EQ(bench.code("w"), 64);
  EXPECT_EQ(bench.code("b"), 64);
}

TEST(RefinePositionsTest, OptionsSwitchRulesOff) {
  ConvBench none(false, {"MaxLoopNum=0"});
  EXPECT_FALSE(none.run(refine_positions));
  EXPECT_TRUE(none.diagnostics.all().empty());
  ConvBench cut_off(false, {"AdjustShiftCut=false"});
  EXPECT_FALSE(cut_off.run(refine_positions));
  EXPECT_EQ(cut_off.position("w"), 14);
}

TEST(RefinePositionsTest, WarnsWhenRoundsRunOut) {
  ConvBench bench(false, {"MaxLoopNum=1"});
  EXPECT_TRUE(bench.run(refine_positions));
  const Diagnostic& last = bench.diagnostics.all().back();
  EXPECT_EQ(last.id, "positions-not-settled");
  EXPECT_NE(last.text.find("NPU limits may be violated at Conv "), std::string::npos) << last.text;
}

TEST(RefinePositionsTest, ValuesWithoutPositionsStay) {
  ConvBench bench;
  bench.context.plan.remove(bench.value("y"));
  EXPECT_FALSE(bench.run(refine_positions));
}

TEST(RefinePositionsTest, ScalesWithoutPositionsStay) {
  for (const float scale : {NAN, INFINITY, 0.0f, -1.0f}) {
    ConvBench bench;
    const plan::ParamId weight = bench.context.plan.slot(bench.value("w")).stage.params;
    bench.context.plan.params.set(weight, {{scale, 0}});
    EXPECT_FALSE(bench.run(refine_positions)) << scale;
    EXPECT_EQ(std::bit_cast<uint32_t>(bench.context.plan.params[weight][0].scale), std::bit_cast<uint32_t>(scale));
  }
}

class RefineSharedModelsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RefineSharedModelsTest, AgreesWithTheReference) {
  const Json golden = test::golden_json(GetParam() + "/stages_XINT8.json");
  QQ_NEED_RECORD(!golden.is_null());
  test::PlannedModel bench(GetParam(), test::compat_settings("XINT8"));
  const auto before = golden["positions_before"].get<std::map<std::string, int>>();
  const auto after = golden["positions_after"].get<std::map<std::string, int>>();
  const auto unknown = test::set_positions(bench.graph(), bench.context.plan, before);
  ASSERT_TRUE(unknown.empty()) << unknown.size() << " tensors are quantized here only: " << join(unknown, " ");
  const auto planned = test::positions_of(bench.graph(), bench.plan(), before);
  ASSERT_EQ(planned, before);
  bench.run(order_as_written);
  bench.run(simulate_dpu);
  const Refinement refinement = refine(bench.graph(), bench.context.plan, bench.settings);
  EXPECT_EQ(refinement.loops, golden["refinement_loops"].get<int>());
  EXPECT_EQ(test::positions_of(bench.graph(), bench.plan(), after), after);
}

INSTANTIATE_TEST_SUITE_P(SharedModels, RefineSharedModelsTest, ::testing::ValuesIn(test::models_with_stages("XINT8")),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RefineSharedModelsTest);

}  // namespace
}  // namespace quarkq::pass_tests
