// SPDX-License-Identifier: MIT
// A model from text with everything a pass wants around it, and its float outputs before and after.
#pragma once

#include <gtest/gtest.h>
#include <cstdint>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/resolve.h"
#include "exec/session.h"
#include "ir/check_graph.h"
#include "ir/dump.h"
#include "ir/edit.h"
#include "onnx_io/infer.h"
#include "onnx_io/text.h"
#include "pipeline/run/pass_runner.h"
#include "planning/passes.h"
#include "qdq/passes.h"
#include "rewrite/passes.h"

/// Tests of one library call passes of the others to get there.
namespace quarkq::pass_tests {
using namespace ::quarkq::rewrite;   // NOLINT(google-build-using-namespace)
using namespace ::quarkq::planning;  // NOLINT(google-build-using-namespace)
using namespace ::quarkq::qdq;       // NOLINT(google-build-using-namespace)
using namespace ::quarkq::pass;      // NOLINT(google-build-using-namespace)
}  // namespace quarkq::pass_tests

namespace quarkq::test {

/// Body "name (inputs) => (outputs) <initializers> { nodes }" as a model of this opset.
inline ir::Model model_of(const std::string& body, int opset = 17, int ir_version = 8) {
  Result<ir::Model> model =
      onnx_io::parse_model_text(cat("<ir_version: ", ir_version, ", opset_import: [\"\" : ", opset, "]>\n", body));
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return {};
  Diagnostics ignored;
  EXPECT_TRUE(onnx_io::infer_types(model.value(), ignored).ok());
  return std::move(model).value();
}

/// "{0.12, -0.5, ...}": `count` numbers for an initializer.
inline std::string numbers(size_t count, uint32_t seed, double low = -1, double high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<std::string> parts;
  for (size_t i = 0; i < count; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", distribution(generator));
    parts.emplace_back(text);
  }
  return "{" + join(parts, ", ") + "}";
}

/// Settings of the formats alone: `sets` may name a target, which the preset does not imply here.
inline config::Settings settings_for(const std::string& preset, std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), "target=none");
  const Result<config::QuantConfig> config = config::load_config(preset, sets);
  EXPECT_TRUE(config.ok()) << config.status().message();
  if (!config.ok()) return {};
  Diagnostics ignored;
  const Result<config::Settings> settings = config::resolve(config.value(), {}, ignored);
  EXPECT_TRUE(settings.ok()) << settings.status().message();
  return settings.ok() ? settings.value() : config::Settings{};
}

/// Operators in order, "Conv Relu".
inline std::string ops_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.order()) names.push_back(graph.node(id).op);
  return join(names, " ");
}

/// The first node of this operator.
inline const ir::Node& node_of(const ir::Graph& graph, const std::string& op) {
  for (const ir::NodeId id : graph.order()) {
    if (graph.node(id).op == op) return graph.node(id);
  }
  ADD_FAILURE() << "no " << op << " among " << ops_of(graph);
  static const ir::Node none;
  return none;
}

struct PassBench {
  pipeline::RunState context;
  ir::Model& model = context.model;
  config::Settings& settings = context.settings;
  Diagnostics& diagnostics = context.diagnostics;

  explicit PassBench(ir::Model made, config::Settings chosen = settings_for("A8W8"))
      : context{.model = std::move(made), .settings = std::move(chosen)} {}
  explicit PassBench(const std::string& body, int opset = 17) : PassBench(model_of(body, opset)) {}
  PassBench(const PassBench&) = delete;

  using Pass = pass::PassFunction;
  /// Runs a pass; the graph must verify afterwards. True when it changed something.
  bool run(const Pass& pass) {
    const Result<Changed> changed = pipeline::run_pass(context, pass);
    EXPECT_TRUE(changed.ok()) << changed.status().message();
    EXPECT_EQ(ir::verify(model.graph).message(), "");
    return changed.ok() && changed.value() == Changed::kYes;
  }

  const ir::Graph& graph() const { return model.graph; }
  ir::ValueId value(const std::string& name) const {
    const ir::ValueId id = model.graph.find(name);
    EXPECT_TRUE(id.valid()) << name;
    return id;
  }
  std::string ops() const { return ops_of(model.graph); }
  const ir::Node& node(const std::string& op) const { return node_of(model.graph, op); }
};

/// Outputs for one random sample of all inputs, whose shapes are static. Float inputs only.
inline std::vector<ir::Tensor> run_model(const ir::Model& model, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-2, 2);
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : model.graph.required_inputs()) {
    ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, model.graph.value(id).type.shape());
    for (float& value : tensor.mutable_data<float>()) value = distribution(generator);
    inputs.push_back(std::move(tensor));
  }
  exec::Session session(model, {}, {});
  const auto results = session.run(inputs);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *results.value() : std::vector<ir::Tensor>{};
}

inline void expect_same_outputs(const ir::Model& before, const ir::Model& after, double tolerance = 1e-5) {
  const std::vector<ir::Tensor> a = run_model(before), b = run_model(after);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(before.graph.value(before.graph.outputs()[i]).name, after.graph.value(after.graph.outputs()[i]).name);
    ASSERT_EQ(a[i].dims(), b[i].dims());
    const std::vector<double> x = ir::to_double(a[i]).value(), y = ir::to_double(b[i]).value();
    for (size_t k = 0; k < x.size(); ++k)
      ASSERT_NEAR(x[k], y[k], tolerance * std::max(1.0, std::abs(x[k]))) << "element " << k;
  }
}

/// The pass fires, twice is once, and the float outputs stay.
inline void expect_fires(PassBench& bench, const PassBench::Pass& pass, double tolerance = 1e-5) {
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(pass));
  expect_same_outputs(before, bench.model, tolerance);
  const std::string once = ir::dump(bench.model);
  EXPECT_FALSE(bench.run(pass));
  EXPECT_EQ(ir::dump(bench.model), once);
}

inline void expect_idle(PassBench& bench, const PassBench::Pass& pass) {
  const std::string before = ir::dump(bench.model);
  EXPECT_FALSE(bench.run(pass));
  EXPECT_EQ(ir::dump(bench.model), before);
}

}  // namespace quarkq::test
