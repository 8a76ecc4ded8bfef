// SPDX-License-Identifier: MIT
#include "planning/tune/options.h"

#include <tuple>

#include "config/convert.h"

namespace quarkq::planning::finetune {
namespace {

constexpr int64_t kMegabyte = 1000000, kMostMegabytes = 1000000000;
constexpr const char* kNoDevices = "quarkq computes on the processor";
constexpr const char* kNoLoader = "samples are kept in memory or in one file, no workers load them";

constexpr IdleOption kIdle[] = {
    {"MemOptLevel", "1", nullptr},
    {"MemoryBudgetMB", "0", nullptr},
    {"CacheDir", "''", nullptr},
    {"OptimDevice", "cpu", kNoDevices},
    {"InferDevice", "cpu", kNoDevices},
    {"TmpDir", "''", "CacheDir names the folder of temporary files"},
    {"LogPeriod", "100", "progress is shown by layer, errors are in the report"},
    {"DynamicBatch", "false", "samples are run one by one, which gives the same values"},
    {"NumWorkers", "1", kNoLoader},
    {"PinMemory", "false", kNoLoader},
    {"UseGDS", "false", kNoLoader},
};

/// Reads single keys of the map.
class OptionReader {
 public:
  explicit OptionReader(const config::Node& node) : node_(node) {}

  const config::Node* find(const char* key) const {
    const config::Node* given = node_.find(key);
    return given == nullptr || given->is_null() ? nullptr : given;
  }
  template <typename T>
  Status take(const char* key, T& member) const {
    const config::Node* given = find(key);
    if (given == nullptr) return Status();
    QQ_TRY(member, config::read<T>(*given, name_of(key)));
    return Status();
  }
  /// A count of at least `least`.
  Status take_count(const char* key, int64_t& member, int64_t least) const {
    QQ_RETURN_IF_ERROR(take(key, member));
    if (member >= least) return Status();
    return invalid_argument(name_of(key), ": ", member, ", at least ", least, " is needed");
  }
  /// Two numbers; an empty list is like no value.
  Result<std::optional<std::pair<double, double>>> pair(const char* key) const {
    std::optional<std::pair<double, double>> none;
    const config::Node* given = find(key);
    if (given == nullptr || (given->is_list() && given->items().empty())) return none;
    QQ_TRY(const std::vector<double> values, config::read<std::vector<double>>(*given, name_of(key)));
    if (values.size() != 2) return invalid_argument(name_of(key), ": ", values.size(), " numbers, two are needed");
    return std::optional(std::pair(values[0], values[1]));
  }
  static std::string name_of(const char* key) { return cat("FastFinetune.", key); }

 private:
  const config::Node& node_;
};

Status take_algorithm(const OptionReader& reader, Options& options) {
  std::string name = "adaround";
  QQ_RETURN_IF_ERROR(reader.take("OptimAlgorithm", name));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (name != "adaround" && name != "adaquant")
    return invalid_argument("FastFinetune.OptimAlgorithm: \"", name, "\", allowed are adaround and adaquant");
  options.algorithm = name == "adaround" ? Algorithm::kAdaRound : Algorithm::kAdaQuant;
  if (options.algorithm == Algorithm::kAdaQuant) options.learning_rate = 1e-5;
  return Status();
}

Status take_schedule(const OptionReader& reader, Options& options) {
  QQ_RETURN_IF_ERROR(reader.take_count("NumIterations", options.iterations, 1));
  QQ_RETURN_IF_ERROR(reader.take("LearningRate", options.learning_rate));
  QQ_RETURN_IF_ERROR(reader.take("RegParam", options.reg_param));
  QQ_RETURN_IF_ERROR(reader.take("WarmStart", options.warm_start));
  QQ_RETURN_IF_ERROR(reader.take("EarlyStop", options.early_stop));
  QQ_TRY(options.lr_adjust, reader.pair("LRAdjust"));
  QQ_TRY(const auto beta, reader.pair("BetaRange"));
  if (beta) std::tie(options.beta_start, options.beta_end) = *beta;
  if (options.learning_rate <= 0) return invalid_argument("FastFinetune.LearningRate: must be above 0");
  if (options.warm_start < 0 || options.warm_start > 1)
    return invalid_argument("FastFinetune.WarmStart: ", options.warm_start, ", allowed is 0 to 1");
  return Status();
}

Status take_samples(const OptionReader& reader, Options& options) {
  int64_t seed = options.seed;
  QQ_RETURN_IF_ERROR(reader.take("FixedSeed", seed));
  options.seed = static_cast<uint32_t>(seed);
  QQ_RETURN_IF_ERROR(reader.take_count("DataSize", options.data_size, 0));
  QQ_RETURN_IF_ERROR(reader.take_count("BatchSize", options.batch_size, 1));
  QQ_RETURN_IF_ERROR(reader.take_count("NumBatches", options.num_batches, 1));
  QQ_RETURN_IF_ERROR(reader.take("DropRatio", options.drop_ratio));
  return reader.take("Parallel", options.parallel);
}

Status take_memory(const OptionReader& reader, Options& options) {
  int64_t level = 1, megabytes = 0;
  QQ_RETURN_IF_ERROR(reader.take_count("MemOptLevel", level, 0));
  QQ_RETURN_IF_ERROR(reader.take_count("MemoryBudgetMB", megabytes, 0));
  if (level > 2) return invalid_argument("FastFinetune.MemOptLevel: ", level, ", allowed are 0, 1 and 2");
  if (megabytes > kMostMegabytes)
    return invalid_argument("FastFinetune.MemoryBudgetMB: ", megabytes, ", at most ", kMostMegabytes, " is allowed");
  options.keeps_on_disk = level == 2;
  options.memory_budget = megabytes * kMegabyte;
  return reader.take("CacheDir", options.cache_dir);
}

Status take_layers(const OptionReader& reader, Options& options) {
  QQ_RETURN_IF_ERROR(reader.take("TargetOpType", options.target_ops));
  QQ_RETURN_IF_ERROR(reader.take("SelectiveUpdate", options.selective_update));
  QQ_RETURN_IF_ERROR(reader.take("UpdateBias", options.update_bias));
  QQ_RETURN_IF_ERROR(reader.take("OutputQDQ", options.output_qdq));
  QQ_RETURN_IF_ERROR(reader.take("SelectMaxMemLayer", options.largest_only));
  QQ_RETURN_IF_ERROR(reader.take("RefModelPath", options.reference_path));
  int64_t index = -1;
  QQ_RETURN_IF_ERROR(reader.take("OutputIndex", index));
  if (index >= 0) options.output_index = index;
  return Status();
}

}  // namespace

std::span<const IdleOption> idle_options() { return kIdle; }

Result<Options> read_options(const config::Settings& settings) {
  const config::Node& node = settings.fast_finetune.node;
  QQ_RETURN_IF_ERROR(config::check_keys(
      node, "FastFinetune",
      {"OptimAlgorithm", "OptimDevice",     "InferDevice",  "FixedSeed",         "DataSize",     "BatchSize",
       "NumBatches",     "NumIterations",   "LearningRate", "EarlyStop",         "OutputIndex",  "LRAdjust",
       "TargetOpType",   "SelectiveUpdate", "UpdateBias",   "OutputQDQ",         "DropRatio",    "MemOptLevel",
       "CacheDir",       "TmpDir",          "LogPeriod",    "RefModelPath",      "DynamicBatch", "Parallel",
       "RegParam",       "BetaRange",       "WarmStart",    "SelectMaxMemLayer", "NumWorkers",   "PinMemory",
       "UseGDS",         "MemoryBudgetMB"}));
  const OptionReader reader(node);
  Options options;
  for (const auto take : {take_algorithm, take_schedule, take_samples, take_layers, take_memory})
    QQ_RETURN_IF_ERROR(take(reader, options));
  return options;
}

}  // namespace quarkq::planning::finetune
