// SPDX-License-Identifier: MIT
// Walks over the values of a model in stretches: each is what one run of the whole model gives, whatever is kept on
// disk, and a constant that changes reaches the stretches after it only.
#include "calib/layer_walk.h"

#include <gtest/gtest.h>

#include <map>

#include "support/grown_model.h"
#include "support/legalize_samples.h"

namespace quarkq::calib {
namespace {

constexpr size_t kSamples = 3;

class LayerWalkTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(test::grow_model(graph, 12, model));
    samples = std::make_unique<test::RandomSamples>(model.graph, kSamples);
    for (const ir::NodeId id : model.graph.order()) {
      for (const ir::ValueId output : model.graph.node(id).outputs) {
        if (output.valid()) values.push_back(output);
      }
    }
  }
  /// The values in lists of `length`, in node order.
  std::vector<std::vector<ir::ValueId>> lists(size_t length) const {
    std::vector<std::vector<ir::ValueId>> made;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i % length == 0) made.emplace_back();
      made.back().push_back(values[i]);
    }
    return made;
  }
  /// Value `id` of a sample, by a run of its own.
  ir::Tensor alone(const ir::Model& model, ir::ValueId id, size_t sample) const {
    exec::Session session(model, {}, {{id}, {}});
    const auto found = session.run(samples->read(sample).value().inputs);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? found.value()->front() : ir::Tensor();
  }

  test::RandomGraph graph{GetParam()};
  ir::Model model;
  exec::Environment environment;
  std::unique_ptr<test::RandomSamples> samples;
  std::vector<ir::ValueId> values;
};
INSTANTIATE_TEST_SUITE_P(Seeds, LayerWalkTest, ::testing::Range(500u, 508u));

TEST_P(LayerWalkTest, GivesTheValuesOfWholeRuns) {
  for (const size_t length : {1u, 3u, 100u}) {
    for (const bool on_disk : {false, true}) {
      SCOPED_TRACE(cat("lists of ", length, on_disk ? ", on disk" : ""));
      ir::TensorStore store;
      ASSERT_TRUE(!on_disk || store.set_limit(0).ok());
      const auto wanted = lists(length);
      LayerWalk walk({model, environment, *samples, kSamples}, wanted, store);
      for (const std::vector<ir::ValueId>& list : wanted) {
        std::vector<size_t> order;
        const Status done = walk.advance([&](size_t sample, const std::vector<ir::Tensor>& values) {
          order.push_back(sample);
          EXPECT_EQ(values.size(), list.size());
          for (size_t i = 0; i < std::min(values.size(), list.size()); ++i)
            EXPECT_TRUE(values[i].same_as(alone(model, list[i], sample))) << model.graph.value(list[i]).name;
          return Status();
        });
        ASSERT_TRUE(done.ok()) << done.message();
        EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2}));
      }
      EXPECT_EQ(store.bytes_in_memory(), 0) << "nothing is kept once it is not needed";
    }
  }
}

/// Stretches that nobody listens to are run, too.
TEST_P(LayerWalkTest, SkippedListsLeaveLaterOnesAlone) {
  ir::TensorStore store;
  const auto wanted = lists(2);
  LayerWalk walk({model, environment, *samples, kSamples}, wanted, store);
  for (size_t i = 0; i + 1 < wanted.size(); ++i) ASSERT_TRUE(walk.advance(nullptr).ok());
  size_t heard = 0;
  ASSERT_TRUE(walk.advance([&](size_t sample, const std::vector<ir::Tensor>& values) {
                    ++heard;
                    EXPECT_TRUE(values.back().same_as(alone(model, wanted.back().back(), sample)));
                    return Status();
                  })
                  .ok());
  EXPECT_EQ(heard, kSamples);
}

TEST_P(LayerWalkTest, AnEndedWalkKeepsNothingAndCanBeMadeAgain) {
  ir::TensorStore store;
  const auto wanted = lists(2);
  for (size_t lists_done = 0; lists_done < wanted.size(); ++lists_done) {
    LayerWalk walk({model, environment, *samples, kSamples}, wanted, store);
    for (size_t i = 0; i < lists_done; ++i) ASSERT_TRUE(walk.advance(nullptr).ok());
    EXPECT_EQ(walk.position(), lists_done);
    walk.end();
    EXPECT_EQ(store.bytes_in_memory(), 0) << lists_done;
  }
}

TEST_P(LayerWalkTest, AnErrorOfTheSinkEndsTheStretch) {
  ir::TensorStore store;
  LayerWalk walk({model, environment, *samples, kSamples}, lists(100), store);
  size_t heard = 0;
  const Status done = walk.advance([&](size_t sample, const std::vector<ir::Tensor>&) {
    ++heard;
    return sample == 1 ? bad_data("enough") : Status();
  });
  EXPECT_EQ(done.code(), Code::kBadData);
  EXPECT_NE(done.message().find("enough"), std::string::npos);
  EXPECT_EQ(heard, 2u);
}

/// Fine-tuning changes a layer before the walk reaches it.
TEST(LayerWalkConstantsTest, ChangesReachWhatComesAfterThem) {
  ir::Model model = test::model_of(
      "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { m = Mul (x, a) n = Mul (m, b) y = "
      "Add (n, m) }");
  const test::RandomSamples samples(model.graph, kSamples);
  const auto value = [&](const char* name) { return model.graph.find(name); };
  const exec::Environment environment;
  ir::TensorStore store;
  LayerWalk walk({model, environment, samples, kSamples}, {{value("m")}, {value("y")}}, store);
  std::map<size_t, std::vector<double>> first;
  ASSERT_TRUE(walk.advance([&](size_t sample, const std::vector<ir::Tensor>& values) {
                    first[sample] = test::values(values[0]);
                    return Status();
                  })
                  .ok());
  ir::GraphEdit edit(model.graph);
  edit.set_constant(value("a"), test::floats({2}, {100, 100}));  // its product is known already
  edit.set_constant(value("b"), test::floats({2}, {-1, 9}));
  ASSERT_TRUE(walk.advance([&](size_t sample, const std::vector<ir::Tensor>& values) {
                    const std::vector<double> found = test::values(values[0]);
                    EXPECT_EQ(found[0], 0);
                    EXPECT_FLOAT_EQ(static_cast<float>(found[1]), static_cast<float>(10 * first[sample][1]));
                    return Status();
                  })
                  .ok());
}

}  // namespace
}  // namespace quarkq::calib
