// SPDX-License-Identifier: MIT
// Operators over sequences and optionals, called without a graph: what belongs together undoes itself, places count as
// in a Python list, and refusals say what was found and what is allowed.
#include <limits>
#include <optional>

#include "exec/evaluation.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using ir::Operand;
using ir::Tensor;
using Given = std::vector<std::optional<Operand>>;  ///< nothing: the input is absent

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct ValueCall {
  std::string op;
  std::vector<ir::Attribute> attributes = {};
  int64_t opset = 18;
};

Result<Operand> evaluated(const ValueCall& call, const Given& inputs) {
  ir::Node node;
  node.op = call.op;
  node.attributes = call.attributes;
  node.outputs = {ir::ValueId{0}};
  std::vector<const Operand*> pointers;
  for (const auto& input : inputs) pointers.push_back(input ? &*input : nullptr);
  exec::Evaluation evaluation(node, pointers, /*graphs=*/nullptr);
  QQ_RETURN_IF_ERROR(exec::find_op(call.op, "", call.opset)->evaluate(evaluation));
  return evaluation.outputs()[0];
}

Operand evaluated_ok(const ValueCall& call, const Given& inputs) {
  Result<Operand> result = evaluated(call, inputs);
  EXPECT_TRUE(result.ok()) << call.op << ": " << result.status().message();
  return result.ok() ? std::move(result).value() : Operand();
}

Tensor position_of(int64_t at) { return Tensor::scalar(at); }

/// A sequence of tensors of one element each.
Operand list_of(const std::vector<float>& values) {
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (const float value : values) tensors.push_back(floats({1}, {value}));
  return Operand::of_sequence(std::move(tensors));
}

std::vector<double> flat_values(const Operand& sequence) {
  std::vector<double> all;
  for (const Tensor& tensor : sequence.sequence) {
    for (const double value : values(tensor)) all.push_back(value);
  }
  return all;
}

TEST(SequenceTest, SplittingAndJoiningGivesTheTensorBack) {
  const Tensor x = random_floats({2, 7, 3});
  for (const int64_t axis : {0, 1, 2, -1, -3}) {
    const std::vector<ir::Attribute> along = {number("axis", axis)};
    for (const int64_t step : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{8}, kMost}) {
      SCOPED_TRACE(cat("axis ", axis, " by ", step));
      const Operand pieces = evaluated_ok({"SplitToSequence", along}, {x, position_of(step)});
      const int64_t length = x.dims()[static_cast<size_t>(axis < 0 ? axis + 3 : axis)];
      EXPECT_EQ(static_cast<int64_t>(pieces.sequence.size()), length / step + (length % step != 0 ? 1 : 0));
      EXPECT_TRUE(evaluated_ok({"ConcatFromSequence", along}, {pieces}).tensor.same_as(x));
    }
  }
}

TEST(SequenceTest, SplitWithoutLengthsGivesEntriesWithOrWithoutTheirAxis) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const Operand kept = evaluated_ok({"SplitToSequence", {number("axis", 1)}}, {x});
  ASSERT_EQ(kept.sequence.size(), 2u);
  EXPECT_TRUE(kept.sequence[1].same_as(floats({2, 1}, {2, 4})));
  const Operand dropped = evaluated_ok({"SplitToSequence", {number("axis", 1), number("keepdims", 0)}}, {x});
  EXPECT_TRUE(dropped.sequence[1].same_as(floats({2}, {2, 4})));
  // With lengths the axis stays, whatever keepdims says.
  const Operand named =
      evaluated_ok({"SplitToSequence", {number("axis", 1), number("keepdims", 0)}}, {x, ints({1, 1})});
  EXPECT_TRUE(named.sequence[1].same_as(floats({2, 1}, {2, 4})));
  EXPECT_TRUE(
      evaluated_ok({"ConcatFromSequence", {number("axis", -1), number("new_axis", 1)}}, {dropped}).tensor.same_as(x));
}

TEST(SequenceTest, EmptyAxesAndEmptyPiecesAreTaken) {
  const Tensor none = Tensor::zeros(ElementType::kFloat, {0, 3});
  EXPECT_TRUE(evaluated_ok({"SplitToSequence"}, {none, position_of(2)}).sequence.empty());
  EXPECT_TRUE(evaluated_ok({"SplitToSequence"}, {none}).sequence.empty());
  const Operand pieces = evaluated_ok({"SplitToSequence"}, {floats({2}, {1, 2}), ints({0, 2, 0})});
  ASSERT_EQ(pieces.sequence.size(), 3u);
  EXPECT_EQ(pieces.sequence[0].dims(), ir::Shape{0});
  EXPECT_TRUE(pieces.sequence[1].same_as(floats({2}, {1, 2})));
}

/// Where list.insert() and del of Python put and take.
TEST(SequenceTest, InsertAndEraseCountPlacesFromBothEnds) {
  const Operand list = list_of({1, 2, 3});
  const std::vector<std::pair<int64_t, std::vector<double>>> rows = {
      {0, {9, 1, 2, 3}},  {1, {1, 9, 2, 3}},  {2, {1, 2, 9, 3}},  {3, {1, 2, 3, 9}},
      {-1, {1, 2, 9, 3}}, {-2, {1, 9, 2, 3}}, {-3, {9, 1, 2, 3}},
  };
  for (const auto& [at, expected] : rows) {
    const Operand longer = evaluated_ok({"SequenceInsert"}, {list, floats({1}, {9}), position_of(at)});
    EXPECT_EQ(flat_values(longer), expected) << at;
    const int64_t nine = std::find(expected.begin(), expected.end(), 9) - expected.begin();
    for (const int64_t name : {nine, nine - 4}) {
      const Operand taken = evaluated_ok({"SequenceAt"}, {longer, position_of(name)});
      ASSERT_TRUE(taken.is_tensor());
      EXPECT_EQ(values(taken.tensor), std::vector<double>{9}) << at;
    }
    EXPECT_EQ(flat_values(evaluated_ok({"SequenceErase"}, {longer, position_of(nine)})), flat_values(list)) << at;
    EXPECT_EQ(flat_values(evaluated_ok({"SequenceErase"}, {longer, position_of(nine - 4)})), flat_values(list)) << at;
  }
  EXPECT_EQ(flat_values(evaluated_ok({"SequenceInsert"}, {list, floats({1}, {9})})), (std::vector<double>{1, 2, 3, 9}));
  EXPECT_EQ(flat_values(evaluated_ok({"SequenceErase"}, {list})), (std::vector<double>{1, 2}));
  EXPECT_EQ(flat_values(evaluated_ok({"SequenceInsert"}, {list_of({}), floats({1}, {9}), position_of(0)})),
            std::vector<double>{9});
}

TEST(SequenceTest, LengthsOfWhatWasPutTogether) {
  const Tensor x = floats({1}, {1});
  const auto length = [](const Operand& sequence) {
    return values(evaluated_ok({"SequenceLength"}, {sequence}).tensor)[0];
  };
  EXPECT_EQ(length(evaluated_ok({"SequenceEmpty"}, {})), 0);
  EXPECT_EQ(length(evaluated_ok({"SequenceConstruct"}, {x, ints({1, 2}), x})), 3) << "types and shapes may differ";
}

TEST(SequenceTest, OptionalsSayWhetherTheyHoldSomething) {
  const auto has = [](const Given& inputs) {
    return values(evaluated_ok({"OptionalHasElement"}, inputs).tensor)[0] != 0;
  };
  const Tensor x = floats({1}, {3});
  const Operand nothing = evaluated_ok({"Optional"}, {std::nullopt}), held = evaluated_ok({"Optional"}, {x});
  EXPECT_FALSE(has({nothing}));
  EXPECT_FALSE(has({}));
  EXPECT_FALSE(has({std::nullopt}));
  EXPECT_TRUE(has({held}));
  EXPECT_TRUE(has({list_of({})})) << "an empty sequence is a value";
  EXPECT_TRUE(evaluated_ok({"OptionalGetElement"}, {held}).tensor.same_as(x));
  EXPECT_EQ(evaluated({"OptionalGetElement"}, {nothing}).status().message(), "the optional has no value");
}

struct Refused {
  ValueCall call;
  Given inputs;
  const char* message;  ///< a part of it
};

TEST(SequenceTest, RefusalsNameWhatWasFound) {
  const Tensor x = floats({3}, {1, 2, 3});
  const Operand list = list_of({1, 2, 3});
  Operand mixed = list;
  mixed.sequence.push_back(floats({1, 1}, {4}));
  const std::vector<Refused> rows = {
      {{"SequenceAt"}, {list, position_of(3)}, "position 3, allowed: -3 to 2"},
      {{"SequenceAt"}, {list, position_of(-4)}, "position -4, allowed: -3 to 2"},
      {{"SequenceAt"}, {list, position_of(-kMost - 1)}, "allowed: -3 to 2"},
      {{"SequenceAt"}, {list_of({}), position_of(0)}, "the sequence is empty"},
      {{"SequenceAt"}, {list}, "input 1 is missing"},
      {{"SequenceAt"}, {x, position_of(0)}, "input 0 is not a sequence"},
      {{"SequenceAt"}, {list, ints({0, 1})}, "input 1 has 2 elements, allowed: 1"},
      {{"SequenceErase"}, {list_of({})}, "the sequence is empty"},
      {{"SequenceErase"}, {list_of({}), position_of(0)}, "the sequence is empty"},
      {{"SequenceErase"}, {list, position_of(3)}, "position 3"},
      {{"SequenceInsert"}, {list, x, position_of(4)}, "position 4"},
      {{"SequenceInsert"}, {list, x, position_of(-4)}, "position -4 is before the first of 3 elements"},
      {{"SequenceInsert"}, {list, list}, "input 1 is a sequence or an empty optional, allowed: a tensor"},
      {{"SequenceConstruct"}, {x, list}, "input 1 is a sequence"},
      {{"SequenceLength"}, {}, "input 0 is missing"},
      {{"SplitToSequence"}, {x, position_of(0)}, "split is 0, allowed: positive"},
      {{"SplitToSequence"}, {x, position_of(-1)}, "split is -1, allowed: positive"},
      {{"SplitToSequence"}, {x, ints({1, 1})}, "split does not add up to 3 entries"},
      {{"SplitToSequence"}, {x, ints({4, -1})}, "split does not add up to 3 entries"},
      {{"SplitToSequence"}, {x, ints({kMost, kMost, 5})}, "split does not add up to 3 entries"},
      {{"SplitToSequence", {number("axis", 1)}}, {x}, "axis 1 is outside of [-1,0]"},
      {{"SplitToSequence"}, {floats({}, {1})}, "axis 0 is outside"},
      {{"SplitToSequence"}, {Tensor::of_strings({1}, {"a"})}, "elements of type STRING cannot be moved"},
      {{"ConcatFromSequence"}, {list_of({})}, "the sequence is empty"},
      {{"ConcatFromSequence"}, {mixed}, "do not fit together"},
      {{"ConcatFromSequence", {number("axis", 1)}}, {list}, "axis 1 is outside of [-1,0]"},
      {{"ConcatFromSequence", {number("axis", 2), number("new_axis", 1)}}, {list}, "axis 2 is outside of [-2,1]"},
  };
  for (const Refused& row : rows) {
    const Result<Operand> result = evaluated(row.call, row.inputs);
    ASSERT_FALSE(result.ok()) << row.call.op << " should say: " << row.message;
    EXPECT_NE(result.status().message().find(row.message), std::string::npos)
        << row.call.op << ": " << result.status().message();
  }
}

}  // namespace
}  // namespace quarkq::test
