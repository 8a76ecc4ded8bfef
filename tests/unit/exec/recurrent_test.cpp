// SPDX-License-Identifier: MIT
// RNN, GRU, LSTM against numbers of ONNX Runtime 1.x for inputs made by a formula; ExtendedLSTM against LSTM.
#include <omp.h>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;

/// Multiples of 1/64 in [-30/64, 30/64], which every float type but bfloat16 holds exactly.
ir::Tensor wave_of(const ir::Shape& dims, int64_t phase) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, dims);
  int64_t i = 0;
  for (float& value : tensor.mutable_data<float>()) {
    value = static_cast<float>((i++ * 37 + phase * 11) % 61 - 30) / 64.0f;
  }
  return tensor;
}

ir::Tensor lengths(const std::vector<int32_t>& values) {
  return ir::Tensor::from<int32_t>({static_cast<int64_t>(values.size())}, values);
}

struct Sizes {
  int64_t directions, steps, batch, inputs, hidden;
};

/// Which optional inputs a call has: B, initial_h, initial_c, P by letter.
std::vector<ir::Tensor> make_inputs(const std::string& op, const Sizes& s, std::string_view with,
                                    const std::vector<int32_t>& lens = {}) {
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const auto optional = [&](char letter, const ir::Shape& dims, int64_t phase) {
    return with.find(letter) == std::string_view::npos ? ir::Tensor() : wave_of(dims, phase);
  };
  const ir::Shape state = {s.directions, s.batch, s.hidden};
  std::vector<ir::Tensor> inputs = {wave_of({s.steps, s.batch, s.inputs}, 1),
                                    wave_of({s.directions, gates * s.hidden, s.inputs}, 2),
                                    wave_of({s.directions, gates * s.hidden, s.hidden}, 3),
                                    optional('B', {s.directions, 2 * gates * s.hidden}, 4),
                                    lens.empty() ? ir::Tensor() : lengths(lens),
                                    optional('h', state, 5)};
  if (op == "LSTM") {
    inputs.push_back(optional('c', state, 6));
    inputs.push_back(optional('P', {s.directions, 3 * s.hidden}, 7));
  }
  return inputs;
}

std::vector<ir::Attribute> attributes(int64_t hidden, std::vector<ir::Attribute> more) {
  more.push_back(attribute("hidden_size", hidden));
  return more;
}

void expect_outputs(OpCall call, const std::vector<ir::Tensor>& inputs,
                    const std::vector<std::vector<double>>& expected, double tolerance = 1e-6) {
  call.outputs = expected.size();
  for (const bool unknown : {false, true}) {
    call.unknown_inputs = unknown;
    const auto result = run_op(call, inputs);
    ASSERT_TRUE(result.ok()) << result.status().message();
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(cat(call.op, " output ", i));
      expect_near(result.value()[i], expected[i], tolerance);
    }
  }
}

TEST(RecurrentTest, Lstm) {
  expect_outputs({"LSTM", "", 14, attributes(2, {})}, make_inputs("LSTM", {1, 2, 1, 3, 2}, ""),
                 {{0.0484631993, 0.0477542914, 0.0671480075, 0.0832903087},
                  {0.0671480075, 0.0832903087},
                  {0.116040066, 0.171473354}});
}

TEST(RecurrentTest, LstmInBothDirectionsWithEveryInput) {
  expect_outputs(
      {"LSTM", "", 14, attributes(2, {attribute("direction", std::string("bidirectional"))})},
      make_inputs("LSTM", {2, 3, 2, 2, 2}, "BhcP", {3, 1}),
      {{-0.233372062,
        0.132736355,
        -0.158665732,
        0.23650603,
        0.0215932429,
        0.0259054266,
        0.0572083592,
        0.0458718911,
        -0.192102715,
        0.197907746,
        0,
        0,
        -0.0279065389,
        0.0247631669,
        0,
        0,
        -0.235940769,
        0.241378546,
        0,
        0,
        -0.00221101684,
        -0.0500979908,
        0,
        0},
       {-0.235940769, 0.241378546, -0.158665732, 0.23650603, 0.0215932429, 0.0259054266, 0.0572083592, 0.0458718911},
       {-0.398688316, 0.499503672, -0.252854496, 0.546273589, 0.0430007577, 0.0788250491, 0.097588174, 0.122374564}});
}

TEST(RecurrentTest, LstmWithOtherFunctions) {
  const auto more = attributes(
      2, {attribute("direction", std::string("reverse")), attribute("clip", 0.25f),
          attribute("input_forget", int64_t{1}), attribute("activations", Strings{"HardSigmoid", "softsign", "Elu"}),
          attribute("activation_alpha", Floats{0.3f, 0.8f}), attribute("activation_beta", Floats{0.4f})});
  expect_outputs({"LSTM", "", 14, more}, make_inputs("LSTM", {1, 2, 1, 2, 2}, "B"),
                 {{-0.0496537909, 0.0481010228, -0.0312345047, 0.0249431152}});
}

TEST(RecurrentTest, Gru) {
  expect_outputs(
      {"GRU", "", 14, attributes(2, {})}, make_inputs("GRU", {1, 3, 1, 2, 2}, "B"),
      {{0.0519896634, 0.0234045032, -0.0675977618, 0.152348533, -0.12840344, 0.188087165}, {-0.12840344, 0.188087165}});
  const auto functions = attributes(
      2, {attribute("activations", Strings{"Affine", "ScaledTanh"}), attribute("activation_alpha", Floats{0.5f, 0.9f}),
          attribute("activation_beta", Floats{0.25f, 0.75f}), attribute("clip", 0.5f)});
  expect_outputs({"GRU", "", 14, functions}, make_inputs("GRU", {1, 2, 1, 2, 2}, "B"),
                 {{0.0501006655, 0.0228686575, -0.0833813921, 0.139738187}});
}

TEST(RecurrentTest, GruResetsAfterTheProductAndSkipsEmptySequences) {
  const auto more = attributes(
      3, {attribute("direction", std::string("bidirectional")), attribute("linear_before_reset", int64_t{1})});
  expect_outputs(
      {"GRU", "", 14, more}, make_inputs("GRU", {2, 2, 2, 2, 3}, "Bh", {2, 0}),
      {{0.129009739,  0.141208649, -0.186497271, 0, 0, 0, -0.122647054,  0.121300332,    0.191827834, 0, 0, 0,
        0.0752809048, 0.276166856, -0.20084995,  0, 0, 0, 0.00478092115, 0.000541418791, 0.254598618, 0, 0, 0},
       {0.0752809048, 0.276166856, -0.20084995, 0, 0, 0, -0.122647054, 0.121300332, 0.191827834, 0, 0, 0}});
}

TEST(RecurrentTest, Rnn) {
  expect_outputs({"RNN", "", 14, attributes(2, {attribute("direction", std::string("reverse"))})},
                 make_inputs("RNN", {1, 3, 2, 2, 2}, "Bh"),
                 {{0.652678728, -0.10626632, 0.401571512, 0.157713532, 0.512635589, 0.150108576, 0.612009048,
                   0.131377101, 0.648216605, -0.0893606544, 0.627366066, -0.333644629},
                  {0.652678728, -0.10626632, 0.401571512, 0.157713532}});
  const struct {
    std::string function;
    Floats alpha;
    std::vector<double> expected;
  } cases[] = {{"Relu", {}, {0.805175781, 0, 0.477684021, 0.223754883}},
               {"LeakyRelu", {0.2f}, {0.805175781, -0.0432128906, 0.491863251, 0.229156494}},
               {"ThresholdedRelu", {0.1f}, {0.805175781, 0, 0.477684021, 0.223754883}},
               {"Softplus", {}, {1.17467463, 0.590939105, 0.854988635, 0.821596742}}};
  for (const auto& c : cases) {
    const auto more =
        attributes(2, {attribute("activations", Strings{c.function}), attribute("activation_alpha", c.alpha)});
    expect_outputs({"RNN", "", 7, more}, make_inputs("RNN", {1, 2, 1, 2, 2}, "B"), {c.expected});
  }
}

/// [a, b, ...] -> [b, a, ...]
ir::Tensor swap_front(const ir::Tensor& x) {
  if (!x.is_defined()) return x;
  ir::Shape dims = x.dims();
  const int64_t inner = x.size() / (dims[0] * dims[1]);
  std::swap(dims[0], dims[1]);
  ir::Tensor y = ir::Tensor::allocate(ElementType::kFloat, dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t row = i / inner, a = row / dims[0], b = row % dims[0];
    y.mutable_data<float>()[static_cast<size_t>((b * dims[1] + a) * inner + i % inner)] =
        x.data<float>()[static_cast<size_t>(i)];
  }
  return y;
}

TEST(RecurrentTest, BatchFirstLayoutIsTheSameComputation) {
  for (const std::string op : {"RNN", "GRU", "LSTM"}) {
    const Sizes sizes = {2, 4, 3, 5, 17};
    std::vector<ir::Tensor> inputs = make_inputs(op, sizes, "Bhc", {4, 2, 3});
    const auto direction = attribute("direction", std::string("bidirectional"));
    const auto plain = run_op({op, "", 14, attributes(17, {direction}), 2}, inputs);
    ASSERT_TRUE(plain.ok()) << plain.status().message();
    for (const size_t i : {size_t{0}, size_t{5}, size_t{6}}) {
      if (i < inputs.size()) inputs[i] = swap_front(inputs[i]);
    }
    const auto first = run_op({op, "", 14, attributes(17, {direction, attribute("layout", int64_t{1})}), 2}, inputs);
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_EQ(first.value()[0].dims(), (ir::Shape{3, 4, 2, 17}));
    EXPECT_TRUE(swap_front(first.value()[1]).same_as(plain.value()[1]));
    for (int64_t t = 0; t < 4; ++t) {
      for (int64_t b = 0; b < 3; ++b) {
        EXPECT_EQ(at(first.value()[0], {b, t, 1, 3}), at(plain.value()[0], {t, 1, b, 3}));
      }
    }
  }
}

TEST(RecurrentTest, ThreadsAndNeighboursInTheBatchChangeNoBit) {
  const Sizes sizes = {2, 20, 29, 40, 70};
  const auto more = attributes(70, {attribute("direction", std::string("bidirectional"))});
  for (const std::string op : {"GRU", "LSTM"}) {
    const std::vector<ir::Tensor> inputs = make_inputs(op, sizes, "B");
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const auto one = run_op({op, "", 14, more}, inputs);
    omp_set_num_threads(3);
    const auto three = run_op({op, "", 14, more}, inputs);
    omp_set_num_threads(threads);
    ASSERT_TRUE(one.ok() && three.ok());
    EXPECT_TRUE(one.value()[0].same_as(three.value()[0]));
    std::vector<ir::Tensor> alone = inputs;  // row 7 of the batch by itself
    alone[0] = ir::Tensor::allocate(ElementType::kFloat, {20, 1, 40});
    for (size_t t = 0; t < 20; ++t) {
      std::copy_n(inputs[0].data<float>().data() + (t * 29 + 7) * 40, 40,
                  alone[0].mutable_data<float>().data() + t * 40);
    }
    const auto single = run_op({op, "", 14, more}, alone);
    ASSERT_TRUE(single.ok());
    for (int64_t h = 0; h < 70; ++h) {
      ASSERT_EQ(at(single.value()[0], {19, 1, 0, h}), at(one.value()[0], {19, 1, 7, h}));
    }
  }
}

TEST(RecurrentTest, OtherTypesRoundOnce) {
  const std::vector<ir::Tensor> floats_in = make_inputs("LSTM", {1, 3, 2, 4, 5}, "BhcP");
  const auto expected = values(run_op({"LSTM", "", 14, attributes(5, {})}, floats_in).value()[0]);
  for (const auto& [type, tolerance] :
       {std::pair{ElementType::kFloat16, 5e-4}, std::pair{ElementType::kDouble, 1e-7}}) {
    std::vector<ir::Tensor> inputs = floats_in;
    for (ir::Tensor& input : inputs) {
      if (input.is_defined()) input = as_type(input, type);
    }
    const auto result = run_op({"LSTM", "", 14, attributes(5, {})}, inputs);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result.value()[0].type(), type);
    expect_near(result.value()[0], expected, tolerance);
  }
}

TEST(RecurrentTest, NoStepsGiveTheInitialState) {
  const auto inputs = make_inputs("GRU", {1, 0, 2, 3, 2}, "h");
  const auto result = run_op({"GRU", "", 14, attributes(2, {}), 2}, inputs);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result.value()[0].dims(), (ir::Shape{0, 1, 2, 2}));
  EXPECT_TRUE(result.value()[1].same_as(inputs[5]));
}

TEST(RecurrentTest, RejectsWhatDoesNotFit) {
  const auto good = make_inputs("LSTM", {1, 2, 2, 3, 2}, "BhcP", {1, 2});
  const struct {
    size_t input;
    ir::Tensor tensor;
    std::string message;
  } inputs[] = {{0, wave_of({2, 2}, 1), "rank 3"},
                {1, wave_of({1, 8, 4}, 1), "W is [1,8,4], must be [1,8,3]"},
                {2, wave_of({1, 7, 2}, 1), "must be [1,8,2]"},
                {2, wave_of({8, 2}, 1), "rank 3"},
                {3, wave_of({1, 8}, 1), "B is"},
                {3, as_type(wave_of({1, 16}, 1), ElementType::kDouble), "B is DOUBLE, X is FLOAT"},
                {4, lengths({1}), "sequence_lens is [1]"},
                {4, lengths({1, 3}), "sequence_lens holds 3, allowed: 0 to 2"},
                {4, lengths({-1, 2}), "sequence_lens holds -1"},
                {5, wave_of({1, 1, 2}, 1), "initial_h"},
                {6, wave_of({2, 2, 2}, 1), "initial_c"},
                {7, wave_of({1, 5}, 1), "P is"}};
  for (const auto& bad : inputs) {
    std::vector<ir::Tensor> changed = good;
    changed[bad.input] = bad.tensor;
    expect_error({"LSTM", "", 14, attributes(2, {})}, changed, bad.message);
  }
  const std::pair<ir::Attribute, std::string> rows[] = {
      {attribute("direction", std::string("sideways")), "direction is 'sideways'"},
      {attribute("layout", int64_t{2}), "layout is 2"},
      {attribute("clip", -1.0f), "clip is -1"},
      {attribute("activations", Strings{"Tanh"}), "activations has 1 entries, 3 are needed"},
      {attribute("activations", Strings{"Tanh", "Tanh", "Cosh"}), "'Cosh' is unknown"}};
  for (const auto& [bad, message] : rows) expect_error({"LSTM", "", 14, attributes(2, {bad})}, good, message);
  expect_error({"LSTM", "", 14, attributes(3, {})}, good, "hidden_size is 3");
}

std::vector<ir::Attribute> extended(int64_t hidden, int64_t zero_shift) {
  std::vector<ir::Attribute> list = attributes(hidden, {});
  for (const std::string side : {"x", "w", "r", "b", "y"}) {
    list.push_back(attribute(side + "_scale", side == "y" ? 1.0f / 32768.0f : 1.0f / 60000.0f));
    list.push_back(attribute(side + "_zero_point", int64_t{32768} + (side == "y" ? 0 : zero_shift)));
  }
  return list;
}

TEST(RecurrentTest, ExtendedLstmFollowsLstm) {
  const Sizes sizes = {2, 5, 1, 4, 6};
  const std::vector<ir::Tensor> inputs = make_inputs("LSTM", sizes, "B");
  const std::vector<ir::Tensor> four(inputs.begin(), inputs.begin() + 4);
  const auto direction = attribute("direction", std::string("bidirectional"));
  const auto expected = values(run_op({"LSTM", "", 14, attributes(6, {direction})}, inputs).value()[0]);
  for (const int64_t shift : {int64_t{0}, int64_t{900}, int64_t{-1300}}) {
    const auto found = run_op({"ExtendedLSTM", "com.amd.quark", 1, extended(6, shift)}, four);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found.value()[0].dims(), (ir::Shape{5, 2, 1, 6}));
    expect_near(found.value()[0], expected, 1e-4);
  }
}

TEST(RecurrentTest, ExtendedLstmRejectsWhatItsDefinitionLacks) {
  const std::vector<ir::Tensor> inputs = make_inputs("LSTM", {2, 2, 1, 3, 2}, "B");
  const std::vector<ir::Tensor> four(inputs.begin(), inputs.begin() + 4);
  const auto with = [](auto... bad) {
    auto list = extended(2, 0);
    std::erase_if(list, [&](const ir::Attribute& a) { return ((a.name == bad.name) || ...); });
    (list.push_back(bad), ...);
    return OpCall{"ExtendedLSTM", "com.amd.quark", 1, list};
  };
  expect_error(with(attribute("layout", int64_t{1})), four, "layout");
  expect_error(with(attribute("hidden_size", int64_t{0})), four, "hidden_size is 0");
  expect_error(with(attribute("hidden_size", int64_t{3})), four, "must be [2,12,3]");
  expect_error(with(attribute("y_scale", 0.0f)), four, "y_scale is 0");
  expect_error(with(attribute("x_scale", 1e30f), attribute("w_scale", 1e30f)), four, "products of its scales are inf");
  expect_error(with(attribute("w_zero_point", int64_t{65536})), four, "w_zero_point is 65536");
  expect_error({"ExtendedLSTM", "com.amd.quark", 1, attributes(2, {})}, four, "x_scale and x_zero_point are needed");
}

}  // namespace
}  // namespace quarkq::test
