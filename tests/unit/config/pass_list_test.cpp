// SPDX-License-Identifier: MIT
// Lists of passes: files, templates, what their names mean, and what they force.
#include "config/pass_list.h"

#include "../base/temp_folder.h"
#include "config/rewrite_settings.h"
#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

/// The conversions of a list in JSON, as "name:option=value,..."; what was refused else.
std::vector<std::string> conversions_in(const std::string& passes, Diagnostics& diagnostics) {
  const Result<PassList> list = load_pass_list("{\"passes\": " + passes + "}");
  if (!list.ok()) return {list.status().message()};
  const auto made = conversions_of(list.value().before, diagnostics);
  if (!made.ok()) return {made.status().message()};
  std::vector<std::string> texts;
  for (const ListedConversion& one : made.value()) {
    std::vector<std::string> options;
    for (const auto& [option, value] : one.options) options.push_back(cat(option, "=", value));
    texts.push_back(options.empty() ? one.name : cat(one.name, ":", join(options, ",")));
  }
  return texts;
}

std::vector<std::string> conversions_in(const std::string& passes) {
  Diagnostics ignored;
  return conversions_in(passes, ignored);
}

using Texts = std::vector<std::string>;

TEST(PassListTest, ReadsGroupsAndPaths) {
  const test::TempFolder folder;
  const std::string path =
      folder.write("l.yaml",
                   "preprocess_passes: {onnx_simplify: {simplify: true}}\n"
                   "postprocess_passes: [{onnx_fuse_gelu: }, {onnx_fuse_gelu: {fuse_gelu: true}}]\n"
                   "preprocessed_model_path: p.onnx\noutput_model_path: o.onnx\n"
                   "input_model_config: {model_type: onnx, input_model_path: i.onnx}\n");
  const PassList list = load_pass_list(path).value();
  ASSERT_EQ(list.before.size(), 1u);
  EXPECT_TRUE(list.lists("onnx_simplify"));
  EXPECT_FALSE(list.lists("onnx_fuse_gelu"));
  EXPECT_EQ(list.before[0].mark.prefix(), path + ":1: ");
  EXPECT_EQ(list.after.size(), 2u);
  EXPECT_EQ(list.input_path, "i.onnx");
  EXPECT_EQ(list.output_path, "o.onnx");
  EXPECT_EQ(list.preprocessed_path, "p.onnx");
}

TEST(PassListTest, PassesAloneAreThoseOfTheFloatModel) {
  const std::string passes = "\"passes\": {\"onnx_fuse_gelu\": {}}";
  EXPECT_EQ(load_pass_list("{" + passes + "}").value().before.size(), 1u);
  const PassList both = load_pass_list("{" + passes + ", \"postprocess_passes\": {\"onnx_simplify\": {}}}").value();
  EXPECT_TRUE(both.before.empty());
  EXPECT_EQ(both.after.size(), 1u);
}

TEST(PassListTest, RefusesWhatIsNoList) {
  const struct {
    const char *source, *said;
  } rows[] = {{"xint9", "did you mean xint8?"},
              {"/nothing/here.yaml", "/nothing/here.yaml"},
              {"{}", "one is needed"},
              {"{\"passes\": 3}", "a map of passes"},
              {"{\"passes\": {\"onnx_simplify\": 3}}", "onnx_simplify: found 3, allowed is a map of parameters"},
              {"{\"passes\": [3]}", "a map of a pass"},
              {"{\"pases\": {}}", "did you mean passes?"},
              {"{\"passes\": {\"a\": {}}, \"input_model_config\": {\"model_type\": \"torch\"}}", "allowed is onnx"}};
  for (const auto& row : rows) {
    const auto list = load_pass_list(row.source);
    ASSERT_FALSE(list.ok()) << row.source;
    EXPECT_NE(list.status().message().find(row.said), std::string::npos) << list.status().message();
  }
}

TEST(PassListTest, TemplatesAreConversions) {
  for (const std::string& name : pass_templates()) {
    Diagnostics diagnostics;
    const auto made = conversions_of(load_pass_list(name).value().before, diagnostics);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made.value().size(), name == "xint8" ? 14u : 10u) << name;
    EXPECT_EQ(made.value()[0].options.at("version"), "21");
    EXPECT_TRUE(diagnostics.all().empty());
  }
  EXPECT_EQ(load_pass_list("XInt8").value().before.size(), 14u);
}

TEST(PassListTest, ParametersBecomeOptions) {
  EXPECT_EQ(conversions_in(R"({"onnx_convert_opset_version": {"target_opset_version": 17}})"),
            Texts{"convert-opset-version:version=17"});
  EXPECT_EQ(conversions_in(R"({"onnx_copy_bias_init": {"shared_bias_op_types": ["Conv", "Gemm"]}})"),
            Texts{"copy-bias-init:op_types=[Conv, Gemm]"});
  EXPECT_EQ(conversions_in(R"({"onnx_fix_shapes": {"input_output_name_shapes": {"x": [1, 3], "y": [4]}}})"),
            Texts{"fix-shapes:shapes=x:[1,3];y:[4]"});
  EXPECT_EQ(conversions_in(R"({"onnx_simplify": {"simplify": true, "simplify_Options": {"a": 1}}})"),
            Texts{"simplify-model:options={a: 1}"});
  EXPECT_EQ(conversions_in(R"({"onnx_align_scale": {"align_scale": ["Concat", "GlobalAveragePool"]}})"),
            Texts{"align-scales:concat=true,pad=false,pool=true,reshape=false,slice=false,transpose=false"});
  EXPECT_EQ(conversions_in(R"({"onnx_align_scale": {"align_scale": "Pad"}})"),
            Texts{"align-scales:concat=false,pad=true,pool=false,reshape=false,slice=false,transpose=false"});
}

TEST(PassListTest, SomePassesDependOnTheirParameters) {
  EXPECT_EQ(conversions_in(R"({"onnx_convert_fp16_to_fp32": {"convert_fp16_to_fp32": true}})"),
            Texts{"fp16-to-fp32:keep_io=false"});
  EXPECT_EQ(conversions_in(R"({"onnx_convert_fp16_to_fp32":
                {"convert_fp16_to_fp32": true, "subgraphs_to_include": [[["a"], ["b", "c"]]]}})"),
            Texts{"fp16-to-fp32:subgraphs=[[[a], [b, c]]]"});
  EXPECT_EQ(conversions_in(R"({"onnx_cross_layer_equalization": {"replace_clip6_relu": true, "cle_steps": 3}})"),
            (Texts{"replace-clip6-relu", "cross-layer-equalization:steps=3"}));
  EXPECT_EQ(conversions_in(R"({"onnx_cross_layer_equalization": {}})"), Texts{"cross-layer-equalization"});
}

TEST(PassListTest, PassesThatAreNotSwitchedOnAreLeftOut) {
  for (const char* parameters : {"{}", R"({"fuse_gelu": false})", R"({"fuse_gelu": null})"}) {
    Diagnostics diagnostics;
    EXPECT_EQ(conversions_in(cat("{\"onnx_fuse_gelu\": ", parameters, "}"), diagnostics), Texts{});
    EXPECT_EQ(subjects(diagnostics, "pass-not-on"), Texts{"onnx_fuse_gelu"}) << parameters;
  }
  Diagnostics diagnostics;
  EXPECT_EQ(conversions_in(R"({"onnx_copy_shared_init": {"shared_init_op_types": []}})", diagnostics), Texts{});
  EXPECT_EQ(subjects(diagnostics, "pass-not-on").size(), 1u);
}

TEST(PassListTest, WrongNamesAndParametersAreRefused) {
  const struct {
    const char *passes, *said;
  } rows[] = {{R"({"onnx_fuse_gleu": {}})", "did you mean onnx_fuse_gelu?"},
              {R"({"onnx_fuse_gelu": {"fuse_glu": true}})", "did you mean fuse_gelu?"},
              {R"({"onnx_fix_shapes": {"input_output_name_shapes": [1]}})", "a map from input or output to its shape"},
              {R"({"onnx_fix_shapes": {"input_output_name_shapes": {"x": ["a"]}}})", "x"}};
  for (const auto& row : rows) {
    const Texts found = conversions_in(row.passes);
    ASSERT_EQ(found.size(), 1u) << row.passes;
    EXPECT_NE(found[0].find(row.said), std::string::npos) << found[0];
  }
}

TEST(PassListTest, ListsForTheFloatModelForceSettings) {
  const std::string simplify = "'{\"passes\": {\"onnx_simplify\": {\"simplify\": true}}}'";
  const Settings plain = settings_of("preset: A8W8\nextra_options: {ShapeShifterYaml: " + simplify + "}");
  EXPECT_TRUE(plain.preprocessing.skip_preprocess);
  EXPECT_TRUE(plain.algorithms.include_cle);
  EXPECT_EQ(plain.passes.before.size(), 1u);
  const std::string equalize = "'{\"passes\": {\"onnx_cross_layer_equalization\": {}}}'";
  EXPECT_FALSE(settings_of("preset: A8W8\nextra_options: {PreprocessYAML: " + equalize + "}").algorithms.include_cle);
  const std::string after = "'{\"postprocess_passes\": {\"onnx_simplify\": {\"simplify\": true}}}'";
  EXPECT_FALSE(
      settings_of("preset: A8W8\nextra_options: {ShapeShifterYaml: " + after + "}").preprocessing.skip_preprocess);
}

TEST(PassListTest, TheOldNameIsIgnoredBesideTheNewOne) {
  Diagnostics diagnostics;
  const auto settings =
      resolve_text("preset: A8W8\nextra_options: {ShapeShifterYaml: bf16, PreprocessYAML: xint8}", diagnostics);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings.value().passes.before.size(), 10u);
  EXPECT_EQ(subjects(diagnostics, "deprecated-name"), Texts{"PreprocessYAML"});
}

TEST(NodeUpdatesTest, ValuesHaveTheTypeThatIsWritten) {
  const auto updates = parse_node_updates(
                           "[{node_name: n, attributes: {i: 1, f: 1.0, s: a, is: [1, 2], fs: [0.5], ss: [a], no: true, "
                           "mixed: [1, a], none: []}}]")
                           .value();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].node, "n");
  const std::vector<size_t> kinds = {1, 2, 3, 4, 5, 6, 0, 0, 0};
  ASSERT_EQ(updates[0].attributes.size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(updates[0].attributes[i].second.index(), kinds[i]) << i;
  EXPECT_EQ(std::get<float>(updates[0].attributes[1].second), 1.0f);
}

TEST(NodeUpdatesTest, RefusesWhatIsNoUpdate) {
  for (const char* text : {"{}", "3", "[3]", "[{node_name: 3, attributes: {}}]", "[{node_name: n}]",
                           "[{node_name: n, attributes: []}]", "[{node_name: n, attributes: {}, more: 1}]", "["})
    EXPECT_FALSE(parse_node_updates(text).ok()) << text;
  EXPECT_TRUE(parse_node_updates("[]").value().empty());
}

}  // namespace
}  // namespace quarkq::config
