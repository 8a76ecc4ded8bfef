// SPDX-License-Identifier: MIT
// Two tables: the algorithms, and their parameters with the defaults of the reference's classes.
#include "config/algorithms.h"

#include <limits>
#include <tuple>

#include "config/convert.h"

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

namespace {

Result<Algorithm> read_algorithm(const Node& node, const std::string& path) {
  const Node* name_node = node.find("name");
  if (name_node == nullptr) return invalid_argument(node.mark().prefix(), path, ": needs name");
  QQ_TRY(const std::string name, read<std::string>(*name_node, path + ".name"));
  if (find_algorithm(name) == nullptr) {
    std::vector<std::string> known;
    for (const AlgorithmInfo& info : algorithms()) known.emplace_back(info.name);
    return invalid_argument(node.mark().prefix(), path, ": found algorithm ", name, ", allowed are ",
                            join(known, ", "));
  }
  std::vector<std::string> keys = {"name"};
  for (const AlgorithmParam& param : algorithm_params(name)) keys.emplace_back(param.name);
  QQ_RETURN_IF_ERROR(check_keys(node, path, keys));
  return Algorithm{name, node.without("name")};
}

}  // namespace

Result<std::vector<Algorithm>> read_algorithms(const Node& node, const std::string& path) {
  return read_list<Algorithm>(node, path, read_algorithm);
}

namespace {

constexpr int64_t kMegabyte = 1000000, kMostMegabytes = 1000000000;
constexpr const char* kNoDevices = "quarkq computes on the processor";
constexpr const char* kNoLoader = "samples are kept in memory or in one file, no workers load them";

/// Options on which no byte of the result depends.
struct IdleOption {
  const char* key;
  const char* by_default;  ///< YAML
  const char* why;         ///< it has no effect; null: it has one, but not on the result
};
constexpr IdleOption kIdle[] = {
    {"MemOptLevel", "1", nullptr},
    {"MemoryBudgetMB", "0", nullptr},
    {"CacheDir", "''", nullptr},
    {"ClaimSeconds", "60", nullptr},
    {"OptimDevice", "cpu", kNoDevices},
    {"InferDevice", "cpu", kNoDevices},
    {"TmpDir", "''", "CacheDir names the folder of temporary files"},
    {"LogPeriod", "100", "progress is shown by layer, errors are in the report"},
    {"DynamicBatch", "false", "samples are run one by one, which gives the same values"},
    {"NumWorkers", "1", kNoLoader},
    {"PinMemory", "false", kNoLoader},
    {"UseGDS", "false", kNoLoader},
};

/// A count of at least `least`.
Status take_count(const OptionMap& map, const char* key, int64_t& member, int64_t least) {
  QQ_RETURN_IF_ERROR(map.take(key, member));
  if (member >= least) return Status();
  return invalid_argument(map.name_of(key), ": ", member, ", at least ", least, " is needed");
}

/// Two numbers; an empty list is like no value.
Result<std::optional<std::pair<double, double>>> pair_of(const OptionMap& map, const char* key) {
  std::optional<std::pair<double, double>> none;
  const Node* given = map.find(key);
  if (given == nullptr || (given->is_list() && given->items().empty())) return none;
  QQ_TRY(const std::vector<double> values, read<std::vector<double>>(*given, map.name_of(key)));
  if (values.size() != 2) return invalid_argument(map.name_of(key), ": ", values.size(), " numbers, two are needed");
  return std::optional(std::pair(values[0], values[1]));
}

Status take_algorithm(const OptionMap& map, FinetuneSettings& options) {
  std::string name = "adaround";
  QQ_RETURN_IF_ERROR(map.take("OptimAlgorithm", name));
  name = lower_case(name);
  if (name != "adaround" && name != "adaquant")
    return invalid_argument("FastFinetune.OptimAlgorithm: \"", name, "\", allowed are adaround and adaquant");
  options.algorithm = name == "adaround" ? FinetuneAlgorithm::kAdaRound : FinetuneAlgorithm::kAdaQuant;
  if (options.algorithm == FinetuneAlgorithm::kAdaQuant) options.learning_rate = 1e-5;
  return Status();
}

/// The whole network learns its weights themselves, in steps of their quantization.
Status take_network(const OptionMap& map, FinetuneSettings& options) {
  if (map.find("OptimAlgorithm") != nullptr && options.algorithm != FinetuneAlgorithm::kAdaQuant)
    return invalid_argument("FastFinetune.Unit: found network and OptimAlgorithm adaround; set adaquant");
  if (options.parallel)
    return invalid_argument("FastFinetune.Unit: found network and Parallel, which is for several units; set block");
  if (options.selective_update || options.largest_only)
    return invalid_argument("FastFinetune.Unit: found network and ",
                            options.selective_update ? "SelectiveUpdate" : "SelectMaxMemLayer",
                            ", which is for several units; leave it false");
  options.algorithm = FinetuneAlgorithm::kAdaQuant;
  if (map.find("LearningRate") == nullptr) options.learning_rate = 0.02;
  if (map.find("NumIterations") == nullptr) options.iterations = 500;
  if (map.find("BatchSize") == nullptr) options.batch_size = 4;
  return Status();
}

Status take_unit(const OptionMap& map, FinetuneSettings& options) {
  std::string name = "layer";
  QQ_RETURN_IF_ERROR(map.take("Unit", name));
  if (name != "layer" && name != "block" && name != "network")
    return invalid_argument("FastFinetune.Unit: \"", name, "\", allowed are layer, block and network");
  options.unit = name == "block"     ? FinetuneUnit::kBlock
                 : name == "network" ? FinetuneUnit::kNetwork
                                     : FinetuneUnit::kLayer;
  if (options.unit != FinetuneUnit::kLayer && !options.reference_path.empty())
    return invalid_argument("FastFinetune.Unit: found ", name,
                            " and RefModelPath, which provides targets only for layers; set layer, or leave out "
                            "RefModelPath");
  QQ_RETURN_IF_ERROR(map.take("Augment", options.augment));
  return options.unit == FinetuneUnit::kNetwork ? take_network(map, options) : Status();
}

Status take_schedule(const OptionMap& map, FinetuneSettings& options) {
  QQ_RETURN_IF_ERROR(take_count(map, "NumIterations", options.iterations, 1));
  QQ_RETURN_IF_ERROR(map.take("LearningRate", options.learning_rate));
  QQ_RETURN_IF_ERROR(map.take("RegParam", options.reg_param));
  QQ_RETURN_IF_ERROR(map.take("WarmStart", options.warm_start));
  QQ_RETURN_IF_ERROR(map.take("EarlyStop", options.early_stop));
  QQ_TRY(options.lr_adjust, pair_of(map, "LRAdjust"));
  QQ_TRY(const auto beta, pair_of(map, "BetaRange"));
  if (beta) std::tie(options.beta_start, options.beta_end) = *beta;
  if (options.learning_rate <= 0) return invalid_argument("FastFinetune.LearningRate: must be above 0");
  if (options.warm_start < 0 || options.warm_start > 1)
    return invalid_argument("FastFinetune.WarmStart: ", options.warm_start, ", allowed is 0 to 1");
  return Status();
}

Status take_samples(const OptionMap& map, FinetuneSettings& options) {
  int64_t seed = options.seed;
  QQ_RETURN_IF_ERROR(map.take("FixedSeed", seed));
  if (seed < 0 || seed > std::numeric_limits<uint32_t>::max())
    return invalid_argument("FastFinetune.FixedSeed: ", seed, ", allowed is 0 to ",
                            std::numeric_limits<uint32_t>::max());
  options.seed = static_cast<uint32_t>(seed);
  QQ_RETURN_IF_ERROR(take_count(map, "DataSize", options.data_size, 0));
  QQ_RETURN_IF_ERROR(take_count(map, "BatchSize", options.batch_size, 1));
  QQ_RETURN_IF_ERROR(take_count(map, "NumBatches", options.num_batches, 1));
  QQ_RETURN_IF_ERROR(map.take("DropRatio", options.drop_ratio));
  if (options.drop_ratio < 0 || options.drop_ratio > 1)
    return invalid_argument("FastFinetune.DropRatio: ", options.drop_ratio, ", allowed is 0 to 1");
  return map.take("Parallel", options.parallel);
}

/// Where and how the work is done; the result does not depend on it.
Status take_memory(const OptionMap& map, FinetuneSettings& options) {
  int64_t level = 1, megabytes = 0;
  QQ_RETURN_IF_ERROR(take_count(map, "MemOptLevel", level, 0));
  QQ_RETURN_IF_ERROR(take_count(map, "MemoryBudgetMB", megabytes, 0));
  QQ_RETURN_IF_ERROR(take_count(map, "ClaimSeconds", options.claim_seconds, 1));
  if (level > 2) return invalid_argument("FastFinetune.MemOptLevel: ", level, ", allowed are 0, 1 and 2");
  if (megabytes > kMostMegabytes)
    return invalid_argument("FastFinetune.MemoryBudgetMB: ", megabytes, ", at most ", kMostMegabytes, " is allowed");
  options.keeps_on_disk = level == 2;
  options.memory_budget = megabytes * kMegabyte;
  return map.take("CacheDir", options.cache_dir);
}

Status take_tuning_layers(const OptionMap& map, FinetuneSettings& options) {
  QQ_RETURN_IF_ERROR(map.take("TargetOpType", options.target_ops));
  QQ_RETURN_IF_ERROR(map.take("SelectiveUpdate", options.selective_update));
  QQ_RETURN_IF_ERROR(map.take("UpdateBias", options.update_bias));
  QQ_RETURN_IF_ERROR(map.take("OutputQDQ", options.output_qdq));
  QQ_RETURN_IF_ERROR(map.take("SelectMaxMemLayer", options.largest_only));
  QQ_RETURN_IF_ERROR(map.take("RefModelPath", options.reference_path));
  int64_t index = -1;
  QQ_RETURN_IF_ERROR(map.take("OutputIndex", index));
  if (index >= 0) options.output_index = index;
  return Status();
}

/// Keys that were given another value than their default, but change nothing.
std::vector<KeyWithoutEffect> keys_without_effect(const OptionMap& map) {
  std::vector<KeyWithoutEffect> found;
  for (const IdleOption& option : kIdle) {
    const Node* given = map.find(option.key);
    if (option.why == nullptr || given == nullptr) continue;
    if (to_flow(*given) != option.by_default) found.push_back({option.key, option.why});
  }
  return found;
}

std::string deciding_text(Node node) {
  for (const IdleOption& option : kIdle) node = node.without(option.key);
  return to_flow(node);
}

}  // namespace

Status check_can_be_shared(const FinetuneSettings& options) {
  if (!options.parallel)
    return invalid_argument(
        "--workers-folder: by these settings each layer is trained after those before it, so that workers could only "
        "wait for each other; add --set FastFinetune.Parallel=true, by which each is trained on the model as quantized "
        "before");
  if (options.selective_update)
    return invalid_argument(
        "--workers-folder: FastFinetune.SelectiveUpdate=true judges each layer by the model with the layers before it, "
        "so that they cannot be trained apart; leave it false");
  return Status();
}

Result<FinetuneSettings> read_finetune_settings(const Settings& settings) {
  const Node& node = settings.algorithms.fast_finetune.node;
  const OptionMap map(node, "FastFinetune");
  QQ_RETURN_IF_ERROR(map.check_keys(
      {"OptimAlgorithm", "OptimDevice",     "InferDevice",  "FixedSeed",         "DataSize",     "BatchSize",
       "NumBatches",     "NumIterations",   "LearningRate", "EarlyStop",         "OutputIndex",  "LRAdjust",
       "TargetOpType",   "SelectiveUpdate", "UpdateBias",   "OutputQDQ",         "DropRatio",    "MemOptLevel",
       "CacheDir",       "TmpDir",          "LogPeriod",    "RefModelPath",      "DynamicBatch", "Parallel",
       "RegParam",       "BetaRange",       "WarmStart",    "SelectMaxMemLayer", "NumWorkers",   "PinMemory",
       "UseGDS",         "MemoryBudgetMB",  "Unit",         "ClaimSeconds",      "Augment"}));
  FinetuneSettings options;
  for (const auto take : {take_algorithm, take_schedule, take_samples, take_tuning_layers, take_unit, take_memory})
    QQ_RETURN_IF_ERROR(take(map, options));
  options.stays_in_memory = settings.runtime.crypto_mode;
  options.without_effect = keys_without_effect(map);
  options.deciding = deciding_text(node);
  return options;
}

}  // namespace quarkq::config
