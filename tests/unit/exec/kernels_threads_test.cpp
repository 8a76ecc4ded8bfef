// SPDX-License-Identifier: MIT
// Results must not depend on how many threads compute them: one call per kind of loop, large enough to be split.
#include <omp.h>

#include "exec/evaluation.h"
#include "onnx_io/schemas.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

struct Call {
  OpCall call;
  std::vector<ir::Tensor> inputs;
};

std::vector<Call> large_calls() {
  const ir::Tensor x = random_floats({1, 70, 61, 67}, -4, 4);
  const ir::Tensor channel = random_floats({70, 1, 1}, 0.5f, 2, 2), vector = random_floats({70}, 0.5f, 2, 3);
  const auto axes = [](const std::vector<int64_t>& v) { return ints(v); };
  return {
      {{"Tanh"}, {x}},
      {{"Add"}, {x, x}},
      {{"Mul"}, {x, channel}},
      {{"Pow"}, {x, floats({}, {2})}},
      {{"Cast", "", 13, {attribute("to", int64_t{3})}}, {x}},
      {{"Transpose", "", 13, {attribute("perm", std::vector<int64_t>{0, 3, 1, 2})}}, {x}},
      {{"Concat", "", 13, {attribute("axis", int64_t{1})}}, {x, x}},
      {{"Pad"}, {x, ints({0, 0, 2, 2, 0, 0, 2, 2})}},
      {{"Slice"}, {x, ints({1, 66}), ints({61, -68}), ints({2, 3}), ints({1, -1})}},
      {{"Gather", "", 13, {attribute("axis", int64_t{2})}}, {x, ints({3, 1, 60, 5, 9, 11})}},
      {{"ReduceMean", "", 18}, {x, axes({2, 3})}},
      {{"ReduceMean", "", 18}, {x, axes({1})}},
      {{"ReduceSum", "", 18}, {x, axes({0, 1, 2, 3})}},
      {{"ReduceSumSquare", "", 18}, {x, axes({0, 2})}},
      {{"ReduceSum", "", 18}, {x, axes({1, 3})}},
      {{"ReduceL2", "", 18}, {x}},
      {{"ReduceMax", "", 18}, {x}},
      {{"ReduceLogSumExp", "", 18}, {x, axes({3})}},
      {{"ArgMax", "", 13, {attribute("axis", int64_t{1})}}, {x}},
      {{"ArgMin", "", 13, {attribute("axis", int64_t{3})}}, {x}},
      {{"TopK", "", 11, {attribute("axis", int64_t{2})}}, {x, ints({7})}},
      {{"Sin"}, {x}},
      {{"Pow"}, {x, floats({}, {3})}},
      {{"IsNaN", "", 13}, {x}},
      {{"Greater"}, {x, channel}},
      {{"Cast", "", 13, {attribute("to", int64_t{10})}}, {x}},
      {{"Transpose", "", 13, {attribute("perm", std::vector<int64_t>{0, 2, 3, 1})}}, {x}},
      {{"Softmax", "", 13, {attribute("axis", int64_t{1})}}, {x}},
      {{"Softmax", "", 13}, {x}},
      {{"BatchNormalization", "", 15}, {x, vector, vector, vector, vector}},
      {{"InstanceNormalization", "", 6}, {x, vector, vector}},
      {{"LayerNormalization", "", 17}, {x, random_floats({67})}},
      {{"LRN", "", 13, {attribute("size", int64_t{5})}}, {x}},
      {{"Resize", "", 13, {attribute("mode", std::string("linear"))}}, {x, ir::Tensor(), floats({4}, {1, 1, 2, 2})}},
      {{"Resize", "", 13}, {x, ir::Tensor(), floats({4}, {1, 1, 2, 2})}},
      {{"QuantizeLinear", "", 13}, {x, floats({}, {0.03f})}},
      {{"Resize", "", 18, {attribute("mode", std::string("cubic")), attribute("antialias", int64_t{1})}},
       {x, ir::Tensor(), floats({4}, {1, 1, 0.6f, 0.7f})}},
      {{"GroupNormalization", "", 21, {attribute("num_groups", int64_t{10})}}, {x, vector, vector}},
      {{"RMSNormalization", "", 23}, {x, random_floats({67})}},
      {{"GridSample", "", 20}, {x, random_floats({1, 50, 40, 2}, -1.1f, 1.1f, 4)}},
      {{"RoiAlign", "", 16, {attribute("output_height", int64_t{7}), attribute("output_width", int64_t{7})}},
       {x, random_floats({9, 4}, 0, 60, 5), ints(std::vector<int64_t>(9, 0))}},
      {{"DeformConv", "", 19}, {x, random_floats({8, 70, 3, 3}, -1, 1, 6), random_floats({1, 18, 59, 65}, -2, 2, 7)}},
      {{"Einsum", "", 12, {attribute("equation", std::string("bchw,bcij->bhwij"))}},
       {random_floats({1, 70, 30, 20}), random_floats({1, 70, 20, 10}, -1, 1, 8)}},
      {{"Einsum", "", 12, {attribute("equation", std::string("bchw->c"))}}, {x}},
      {{"DFT", "", 20}, {random_floats({90, 700, 1})}},
      {{"FastGelu", "com.microsoft", 1}, {x, random_floats({67})}},
  };
}

TEST(KernelsTest, ThreadsDoNotChangeABit) {
  const int threads = omp_get_max_threads();
  for (const Call& large : large_calls()) {
    for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
      OpCall call = large.call;
      call.layout = layout;
      omp_set_num_threads(1);
      const auto one = run_op(call, large.inputs);
      ASSERT_TRUE(one.ok()) << one.status().message();
      for (const int count : {2, 3}) {
        omp_set_num_threads(count);
        EXPECT_TRUE(run_op(call, large.inputs).value()[0].same_as(one.value()[0])) << call.op << " with " << count;
      }
    }
  }
  omp_set_num_threads(threads);
}

TEST(KernelsTest, EveryRowRefusesAnEmptyCall) {
  for (const exec::OpDef* op : exec::all_ops()) {
    if (op->name == "Constant" || op->prepare == nullptr) continue;
    const OpCall call{std::string(op->name), std::string(op->domain), op->since};
    EXPECT_FALSE(run_op(call, {}).ok()) << op->name;
    EXPECT_FALSE(run_op(call, {ir::Tensor(), ir::Tensor(), ir::Tensor()}).ok()) << op->name;
  }
}

/// Whatever types, ranks and sizes come: an error or a result, never a crash. Sanitizers watch.
TEST(KernelsTest, OddInputsDoNotCrash) {
  const std::vector<ir::Tensor> odd = {floats({}, {1}),
                                       floats({0}, {}),
                                       floats({2, 0, 3}, {}),
                                       floats({1, 2, 2, 1}, {1, NAN, 3, INFINITY}),
                                       ints({3, -1, 0}),
                                       ints({INT64_MAX, INT64_MIN}),
                                       ints({}, {2}),
                                       bools({2}, {0, 1}),
                                       as_type(floats({3}, {1, 2, 3}), ElementType::kFloat16),
                                       as_type(floats({1, 1, 2}, {1, 2}), ElementType::kUInt8),
                                       ir::Tensor::allocate(ElementType::kInt4, {2}),
                                       ir::Tensor()};
  for (const exec::OpDef* op : exec::all_ops()) {
    if (op->prepare == nullptr) continue;  // operators over whole values: stages_test
    for (size_t a = 0; a < odd.size(); ++a) {
      for (size_t b = 0; b < odd.size(); ++b) {
        for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
          const OpCall call{std::string(op->name), std::string(op->domain), op->since, {}, 1 + (a + b) % 3, layout};
          if (odd[a].type() == ElementType::kInt4 || odd[b].type() == ElementType::kInt4) {
            if (layout == exec::Layout::kChannelsLast) continue;
          }
          static_cast<void>(run_op(call, {odd[a], odd[b], odd[(a + b) % odd.size()], odd[a]}));
          static_cast<void>(run_op(call, {odd[a], odd[b]}));
        }
      }
    }
  }
}

/// The attributes of an operator that are integers, each with values that no model should have.
std::vector<ir::Attribute> hostile_attributes(const exec::OpDef& op, int64_t opset) {
  std::vector<ir::Attribute> hostile;
  const int64_t numbers[] = {INT64_MIN, 0, (int64_t{1} << 40) + 2, INT64_MAX};
  for (const ir::Attribute& own : onnx_io::default_attributes(std::string(op.name), std::string(op.domain), opset)) {
    if (!std::holds_alternative<int64_t>(own.value)) continue;
    for (const int64_t value : numbers) hostile.push_back(number(own.name, value));
  }
  for (const char* name : {"axes", "kernel_shape", "strides", "pads", "dilations", "output_padding", "output_shape"}) {
    for (const int64_t value : numbers) {
      for (const size_t count : {size_t{2}, size_t{4}}) {
        hostile.push_back(attribute(name, std::vector<int64_t>(count, value)));
      }
    }
  }
  return hostile;
}

/// An attribute of any value gives a result or an error that names the node, and no error is the executor's own.
TEST(KernelsTest, HostileAttributesAreAnsweredByTheNodesName) {
  const ir::Tensor image = random_floats({1, 4, 6, 6}), row = random_floats({4}), matrix = random_floats({4, 4});
  const std::vector<std::vector<ir::Tensor>> lists = {
      {image},
      {image, random_floats({4, 4, 3, 3})},
      {image, row, row},
      {image, row, row, row, row},
      {matrix, matrix, row},
      {image, ints({1, 2})},
      {image, ir::Tensor(), floats({4}, {1, 1, 2, 2})},
      {random_floats({3, 2, 4}), random_floats({1, 16, 4}), random_floats({1, 16, 4})},
      {image, random_floats({1, 5, 5, 2})},
      {image, random_floats({2, 4}, 0, 5), ints({0, 0})}};
  size_t refused = 0, taken = 0;
  for (const exec::OpDef* op : exec::all_ops()) {
    if (op->prepare == nullptr) continue;
    const int64_t opset = std::max<int64_t>(op->since, op->domain.empty() ? 18 : 1);
    for (const ir::Attribute& hostile : hostile_attributes(*op, opset)) {
      for (const std::vector<ir::Tensor>& list : lists) {
        ir::Node node;
        node.op = op->name;
        node.domain = op->domain;
        node.name = "n";
        node.attributes = {hostile};
        node.outputs = {ir::ValueId{9}};
        std::vector<const ir::Tensor*> inputs;
        for (size_t i = 0; i < list.size(); ++i) {
          inputs.push_back(list[i].is_defined() ? &list[i] : nullptr);
          node.inputs.push_back(list[i].is_defined() ? ir::ValueId{static_cast<int32_t>(i)} : ir::ValueId{});
        }
        const auto result = exec::run_known({*op, node, node.label(), opset, /*max_memory=*/1 << 24}, inputs);
        (result.ok() ? taken : refused) += 1;
        if (result.ok()) continue;
        EXPECT_NE(result.status().code(), Code::kInternal) << hostile.name << ": " << result.status().message();
        EXPECT_EQ(result.status().message().find("node n ("), 0u) << hostile.name << ": " << result.status().message();
      }
    }
  }
  EXPECT_GT(taken, 5000u);
  EXPECT_GT(refused, 5000u);
}

}  // namespace
}  // namespace quarkq::test
