// SPDX-License-Identifier: MIT
// If, Loop and Scan against the loops that define them, with every axis and direction, and graphs that do not fit.
#include <gtest/gtest.h>

#include <cmath>

#include "exec/session.h"
#include "onnx_io/text.h"
#include "support/run_op.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;
using test::floats;
using test::values;

ir::Model flow_model(const std::string& text, int opset = 17) {
  Result<ir::Model> model =
      onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", text));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? std::move(model).value() : ir::Model();
}

Result<std::vector<Tensor>> run_flow(const ir::Model& model, const std::vector<Tensor>& inputs, RunLimits limits = {}) {
  Session session(model, {}, {.fetches = {}, .taps = {}, .limits = limits});
  QQ_TRY(const std::vector<Tensor>* const results, session.run(inputs));
  return *results;
}

/// Sums over the axis that is scanned; the second output has the sum after each step.
std::string running_sum(const std::string& attributes) {
  return cat("g (float[2] s, float[] x) => (float[2] last, float[] sums) { last, sums = Scan <num_scan_inputs = 1, ",
             attributes, " body = b (float[2] p, float[2] q) => (float[2] r, float[2] t) ",
             "{ r = Add(p, q) t = Identity(r) }> (s, x) }");
}

struct ScanRow {
  const char* attributes;
  bool reads_back, writes_back;
  size_t in_axis, out_axis;
};

TEST(ScanTest, AxesAndDirectionsAreThoseOfTheDefinition) {
  constexpr ScanRow kRows[] = {
      {"", false, false, 0, 0},
      {"scan_input_directions = [1],", true, false, 0, 0},
      {"scan_output_directions = [1],", false, true, 0, 0},
      {"scan_input_axes = [1], scan_output_axes = [1],", false, false, 1, 1},
      {"scan_input_axes = [-1], scan_output_axes = [-1], scan_input_directions = [1], scan_output_directions = [1],",
       true, true, 1, 1},
      {"scan_input_axes = [-2], scan_output_axes = [-2],", false, false, 0, 0},
  };
  constexpr int64_t kSteps = 4;
  const Tensor start = floats({2}, {10, 20});
  for (const ScanRow& row : kRows) {
    SCOPED_TRACE(row.attributes);
    const ir::Shape dims = row.in_axis == 0 ? ir::Shape{kSteps, 2} : ir::Shape{2, kSteps};
    const Tensor x = test::random_floats(dims);
    const auto found = run_flow(flow_model(running_sum(row.attributes)), {start, x});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const std::vector<double> xs = values(x), sums = values(found.value()[1]);
    EXPECT_EQ(found.value()[1].dims(), (row.out_axis == 0 ? ir::Shape{kSteps, 2} : ir::Shape{2, kSteps}));
    for (int64_t c = 0; c < 2; ++c) {
      float sum = c == 0 ? 10.0f : 20.0f;
      for (int64_t step = 0; step < kSteps; ++step) {
        const int64_t from = row.reads_back ? kSteps - 1 - step : step, to = row.writes_back ? kSteps - 1 - step : step;
        sum += static_cast<float>(xs[static_cast<size_t>(row.in_axis == 0 ? from * 2 + c : c * kSteps + from)]);
        const auto place = static_cast<size_t>(row.out_axis == 0 ? to * 2 + c : c * kSteps + to);
        EXPECT_EQ(sums[place], static_cast<double>(sum)) << "column " << c << " step " << step;
      }
      EXPECT_EQ(values(found.value()[0])[static_cast<size_t>(c)], static_cast<double>(sum));
    }
  }
}

TEST(ScanTest, WithoutAStepTheStatesStayAndOutputsAreEmptyAlongTheirAxis) {
  const Tensor start = floats({2}, {10, 20}), none = Tensor::zeros(ElementType::kFloat, {0, 2});
  const std::pair<const char*, ir::Shape> rows[] = {{"", {0, 2}},
                                                    {"scan_output_axes = [1],", {2, 0}},
                                                    {"scan_output_axes = [-1],", {2, 0}},
                                                    {"scan_output_axes = [-2],", {0, 2}}};
  for (const auto& [attributes, dims] : rows) {
    const auto found = run_flow(flow_model(running_sum(attributes)), {start, none});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_TRUE(found.value()[0].same_as(start));
    EXPECT_EQ(found.value()[1].dims(), dims) << attributes;
  }
}

TEST(ScanTest, OldScansTreatEachSampleAlone) {
  const ir::Model batched = flow_model(
      "g (float[3,2] s, float[3,4,2] x) => (float[3,2] last, float[3,4,2] sums) { last, sums = Scan <num_scan_inputs = "
      "1, body = b (float[2] p, float[2] q) => (float[2] r, float[2] t) { r = Add(p, q) t = Mul(r, q) }> (, s, x) }",
      8);
  const Tensor s = test::random_floats({3, 2}), x = test::random_floats({3, 4, 2}, -1, 1, 2);
  const auto all = run_flow(batched, {s, x});
  ASSERT_TRUE(all.ok()) << all.status().message();
  for (int64_t sample = 0; sample < 3; ++sample) {
    for (int64_t c = 0; c < 2; ++c) {
      float sum = s.data<float>()[static_cast<size_t>(sample * 2 + c)];
      for (int64_t step = 0; step < 4; ++step) {
        const auto at = static_cast<size_t>((sample * 4 + step) * 2 + c);
        sum += x.data<float>()[at];
        EXPECT_EQ(all.value()[1].data<float>()[at], sum * x.data<float>()[at]);
      }
      EXPECT_EQ(all.value()[0].data<float>()[static_cast<size_t>(sample * 2 + c)], sum);
    }
  }
}

TEST(LoopTest, StopsAtTheCountOrWhenTheConditionFalls) {
  const ir::Model model = flow_model(
      "g (int64 n, bool go, float limit) => (float last, float[k] all) <float one = {1}> { last, all = Loop (n, go, "
      "one) <body = b (int64 i, bool c, float v) => (bool d, float w, float u) { w = Add(v, v) d = Less(w, limit) u = "
      "Identity(v) }> }");
  struct Row {
    int64_t trips;
    bool goes;
    float limit;
    std::vector<double> seen;
  };
  const Row rows[] = {{5, true, 1000, {1, 2, 4, 8, 16}},
                      {5, true, 5, {1, 2, 4}},
                      {1, true, 1, {1}},
                      {5, false, 1000, {}},
                      {0, true, 1000, {}},
                      {-3, true, 1000, {}},
                      {INT64_MAX, true, 4, {1, 2}},
                      {INT64_MIN, true, 4, {}}};
  for (const Row& row : rows) {
    const auto found =
        run_flow(model, {Tensor::scalar(row.trips), test::bools({}, {row.goes}), Tensor::scalar(row.limit)});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(values(found.value()[1]), row.seen) << row.trips << " trips below " << row.limit;
    EXPECT_EQ(values(found.value()[0])[0], std::ldexp(1.0, static_cast<int>(row.seen.size())));
  }
}

TEST(LoopTest, ShapesOfCarriedValuesMayGrow) {
  const ir::Model model = flow_model(
      "g (int64 n, float[k] x) => (float[m] y) <bool go = {1}> { y = Loop (n, go, x) <body = b (int64 i, bool c, "
      "float[k] v) => (bool d, float[m] w) { d = Identity(c) w = Concat <axis = 0> (v, x) }> }");
  for (const int64_t trips : {0, 1, 3}) {
    const auto found = run_flow(model, {Tensor::scalar(trips), floats({2}, {1, 2})});
    ASSERT_TRUE(found.ok()) << found.status().message();
    std::vector<double> expected;
    for (int64_t i = 0; i <= trips; ++i) expected.insert(expected.end(), {1, 2});
    EXPECT_EQ(values(found.value()[0]), expected);
  }
}

TEST(LoopTest, EndlessLoopsEndAtTheLimit) {
  const ir::Model model = flow_model(
      "g (float x) => (float y) { y = Loop <body = b (int64 i, bool c, float v) => (bool d, float w) { d = "
      "Identity(c) w = Add(v, v) }> (, , x) }");
  const auto found = run_flow(model, {Tensor::scalar(1.0f)}, {.memory = 0, .loop_trips = 7});
  EXPECT_EQ(found.status().code(), Code::kResource);
  EXPECT_EQ(found.status().message(), "node y (Loop): exceeds the limit after 7 iterations, allowed are no more");
}

TEST(LoopTest, RowsOfAnEndlessLoopEndAtTheMemoryThatIsAllowed) {
  const ir::Model model = flow_model(
      "g (float[1000] x) => (float[k,1000] y) <bool go = {1}> { y = Loop <body = b (int64 i, bool c) => (bool d, "
      "float[1000] w) { d = "
      "Identity(c) w = Identity(x) }> (, go) }");
  const auto found = run_flow(model, {Tensor::zeros(ElementType::kFloat, {1000})}, {.memory = 100'000});
  EXPECT_EQ(found.status().code(), Code::kResource);
  EXPECT_EQ(found.status().message(),
            "node y (Loop): the scan outputs of 13 iterations take 107.3 kB, allowed are 100.0 kB");
}

TEST(LoopTest, IterationsAreNumbered) {
  const ir::Model model = flow_model(
      "g (int64 n) => (int64[k] all) <bool go = {1}> { all = Loop <body = b (int64 i, bool c) => (bool d, int64 u) { d "
      "= Identity(c) "
      "u = Mul(i, i) }> (n, go) }");
  const auto found = run_flow(model, {Tensor::scalar(int64_t{4})});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(values(found.value()[0]), (std::vector<double>{0, 1, 4, 9}));
}

/// SequenceMap has no kernel: its function body is made for the sequence that comes.
TEST(ControlFlowTest, SequencesAreMappedElementByElement) {
  const ir::Model model = flow_model(
      "g (float[2] x, float[1] z, float[1] more) => (float[n] y) { s = SequenceConstruct(x, z) t = SequenceMap <body = "
      "b "
      "(float[k] p, float[1] c) => (float[k] q) { d = Add(p, c) q = Mul(d, more) }> (s, more) y = "
      "ConcatFromSequence<axis = 0>(t) }",
      18);
  Session session(model, {}, {});
  for (const float more : {2.0f, 3.0f}) {
    const std::vector<Tensor> inputs = {floats({2}, {1, -2}), floats({1}, {5}), floats({1}, {more})};
    const auto found = session.run(inputs);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const double k = static_cast<double>(more);
    EXPECT_EQ(values((*found.value())[0]), (std::vector<double>{(1 + k) * k, (-2 + k) * k, (5 + k) * k}));
  }
}

TEST(ControlFlowTest, BodiesThatDoNotFitAreRefusedByName) {
  struct Row {
    const char* text;
    std::vector<Tensor> inputs;
    const char* message;
    int opset = 17;
  };
  const Tensor row = floats({2}, {1, 2}), matrix = floats({2, 2}, {1, 2, 3, 4}), go = test::bools({}, {1});
  const Row rows[] = {
      {"g (bool c, float[2] x) => (y, z) { y, z = If(c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = e () "
       "=> (q) { q = Abs(x) }> }",
       {go, row},
       "node y (If): the branch makes 1 values, the node has 2 outputs"},
      {"g (float[2] x) => (y) { y = Scan <num_scan_inputs = 0, body = b (float p) => (q) { q = Neg(p) }> (x) }",
       {row},
       "num_scan_inputs is 0 with 1 inputs, and the body accepts 1"},
      {"g (float[2] x) => (y) { y = Scan <num_scan_inputs = 2, body = b (float p) => (q) { q = Neg(p) }> (x) }",
       {row},
       "num_scan_inputs is 2"},
      {"g (float[2] x) => (y) { y = Scan <num_scan_inputs = 1, body = b (float p, float r) => (q) { q = Add(p, r) }> "
       "(x) }",
       {row},
       "and the body accepts 2"},
      {"g (float[2] s, float[2] x) => (y) { y = Scan <num_scan_inputs = 1, scan_input_axes = [0, 0], body = b "
       "(float[2] "
       "p, float q) => (r) { r = Add(p, q) }> (s, x) }",
       {row, row},
       "scan_input_axes and scan_input_directions have 2 and 1 entries, needed: 1"},
      {"g (float[2] s, float[2] x) => (y) { y = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = b (float[2] "
       "p, "
       "float q) => (r) { r = Add(p, q) }> (s, x) }",
       {row, row},
       "axis 1 is outside of [-1,0]"},
      {"g (float[2] x) => (y) { y = Scan <num_scan_inputs = 1, scan_output_axes = [2], body = b (float p) => (r) { r = "
       "Neg(p) }> (x) }",
       {row},
       "axis 2 is outside of [-1,0]"},
      {"g (int64[1] n, float[2,2] x) => (y) { y = Scan <num_scan_inputs = 1, body = b (float p) => (r) { r = Neg(p) }> "
       "(n, x) }",
       {test::ints({1}), matrix},
       "sequence_lens of Scan before opset 9",
       8},
      {"g (float[2] x) => (y) { y = Scan <num_scan_inputs = 1, body = b (float p) => (r) { r = Neg(p) }> (, x) }",
       {row},
       "a scan input has rank 1, allowed: 2 or more",
       8},
      {"g (float[3,2] s, float[2,2] x) => (y, z) { y, z = Scan <num_scan_inputs = 1, body = b (float[2] q, float p) => "
       "(r, t) { r = Add(q, p) t = Neg(p) }> (, s, x) }",
       {floats({3, 2}, {1, 2, 3, 4, 5, 6}), matrix},
       "an input has shape [3,2], allowed: 2 samples",
       8},
      {"g (float[2] n, float x) => (y) { y = Loop <body = b (int64 i, bool c, float v) => (bool d, float w) { d = "
       "Identity(c) w = Neg(v) }> (n, , x) }",
       {row, Tensor::scalar(1.0f)},
       "input 0 has 2 elements, allowed: 1"},
  };
  for (const Row& item : rows) {
    const auto found = run_flow(flow_model(item.text, item.opset), item.inputs);
    ASSERT_FALSE(found.ok()) << "should say: " << item.message;
    EXPECT_NE(found.status().message().find(item.message), std::string::npos) << found.status().message();
    EXPECT_EQ(found.status().message().find("node y ("), 0u) << found.status().message();
  }
}

}  // namespace
}  // namespace quarkq::exec
