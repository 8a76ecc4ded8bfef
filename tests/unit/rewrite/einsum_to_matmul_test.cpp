// SPDX-License-Identifier: MIT
// Equations of two operands: random ones keep their outputs exactly (all numbers are small integers) and make no
// tensor of more than 4 dimensions.
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

config::Settings settings_with_rank(int64_t rank = 4) {
  return test::settings_for("A8W8", {cat("legalize.most_rank=", rank)});
}

ir::Tensor drawn_integers(test::Draws& draws, const ir::Shape& dims) {
  ir::Tensor tensor = draws.tensor(dims, -4, 4);
  for (float& value : tensor.mutable_data<float>()) value = std::round(value);
  return tensor;
}

void expect_equal_outputs(const ir::Model& before, const ir::Model& after, test::Draws& draws) {
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : before.graph.required_inputs())
    inputs.push_back(drawn_integers(draws, before.graph.value(id).type.shape()));
  exec::Session a(before, {}, {}), b(after, {}, {});
  const auto x = a.run(inputs), y = b.run(inputs);
  ASSERT_TRUE(x.ok() && y.ok()) << x.status().message() << y.status().message();
  EXPECT_EQ((*x.value())[0].dims(), (*y.value())[0].dims());
  EXPECT_EQ(test::values((*x.value())[0]), test::values((*y.value())[0]));
}

struct DrawnEquation {
  std::string left, right, output;
  std::map<char, int64_t> sizes;

  explicit DrawnEquation(test::Draws& draws) {
    const int64_t letters = draws.integer(1, 7);
    for (char letter = 'a'; letter < static_cast<char>('a' + letters); ++letter) {
      sizes[letter] = draws.integer(1, 3);
      const int64_t kind = draws.integer(0, 3);  // batch, left, right, summed
      if (kind != 2) put(draws, left, letter);
      if (kind != 1) put(draws, right, letter);
      if (kind != 3) put(draws, output, letter);
    }
  }
  std::string dims(const std::string& term) const {
    std::vector<int64_t> list;
    for (const char letter : term) list.push_back(sizes.at(letter));
    return join(list, ", ");
  }

 private:
  static void put(test::Draws& draws, std::string& term, char letter) {
    term.insert(static_cast<size_t>(draws.integer(0, static_cast<int64_t>(term.size()))), 1, letter);
  }
};

size_t highest_made(const ir::Graph& graph) {
  size_t highest = 0;
  for (const ir::NodeId id : graph.order()) {
    const ir::Value& made = graph.value(graph.node(id).output(0));
    if (!made.is_output) highest = std::max(highest, made.type.dims.size());
  }
  return highest;
}

TEST(EinsumToMatMulTest, EveryEquationOfTwoOperands) {
  test::Draws draws(5);
  int tried = 0;
  while (tried < 200) {
    const DrawnEquation e(draws);
    if (e.left.empty() || e.right.empty() || e.output.empty()) continue;  // the text form has no such shapes
    ++tried;
    const std::string body =
        cat("g (float[", e.dims(e.left), "] x, float[", e.dims(e.right),
            "] w) => (float[] y) { y = Einsum <equation = \"", e.left, ",", e.right, "->", e.output, "\"> (x, w) }");
    SCOPED_TRACE(body);
    PassBench bench(test::model_of(body), settings_with_rank());
    if (draws.coin()) {
      ir::GraphEdit edit(bench.model.graph);
      const ir::ValueId id = bench.value(draws.coin() ? "w" : "x");
      const ir::Shape dims = bench.graph().value(id).type.shape();
      edit.remove_graph_input(id);
      edit.set_constant(id, drawn_integers(draws, dims));
    }
    const ir::Model before = bench.model;
    ASSERT_TRUE(bench.run(einsum_to_matmul));
    EXPECT_EQ(bench.ops().find("Einsum"), std::string::npos);
    EXPECT_FALSE(bench.run(einsum_to_matmul));
    expect_equal_outputs(before, bench.model, draws);
    Diagnostics ignored;
    ASSERT_TRUE(onnx_io::infer_types(bench.model, ignored).ok());
    EXPECT_LE(highest_made(bench.graph()), 4U);
  }
}

std::string ops_after(const std::string& equation, const std::string& inputs, const std::string& initializers = "",
                      int64_t most_rank = 4) {
  PassBench bench(test::model_of(cat("g (", inputs, ") => (float[] y) ", initializers, " { y = Einsum <equation = \"",
                                     equation, "\"> (x, w) }")),
                  settings_with_rank(most_rank));
  test::expect_fires(bench, einsum_to_matmul);
  return bench.ops();
}

TEST(EinsumToMatMulTest, NoNeedlessNodes) {
  const std::string two = "float[2, 3, 4, 5] x, float[2, 3, 5, 6] w";
  EXPECT_EQ(ops_after("bhij,bhjk->bhik", two), "MatMul");
  EXPECT_EQ(ops_after("ij,jk->ik", "float[3, 4] x, float[4, 5] w"), "MatMul");
  EXPECT_EQ(ops_after("ij,jk->ki", "float[3, 4] x, float[4, 5] w"), "MatMul Transpose");
  EXPECT_EQ(ops_after("abcd,de->abce", "float[2, 3, 4, 5] x, float[5, 6] w"), "MatMul");
  EXPECT_EQ(ops_after("bhwc,hkc->bhwk", "float[2, 3, 4, 5] x, float[3, 6, 5] w"),
            "Transpose Reshape MatMul Reshape Transpose");
  EXPECT_EQ(ops_after("ab,ab->ab", "float[2, 3] x, float[2, 3] w"), "Mul");
  EXPECT_EQ(ops_after("bhid,bhjd->bhij", "float[2, 3, 4, 5] x, float[2, 3, 6, 5] w"), "Transpose MatMul");
}

TEST(EinsumToMatMulTest, ConstantsAreMovedAtOnce) {
  const std::string matrix = cat("<float[5, 4] w = ", test::numbers(20, 1), ">");
  EXPECT_EQ(ops_after("abc,dc->abd", "float[2, 3, 4] x", matrix), "MatMul");
  const std::string kernel = cat("<float[6, 4] w = ", test::numbers(24, 1), ">");
  EXPECT_EQ(ops_after("bcs,oc->bos", "float[2, 4, 5] x", kernel), "MatMul");  // [o, c] x [b, c, s]
  PassBench bench(test::model_of(cat("g (float[2, 3, 4] x) => (float[] y) ", matrix,
                                     " { [einsum] y = Einsum <equation = \"abc,dc->abd\"> (x, w) }")),
                  settings_with_rank());
  ASSERT_TRUE(bench.run(einsum_to_matmul));
  const ir::Node& product = bench.node("MatMul");
  EXPECT_EQ(product.name, "einsum");
  EXPECT_TRUE(bench.graph().value(product.input(1)).is_initializer());
  EXPECT_EQ(bench.graph().value(product.input(1)).name, "y_right");
  EXPECT_EQ(bench.graph().value(product.input(1)).constant->dims(), (ir::Shape{4, 5}));
  EXPECT_FALSE(bench.graph().find("w").valid()) << "nothing reads it any more";
}

TEST(EinsumToMatMulTest, BatchAxesAreMergedWhereTheRankIsLimited) {
  const std::string two = "float[2, 3, 4, 5] x, float[2, 3, 5, 6] w";
  EXPECT_EQ(ops_after("bhij,bhjk->bhik", two, "", 3), "Reshape Reshape MatMul Reshape");
}

TEST(EinsumToMatMulTest, OneTermBecomesTranspose) {
  const auto ops_of = [](const std::string& equation) {
    PassBench bench(
        test::model_of(cat("g (float[2, 3, 4] x) => (float[] y) { y = Einsum <equation = \"", equation, "\"> (x) }")),
        settings_with_rank());
    test::expect_fires(bench, einsum_to_matmul, 0);
    return bench.ops();
  };
  EXPECT_EQ(ops_of("abc->cab"), "Transpose");
  EXPECT_EQ(ops_of("bca"), "Transpose");  // implied: abc
  EXPECT_EQ(ops_of("abc->abc"), "Identity");
}

TEST(EinsumToMatMulTest, HighEndsAreReshapedAtOnce) {
  PassBench bench(test::model_of("g (float[2, 3, 2, 4, 5] x, float[4, 5, 6] w) => (float[] y) { y = Einsum <equation = "
                                 "\"abcde,def->fabc\"> (x, w) }"),
                  settings_with_rank());
  test::expect_fires(bench, einsum_to_matmul);
  EXPECT_EQ(bench.ops().find("Einsum"), std::string::npos);
}

TEST(EinsumToMatMulTest, KeepsIntegersAndMalformedEquations) {
  for (const char* equation : {"ij,jk", "ij,jk->ik"}) {
    PassBench bench(test::model_of(cat("g (int64[2, 3] x, int64[3, 4] w) => (int64[] y) { y = Einsum <equation = \"",
                                       equation, "\"> (x, w) }")),
                    settings_with_rank());
    test::expect_idle(bench, einsum_to_matmul);
  }
  for (const char* equation :
       {"", ",", "->", "ij", "ij,jk->il", "i1,jk->ik", "ij,jk->ii", "ij,jkl->ik", "ij,jk->ik->a"}) {
    SCOPED_TRACE(equation);
    PassBench bench(test::model_of("g (float[2, 3] x, float[3, 4] w) => (float[] y) { y = Einsum <equation = "
                                   "\"ij,jk->ik\"> (x, w) }"),
                    settings_with_rank());
    ir::GraphEdit(bench.model.graph).node(bench.node("Einsum").id).set("equation", std::string(equation));
    test::expect_idle(bench, einsum_to_matmul);
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
