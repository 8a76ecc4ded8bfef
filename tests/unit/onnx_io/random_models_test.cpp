// SPDX-License-Identifier: MIT
// Random models through the file and through type inference: nothing is lost, and what inference says is what a run
// shows.
#include "ir/check_graph.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/opset_convert.h"
#include "support/random_graph.h"
#include "unit/base/temp_folder.h"
#include "unit/onnx_io/io_test_support.h"

namespace quarkq::onnx_io {
namespace {

class RandomModelsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(graph_.grow()) << graph_.failure();
    graph_.close();
    model_ = graph_.model();
  }

  test::RandomGraph graph_{GetParam()};
  ir::Model model_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomModelsTest, ::testing::Range(300u, 310u));

TEST_P(RandomModelsTest, WhatIsWrittenIsReadAgain) {
  const std::string bytes = to_bytes(model_);
  const Result<ir::Model> loaded = load_bytes(bytes, "random");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ir::verify(loaded.value().graph).message(), "");
  const ir::DumpOptions kAll{.values = true, .rests = true};
  EXPECT_EQ(ir::dump(loaded.value(), kAll), ir::dump(model_, kAll));
  EXPECT_EQ(to_bytes(loaded.value()), bytes);
}

TEST_P(RandomModelsTest, WeightsBesideTheModelAreTheSame) {
  const test::TempFolder folder;
  for (const int64_t threshold : {int64_t{0}, int64_t{64}}) {
    const std::string path = folder / cat("m", threshold, ".onnx");
    const auto saved = save(model_, path, {.external_data = true, .external_threshold = threshold});
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    LoadReport report;
    const Result<ir::Model> loaded = load(path, &report);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(report.external_bytes, saved.value().data_bytes);
    EXPECT_EQ(report.external_files.size(), saved.value().data_bytes > 0 ? 1u : 0u);
    EXPECT_EQ(ir::dump(loaded.value()), ir::dump(model_));
  }
}

TEST_P(RandomModelsTest, InferredTypesAreThoseOfARun) {
  Diagnostics diagnostics;
  ASSERT_TRUE(infer_types(model_, diagnostics).ok());
  size_t known = 0;
  for (const ir::NodeId id : model_.graph.order()) {
    const ir::ValueId made = model_.graph.node(id).outputs[0];
    const ir::ValueType& type = model_.graph.value(made).type;
    EXPECT_EQ(type.element, ElementType::kFloat) << model_.graph.label(id);
    if (!type.is_static()) continue;
    EXPECT_EQ(type.shape(), graph_.result(made).dims()) << model_.graph.label(id);
    ++known;
  }
  EXPECT_EQ(known, model_.graph.order().size()) << "all shapes of these models can be inferred";
}

TEST_P(RandomModelsTest, OtherOpsetsComputeTheSame) {
  Diagnostics diagnostics;
  ASSERT_TRUE(infer_types(model_, diagnostics).ok());
  for (const int64_t opset : {18, 21}) {
    SCOPED_TRACE(opset);
    Result<ir::Model> converted = convert_opset(model_, opset);
    ASSERT_TRUE(converted.ok()) << converted.status().message();
    ASSERT_EQ(ir::verify(converted.value().graph).message(), "");
    exec::Session session(converted.value(), {}, {});
    const auto found = session.run(std::vector{graph_.input()});
    ASSERT_TRUE(found.ok()) << found.status().message();
    for (size_t i = 0; i < found.value()->size(); ++i) {
      test::expect_near((*found.value())[i], test::values(graph_.result(model_.graph.outputs()[i])), 1e-4);
    }
  }
}

}  // namespace
}  // namespace quarkq::onnx_io
