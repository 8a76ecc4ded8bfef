// SPDX-License-Identifier: MIT
// Memory layouts: dimensions, axes and bytes there and back, transposed matrices of every element size, bounds of
// memory, and single nodes computed while a graph is compiled.
#include "exec/layout.h"

#include <omp.h>

#include <array>
#include <cstring>
#include <numeric>

#include "exec/compile.h"
#include "exec/environment.h"
#include "exec/session.h"
#include "exec/transpose.h"
#include "support/op_checks.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::exec {
namespace {

using ir::Shape;
using ir::Tensor;

TEST(LayoutTest, DimensionsAndAxesMoveTogether) {
  for (const Shape& dims : {Shape{}, Shape{7}, Shape{2, 3}, Shape{2, 3, 4}, Shape{2, 3, 4, 5}, Shape{2, 3, 4, 5, 6, 7},
                            Shape{0, 3, 0, 5}}) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      const Shape stored = stored_dims(dims, layout);
      EXPECT_EQ(logical_dims(stored, layout), dims);
      const auto rank = static_cast<int64_t>(dims.size());
      std::vector<bool> hit(dims.size());
      for (int64_t axis = 0; axis < rank; ++axis) {
        const auto place = static_cast<size_t>(stored_axis(axis, rank, layout));
        ASSERT_LT(place, hit.size());
        EXPECT_FALSE(hit[place]) << "two axes at one place";
        hit[place] = true;
        EXPECT_EQ(stored[place], dims[static_cast<size_t>(axis)]) << shape_text(dims) << " axis " << axis;
      }
    }
  }
}

TEST(LayoutTest, TensorsComeBackAndAgreeWithTheDefinition) {
  test::Draws draws(3);
  for (int round = 0; round < 40; ++round) {
    const Tensor x = draws.tensor(draws.shape(0, 5, 0, 6));
    const Tensor stored = in_layout(x, Layout::kChannelsLast);
    EXPECT_TRUE(stored.same_as(test::to_layout(x, Layout::kChannelsLast))) << shape_text(x.dims());
    EXPECT_TRUE(in_onnx_order(stored, Layout::kChannelsLast).same_as(x)) << shape_text(x.dims());
    EXPECT_EQ(in_layout(x, Layout::kPlain).raw(), x.raw()) << "nothing is copied";
  }
  // One channel or one pixel: the bytes stay where they are.
  for (const Shape& dims : {Shape{4, 1, 5, 6}, Shape{4, 9, 1, 1}}) {
    const Tensor x = test::random_floats(dims);
    const Tensor stored = in_layout(x, Layout::kChannelsLast);
    EXPECT_EQ(stored.raw(), x.raw());
    EXPECT_EQ(stored.dims(), stored_dims(dims, Layout::kChannelsLast));
  }
}

TEST(TransposeTest, EveryElementSizeAndThreadCount) {
  const int threads = omp_get_max_threads();
  using Sizes = std::array<size_t, 3>;  // matrices, their rows and columns
  for (const size_t size : {1, 2, 4, 8, 16}) {
    for (const auto& [batch, rows, columns] : {Sizes{1, 1, 1}, Sizes{3, 5, 7}, Sizes{2, 1, 300}, Sizes{1, 257, 3},
                                               Sizes{2, 300, 290}, Sizes{1, 16, 16}, Sizes{0, 4, 4}}) {
      const size_t bytes = batch * rows * columns * size;
      std::vector<std::byte> from(bytes), expected(bytes);
      for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
      for (size_t b = 0; b < batch; ++b) {
        for (size_t r = 0; r < rows; ++r) {
          for (size_t c = 0; c < columns; ++c) {
            const size_t source = ((b * rows + r) * columns + c) * size, target = ((b * columns + c) * rows + r) * size;
            std::memcpy(expected.data() + target, from.data() + source, size);
          }
        }
      }
      const MatrixBatch matrices{static_cast<int64_t>(batch), static_cast<int64_t>(rows), static_cast<int64_t>(columns),
                                 static_cast<int>(size)};
      for (const int count : {1, 2, 3}) {
        omp_set_num_threads(count);
        std::vector<std::byte> to(bytes);
        transpose_matrices(from.data(), to.data(), matrices);
        EXPECT_TRUE(to == expected) << batch << " of " << rows << " x " << columns << ", " << size << " bytes";
      }
    }
  }
  omp_set_num_threads(threads);
}

TEST(MemoryGuardTest, WhatAUserAllowsIsTheLimitElseTheMachine) {
  EXPECT_EQ(allowed_memory(1000), 1000);
  EXPECT_GT(allowed_memory(0), int64_t{1} << 28);
  EXPECT_EQ(allowed_memory(-5), allowed_memory(0));
}

TEST(MemoryGuardTest, OutputsAndTemporaryMemoryCountAndAliasesDoNot) {
  ir::Node node;
  node.op = "Op";
  node.outputs = {ir::ValueId{0}, ir::ValueId{1}, ir::ValueId{2}};
  Prepare prepare(node, "node n (Op)", 17, {{ElementType::kFloat, {10}, Layout::kPlain, nullptr}}, {true});
  EXPECT_TRUE(check_memory(prepare, 0).ok()) << "nothing is declared";
  prepare.out(0, ElementType::kDouble, {3, 5});  // 120 bytes
  prepare.alias(1, 0, {10});
  prepare.scratch(80);
  prepare.out(7, ElementType::kFloat, {1 << 20});  // an output that the node does not have
  EXPECT_TRUE(check_memory(prepare, 200).ok());
  const Status status = check_memory(prepare, 199);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_EQ(status.message(), "node n (Op): needs 200 B for its outputs, allowed are 199 B");
  prepare.out(2, ElementType::kFloat, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(check_memory(prepare, INT64_MAX).message().find("node n (Op): shape ["), 0u);
}

/// evaluate_node() on the first node of a graph.
Result<std::vector<Tensor>> evaluated_first(const ir::Model& model, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> pointers;
  pointers.reserve(inputs.size());
  for (const Tensor& input : inputs) pointers.push_back(input.is_defined() ? &input : nullptr);
  return evaluate_node(model.graph, model.opsets, model.graph.order()[0], pointers);
}

TEST(EvaluateNodeTest, ComputesWhatARunComputes) {
  struct Row {
    const char* text;
    std::vector<Tensor> inputs;
  };
  const Tensor image = test::random_floats({2, 3, 4, 5}), weights = test::random_floats({6, 3, 3, 3}, -1, 1, 2);
  const Row rows[] = {
      {"g (float[2,3,4,5] x, float[6,3,3,3] w) => (float[a,b,c,d] y) { y = Conv <pads = [1,1,1,1]> (x, w) }",
       {image, weights}},
      {"g (float[2,3,4,5] x) => (float[a,b,c,d] y) { y = MaxPool <kernel_shape = [2,2]> (x) }", {image}},
      {"g (float[2,3,4,5] x) => (float[a,b,c,d] y) { y = Softmax <axis = 1> (x) }", {image}},
      {"g (float[2,3,4,5] x) => (int64[n] y) { y = Shape (x) }", {image}},
      {"g (float[2,3,4,5] x) => (int64[a,b] y) { y = NonZero (x) }", {image}},
      {"g (float[4] x, float l) => (float[4] y) { y = Clip (x, , l) }",
       {test::floats({4}, {1, 2, 3, 4}), Tensor(), test::floats({}, {2})}},
  };
  for (const Row& row : rows) {
    const ir::Model model = test::model_of(row.text);
    const auto found = evaluated_first(model, row.inputs);
    ASSERT_TRUE(found.ok()) << found.status().message();
    std::vector<Tensor> fed;
    for (const Tensor& input : row.inputs) {
      if (input.is_defined()) fed.push_back(input);
    }
    Session session(model, {}, {});
    const auto ran = session.run(fed);
    ASSERT_TRUE(ran.ok()) << ran.status().message();
    ASSERT_EQ(found.value().size(), 1u) << row.text;
    EXPECT_TRUE(found.value()[0].same_as((*ran.value())[0])) << row.text;
  }
}

TEST(EvaluateNodeTest, WhatHasNoKernelGivesNothingAndWrongNodesAreErrors) {
  const Tensor x = test::floats({2}, {1, 2});
  const auto nothing = evaluated_first(
      test::model_of(
          "g (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] p) { p = Neg "
          "(x) }, else_branch = e () => (float[2] q) { q = Abs (x) }> }"),
      {test::bools({}, {1})});
  ASSERT_TRUE(nothing.ok()) << nothing.status().message();
  EXPECT_TRUE(nothing.value().empty());
  const ir::Model add = test::model_of("g (float[2] x, float[2] z) => (float[2] y) { [sum] y = Add (x, z) }");
  EXPECT_EQ(evaluated_first(add, {x, test::floats({3}, {1, 2, 3})}).status().message().find("node sum (Add): "), 0u);
  ir::Model extra = add;
  ir::GraphEdit(extra.graph).append_input(extra.graph.order()[0], extra.graph.inputs()[0]);
  EXPECT_EQ(evaluated_first(extra, {x, x, x}).status().message(), "node sum (Add): 3 inputs, allowed: 2 to 2");
}

TEST(ProgramTest, InputsOfAnotherKindAreNamed) {
  const ir::Model model = test::model_of("g (float[2,3] x, float[3] z) => (float[2,3] y) { y = Add (x, z) }");
  CompileRequest request;
  for (const ir::ValueId input : model.graph.inputs()) {
    request.feeds.push_back({input, ElementType::kFloat, model.graph.value(input).type.shape()});
  }
  request.fetches = model.graph.outputs();
  Result<Compiled> compiled = compile(model.graph, model.opsets, request);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  Program& program = compiled.value().program;
  const Tensor x = test::random_floats({2, 3}), z = test::random_floats({3});
  const auto refusal = [&](const std::vector<Tensor>& inputs) { return program.run(inputs).message(); };
  EXPECT_EQ(refusal({x, z}), "");
  EXPECT_EQ(refusal({x}), "the model takes 2 inputs, 1 were given");
  EXPECT_EQ(refusal({x, x}), "input z: FLOAT[2,3] was given, the program was compiled for FLOAT[3]");
  EXPECT_EQ(refusal({test::as_type(x, ElementType::kDouble), z}),
            "input x: DOUBLE[2,3] was given, the program was compiled for FLOAT[2,3]");
}

TEST(ProgramTest, ValuesThatNothingMakesAreNamed) {
  const ir::Model model = test::model_of("g (float[2] x, float[2] z) => (float[2] y) { [sum] y = Add (x, z) }");
  CompileRequest request;
  request.feeds = {{model.graph.find("x"), ElementType::kFloat, {2}}};
  request.fetches = model.graph.outputs();
  const auto refusal = [&] { return compile(model.graph, model.opsets, request).status().message(); };
  EXPECT_EQ(refusal(), "node sum (Add): input z has no value");
  request.fetches = {model.graph.find("z")};
  EXPECT_EQ(refusal(), "output z is never computed");
  request.opaque = {model.graph.find("z")};
  request.fetches = model.graph.outputs();
  EXPECT_EQ(refusal(), "node sum (Add): input z is a sequence or an empty optional, the operator accepts tensors");
  request.opaque.clear();
  request.constants = {{model.graph.find("z"), test::floats({2}, {1, 2})}};
  EXPECT_EQ(refusal(), "");
  request.feeds[0].dims = {int64_t{1} << 47, 4};
  EXPECT_EQ(refusal(), "shape [140737488355328,4]: more than 2^48 elements");
}

/// A sink that fails ends the run with its reason.
TEST(ProgramTest, TheErrorOfASinkEndsTheRun) {
  class Failing : public TapSink {
   public:
    Status on_value(ir::ValueId, const TensorView&) override { return bad_data("seen enough"); }
  };
  const ir::Model model = test::model_of("g (float[2] x) => (float[2] y) { a = Neg (x) y = Abs (a) }");
  for (const char* name : {"x", "a", "y"}) {
    Session session(model, {}, {model.graph.outputs(), {model.graph.find(name)}});
    Failing sink;
    const std::vector<Tensor> inputs = {test::random_floats({2})};
    EXPECT_EQ(session.run(inputs, &sink).status().message(), "seen enough") << name;
    EXPECT_TRUE(session.run(inputs).ok()) << "the session can be used again";
  }
}

}  // namespace
}  // namespace quarkq::exec
