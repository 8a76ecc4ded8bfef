// SPDX-License-Identifier: MIT
#include <map>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

OpCall einsum(std::string equation) { return {"Einsum", "", 12, {attribute("equation", std::move(equation))}}; }

/// The definition for equations of plain letters: a sum over all label values.
std::vector<double> by_definition(const std::vector<std::string>& terms, const std::string& output,
                                  const std::vector<ir::Tensor>& inputs) {
  std::string labels = output;
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t d = 0; d < terms[i].size(); ++d) {
      sizes[terms[i][d]] = std::max(sizes[terms[i][d]], inputs[i].dims()[d]);
      if (labels.find(terms[i][d]) == std::string::npos) labels += terms[i][d];
    }
  }
  ir::Shape dims, out_dims;
  for (const char label : labels) dims.push_back(sizes[label]);
  out_dims.assign(dims.begin(), dims.begin() + static_cast<int64_t>(output.size()));
  std::vector<double> sums(static_cast<size_t>(ir::checked_count(out_dims)));
  const auto outputs = static_cast<int64_t>(sums.size());
  const int64_t inner = outputs == 0 ? 0 : ir::checked_count(dims) / outputs;
  int64_t count = 0;
  for_each_index(dims, [&](const ir::Shape& index) {
    double term = 1;
    for (size_t i = 0; i < terms.size(); ++i) {
      ir::Shape own;
      for (const char label : terms[i]) own.push_back(index[labels.find(label)]);
      term *= at(inputs[i], own);
    }
    sums[static_cast<size_t>(count++ / inner)] += term;
  });
  return sums;
}

struct Row {
  std::vector<std::string> terms;
  std::string output;
  std::vector<ir::Shape> dims;
};

TEST(EinsumTest, AgreesWithTheDefinition) {
  const std::vector<Row> rows = {
      {{"ij", "jk"}, "ik", {{3, 4}, {4, 5}}},
      {{"bij", "bjk"}, "bik", {{2, 3, 4}, {2, 4, 5}}},
      {{"bihd", "bjhd"}, "bhij", {{2, 3, 2, 4}, {2, 5, 2, 4}}},
      {{"ij"}, "ji", {{3, 4}}},
      {{"ij"}, "", {{3, 4}}},
      {{"ii"}, "i", {{4, 4}}},
      {{"ii"}, "", {{4, 4}}},
      {{"iij", "jk"}, "ki", {{3, 3, 4}, {4, 2}}},
      {{"i", "j"}, "ij", {{3}, {4}}},
      {{"ij", "ij"}, "ij", {{3, 4}, {3, 4}}},
      {{"ab", "cd"}, "acbd", {{2, 3}, {4, 2}}},
      {{"ab", "bc"}, "c", {{2, 3}, {3, 4}}},
      {{"abc", "cd", "de"}, "abe", {{2, 3, 4}, {4, 2}, {2, 3}}},
      {{"ab", "bc", "ac"}, "abc", {{2, 3}, {3, 4}, {2, 4}}},
      {{"a", "a", "a"}, "a", {{5}, {5}, {5}}},
      {{"ij", "jk"}, "ik", {{3, 1}, {4, 5}}},  // a dimension of 1 is stretched
      {{"ij", "ij"}, "ij", {{1, 4}, {3, 1}}},
      {{"bchw", "bc"}, "bchw", {{2, 3, 2, 2}, {2, 3}}},
      {{"ij", "jk"}, "ik", {{40, 50}, {50, 60}}},  // large enough for the matrix product of a library
      {{"", "i"}, "i", {{}, {3}}},
  };
  for (const Row& row : rows) {
    std::vector<ir::Tensor> inputs;
    std::string equation;
    for (size_t i = 0; i < row.terms.size(); ++i) {
      equation += (i == 0 ? "" : ",") + row.terms[i];
      inputs.push_back(random_floats(row.dims[i], -1, 1, static_cast<uint32_t>(i + 1)));
    }
    equation += "->" + row.output;
    SCOPED_TRACE(equation);
    const std::vector<double> expected = by_definition(row.terms, row.output, inputs);
    const auto found = run_op(einsum(equation), inputs);
    ASSERT_TRUE(found.ok()) << found.status().message();
    expect_near(found.value()[0], expected, 1e-5);
  }
}

TEST(EinsumTest, ImpliedOutputAndEllipsis) {
  const ir::Tensor a = random_floats({2, 3, 4}), b = random_floats({4, 5}, -1, 1, 2);
  const ir::Tensor product = run_op({"MatMul", "", 13}, {a, b}).value()[0];
  expect_op(einsum("...j,jk"), {a, b}, {2, 3, 5}, values(product), 1e-5);
  expect_op(einsum("...ij, ...jk -> ...ik"), {a, b}, {2, 3, 5}, values(product), 1e-5);
  expect_op(einsum("bij,jk"), {a, b}, {2, 3, 5}, values(product), 1e-5);
  const ir::Tensor turned = run_op(einsum("...jk->...kj"), {a}).value()[0];
  EXPECT_EQ(turned.dims(), (ir::Shape{2, 4, 3}));
  expect_op(einsum("ba"), {floats({2, 2}, {1, 2, 3, 4})}, {2, 2}, {1, 3, 2, 4});  // letters in order: a first
}

TEST(EinsumTest, OtherTypes) {
  const ir::Tensor a = floats({2, 2}, {1, 2, 3, 4});
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble}) {
    expect_op(einsum("ij,jk->ik"), {as_type(a, type), as_type(a, type)}, {2, 2}, {7, 10, 15, 22});
  }
  expect_op(einsum("ij,jk->ik"), {ints({2, 2}, {1, 2, 3, 4}), ints({2, 2}, {1, 2, 3, 4})}, {2, 2}, {7, 10, 15, 22});
  expect_op(einsum("i->"), {ints({INT64_MAX, 1})}, {}, {static_cast<double>(INT64_MIN)});  // wraps
}

TEST(EinsumTest, EmptyOperands) {
  const ir::Tensor none = ir::Tensor::zeros(ElementType::kFloat, {2, 0});
  expect_op(einsum("ij,jk->ik"), {none, ir::Tensor::zeros(ElementType::kFloat, {0, 2})}, {2, 2}, {0, 0, 0, 0});
  expect_op(einsum("ij->i"), {none}, {2}, {0, 0});
  expect_op(einsum("ij->j"), {none}, {0}, {});
}

TEST(EinsumTest, RejectsWhatMakesNoSense) {
  const ir::Tensor a = random_floats({2, 3}), b = random_floats({3, 4});
  expect_error(einsum("ij->ji"), {a, b}, "1 terms");
  expect_error(einsum("ijk,jk->i"), {a, b}, "3 labels");
  expect_error(einsum("ij,ik->k"), {a, b}, "elsewhere its label has 2");
  expect_error(einsum("ii->i"), {a}, "elsewhere");
  expect_error(einsum("ij->ii"), {a}, "twice");
  expect_error(einsum("ij->k"), {a}, "no input has");
  expect_error(einsum("i1->i"), {a}, "allowed: letters");
  expect_error(einsum("i..->i"), {a}, "allowed: letters");
  expect_error(einsum("......ij->ij"), {a}, "allowed: letters");
  expect_error(einsum("ij->j->i"), {a}, "allowed: letters");
  expect_error(einsum("ij...k->i"), {a}, "3 labels");
  expect_error(einsum("ij,jk->ik"), {a, as_type(b, ElementType::kDouble)}, "input 1 is DOUBLE");
  expect_error(einsum("i->i"), {bools({1}, {1})}, "allowed: FLOAT");
  expect_error({"Einsum", "", 12}, {a}, "labels");
}

}  // namespace
}  // namespace quarkq::test
