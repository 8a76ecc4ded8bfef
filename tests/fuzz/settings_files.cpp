// SPDX-License-Identifier: MIT
// Bytes that claim to be settings or the files that settings name, a target, a list of passes, what an earlier tune
// left.
#include "base/error.h"
#include "calib/range_file.h"
#include "config/load.h"
#include "config/mixed_precision.h"
#include "config/pass_list.h"
#include "config/preprocess.h"
#include "config/preset.h"
#include "config/print.h"
#include "config/resolve.h"
#include "config/rewrite_settings.h"
#include "config/sample_settings.h"
#include "config/targets/target.h"
#include "fuzz/memory_file.h"
#include "fuzz/sample_files.h"
#include "pipeline/run/conversions.h"
#include "tuning/trial_store.h"

namespace quarkq::fuzz {
namespace {

std::string text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

/// What is asked means the same when it is written and read again.
void check_written(const config::QuantConfig& asked) {
  const Result<config::Node> again = config::parse_text(config::to_yaml(asked), "fuzz");
  QQ_CHECK(again.ok());
  const Result<config::QuantConfig> read = config::read_config({{again.value(), config::Origin::kFile}});
  QQ_CHECK(read.ok() && config::to_yaml(read.value()) == config::to_yaml(asked));
}

}  // namespace

void run_settings(const uint8_t* data, size_t size) {
  const Result<config::Node> tree = config::parse_text(text_of(data, size), "fuzz");
  if (!tree.ok()) return;
  (void)config::read_preprocess(tree.value()).ok();
  (void)config::read_raw_formats(tree.value()).ok();
  const Result<config::QuantConfig> asked = config::read_config({{tree.value(), config::Origin::kFile}});
  if (!asked.ok()) return;
  check_written(asked.value());
  for (const config::ModelFacts& facts :
       {config::ModelFacts{17, false, {"Conv", "Relu"}}, config::ModelFacts{9, true, {}}}) {
    Diagnostics diagnostics;
    const Result<config::Settings> settings = config::resolve(asked.value(), facts, diagnostics);
    (void)config::to_json(asked.value(), settings, diagnostics);
    if (!settings.ok()) continue;
    config::validate(settings.value(), config::Asked::kAtAll, diagnostics);
    (void)config::resolved_text(settings.value(), "");
  }
}

std::vector<std::string> settings_seeds() {
  std::vector<std::string> seeds = {
      "preset: A8W8\nquant_config:\n  per_channel: true\n  calibrate_method: CalibrationMethod.Percentile\n"
      "  op_types_to_quantize: [Conv, Gemm]\nspecific_layer_config:\n"
      "  - config: {input_tensors: Int16Spec, output_tensors: Int16Spec}\n    layers: [fc, {starts: [a], ends: [b]}]\n"
      "layer_type_config:\n  - {config: null, op_types: [Gemm, Softmax]}\nexclude:\n  - fc\n  - \"^conv1.*\"\n"
      "  - {starts: [relu2], ends: [flatten]}\nextra_options:\n  Percentile: 99.99\n  BiasCorrection: true\n"
      "  FastFinetune: {OptimAlgorithm: adaround, NumIterations: 4, OptimDevice: cpu}\n"
      "  TensorQuantOverrides: {x: [{quant_type: QuantType.QInt16, symmetric: true, scale: 0.5, zero_point: 0}]}\n",
      "global_config:\n  input_tensors: UInt8Spec\n  weight: {data_type: Int8, symmetric: true, quant_granularity: "
      "Channel,"
      " calibration_method: MinMax, scale_type: PowerOf2}\nalgo_config:\n  - {name: cle, cle_steps: 2}\n"
      "  - {name: adaround, num_iterations: 200, batch_size: 2}\n  - {name: quarot, r_config_path: r.json}\n"
      "quarkq: {threads: 2, guards: off, rescue: [16_bits], max_wide: 0.5, min_cosine: 0.9, metadata: false}\n",
      "{\"preset\": \"XINT8\", \"calibration\": {\"dir\": \"c\", \"random\": true, \"raw\": {\"x\": {\"dtype\": "
      "\"float32\","
      " \"shape\": [1, 3, 4, 4]}}}, \"preprocess\": {\"color\": \"bgr\", \"resize\": {\"mode\": \"letterbox\", "
      "\"height\": 8,"
      " \"width\": 8}, \"crop\": [4, 4], \"mean\": [1, 2, 3], \"std\": [1, 1, 1], \"layout\": \"nhwc\"},"
      " \"legalize\": {\"shapes\": {\"x\": [1, 3, 4, 4]}}, \"evaluation\": {\"dir\": \"e\"}}\n",
      "color: rgb\nresize: {mode: shorter_side, height: 256, interpolation: bicubic}\ncrop: [224, 224]\nscale: "
      "0.00392\n"
      "mean: [0.485, 0.456, 0.406]\nstd: [0.229, 0.224, 0.225]\nlayout: nchw\n",
      "x: {dtype: float16, shape: [1, 3, 4, 4]}\nids: {dtype: int64, shape: [4]}\n"};
  for (const config::PresetInfo& preset : config::presets())
    seeds.push_back(cat("preset: ", preset.name, "\n", config::to_yaml(preset.body)));
  return seeds;
}

void run_target_file(const uint8_t* data, size_t size) { (void)config::parse_target(text_of(data, size), "fuzz").ok(); }

std::vector<std::string> target_file_seeds() {
  std::vector<std::string> seeds;
  for (const config::EmbeddedTarget& target : config::embedded_targets()) seeds.emplace_back(target.text);
  return seeds;
}

void run_settings_parts(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  (void)config::load_rotation_config(file.path()).ok();
  (void)config::load_subgraphs(file.path()).ok();
  (void)config::load_sensitivity(file.path()).ok();
  (void)calib::load_ranges(file.path()).ok();
  (void)tuning::parse_trial(text_of(data, size)).has_value();
}

std::vector<std::string> settings_parts_seeds() {
  const Trial trial;
  return {"{\"R1_pairs\": [{\"prev_nodes\": [\"a\", \"b\"], \"norm_node\": \"n\", \"next_nodes\": [\"c\"]}]}",
          "{\"quantized\": false, \"num_subgraphs\": 1, \"subgraphs\": [{\"name\": \"a\", \"start_nodes\": [\"n\"],"
          " \"end_nodes\": [\"m\"], \"description\": \"\"}]}",
          "{\"cache_key\": \"k\", \"results\": [{\"name\": \"a\", \"candidate_nodes\": [\"n\"], \"all_config_scores\":"
          " [0.5, 0.25], \"best_config_index\": 1, \"enabled\": true}]}",
          "{\"x\": [-1.0, 2.5], \"y\": [[0.0], [1e-3]]}", tuning::encode_trial(trial)};
}

void run_pass_list(const uint8_t* data, size_t size) {
  const std::string text = text_of(data, size);
  (void)config::parse_node_updates(text).ok();
  (void)pipeline::read_step(text).ok();
  if (!text.starts_with('{')) return;  // else it names a file
  const Result<config::PassList> list = config::load_pass_list(text);
  if (!list.ok()) return;
  Diagnostics diagnostics;
  (void)config::conversions_of(list.value().before, diagnostics).ok();
  (void)config::conversions_of(list.value().after, diagnostics).ok();
}

std::vector<std::string> pass_list_seeds() {
  std::vector<std::string> seeds = {
      "{\"preprocess_passes\": {\"onnx_convert_opset_version\": {\"target_opset_version\": 21}, \"onnx_simplify\":"
      " {\"simplify\": true}, \"onnx_cross_layer_equalization\": {\"cle_steps\": 2}}, \"postprocess_passes\":"
      " {\"onnx_remove_qdq_between_op_types\": {\"remove_qdq_between_op_types\": [[\"Mul\", \"Add\"]]}},"
      " \"preprocessed_model_path\": \"b.onnx\"}",
      "{\"passes\": [{\"onnx_simplify\": {\"simplify\": true}}, {\"onnx_simplify\": {\"simplify\": true}}]}",
      "[{node_name: conv, attributes: {group: 2, alpha: 0.5, mode: linear, pads: [1, 1], scales: [1.0], names: [a]}}]"};
  for (const pass::Conversion& conversion : pipeline::all_conversions())
    seeds.push_back(cat(conversion.name, ":", conversion.options));
  return seeds;
}

}  // namespace quarkq::fuzz
