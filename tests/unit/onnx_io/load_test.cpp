// SPDX-License-Identifier: MIT
#include "onnx_io/load.h"

#include <ctime>

#include "io_test_support.h"
#include "ir/check_graph.h"

namespace quarkq::onnx_io {
namespace {

using LoadTest = ScratchTest;

const char* const kSmall = R"(
  <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1], producer_name: "tests">
  small (float[N,4] x, float[4] w) => (float[N,4] y)
  <float[4] w = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[N,4] h> {
    h = Mul(x, w)
    y = Add(h, b)
  })";

TEST_F(LoadTest, LinksValuesAndNodes) {
  const ir::Model model = parsed(kSmall);
  const ir::Graph& graph = model.graph;
  ASSERT_EQ(ir::verify(graph).message(), "");
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.opset("com.microsoft"), 1);
  ASSERT_EQ(graph.order().size(), 2u);
  const ir::Value& w = graph.value(graph.find("w"));
  EXPECT_TRUE(w.is_input);
  EXPECT_TRUE(w.is_initializer());
  EXPECT_EQ(graph.required_inputs(), std::vector<ir::ValueId>{graph.find("x")});
  EXPECT_TRUE(graph.value(graph.find("h")).has_info);
  EXPECT_EQ(ir::type_text(graph.value(graph.find("h")).type), "FLOAT[N,4]");
  EXPECT_EQ(graph.value(graph.find("b")).constant->data<float>()[3], 8.0f);
  for (const ir::NodeId id : graph.order()) EXPECT_EQ(graph.node(id).origins, std::vector<ir::NodeId>{id});
}

TEST_F(LoadTest, ReadsANewerOpsetAsTheNewestKnown) {
  const std::string graph_bytes = graph(relu());
  LoadReport report;
  const Result<ir::Model> model =
      load_bytes(number(1, 13) + bytes(7, graph_bytes) + bytes(8, number(2, 31)), "newer", &report);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().opset(), 28);
  ASSERT_EQ(report.findings.all().size(), 1u);
  EXPECT_EQ(report.findings.all()[0].id, std::string("opset-newer"));
  EXPECT_EQ(report.findings.all()[0].text, "opset 31 was read as 28");
}

TEST_F(LoadTest, ReadsANewerIrVersionAsTheNewestKnown) {
  LoadReport report;
  const Result<ir::Model> model =
      load_bytes(number(1, 15) + bytes(7, graph(relu())) + bytes(8, number(2, 17)), "newer", &report);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().ir_version, 14);
  ASSERT_EQ(report.findings.all().size(), 1u);
  EXPECT_EQ(report.findings.all()[0].id, std::string("ir-version-newer"));
  EXPECT_EQ(report.findings.all()[0].text, "IR version 15 was read as 14");
}

TEST_F(LoadTest, TakesAnEmptyNameForAbsent) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, float m) => (float[4] y) { y = Clip(x, , m) })");
  const ir::Node& clip = model.graph.node(model.graph.order()[0]);
  EXPECT_FALSE(clip.input(1).valid());
  EXPECT_EQ(clip.inputs.size(), 3u);
}

TEST_F(LoadTest, SortsAnUnsortedList) {
  const std::string graph = bytes(11, value_info("x")) + bytes(1, node("Neg", {"a"}, "y")) +
                            bytes(1, node("Abs", {"x"}, "a")) + bytes(12, value_info("y"));
  const Result<ir::Model> model = load_bytes(model_around(graph), "unsorted");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().graph.node(model.value().graph.order()[0]).op, "Abs");
}

TEST_F(LoadTest, TakesOldFilesWithoutComplaint) {
  const std::string graph = bytes(11, value_info("x")) + bytes(1, node("Neg", {"x"}, "y")) + bytes(12, value_info("y"));
  const Result<ir::Model> ir2 = load_bytes(number(1, 2) + bytes(7, graph), "old");
  ASSERT_TRUE(ir2.ok()) << ir2.status().message();
  EXPECT_EQ(ir2.value().opset(), 1);
  EXPECT_TRUE(load_bytes(number(1, 3) + bytes(7, graph) + bytes(8, number(2, 5)), "opset 5").ok());
}

TEST_F(LoadTest, NormalizesTheDefaultDomain) {
  const std::string relu = node("Relu", {"x"}, "y") + bytes(7, "ai.onnx");
  const std::string graph = bytes(11, value_info("x")) + bytes(1, relu) + bytes(12, value_info("y"));
  const Result<ir::Model> model =
      load_bytes(number(1, 8) + bytes(7, graph) + bytes(8, bytes(1, "ai.onnx") + number(2, 12)), "domain");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().opset(), 12);
  EXPECT_TRUE(model.value().graph.node(model.value().graph.order()[0]).is("Relu"));
}

TEST_F(LoadTest, UnifiesTheFormsOfConstant) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
    g () => (float f, float[2] fs, int64 i, int64[3] is, string s, string[1] ss, float[1] t) {
      f = Constant <value_float = 1.5> ()
      fs = Constant <value_floats = [1.0, 2.0]> ()
      i = Constant <value_int = 7> ()
      is = Constant <value_ints = [1, 2, 3]> ()
      s = Constant <value_string = "a"> ()
      ss = Constant <value_strings = ["b"]> ()
      t = Constant <value = float[1] {9}> ()
    })");
  const ir::Graph& graph = model.graph;
  const auto text = [&](const char* name) { return ir::tensor_text(*graph.constant(graph.find(name))); };
  EXPECT_TRUE(text("f").starts_with("FLOAT[] "));
  EXPECT_TRUE(text("fs").starts_with("FLOAT[2] "));
  EXPECT_TRUE(text("i").starts_with("INT64[] "));
  EXPECT_TRUE(text("is").starts_with("INT64[3] "));
  EXPECT_TRUE(text("s").starts_with("STRING[] "));
  EXPECT_TRUE(text("ss").starts_with("STRING[1] "));
  EXPECT_TRUE(text("t").starts_with("FLOAT[1] "));
  EXPECT_EQ(graph.constant(graph.find("i"))->data<int64_t>()[0], 7);
}

TEST_F(LoadTest, KeepsNonTensorTypes) {
  const char* const text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (seq(float[2]) s, int64 i) => (float[2] y) { y = SequenceAt(s, i) })";
  const ir::Model model = parsed(text);
  EXPECT_FALSE(model.graph.value(model.graph.find("s")).type.other_type.empty());
  EXPECT_EQ(full_dump(load_bytes(to_bytes(model), "again").value()), full_dump(model));
}

TEST_F(LoadTest, LoadsAMillionNodesInSeconds) {
  constexpr int kNodes = 1000000;
  std::string graph = bytes(11, value_info("v0"));
  graph.reserve(size_t{40} * kNodes);
  for (int i = 0; i < kNodes; ++i) {
    graph += bytes(1, node("Neg", {"v" + std::to_string(i)}, "v" + std::to_string(i + 1)));
  }
  graph += bytes(12, value_info("v" + std::to_string(kNodes)));
  const std::string bytes = model_around(graph);
  const std::clock_t begin = std::clock();  // what else the machine does is not counted
  const Result<ir::Model> model = load_bytes(bytes, "chain");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().graph.order().size(), static_cast<size_t>(kNodes));
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 60);
}

TEST_F(LoadTest, DropsWhatSaysNothing) {
  // A value_info without a type, one for an unknown name, and a tensor beside an attribute of another kind.
  const std::string attribute = bytes(1, "alpha") + number(3, 4) + number(20, 2) + bytes(5, bytes(8, "stray"));
  const std::string graph = bytes(11, value_info("x")) + bytes(1, node("Op", {"x"}, "y") + bytes(5, attribute)) +
                            bytes(12, value_info("y")) + bytes(13, value_info("y")) + bytes(13, value_info("gone"));
  const ir::Model model = load_bytes(model_around(graph), "strays").value();
  EXPECT_FALSE(model.graph.value(model.graph.find("y")).has_info);
  EXPECT_FALSE(model.graph.find("gone").valid());
  const std::string saved = to_bytes(model);
  EXPECT_EQ(saved.find("stray"), std::string::npos);
  EXPECT_EQ(full_dump(load_bytes(saved, "again").value()), full_dump(model));
}

/// Unknown fields (number 999) and documented optional ones at every level.
std::string rich_model() {
  const auto unknown = [](const std::string& text) { return bytes(999, text); };
  const auto metadata = [](int field, const std::string& key) { return bytes(field, bytes(1, key) + bytes(2, "v")); };
  const std::string dim = number(1, 2) + bytes(3, "BATCH") + unknown("dim");
  const std::string type = bytes(1, number(1, 1) + bytes(2, bytes(1, dim) + unknown("shape")) + unknown("tensor type"));
  const auto info = [&](const std::string& name) {
    return bytes(1, name) + bytes(2, type + bytes(6, "IMAGE") + unknown("type")) + bytes(3, "doc of value") +
           metadata(4, "value key") + unknown("value info");
  };
  const std::string stored = tensor(
      "w", bytes(9, std::string(8, 'b')) + bytes(12, "doc of tensor") + metadata(16, "tensor key") + unknown("tensor"));
  const std::string held = tensor("held", bytes(9, std::string(8, 'c')) + unknown("attribute tensor"));
  const std::string attribute =
      bytes(1, "alpha") + bytes(5, held) + number(20, 4) + bytes(13, "doc of attribute") + unknown("attribute");
  const std::string sparse_attribute = bytes(1, "sparse") + bytes(23, bytes(1, tensor("s", ""))) + number(20, 12);
  const std::string custom = node("Custom", {"x", "w"}, "y") + bytes(3, "custom_1") + bytes(7, "my.domain") +
                             bytes(8, "over") + bytes(5, attribute) + bytes(5, sparse_attribute) +
                             bytes(6, "doc of node") + metadata(9, "node key") + unknown("node");
  const std::string graph = bytes(2, "rich") + bytes(1, custom) + bytes(5, stored) + bytes(11, info("x")) +
                            bytes(12, info("y")) + bytes(10, "doc of graph") +
                            bytes(14, bytes(1, "x") + metadata(2, "SCALE_TENSOR")) + metadata(16, "graph key") +
                            unknown("graph");
  return number(1, 8) + bytes(2, "maker") + bytes(3, "1.2") + bytes(4, "org.example") + number(5, 77) +
         bytes(6, "doc of model") + bytes(7, graph) + bytes(8, number(2, 17)) +
         bytes(8, bytes(1, "my.domain") + number(2, 1)) + metadata(14, "model key") +
         bytes(20, bytes(3, bytes(1, "a") + bytes(2, "b"))) + unknown("model");
}

TEST_F(LoadTest, KeepsWhatItDoesNotKnow) {
  const Result<ir::Model> model = load_bytes(rich_model(), "rich");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(ir::verify(model.value().graph).message(), "");
  const std::string saved = to_bytes(model.value());
  for (const char* text : {"BATCH",
                           "dim",
                           "shape",
                           "tensor type",
                           "IMAGE",
                           "type",
                           "doc of value",
                           "value key",
                           "value info",
                           "doc of tensor",
                           "tensor key",
                           "tensor",
                           "held",
                           "attribute tensor",
                           "doc of attribute",
                           "attribute",
                           "sparse",
                           "doc of node",
                           "node key",
                           "node",
                           "over",
                           "doc of graph",
                           "SCALE_TENSOR",
                           "graph key",
                           "graph",
                           "org.example",
                           "doc of model",
                           "model key",
                           "model",
                           "maker"}) {
    const auto times = [&](const std::string& in) {
      size_t count = 0;
      for (size_t at = in.find(text); at != std::string::npos; at = in.find(text, at + 1)) ++count;
      return count;
    };
    EXPECT_EQ(times(saved), times(rich_model())) << text;
  }
  const Result<ir::Model> again = load_bytes(saved, "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(full_dump(again.value()), full_dump(model.value()));
  EXPECT_EQ(to_bytes(again.value()), saved);
}

}  // namespace
}  // namespace quarkq::onnx_io
