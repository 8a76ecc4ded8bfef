// SPDX-License-Identifier: MIT
// Values that leave memory between their uses: the plan keeps the limit, the bits stay (ADR 0016).
#include <gtest/gtest.h>

#include <random>

#include "exec/environment.h"
#include "exec/memory_plan.h"
#include "exec/session.h"
#include "onnx_io/text.h"
#include "support/random_graph.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

std::vector<BufferUse> random_uses(std::mt19937& random) {
  std::vector<BufferUse> uses;
  for (int i = 0; i < 30; ++i) {
    BufferUse use{static_cast<int64_t>(1 + random() % 100), {static_cast<int>(random() % 20)}};
    for (uint32_t more = random() % 4; more > 0; --more) use.steps.push_back(use.steps.back() + 1 + random() % 6);
    uses.push_back(std::move(use));
  }
  return uses;
}

bool is_used(const BufferUse& use, int step) { return std::ranges::find(use.steps, step) != use.steps.end(); }

TEST(SpillPlanTest, KeepsTheLimitWhereUsesAllow) {
  std::mt19937 random(3);
  size_t spilled = 0;
  for (int round = 0; round < 60; ++round) {
    const std::vector<BufferUse> uses = random_uses(random);
    const ValueLimit limit{.bytes = static_cast<int64_t>(50 + random() % 600), .least_spilled = 20};
    const std::vector<Piece> pieces = plan_pieces(uses, limit);
    for (int step = 0; step < 45; ++step) {
      int64_t there = 0, needed = 0;
      for (const Piece& piece : pieces) {
        const Lifetime& life = piece.lifetime;
        if (life.first <= step && step <= life.last) there += life.bytes;
      }
      for (const BufferUse& use : uses) {
        const bool lives = use.steps.front() <= step && step <= use.steps.back();
        if (is_used(use, step) || (lives && use.bytes < limit.least_spilled)) needed += use.bytes;
      }
      EXPECT_LE(there, std::max(limit.bytes, needed)) << "round " << round << ", step " << step;
    }
    spilled += pieces.size() - uses.size();
  }
  EXPECT_GT(spilled, 100u);
}

TEST(SpillPlanTest, PiecesCoverEveryUse) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const std::vector<BufferUse> uses = random_uses(random);
    const std::vector<Piece> pieces = plan_pieces(uses, {.bytes = 100, .least_spilled = 1});
    for (size_t i = 0; i < uses.size(); ++i) {
      for (const int step : uses[i].steps) {
        EXPECT_EQ(std::ranges::count_if(pieces,
                                        [&](const Piece& piece) {
                                          return piece.buffer == i && piece.lifetime.first <= step &&
                                                 step <= piece.lifetime.last;
                                        }),
                  1);
      }
    }
  }
}

TEST(SpillPlanTest, WithoutALimitNothingLeaves) {
  std::mt19937 random(5);
  const std::vector<BufferUse> uses = random_uses(random);
  const std::vector<Piece> pieces = plan_pieces(uses, {});
  ASSERT_EQ(pieces.size(), uses.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    EXPECT_EQ(pieces[i].lifetime.first, uses[i].steps.front());
    EXPECT_EQ(pieces[i].lifetime.last, uses[i].steps.back());
  }
}

class TapBytes : public TapSink {
 public:
  Status on_value(ir::ValueId value, const TensorView& view) override {
    const auto bytes = static_cast<size_t>(storage_bytes(view.type, view.count));
    seen.emplace_back(value.index, std::string(reinterpret_cast<const char*>(view.data), bytes));
    return Status();
  }
  std::vector<std::pair<int32_t, std::string>> seen;
};

/// Two runs of one session: results and taps of both.
struct TwoRuns {
  std::vector<Tensor> results;
  std::vector<std::pair<int32_t, std::string>> taps;
  size_t arena_bytes = 0;
};

TwoRuns run_twice(const ir::Model& model, SessionOptions options, const Tensor& input, int64_t limit) {
  options.limits.values = {.bytes = limit, .least_spilled = 1};
  if (options.fetches.empty()) options.fetches = model.graph.outputs();
  Session session(model, {}, options);
  TwoRuns ran;
  TapBytes recorder;
  for (const float sign : {1.0f, -1.0f}) {
    Tensor given = input;
    for (float& x : given.mutable_data<float>()) x *= sign;
    const auto found = session.run(std::vector<Tensor>{given}, &recorder);
    EXPECT_TRUE(found.ok()) << found.status().message();
    if (!found.ok()) return ran;
    for (const Tensor& tensor : *found.value()) {
      ran.results.push_back(tensor);
      ran.results.back().mutable_raw();
    }
  }
  ran.taps = std::move(recorder.seen);
  ran.arena_bytes = session.arena_bytes();
  return ran;
}

void expect_same_runs(const TwoRuns& whole, const TwoRuns& parts) {
  ASSERT_EQ(parts.results.size(), whole.results.size());
  for (size_t i = 0; i < whole.results.size(); ++i) EXPECT_TRUE(parts.results[i].same_as(whole.results[i])) << i;
  EXPECT_EQ(parts.taps, whole.taps);
}

TEST(SpillsTest, GiveTheSameBits) {
  size_t smaller = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomGraph graph(seed);
    for (int i = 0; i < 24; ++i) ASSERT_TRUE(graph.grow()) << graph.failure();
    graph.close();
    SessionOptions options;
    for (size_t i = 0; i < graph.model().graph.value_count(); i += 5) {
      const ir::ValueId id{static_cast<int32_t>(i)};
      if (graph.model().graph.value(id).producer.valid()) options.taps.push_back(id);
    }
    const TwoRuns whole = run_twice(graph.model(), options, graph.input(), 0);
    for (const int64_t limit : {1, 3000, 20000}) {
      const TwoRuns parts = run_twice(graph.model(), options, graph.input(), limit);
      expect_same_runs(whole, parts);
      if (parts.arena_bytes < whole.arena_bytes) ++smaller;
    }
  }
  EXPECT_GT(smaller, 60u);
}

/// Values that are added again long after they were made, in reverse order.
ir::Model long_skips() {
  std::string text = "skips (float[1,4,32,32] x) => (float[1,4,32,32] y) <float[4,4,1,1] w = {";
  for (int i = 0; i < 16; ++i) text += (i > 0 ? ", " : "") + std::to_string(0.1 * (i % 5) - 0.15);
  text += "}> { c0 = Conv(x, w) ";
  constexpr int kSkips = 8;
  for (int i = 1; i <= kSkips; ++i) text += cat("c", i, " = Conv(c", i - 1, ", w) ");
  text += cat("d", kSkips, " = Relu(c", kSkips, ") ");
  for (int i = kSkips; i-- > 0;) text += cat("e", i, " = Conv(d", i + 1, ", w) d", i, " = Add(e", i, ", c", i, ") ");
  text += "y = Relu(d0) }";
  Result<ir::Model> model = onnx_io::parse_model_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + text);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(model).value();
}

TEST(SpillsTest, LongSkipsTakeWhatOneOperatorTakes) {
  const ir::Model model = long_skips();
  const int64_t bytes = int64_t{4} * 4 * 32 * 32;
  Tensor input = Tensor::zeros(ElementType::kFloat, {1, 4, 32, 32});
  float next = 0;
  for (float& x : input.mutable_data<float>()) x = next += 0.01f;
  const TwoRuns whole = run_twice(model, {}, input, 0), parts = run_twice(model, {}, input, 3 * bytes);
  expect_same_runs(whole, parts);
  EXPECT_GT(whole.arena_bytes, static_cast<size_t>(9 * bytes));
  EXPECT_LT(parts.arena_bytes, static_cast<size_t>(5 * bytes));
}

TEST(SpillsTest, ACeilingLetsSmallValuesStay) {
  const ir::Model model = long_skips();
  const Tensor input = Tensor::zeros(ElementType::kFloat, {1, 4, 32, 32});
  Session whole(model, {}, {});
  ASSERT_TRUE(whole.run(std::vector<Tensor>{input}).ok());
  Session below(model, {.memory_ceiling = int64_t{1} << 40}, {});
  ASSERT_TRUE(below.run(std::vector<Tensor>{input}).ok());
  EXPECT_EQ(below.arena_bytes(), whole.arena_bytes());
}

}  // namespace
}  // namespace quarkq::exec
