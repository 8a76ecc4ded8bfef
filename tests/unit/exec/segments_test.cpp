// SPDX-License-Identifier: MIT
// Graphs that run in segments give the bits of one program, for results and taps, and keep what waits (ADR 0016).
#include <gtest/gtest.h>

#include <map>

#include "exec/environment.h"
#include "exec/session.h"
#include "onnx_io/text.h"
#include "support/random_graph.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

/// What was tapped, in ONNX order of bytes as they lie; by value, in the order of announcement.
class Recorder : public TapSink {
 public:
  Status on_value(ir::ValueId value, const TensorView& view) override {
    const auto bytes = static_cast<size_t>(storage_bytes(view.type, view.count));
    seen[value].emplace_back(reinterpret_cast<const char*>(view.data), bytes);
    return Status();
  }
  std::map<ir::ValueId, std::vector<std::string>> seen;
};

/// All samples of `inputs` through one session.
struct Ran {
  std::vector<std::vector<Tensor>> results;
  std::map<ir::ValueId, std::vector<std::string>> taps;
  std::vector<size_t> inputs_asked;
  size_t segments = 0;
  double share = 0;
  Status status;
};

Ran run_all(const ir::Model& model, SessionOptions options, const std::vector<std::vector<Tensor>>& inputs,
            int64_t segment, const Environment& environment = {}) {
  options.limits.segment = segment;
  if (options.fetches.empty()) options.fetches = model.graph.outputs();
  Session session(model, environment, options);
  Ran ran;
  Recorder recorder;
  SampleSet set;
  set.count = inputs.size();
  set.inputs = [&](size_t i) -> Result<std::vector<Tensor>> {
    ran.inputs_asked.push_back(i);
    return inputs[i];
  };
  set.sink = [&](size_t) { return &recorder; };
  set.results = [&](size_t, const std::vector<Tensor>& found) {
    std::vector<Tensor> copies;
    for (const Tensor& tensor : found) {
      copies.push_back(tensor);
      copies.back().mutable_raw();
    }
    ran.results.push_back(std::move(copies));
    return Status();
  };
  set.progress = [&](double share) {
    EXPECT_GE(share + 1e-9, ran.share);
    ran.share = share;
    return Status();
  };
  set.label = [](size_t i) { return "sample " + std::to_string(i); };
  ran.status = session.run_samples(set);
  ran.segments = session.segment_count();
  ran.taps = std::move(recorder.seen);
  return ran;
}

void expect_same(const Ran& whole, const Ran& parts) {
  ASSERT_TRUE(whole.status.ok()) << whole.status.message();
  ASSERT_TRUE(parts.status.ok()) << parts.status.message();
  ASSERT_EQ(parts.results.size(), whole.results.size());
  for (size_t s = 0; s < whole.results.size(); ++s) {
    ASSERT_EQ(parts.results[s].size(), whole.results[s].size());
    for (size_t i = 0; i < whole.results[s].size(); ++i)
      EXPECT_TRUE(parts.results[s][i].same_as(whole.results[s][i])) << "sample " << s << ", result " << i;
  }
  EXPECT_EQ(parts.taps, whole.taps);
  EXPECT_EQ(parts.inputs_asked, whole.inputs_asked);
  EXPECT_EQ(whole.segments, 1u);
  EXPECT_DOUBLE_EQ(parts.share, 1);
}

/// The most segments that a random graph ran in.
size_t expect_bits_of_one_program(uint32_t seed) {
  size_t most = 1;
  const auto check = [&] {
    test::RandomGraph graph(seed);
    for (int i = 0; i < 24; ++i) ASSERT_TRUE(graph.grow()) << graph.failure();
    graph.close();
    SessionOptions options;
    for (size_t i = 0; i < graph.model().graph.value_count(); i += 4) {
      const ir::ValueId id{static_cast<int32_t>(i)};
      if (graph.model().graph.value(id).producer.valid()) options.taps.push_back(id);
    }
    Tensor other = graph.input();
    for (float& x : other.mutable_data<float>()) x = -x;
    const std::vector<std::vector<Tensor>> inputs = {{graph.input()}, {other}, {graph.input()}};
    const Ran whole = run_all(graph.model(), options, inputs, /*segment=*/0);
    for (const int64_t segment : {int64_t{1}, int64_t{1000}, int64_t{10000}, int64_t{1} << 40}) {
      SCOPED_TRACE(segment);
      const Ran parts = run_all(graph.model(), options, inputs, segment);
      expect_same(whole, parts);
      most = std::max(most, parts.segments);
      EXPECT_TRUE(segment < int64_t{1} << 40 || parts.segments == 1);
    }
  };
  check();
  return most;
}

TEST(SegmentsTest, GiveTheBitsOfOneProgram) {
  size_t cut = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    if (expect_bits_of_one_program(seed) > 2) ++cut;
  }
  EXPECT_GT(cut, 30u);
}

ir::Model parsed(const std::string& text) {
  Result<ir::Model> model = onnx_io::parse_model_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + text);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(model).value();
}

Tensor image(ir::Shape dims, float scale) {
  Tensor tensor = Tensor::zeros(ElementType::kFloat, std::move(dims));
  float next = 0;
  for (float& x : tensor.mutable_data<float>()) x = scale * (next += 0.25f);
  return tensor;
}

/// A value waits in channels-last order for the end, another one is a result and read later, and a shape is known while
/// compiling.
constexpr const char kImages[] = R"(
images (float[n,2,h,w] x) => (float[n,m,h,w] y, float[n,2,h,w] early, float[k] late)
<float[2,2,1,1] w = {1, 2, -3, 4}, float[2] b = {0.5, -0.5}, int64[1] flat = {-1}>
{
  early = Conv(x, w, b)
  a = Relu(early)
  c = Conv(a, w, b)
  d = Conv(c, w, b)
  e = Sigmoid(d)
  f = Add(e, a)
  g = Conv(f, w)
  y = Concat<axis = 1>(g, a, early)
  places = NonZero(d)
  indices = Reshape(places, flat)
  numbers = Cast<to = 1>(indices)
  h1 = ReduceSum<keepdims = 0>(a)
  late = Add(numbers, h1)
})";

TEST(SegmentsOfImagesTest, StagesFollowSegments) {
  const ir::Model model = parsed(kImages);
  SessionOptions options;
  for (const char* name : {"x", "a", "d", "f", "y"}) options.taps.push_back(model.graph.find(name));
  const std::vector<std::vector<Tensor>> inputs = {
      {image({1, 2, 4, 3}, 1)}, {image({1, 2, 5, 5}, -1)}, {image({1, 2, 4, 3}, 0.5f)}, {image({2, 2, 1, 1}, 1)}};
  const Ran whole = run_all(model, options, inputs, 0);
  const Ran parts = run_all(model, options, inputs, 1);
  expect_same(whole, parts);
  EXPECT_GT(parts.segments, 3u);
}

TEST(SegmentsOfImagesTest, ASessionRunsSingleSamplesInSegments) {
  const ir::Model model = parsed(kImages);
  SessionOptions options;
  Session whole(model, {}, options);
  options.limits.segment = 1;
  Session parts(model, {}, options);
  for (const float scale : {1.0f, -2.0f}) {
    const std::vector<Tensor> inputs = {image({1, 2, 4, 3}, scale)};
    const auto expected = whole.run(inputs), found = parts.run(inputs);
    ASSERT_TRUE(expected.ok() && found.ok()) << found.status().message();
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE((*found.value())[i].same_as((*expected.value())[i])) << i;
    EXPECT_GT(parts.segment_count(), 3u);
  }
}

TEST(SegmentsOfImagesTest, ErrorsNameTheSample) {
  const ir::Model model = parsed(kImages);
  const Ran ran = run_all(model, {}, {{image({1, 2, 4, 3}, 1)}, {image({1, 3, 4, 3}, 1)}}, 1);
  EXPECT_FALSE(ran.status.ok());
  EXPECT_EQ(ran.status.message().rfind("sample 1", 0), 0u) << ran.status.message();
}

TEST(SegmentsOfImagesTest, AnInterruptEndsARun) {
  const ir::Model model = parsed(kImages);
  SessionOptions options;
  options.limits.segment = 1;
  Session session(model, {}, options);
  SampleSet set;
  set.count = 2;
  set.inputs = [&](size_t) -> Result<std::vector<Tensor>> { return std::vector<Tensor>{image({1, 2, 4, 3}, 1)}; };
  set.progress = [](double share) { return share < 0.3 ? Status() : Status(Code::kInterrupted, "interrupted"); };
  EXPECT_EQ(session.run_samples(set).code(), Code::kInterrupted);
}

/// Weights that are stored as integers are computed in the segment that reads them, wherever their nodes stand.
TEST(SegmentsOfImagesTest, StoredIntegersAreExpandedWhereTheyAreRead) {
  const ir::Model model = parsed(R"(
stored (float[1,2,3,3] x) => (float[1,2,3,3] y)
<int8[2,2,1,1] q = {1, -2, 3, 4}, float s = {0.5}, int8 z = {0}>
{
  w1 = DequantizeLinear(q, s, z)
  w2 = DequantizeLinear(q, s, z)
  w3 = DequantizeLinear(q, s, z)
  a = Conv(x, w1)
  b = Conv(a, w2)
  y = Conv(b, w3)
})");
  const std::vector<std::vector<Tensor>> inputs = {{image({1, 2, 3, 3}, 1)}};
  SessionOptions options;
  options.taps = {model.graph.find("w2")};
  const Ran whole = run_all(model, options, inputs, 0), parts = run_all(model, options, inputs, 1);
  expect_same(whole, parts);
  EXPECT_EQ(parts.segments, 3u);
}

TEST(MemoryCeilingTest, SplitsWhatDoesNotFit) {
  const ir::Model model = parsed(kImages);
  const std::vector<std::vector<Tensor>> inputs = {{image({1, 2, 4, 3}, 1)}};
  const Ran whole = run_all(model, {}, inputs, 0);
  const Ran split = run_all(model, {}, inputs, 0, {.memory_ceiling = 1});
  const Ran fits = run_all(model, {}, inputs, 0, {.memory_ceiling = int64_t{1} << 40});
  expect_same(whole, split);
  EXPECT_GT(split.segments, 3u);
  EXPECT_EQ(fits.segments, 1u);
}

}  // namespace
}  // namespace quarkq::exec
