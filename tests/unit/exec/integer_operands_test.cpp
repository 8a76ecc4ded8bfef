// SPDX-License-Identifier: MIT
// Integer sums behind Q and DQ nodes: which nodes have them, that they are exact, and that nothing else decides the
// bits. Machines without VNNI compute the same models in float32, where there is nothing to compare.
#include "exec/integer_operands.h"

#include <gtest/gtest.h>

#include "base/isa.h"
#include "exec/session.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

std::string listed(size_t count, int64_t low, int64_t high, uint32_t seed) {
  test::Draws draws(seed);
  std::vector<std::string> texts;
  for (const int64_t value : draws.integers(count, low, high)) texts.push_back(cat(value));
  return join(texts, ",");
}

size_t count_of(const ir::Shape& dims) { return static_cast<size_t>(ir::checked_count(dims)); }

/// A node over x, quantized, and weights.
struct Row {
  const char* name;
  const char* call;  ///< of x, w and b
  ir::Shape source, weights;
  bool has_integers = true;
  const char* type = "int8";     ///< of the codes of x
  const char* scale = "0.0625";  ///< of x
  int zero_point = 0;            ///< of x
  size_t weight_scales = 1;      ///< on axis 0, of powers of two
  const char* weight_zero_type = "int8";
  int weight_zero = 0;
};

const Row kRows[] = {
    {"signed", "Conv<pads=[1,1,1,1]>(x, w, b)", {2, 4, 9, 7}, {16, 4, 3, 3}},
    {"unsigned", "Conv<pads=[1,1,1,1]>(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, true, "uint8"},
    {"a zero point", "Conv<pads=[2,1,0,1]>(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, true, "uint8", "0.0625", 100},
    {"a signed zero point", "Conv<pads=[1,1,1,1]>(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, true, "int8", "0.0625", -100},
    {"no bias", "Conv(x, w)", {1, 4, 9, 7}, {16, 4, 3, 3}},
    {"a scale per output", "Conv(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, true, "int8", "0.0625", 0, 16},
    {"strides and dilations", "Conv<strides=[2,2],dilations=[2,2]>(x, w, b)", {1, 4, 12, 12}, {16, 4, 3, 3}},
    {"one spatial axis", "Conv<pads=[1,1]>(x, w, b)", {2, 4, 9}, {16, 4, 3}},
    {"three spatial axes", "Conv(x, w, b)", {1, 4, 5, 6, 4}, {16, 4, 3, 3, 2}},
    {"groups", "Conv<group=2>(x, w, b)", {1, 16, 6, 6}, {32, 8, 3, 3}},
    {"1x1", "Conv(x, w, b)", {1, 24, 6, 6}, {40, 24, 1, 1}},
    {"zero points of weights",
     "Conv(x, w, b)",
     {1, 4, 9, 7},
     {16, 4, 3, 3},
     true,
     "int8",
     "0.0625",
     0,
     1,
     "uint8",
     128},
    {"a product", "MatMul(x, w)", {3, 5, 24}, {24, 32}},
    {"a vector", "MatMul(x, w)", {24}, {24, 32}},
    {"a Gemm", "Gemm(x, w, b)", {5, 24}, {24, 32}, true, "uint8", "0.0625", 3},
    {"a Gemm of transposed weights", "Gemm<transB=1>(x, w, b)", {5, 24}, {32, 24}, true, "int8", "0.0625", 0, 32},
    {"depthwise", "Conv<group=16>(x, w, b)", {1, 16, 6, 6}, {16, 1, 3, 3}, false},
    {"few outputs", "Conv(x, w, b)", {1, 24, 6, 6}, {4, 24, 1, 1}, false},
    {"16 bits", "Conv(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, false, "int16"},
    {"a factor", "Gemm<alpha=0.5>(x, w, b)", {5, 24}, {24, 32}, false},
    {"a transposed source", "Gemm<transA=1>(x, w, b)", {24, 5}, {24, 32}, false},
    {"a scale per input", "Gemm(x, w, b)", {5, 24}, {24, 32}, false, "int8", "0.0625", 0, 24},
    {"weights of nine bits", "Conv(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, false, "int8", "0.0625", 0, 1, "uint8", 20},
    {"a denormal scale", "Conv(x, w, b)", {1, 4, 9, 7}, {16, 4, 3, 3}, false, "int8", "1e-40"},
};

/// y = call; the weights behind a DQ node, or, with `plain`, as the floats that it makes.
ir::Model model_of_row(const Row& row, bool plain) {
  const std::string call = row.call;
  const size_t outputs = call.starts_with("Conv") || call.find("transB") != std::string::npos ? 0 : 1;
  const bool is_byte = std::string(row.weight_zero_type) == "uint8";
  const size_t count = count_of(row.weights), made = static_cast<size_t>(row.weights[outputs]);
  std::vector<std::string> scales, zeros;
  for (size_t i = 0; i < row.weight_scales; ++i) {
    scales.push_back(i % 3 == 0 ? "0.5" : i % 3 == 1 ? "0.125" : "0.25");
    zeros.push_back(cat(row.weight_zero));
  }
  const std::string dims = row.weight_scales == 1 ? "" : cat("[", row.weight_scales, "]");
  const std::string codes = listed(count, is_byte ? 0 : -128, is_byte ? 255 : 127, 3);
  std::string text = cat(
      "g (float", shape_text(row.source), " f) => (float y) <", row.type, " zx = {", row.zero_point, "}, float sx = {",
      row.scale, "}, float", dims, " sw = {", join(scales, ","), "}, ", row.weight_zero_type, dims, " zw = {",
      join(zeros, ","), "}, ", row.weight_zero_type, shape_text(row.weights), " cw = {", codes, "}, float[", made,
      "] b = {", listed(made, -64, 64, 5), "}> { cx = QuantizeLinear(f, sx, zx) x = DequantizeLinear(cx, sx, zx) ");
  text += cat(plain ? "v" : "w", " = DequantizeLinear<axis=0>(cw, sw, zw) ", plain ? "w = Identity(v) " : "",
              "y = ", row.call, " }");
  return test::model_of(text, 21);
}

const ir::Node& last_node(const ir::Model& model) { return *model.graph.producer(model.graph.outputs()[0]); }

TEST(IntegerOperandsTest, AreFoundWhereTheyGain) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const ir::Model model = model_of_row(row, false), plain = model_of_row(row, true);
    EXPECT_EQ(IntegerNodes(model.graph).find(last_node(model)) != nullptr, row.has_integers && has_vnni());
    EXPECT_EQ(IntegerNodes(plain.graph).find(last_node(plain)), nullptr);
  }
}

/// All scales are powers of two, and all sums are below 2^24: float32 is exact, too.
TEST(IntegerOperandsTest, SumsAreExact) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const ir::Model model = model_of_row(row, false), plain = model_of_row(row, true);
    const std::vector<Tensor> x = {test::random_floats(row.source, -12, 12, 7)};
    Session integers(model, {}, {}), floats(plain, {}, {});
    const auto found = integers.run(x), expected = floats.run(x);
    ASSERT_TRUE(found.ok() && expected.ok()) << found.status().message();
    EXPECT_TRUE((*found.value())[0].same_as((*expected.value())[0]));
  }
}

/// Three convolutions in a row; the values between them have other readers, too.
const std::string kChain = cat(
    "g (float[1,3,12,12] f) => (float y) <uint8 z = {3}, float s = {0.0371}, float t = {0.0113}, int8 n = {0}, "
    "int8[16,3,3,3] c1 = {",
    listed(432, -128, 127, 1), "}, int8[16,16,3,3] c2 = {", listed(2304, -128, 127, 2), "}, float[16] b = {",
    listed(16, -3, 3, 3),
    "}> { fq = QuantizeLinear(f, s, z) fd = DequantizeLinear(fq, s, z) w1 = DequantizeLinear(c1, t, n) w2 = "
    "DequantizeLinear(c2, t, n) "
    "a = Conv<pads=[1,1,1,1]>(fd, w1, b) ar = Relu(a) aq = QuantizeLinear(ar, s, z) ad = DequantizeLinear(aq, s, z) "
    "c = Conv<pads=[1,1,1,1]>(ad, w2, b) cq = QuantizeLinear(c, s, z) cd = DequantizeLinear(cq, s, z) "
    "e = Add(cd, ad) eq = QuantizeLinear(e, s, z) ed = DequantizeLinear(eq, s, z) y = Conv(ed, w2) }");

class Silent : public TapSink {
 public:
  Status on_value(ir::ValueId, const TensorView& view) override {
    values += view.type == ElementType::kFloat;
    return Status();
  }
  size_t values = 0;
};

TEST(IntegerOperandsTest, NeitherTapsNorSegmentsChangeBits) {
  const ir::Model model = test::model_of(kChain, 17);
  const std::vector<Tensor> x = {test::random_floats({1, 3, 12, 12}, 0, 8, 4)};
  Session whole(model, {}, {});
  const Tensor expected = (*whole.run(x).value())[0];
  SessionOptions tapped;
  tapped.fetches = model.graph.outputs();
  for (const char* name : {"ad", "cd", "ed"}) tapped.taps.push_back(model.graph.find(name));
  Silent sink;
  Session heard(model, {}, tapped);
  EXPECT_TRUE((*heard.run(x, &sink).value())[0].same_as(expected));
  EXPECT_EQ(sink.values, 3u) << "taps get floats";
  for (const int64_t bytes : {1, 20000}) {
    SessionOptions cut;
    cut.fetches = model.graph.outputs();
    cut.limits.segment = bytes;
    Session segments(model, {}, cut);
    Tensor found;
    SampleSet set;
    set.count = 1;
    set.inputs = [&](size_t) -> Result<std::vector<Tensor>> { return x; };
    set.label = [](size_t) { return "sample"; };
    set.results = [&](size_t, const std::vector<Tensor>& results) {
      found = results[0];
      found.mutable_raw();
      return Status();
    };
    ASSERT_TRUE(segments.run_samples(set).ok());
    EXPECT_TRUE(found.same_as(expected)) << bytes;
  }
}

}  // namespace
}  // namespace quarkq::exec
