// SPDX-License-Identifier: MIT
// Every shared model through load, save, infer and check.
#include "io_test_support.h"
#include "ir/check_graph.h"
#include "onnx_io/check_model.h"
#include "onnx_io/export_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/library.h"
#include "onnx_io/opset_convert.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

class SharedModelsTest : public ScratchTest {
 protected:
  template <typename Body>
  void for_each_model(Body body) {
    const std::string folder = shared_models();
    if (folder.empty()) GTEST_SKIP() << "no shared models: set QUARKQ_SHARED to the folder that holds models/";
    for (const std::string& name : shared_model_names()) {
      SCOPED_TRACE(name);
      Result<ir::Model> model = load(folder + "/" + name);
      ASSERT_TRUE(model.ok()) << model.status().message();
      body(std::move(model).value(), name);
    }
  }
};

TEST_F(SharedModelsTest, VerifiesAfterLoad) {
  for_each_model([](const ir::Model& model, const std::string&) {
    EXPECT_EQ(ir::verify(model.graph).message(), "");
    EXPECT_GT(model.graph.order().size(), 0u);
  });
}

TEST_F(SharedModelsTest, SurvivesInlineSave) {
  for_each_model([&](const ir::Model& model, const std::string& name) {
    const Result<SaveReport> report = save(model, at(name));
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_FALSE(report.value().external_data);
    EXPECT_EQ(report.value().model_bytes, std::filesystem::file_size(at(name)));
    Result<ir::Model> again = load(at(name));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(full_dump(again.value()), full_dump(model));
    EXPECT_EQ(to_bytes(again.value()), read_bytes(at(name)));
  });
}

TEST_F(SharedModelsTest, SurvivesExternalSave) {
  for_each_model([&](const ir::Model& model, const std::string& name) {
    const Result<SaveReport> report = save(model, at(name), {.external_data = true, .external_threshold = 100});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report.value().model_bytes, std::filesystem::file_size(at(name)));
    if (report.value().external_data) {
      EXPECT_EQ(report.value().data_bytes, std::filesystem::file_size(at(name + ".data")));
    }
    Result<ir::Model> again = load(at(name));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(full_dump(again.value()), full_dump(model));
  });
}

TEST_F(SharedModelsTest, PassesTheChecker) {
  for_each_model([](const ir::Model& model, const std::string&) { EXPECT_EQ(check_model(model).message(), ""); });
}

TEST_F(SharedModelsTest, InfersAsMuchWithoutTheWeights) {
  for_each_model([](ir::Model model, const std::string&) {
    onnx::ModelProto whole = whole_model(model);
    ASSERT_TRUE(library_infer(whole, Inference::kFollowsValues).ok());
    Diagnostics diagnostics;
    ASSERT_TRUE(infer_types(model, diagnostics).ok());
    EXPECT_TRUE(diagnostics.all().empty()) << diagnostics.all()[0].text;
    for (onnx::ValueInfoProto& info : *whole.mutable_graph()->mutable_value_info()) {
      const std::string name = info.name();
      const ir::ValueType type = take_type(info).value();
      EXPECT_EQ(ir::type_text(model.graph.value(model.graph.find(name)).type), ir::type_text(type)) << name;
    }
  });
}

TEST_F(SharedModelsTest, ConvertsToOpset17) {
  for_each_model([](const ir::Model& model, const std::string& name) {
    if (model.opset() >= 17) return;
    const Result<ir::Model> converted = convert_opset(model, 17);
    ASSERT_TRUE(converted.ok()) << name << ": " << converted.status().message();
    EXPECT_EQ(ir::verify(converted.value().graph).message(), "");
    EXPECT_EQ(converted.value().opset(), 17);
  });
}

}  // namespace
}  // namespace quarkq::onnx_io
