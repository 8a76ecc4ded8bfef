// SPDX-License-Identifier: MIT
// Conversions of finished models in tests: a model from text, steps as `quarkq convert --pass` has them, and what each
// left behind. A step must leave a graph that verifies and passes onnx's checker.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/quantizing_ops.h"
#include "onnx_io/check_model.h"
#include "pass/output_guard.h"
#include "pipeline/run/conversions.h"
#include "support/pass_support.h"

namespace quarkq::test {

struct ConvertBench {
  ir::Model model;
  Diagnostics diagnostics;
  std::vector<pass::LeftNode> left;  ///< by the last step
  std::vector<pass::SideFile> files;

  explicit ConvertBench(ir::Model made) : model(std::move(made)) {
    EXPECT_TRUE(pass::tidy_up(model.graph, Changed::kNo).ok());
  }
  explicit ConvertBench(const std::string& body, int opset = 17) : ConvertBench(model_of(body, opset)) {}
  ConvertBench(const ConvertBench&) = delete;

  /// How many places the step changed.
  Result<size_t> try_step(const std::string& text) {
    left.clear();
    QQ_TRY(const pipeline::ConversionStep step, pipeline::read_step(text));
    const exec::Environment environment;
    pass::ConvertContext context{model, step.options, diagnostics, environment, left, files};
    QQ_TRY(const size_t changes, pipeline::run_step(step, context));
    QQ_RETURN_IF_ERROR(pass::tidy_up(model.graph, Changed::kNo).status());
    QQ_RETURN_IF_ERROR(pass::infer_types_again(model, diagnostics).status());
    EXPECT_EQ(ir::verify(model.graph).message(), "") << text;
    EXPECT_EQ(onnx_io::check_model(model).message(), "") << text << "\n" << ir::dump(model);
    return changes;
  }
  size_t run(const std::string& text) {
    const Result<size_t> changes = try_step(text);
    EXPECT_TRUE(changes.ok()) << text << ": " << changes.status().message();
    return changes.ok() ? changes.value() : 0;
  }
  /// The message of a step that must fail with this code.
  std::string refusal(const std::string& text, Code code) {
    const Result<size_t> changes = try_step(text);
    EXPECT_EQ(changes.status().code(), code) << text << ": " << changes.status().message();
    return changes.status().message();
  }

  const ir::Graph& graph() const { return model.graph; }
  std::string ops() const { return ops_of(model.graph); }
  const ir::Node& node(const std::string& op) const { return node_of(model.graph, op); }
  /// The stored tensor that input `input` of the first node of this operator reads.
  ir::Tensor stored(const std::string& op, size_t input) const {
    const ir::ValueId value = node(op).input(input);
    const ir::Tensor* tensor = value.valid() ? graph().constant(value) : nullptr;
    EXPECT_NE(tensor, nullptr) << op << " input " << input;
    return tensor == nullptr ? ir::Tensor() : *tensor;
  }
  std::vector<int64_t> integers(const std::string& op, size_t input) const {
    return ir::to_int64(stored(op, input)).value();
  }
  std::vector<double> numbers_of(const std::string& op, size_t input) const {
    return ir::to_double(stored(op, input)).value();
  }
  ElementType type_of(const std::string& value) const { return graph().value(graph().find(value)).type.element; }
};

/// The step changes this many places, keeps the outputs within `tolerance`, and finds nothing a second time.
inline void expect_converts(ConvertBench& bench, const std::string& step, size_t changes, double tolerance = 1e-6) {
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run(step), changes) << step;
  expect_same_outputs(before, bench.model, tolerance);
  const std::string once = ir::dump(bench.model);
  EXPECT_EQ(bench.run(step), 0U) << step << " a second time";
  EXPECT_EQ(ir::dump(bench.model), once) << step;
}

/// The step changes nothing.
inline void expect_unchanged(ConvertBench& bench, const std::string& step) {
  const std::string before = ir::dump(bench.model);
  EXPECT_EQ(bench.run(step), 0U) << step;
  EXPECT_EQ(ir::dump(bench.model), before) << step;
}

}  // namespace quarkq::test
