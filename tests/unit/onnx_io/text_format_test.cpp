// SPDX-License-Identifier: MIT
// Models in protobuf's text format: nothing is lost, and what is no such text is refused with its place.
#include "io_test_support.h"
#include "onnx_io/text.h"

namespace quarkq::onnx_io {
namespace {

using TextFormatTest = ScratchTest;

const char* const kModel =
    "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.5, -2}, int8[2] "
    "c = "
    "{1, 2}> { t = Add (x, w) y = LeakyRelu <alpha = 0.125> (t) }";

TEST(TextPathTest, BySuffix) {
  for (const char* path : {"a.onnxtxt", "b/c.pbtxt", "d.txtpb", "e.textproto"}) EXPECT_TRUE(is_text_path(path)) << path;
  for (const char* path : {"a.onnx", "onnxtxt", "a.txt", "a.pb", ""}) EXPECT_FALSE(is_text_path(path)) << path;
}

TEST_F(TextFormatTest, ComesBackAsItWas) {
  const ir::Model model = parse_model_text(kModel).value();
  const std::string text = model_as_text(model).value();
  EXPECT_NE(text.find("op_type: \"LeakyRelu\""), std::string::npos) << text;
  const std::string path = write("m.onnxtxt", text);
  const Result<ir::Model> again = load_text(path);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(to_bytes(again.value()), to_bytes(model));
  EXPECT_EQ(again.value().path, path);
}

TEST_F(TextFormatTest, WhatIsNoModelIsRefused) {
  const std::string text = model_as_text(parse_model_text(kModel).value()).value();
  const std::pair<std::string, const char*> cases[] = {{"graph {", "line"},
                                                       {text + "unknown_field: 3\n", "unknown_field"},
                                                       {text.substr(0, text.size() / 2), "line"},
                                                       {"\x08\x08", "line"},
                                                       {"", "empty"}};
  for (const auto& [content, words] : cases) {
    const Result<ir::Model> model = load_text(write("bad.onnxtxt", content));
    EXPECT_EQ(model.status().code(), Code::kCorruptModel) << content;
    EXPECT_NE(model.status().message().find(words), std::string::npos) << model.status().message();
  }
  EXPECT_EQ(load_text("/no/such/file.onnxtxt").status().code(), Code::kInvalidArgument);
}

TEST_F(TextFormatTest, DeepNestingIsRefused) {
  std::string text = "ir_version: 8\n";
  for (int i = 0; i < 2000; ++i) text += "graph { node { attribute { g { node { attribute { g {";
  EXPECT_EQ(load_text(write("deep.onnxtxt", text)).status().code(), Code::kCorruptModel);
}

TEST_F(TextFormatTest, ExternalDataIsNotRead) {
  constexpr const char* kExternal =
      "ir_version: 8 opset_import { version: 17 } graph { name: \"g\" node { input: \"w\" output: \"y\" op_type: "
      "\"Neg\" } "
      "initializer { dims: 1 data_type: 1 name: \"w\" data_location: EXTERNAL external_data { key: \"location\" value: "
      "\"w.bin\" } } output { name: \"y\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } } } } } }";
  EXPECT_FALSE(load_text(write("external.onnxtxt", kExternal)).ok());
}

}  // namespace
}  // namespace quarkq::onnx_io
