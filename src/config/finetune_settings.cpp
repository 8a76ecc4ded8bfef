// SPDX-License-Identifier: MIT
#include "config/finetune_settings.h"

#include <limits>
#include <tuple>

#include "config/option_map.h"

namespace quarkq::config {
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

Status take_unit(const OptionMap& map, FinetuneSettings& options) {
  std::string name = "layer";
  QQ_RETURN_IF_ERROR(map.take("Unit", name));
  if (name != "layer" && name != "block")
    return invalid_argument("FastFinetune.Unit: \"", name, "\", allowed are layer and block");
  options.unit = name == "block" ? FinetuneUnit::kBlock : FinetuneUnit::kLayer;
  if (options.unit == FinetuneUnit::kBlock && !options.reference_path.empty())
    return invalid_argument(
        "FastFinetune.Unit: blocks have no targets in another model, give layer or no RefModelPath");
  return Status();
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
       "UseGDS",         "MemoryBudgetMB",  "Unit",         "ClaimSeconds"}));
  FinetuneSettings options;
  for (const auto take : {take_algorithm, take_schedule, take_samples, take_tuning_layers, take_unit, take_memory})
    QQ_RETURN_IF_ERROR(take(map, options));
  options.stays_in_memory = settings.runtime.crypto_mode;
  options.without_effect = keys_without_effect(map);
  options.deciding = deciding_text(node);
  return options;
}

}  // namespace quarkq::config
