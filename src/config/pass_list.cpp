// SPDX-License-Identifier: MIT
#include "config/pass_list.h"

#include <algorithm>

#include "base/strings.h"
#include "config/convert.h"
#include "config/load.h"
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

namespace {

using OptionTexts = std::map<std::string, std::string>;

/// A value as an option of a conversion has it.
using Spelling = Result<std::string> (*)(const Node&);

std::string plain_text(const Node& node) { return node.is_text() ? node.as_text() : to_flow(node); }

Result<std::string> plain_spelling(const Node& node) { return plain_text(node); }

/// "[a, b]" of a list or of one text, without quotes, which option lists do not have.
Result<std::string> list_spelling(const Node& node) {
  if (!node.is_list()) return plain_text(node);
  std::vector<std::string> parts;
  for (const Node& item : node.items()) {
    QQ_TRY(std::string part, list_spelling(item));
    parts.push_back(std::move(part));
  }
  return cat("[", join(parts, ", "), "]");
}

/// {x: [1, 3], y: [1, 10]} as FixShapes has it: "x:[1,3];y:[1,10]".
Result<std::string> shapes_spelling(const Node& node) {
  if (!node.is_map()) return wrong_kind(node, "a map from input or output to its shape");
  std::vector<std::string> parts;
  for (const Node::Entry& entry : node.entries()) {
    QQ_TRY(const std::vector<int64_t> dims, read<std::vector<int64_t>>(entry.value, entry.key));
    std::vector<std::string> texts;
    for (const int64_t dim : dims) texts.push_back(cat(dim));
    parts.push_back(cat(entry.key, ":[", join(texts, ","), "]"));
  }
  return join(parts, ";");
}

/// "true" when the operators that are listed include one of this group.
template <auto... ops>
Result<std::string> names_any(const Node& node) {
  const std::vector<std::string> wanted = {ops...};
  const auto is_wanted = [&](const Node& item) {
    return item.is_text() && std::ranges::find(wanted, item.as_text()) != wanted.end();
  };
  const bool found = is_wanted(node) || std::ranges::any_of(node.items(), is_wanted);
  return std::string(found ? "true" : "false");
}
constexpr char kConcat[] = "Concat", kMaxPool[] = "MaxPool", kAveragePool[] = "AveragePool",
               kGlobalAveragePool[] = "GlobalAveragePool", kPad[] = "Pad", kSlice[] = "Slice",
               kTranspose[] = "Transpose", kReshape[] = "Reshape";

/// An option of the conversion from a parameter of the pass; where that is absent the conversion's default holds.
struct FromParameter {
  const char *option, *parameter;
  Spelling spelling = plain_spelling;
};

struct ListedRow {
  const char* name;
  const char* toggle;  ///< a parameter that must be there and not be false or empty
  const char* conversion;
  std::vector<FromParameter> options = {};
  OptionTexts fixed = {};                             ///< options that the pass always has
  bool (*applies)(const Node& parameters) = nullptr;  ///< null: always; of a row beside another of the same name
  bool on_by_default = false;
};

bool is_on(const Node* value) {
  if (value == nullptr || value->is_null()) return false;
  if (value->kind() == Node::Kind::kBool) return value->as_bool();
  if (value->is_list()) return !value->items().empty();
  if (value->is_map()) return !value->entries().empty();
  return true;
}

bool has_subgraphs(const Node& parameters) { return is_on(parameters.find("subgraphs_to_include")); }
bool is_whole(const Node& parameters) { return !has_subgraphs(parameters); }
bool replaces_clips(const Node& parameters) { return is_on(parameters.find("replace_clip6_relu")); }

/// A pass with a switch of its own name, and nothing else.
ListedRow plain_row(const char* name, const char* toggle, const char* conversion) { return {name, toggle, conversion}; }

const std::vector<ListedRow>& listed_rows() {
  static const std::vector<ListedRow> kRows = {
      plain_row("onnx_adjust_bias_scale", "adjust_bias_scale", "adjust-bias-scale"),
      {"onnx_align_scale",
       "align_scale",
       "align-scales",
       {{"concat", "align_scale", names_any<kConcat>},
        {"pool", "align_scale", names_any<kMaxPool, kAveragePool, kGlobalAveragePool>},
        {"pad", "align_scale", names_any<kPad>},
        {"slice", "align_scale", names_any<kSlice>},
        {"transpose", "align_scale", names_any<kTranspose>},
        {"reshape", "align_scale", names_any<kReshape>}}},
      {"onnx_constrain_per_channel_weight_scale",
       "constrain_per_channel_weight_scale",
       "constrain-weight-scales",
       {{"min_scale", "min_w_scale"},
        {"adaptive", "adaptive_min_w_scale"},
        {"ratio", "maxmin_scale_ratio"},
        {"adjust_bias", "adjust_bias"}}},
      plain_row("onnx_convert_bn_to_conv", "convert_bn_to_conv", "convert-bn-to-conv"),
      plain_row("onnx_convert_clip_to_relu", "convert_clip_to_relu", "convert-clip-to-relu"),
      {"onnx_convert_fp16_to_fp32",
       "convert_fp16_to_fp32",
       "fp16-to-fp32",
       {{"subgraphs", "subgraphs_to_include", list_spelling}},
       {},
       has_subgraphs},
      {"onnx_convert_fp16_to_fp32", "convert_fp16_to_fp32", "fp16-to-fp32", {}, {{"keep_io", "false"}}, is_whole},
      plain_row("onnx_convert_nchw_to_nhwc", "convert_nchw_to_nhwc", "convert-nchw-to-nhwc"),
      {"onnx_convert_opset_version",
       "target_opset_version",
       "convert-opset-version",
       {{"version", "target_opset_version"}}},
      plain_row("onnx_convert_reduce_mean_to_global_avg_pool", "convert_reduce_mean_to_global_avg_pool",
                "convert-reduce-mean-to-global-avg-pool"),
      plain_row("onnx_convert_split_to_slice", "convert_split_to_slice", "convert-split-to-slice"),
      {"onnx_copy_bias_init",
       "shared_bias_op_types",
       "copy-bias-init",
       {{"op_types", "shared_bias_op_types", list_spelling}}},
      {"onnx_copy_shared_init",
       "shared_init_op_types",
       "copy-shared-init",
       {{"op_types", "shared_init_op_types", list_spelling}}},
      {.name = "onnx_cross_layer_equalization",
       .toggle = "cross_layer_equalization",
       .conversion = "replace-clip6-relu",
       .options = {},
       .applies = replaces_clips,
       .on_by_default = true},
      {.name = "onnx_cross_layer_equalization",
       .toggle = "cross_layer_equalization",
       .conversion = "cross-layer-equalization",
       .options = {{"op_types", "op_types_to_quantize", list_spelling},
                   {"nodes", "nodes_to_quantize", list_spelling},
                   {"exclude", "nodes_to_exclude", list_spelling},
                   {"steps", "cle_steps"},
                   {"method", "cle_balance_method"},
                   {"threshold", "cle_weight_threshold"},
                   {"append_bias", "cle_scale_append_bias"},
                   {"use_threshold", "cle_scale_use_threshold"},
                   {"stop_below", "cle_total_layer_diff_threshold"}},
       .on_by_default = true},
      {"onnx_fix_shapes",
       "input_output_name_shapes",
       "fix-shapes",
       {{"shapes", "input_output_name_shapes", shapes_spelling}}},
      plain_row("onnx_fold_batch_norm", "fold_batch_norm", "fold-batch-norm"),
      plain_row("onnx_fold_batch_norm_after_concat", "fold_batch_norm_after_concat", "fold-batch-norm-after-concat"),
      plain_row("onnx_fold_div_into_matmul", "fold_div_into_matmul", "fold-div-into-matmul"),
      plain_row("onnx_fuse_gelu", "fuse_gelu", "fuse-gelu"),
      plain_row("onnx_fuse_instance_norm", "fuse_instance_norm", "fuse-instance-norm"),
      plain_row("onnx_fuse_l2_norm", "fuse_l2_norm", "fuse-l2-norm"),
      plain_row("onnx_fuse_layer_norm", "fuse_layer_norm", "fuse-layer-norm"),
      plain_row("onnx_insert_clip_before_bfloat16_qdq", "insert_clip_before_bfloat16_qdq", "bf16-with-clip"),
      plain_row("onnx_optimize_with_ort", "optimize_with_ort", "optimize-basic"),
      plain_row("onnx_remove_bfloat16_cast", "remove_bfloat16_cast", "drop-bf16-casts"),
      plain_row("onnx_remove_input_init", "remove_input_init", "remove-input-initializers"),
      {"onnx_remove_qdq_between_op_types",
       "remove_qdq_between_op_types",
       "remove-qdq-between",
       {{"pairs", "remove_qdq_between_op_types", list_spelling}}},
      plain_row("onnx_replace_bfloat16_qdq_with_cast", "replace_bfloat16_qdq_with_cast", "bf16-qdq-to-cast"),
      {"onnx_set_node_attributes",
       "node_attribute_updates",
       "set-node-attributes",
       {{"updates", "node_attribute_updates"}}},
      {"onnx_simplify", "simplify", "simplify-model", {{"options", "simplify_Options"}}},
      plain_row("onnx_split_large_kernel_pool", "split_large_kernel_pool", "split-large-kernel-pool"),
      plain_row("onnx_xint8_adjust", "xint8_adjust", "refine-positions"),
      plain_row("onnx_xint8_simulate", "xint8_simulate", "simulate-dpu"),
  };
  return kRows;
}

/// Parameters that decide which row of a name applies.
constexpr const char* kDeciding[] = {"subgraphs_to_include", "replace_clip6_relu"};

std::vector<std::string> parameters_of(const std::string& name) {
  std::vector<std::string> names;
  const auto add = [&](const char* parameter) {
    if (std::ranges::find(names, parameter) == names.end()) names.emplace_back(parameter);
  };
  bool has_several = false;
  for (const ListedRow& row : listed_rows()) {
    if (name != row.name) continue;
    add(row.toggle);
    for (const FromParameter& option : row.options) add(option.parameter);
    has_several = has_several || row.applies != nullptr;
  }
  if (has_several && name == "onnx_cross_layer_equalization") add(kDeciding[1]);
  return names;
}

bool is_switched_on(const ListedRow& row, const Node& parameters) {
  const Node* value = parameters.find(row.toggle);
  return value == nullptr ? row.on_by_default : is_on(value);
}

Result<ListedConversion> conversion_of(const ListedRow& row, const ListedPass& pass) {
  ListedConversion made{row.conversion, row.fixed};
  for (const FromParameter& option : row.options) {
    const Node* value = pass.parameters.find(option.parameter);
    if (value == nullptr || value->is_null()) continue;
    QQ_TRY(made.options[option.option],
           option.spelling(*value).context(cat(value->mark().prefix(), pass.name, ".", option.parameter)));
  }
  return made;
}

Status add_conversions(const ListedPass& pass, std::vector<ListedConversion>& made, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  bool is_known = false, is_on_somewhere = false;
  for (const ListedRow& row : listed_rows()) {
    names.emplace_back(row.name);
    if (pass.name != row.name) continue;
    if (!is_known) QQ_RETURN_IF_ERROR(check_keys(pass.parameters, pass.name, parameters_of(pass.name)));
    is_known = true;
    if (!is_switched_on(row, pass.parameters)) continue;
    is_on_somewhere = true;
    if (row.applies != nullptr && !row.applies(pass.parameters)) continue;
    QQ_TRY(ListedConversion one, conversion_of(row, pass));
    made.push_back(std::move(one));
  }
  const std::string where = pass.mark.prefix();
  if (!is_known)
    return invalid_argument(where, "found pass ", pass.name, did_you_mean(pass.name, names),
                            " (quarkq list listed-passes)");
  if (!is_on_somewhere)
    diagnostics.add("pass-not-on", pass.name, cat("is left out: it needs ", parameters_of(pass.name).front()));
  return Status();
}

}  // namespace

std::vector<ListedPassInfo> listed_passes() {
  std::vector<ListedPassInfo> all;
  for (const ListedRow& row : listed_rows()) {
    if (!all.empty() && all.back().name == row.name) {
      all.back().conversion = row.conversion;
    } else {
      all.push_back({row.name, row.conversion, parameters_of(row.name)});
    }
  }
  return all;
}

Result<std::vector<ListedConversion>> conversions_of(const std::vector<ListedPass>& passes, Diagnostics& diagnostics) {
  std::vector<ListedConversion> made;
  for (const ListedPass& pass : passes) QQ_RETURN_IF_ERROR(add_conversions(pass, made, diagnostics));
  return made;
}

}  // namespace quarkq::config
