// SPDX-License-Identifier: MIT
#include "config/pass_list.h"

#include <algorithm>

#include "base/suggest.h"
#include "config/convert.h"
#include "config/load.h"
#include "config/option_map.h"
#include "config/quant_config.h"

namespace quarkq::config {
namespace {

constexpr const char* kGeneral = R"(
onnx_convert_opset_version: {target_opset_version: 21}
onnx_simplify: {simplify: true}
onnx_remove_input_init: {remove_input_init: true}
onnx_copy_bias_init: {shared_bias_op_types: [Conv, ConvTranspose, Gemm]}
onnx_optimize_with_ort: {optimize_with_ort: true}
onnx_fold_batch_norm: {fold_batch_norm: true}
onnx_fuse_instance_norm: {fuse_instance_norm: true}
onnx_fuse_l2_norm: {fuse_l2_norm: true}
onnx_fuse_gelu: {fuse_gelu: true}
onnx_fuse_layer_norm: {fuse_layer_norm: true}
)";
constexpr const char* kForNpu = R"(
onnx_convert_split_to_slice: {convert_split_to_slice: true}
onnx_convert_bn_to_conv: {convert_bn_to_conv: true}
onnx_convert_reduce_mean_to_global_avg_pool: {convert_reduce_mean_to_global_avg_pool: true}
onnx_split_large_kernel_pool: {split_large_kernel_pool: true}
)";

/// The templates of the reference (ref:settings#pass-lists).
constexpr struct {
  const char* name;
  const char* more;  ///< after the general passes
} kTemplates[] = {{"a8w8", ""}, {"a16w8", ""}, {"bf16", ""}, {"bfp16", ""}, {"xint8", kForNpu}};

Status add_pass(const Node::Entry& entry, std::vector<ListedPass>& passes) {
  Node parameters = entry.value.is_null() ? Node(Node::Map{}) : entry.value;
  if (!parameters.is_map())
    return wrong_kind(parameters, "a map of parameters").context(entry.key_mark.prefix() + entry.key);
  passes.push_back({entry.key, std::move(parameters), entry.key_mark});
  return {};
}

/// A map of passes, or a list of maps, in which a pass may come twice.
Result<std::vector<ListedPass>> read_passes(const Node* node, const char* key) {
  std::vector<ListedPass> passes;
  if (node == nullptr || node->is_null()) return passes;
  if (!node->is_map() && !node->is_list())
    return wrong_kind(*node, "a map of passes, or a list of such maps").context(node->mark().prefix() + key);
  for (const Node::Entry& entry : node->entries()) QQ_RETURN_IF_ERROR(add_pass(entry, passes));
  for (const Node& item : node->items()) {
    if (!item.is_map()) return wrong_kind(item, "a map of a pass").context(item.mark().prefix() + key);
    for (const Node::Entry& entry : item.entries()) QQ_RETURN_IF_ERROR(add_pass(entry, passes));
  }
  return passes;
}

Status read_paths(const Node& root, PassList& list) {
  const OptionMap map(root, "passes");
  std::string input, output, preprocessed;
  QQ_RETURN_IF_ERROR(map.take("input_model_path", input));
  QQ_RETURN_IF_ERROR(map.take("output_model_path", output));
  QQ_RETURN_IF_ERROR(map.take("preprocessed_model_path", preprocessed));
  if (const Node* model = map.find("input_model_config")) {
    QQ_RETURN_IF_ERROR(check_keys(*model, "input_model_config", {"model_type", "input_model_path"}));
    const OptionMap inner(*model, "input_model_config");
    std::string kind = "onnx";
    QQ_RETURN_IF_ERROR(inner.take("model_type", kind));
    QQ_RETURN_IF_ERROR(inner.take("input_model_path", input));
    if (kind != "onnx") return invalid_argument("input_model_config.model_type: found ", kind, ", allowed is onnx");
  }
  if (!input.empty()) list.input_path = input;
  if (!output.empty()) list.output_path = output;
  if (!preprocessed.empty()) list.preprocessed_path = preprocessed;
  return {};
}

Result<PassList> read_pass_list(const Node& root) {
  if (!root.is_map()) return wrong_kind(root, "a map with passes");
  QQ_RETURN_IF_ERROR(check_keys(root, "",
                                {"passes", "preprocess_passes", "postprocess_passes", "input_model_path",
                                 "input_model_config", "output_model_path", "preprocessed_model_path", "engine"}));
  PassList list;
  QQ_RETURN_IF_ERROR(read_paths(root, list));
  const Node *before = root.find("preprocess_passes"), *after = root.find("postprocess_passes");
  if (before == nullptr && after == nullptr) before = root.find("passes");  // as the reference
  QQ_TRY(list.before, read_passes(before, "passes"));
  QQ_TRY(list.after, read_passes(after, "postprocess_passes"));
  if (list.empty()) return invalid_argument("found no passes, preprocess_passes or postprocess_passes, one is needed");
  return list;
}

bool ends_as_file(const std::string& source) {
  return source.ends_with(".yaml") || source.ends_with(".yml") || source.ends_with(".json");
}

}  // namespace

bool PassList::lists(const std::string& name) const {
  return std::ranges::any_of(before, [&](const ListedPass& pass) { return pass.name == name; });
}

std::vector<std::string> pass_templates() {
  std::vector<std::string> names;
  for (const auto& row : kTemplates) names.emplace_back(row.name);
  return names;
}

Result<PassList> load_pass_list(const std::string& source) {
  if (ends_as_file(source)) {
    QQ_TRY(const Node root, load_file(source));
    return read_pass_list(root).context(source);
  }
  if (source.starts_with('{')) {
    QQ_TRY(const Node root, parse_text(source, "list of passes"));
    return read_pass_list(root).context("list of passes");
  }
  const std::string name = lower_case(source);
  for (const auto& row : kTemplates) {
    if (name != row.name) continue;
    QQ_TRY(const Node passes, parse_text(cat(kGeneral, row.more), cat("template ", row.name)));
    PassList list;
    QQ_TRY(list.before, read_passes(&passes, row.name));
    return list;
  }
  return invalid_argument("list of passes: found ", source, did_you_mean(name, pass_templates()),
                          ", allowed are a .yaml, .yml or .json file and ", join(pass_templates(), ", "));
}

Result<PassList> asked_pass_list(const QuantConfig& config) {
  for (const auto& [option, value] : {std::pair("ShapeShifterYaml", config.options.shape_shifter_yaml),
                                      std::pair("PreprocessYAML", config.options.preprocess_yaml)}) {
    if (value && *value) return load_pass_list(**value).context(option);
  }
  return PassList();
}

}  // namespace quarkq::config
