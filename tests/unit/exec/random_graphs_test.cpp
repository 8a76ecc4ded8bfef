// SPDX-License-Identifier: MIT
// Random graphs in a session, where layouts, fusion, in-place outputs and reused memory meet, against running their
// nodes one by one, each in a session of its own.
#include <gtest/gtest.h>

#include "ir/check_graph.h"
#include "support/random_graph.h"

namespace quarkq::test {
namespace {

class RandomGraphsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 14; ++i) ASSERT_TRUE(graph_.grow()) << graph_.failure();
    graph_.close();
    ASSERT_EQ(ir::verify(graph_.model().graph).message(), "");
  }
  void expect_results(const std::vector<ir::Tensor>& found) {
    const std::vector<ir::ValueId>& outputs = graph_.model().graph.outputs();
    ASSERT_EQ(found.size(), outputs.size());
    for (size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(graph_.model().graph.value(outputs[i]).name);
      ASSERT_EQ(found[i].dims(), graph_.result(outputs[i]).dims());
      expect_near(found[i], values(graph_.result(outputs[i])), 1e-4);
    }
  }

  RandomGraph graph_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphsTest, ::testing::Range(1u, 26u));

TEST_P(RandomGraphsTest, ASessionComputesWhatItsNodesComputeAlone) {
  exec::Session session(graph_.model(), {}, {});
  for (int run = 0; run < 2; ++run) {  // the second run reuses all memory
    const auto found = session.run(std::vector{graph_.input()});
    ASSERT_TRUE(found.ok()) << found.status().message();
    expect_results(*found.value());
  }
}

/// Without other readers outside, a value may be fused away, kept in another layout or written over.
TEST_P(RandomGraphsTest, EveryValueCanBeFetchedAlone) {
  for (size_t i = 0; i < graph_.model().graph.value_count(); i += 3) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph_.model().graph.value(id).producer.valid()) continue;
    SCOPED_TRACE(graph_.model().graph.value(id).name);
    exec::Session session(graph_.model(), {}, {.fetches = {id}, .taps = {}});
    const auto found = session.run(std::vector{graph_.input()});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found.value()->size(), 1u);
    expect_near(found.value()->front(), values(graph_.result(id)), 1e-4);
  }
}

}  // namespace
}  // namespace quarkq::test
