// SPDX-License-Identifier: MIT
// Two tables: the algorithms, and their parameters with the defaults of the reference's classes.
#include "config/algorithms.h"

namespace quarkq::config {
namespace {

constexpr AlgorithmParam kParams[] = {
    {"smooth_quant", "alpha", "SmoothAlpha", "0.5"},
    {"cle", "cle_balance_method", "CLEBalanceMethod", "max"},
    {"cle", "cle_steps", "CLESteps", "1"},
    {"cle", "cle_weight_threshold", "CLEWeightThreshold", "0.5"},
    {"cle", "cle_scale_append_bias", "CLEScaleAppendBias", "true"},
    {"cle", "cle_scale_use_threshold", "CLEScaleUseThreshold", "true"},
    {"cle", "cle_total_layer_diff_threshold", "CLETotalLayerDiffThreshold", "1.9e-7"},
    {"quarot", "r_matrix_dim", "RMatrixDim", "4096"},
    {"quarot", "use_random_had", "UseRandomHad", "false"},
    {"quarot", "r_config_path", "RConfigPath", ""},
    {"gptq", "bits", "Bits", "8"},
    {"gptq", "block_size", "BlockSize", "128"},
    {"gptq", "group_size", "GroupSize", "-1"},
    {"gptq", "perc_damp", "PercDamp", "0.01"},
    {"gptq", "act_order", "ActOrder", "false"},
    {"gptq", "per_channel", "PerChannel", "false"},
    {"gptq", "mse", "MSE", "false"},
    {"gptq", "weight_symmetric", "WeightSymmetric", "true"},
    {"auto_mixprecision", "target_layer_config", "TargetLayerConfig", ""},
    {"auto_mixprecision", "target_op_type", "TargetOpType", "[Conv, ConvTranspose, Gemm, MatMul]"},
    {"auto_mixprecision", "subgraph_json", "SubgraphJson", ""},
    {"auto_mixprecision", "include_layers", "IncludeLayers", ""},
    {"auto_mixprecision", "exclude_layers", "ExcludeLayers", ""},
    {"auto_mixprecision", "data_size", "DataSize", "0"},
    {"auto_mixprecision", "metric_output_index", "MetricOutputIndex", "0"},
    {"auto_mixprecision", "metric_distance_fn", "MetricDistanceFn", ""},
    {"auto_mixprecision", "metric_evaluate_fn", "MetricEvaluateFn", ""},
    {"auto_mixprecision", "metric_default", "MetricDefault", "l2"},
    {"auto_mixprecision", "metric_threshold", "MetricThreshold", "0"},
    {"auto_mixprecision", "metric_optimize_object", "MetricOptimizeObject", "speed"},
    {"auto_mixprecision", "sensitivity_cache_file", "SensitivityCacheFile", ""},
    {"auto_mixprecision", "worker_num", "WorkerNum", "1"},
    {"auto_mixprecision", "dual_quant_nodes", "DualQuantNodes", "false"},
    {"auto_mixprecision", "no_input_qdq_shared", "NoInputQDQShared", "false"},
    {"auto_mixprecision", "shared_param_mode", "SharedParamMode", "propagate"},
    {"adaround", "optim_device", "OptimDevice", "cpu"},
    {"adaround", "infer_device", "InferDevice", "cpu"},
    {"adaround", "fixed_seed", "FixedSeed", "1705472343"},
    {"adaround", "data_size", "DataSize", "1000000000"},
    {"adaround", "batch_size", "BatchSize", "1"},
    {"adaround", "num_batches", "NumBatches", "1"},
    {"adaround", "num_iterations", "NumIterations", "1000"},
    {"adaround", "learning_rate", "LearningRate", "0.1"},
    {"adaround", "early_stop", "EarlyStop", "false"},
    {"adaround", "output_index", "OutputIndex", ""},
    {"adaround", "lr_adjust", "LRAdjust", ""},
    {"adaround", "target_op_type", "TargetOpType",
     "[Conv, ConvTranspose, Gemm, MatMul, InstanceNormalization, LayerNormalization]"},
    {"adaround", "selective_update", "SelectiveUpdate", "false"},
    {"adaround", "update_bias", "UpdateBias", "false"},
    {"adaround", "output_qdq", "OutputQDQ", "false"},
    {"adaround", "drop_ratio", "DropRatio", "1.0"},
    {"adaround", "mem_opt_level", "MemOptLevel", "1"},
    {"adaround", "cache_dir", "CacheDir", ""},
    {"adaround", "log_period", "LogPeriod", "100"},
    {"adaround", "ref_model_path", "RefModelPath", ""},
    {"adaround", "dynamic_batch", "DynamicBatch", "false"},
    {"adaround", "parallel", "Parallel", "false"},
    {"adaround", "reg_param", "RegParam", "0.01"},
    {"adaround", "beta_range", "BetaRange", "[20, 2]"},
    {"adaround", "warm_start", "WarmStart", "0.2"},
    {"adaround", "select_max_mem_layer", "SelectMaxMemLayer", "false"},
    {"adaround", "num_workers", "NumWorkers", "1"},
    {"adaround", "pin_memory", "PinMemory", "false"},
    {"adaround", "use_gds", "UseGDS", "false"},
    {"adaquant", "optim_device", "OptimDevice", "cpu"},
    {"adaquant", "infer_device", "InferDevice", "cpu"},
    {"adaquant", "fixed_seed", "FixedSeed", "1705472343"},
    {"adaquant", "data_size", "DataSize", "1000000000"},
    {"adaquant", "batch_size", "BatchSize", "1"},
    {"adaquant", "num_batches", "NumBatches", "1"},
    {"adaquant", "num_iterations", "NumIterations", "3000"},
    {"adaquant", "learning_rate", "LearningRate", "1e-5"},
    {"adaquant", "early_stop", "EarlyStop", "false"},
    {"adaquant", "output_index", "OutputIndex", ""},
    {"adaquant", "lr_adjust", "LRAdjust", ""},
    {"adaquant", "target_op_type", "TargetOpType",
     "[Conv, ConvTranspose, Gemm, MatMul, InstanceNormalization, LayerNormalization]"},
    {"adaquant", "selective_update", "SelectiveUpdate", "false"},
    {"adaquant", "update_bias", "UpdateBias", "false"},
    {"adaquant", "output_qdq", "OutputQDQ", "false"},
    {"adaquant", "drop_ratio", "DropRatio", "1.0"},
    {"adaquant", "mem_opt_level", "MemOptLevel", "1"},
    {"adaquant", "cache_dir", "CacheDir", ""},
    {"adaquant", "log_period", "LogPeriod", "100"},
    {"adaquant", "ref_model_path", "RefModelPath", ""},
    {"adaquant", "dynamic_batch", "DynamicBatch", "false"},
    {"adaquant", "parallel", "Parallel", "false"},
    {"adaquant", "reg_param", "RegParam", "0.01"},
    {"adaquant", "beta_range", "BetaRange", "[20, 2]"},
    {"adaquant", "warm_start", "WarmStart", "0.2"},
    {"adaquant", "select_max_mem_layer", "SelectMaxMemLayer", "false"},
    {"adaquant", "num_workers", "NumWorkers", "1"},
    {"adaquant", "pin_memory", "PinMemory", "false"},
    {"adaquant", "use_gds", "UseGDS", "false"},
};

}  // namespace

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> all = {
      {"smooth_quant", "include_sq", ""},
      {"cle", "include_cle", ""},
      {"bias_correction", "BiasCorrection", ""},
      {"gptq", "UseGPTQ", "GPTQParams"},
      {"auto_mixprecision", "include_auto_mp", "AutoMixprecision"},
      {"adaround", "include_fast_ft", "FastFinetune"},
      {"adaquant", "include_fast_ft", "FastFinetune"},
      {"quarot", "include_rotation", ""},
  };
  return all;
}

const AlgorithmInfo* find_algorithm(const std::string& name) {
  for (const AlgorithmInfo& info : algorithms())
    if (info.name == name) return &info;
  return nullptr;
}

std::vector<AlgorithmParam> algorithm_params(const std::string& name) {
  std::vector<AlgorithmParam> params;
  for (const AlgorithmParam& param : kParams)
    if (param.algorithm == name) params.push_back(param);
  return params;
}

}  // namespace quarkq::config
