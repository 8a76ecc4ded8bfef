// SPDX-License-Identifier: MIT
// The algorithms that algo_config may list, and the key of extra_options for each of their parameters
// (ref:settings#algorithms).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace quarkq::config {

struct AlgorithmInfo {
  const char* name;    ///< "adaround"
  const char* flag;    ///< The include_ field or the option that it enables.
  const char* option;  ///< The map option that receives the parameters; "" if each has its own option.
};

/// One parameter. `by_default` is the value written when the algorithm is listed; "" writes none.
struct AlgorithmParam {
  const char* algorithm;
  const char* name;        ///< Name in algo_config: "num_iterations".
  const char* key;         ///< Key in extra_options: "NumIterations".
  const char* by_default;  ///< In YAML.
};

const std::vector<AlgorithmInfo>& algorithms();
const AlgorithmInfo* find_algorithm(const std::string& name);
/// Returns the parameters of one algorithm, or an empty list.
std::vector<AlgorithmParam> algorithm_params(const std::string& name);
/// Reads algo_config. Fails with kInvalidArgument if an algorithm or one of its parameters is unknown.
Result<std::vector<Algorithm>> read_algorithms(const Node& node, const std::string& path);

// FastFinetune (ref:tuning#finetuning-options): settings of AdaRound and AdaQuant.

enum class FinetuneAlgorithm : uint8_t { kAdaRound, kAdaQuant };
/// The unit of training: a layer with its activation, a block of layers (ADR 0011), or the network (ADR 0020).
enum class FinetuneUnit : uint8_t { kLayer, kBlock, kNetwork };

/// A key of an option that was given but has no effect.
struct KeyWithoutEffect {
  const char* key;
  const char* why;
};

/// Defaults of the keys that the option does not set.
struct FinetuneSettings {
  FinetuneAlgorithm algorithm = FinetuneAlgorithm::kAdaRound;
  FinetuneUnit unit = FinetuneUnit::kLayer;
  uint32_t seed = 1705472343;
  int64_t data_size = 0;  ///< Upper bound on the number of samples; 0: all.
  int64_t batch_size = 1;
  int64_t num_batches = 1;  ///< Window of early_stop.
  int64_t iterations = 1000;
  double learning_rate = 0.1;
  bool early_stop = false;
  std::optional<std::pair<double, double>> lr_adjust;  ///< Above this error, this learning rate is used.
  std::vector<std::string> target_ops = {"Conv", "ConvTranspose", "InstanceNormalization", "LayerNormalization",
                                         "Gemm", "MatMul"};
  bool selective_update = false;  ///< Keep a layer only if the outputs of the model improve as well.
  bool augment = true;            ///< Only for networks: images are mirrored, cropped and made brighter or darker.
  bool update_bias = true;        ///< Only for AdaQuant.
  bool output_qdq = false;
  double drop_ratio = 1.0;  ///< Share of the inputs that come from the quantized model; in blocks, of all quantized
                            ///< values.
  double reg_param = 0.01;
  double beta_start = 20, beta_end = 2;
  double warm_start = 0.2;
  std::optional<int64_t> output_index;  ///< The output that selective_update measures; absent: all.
  bool parallel = false;                ///< Inputs come from the model without the layers fine-tuned before.
  int64_t claim_seconds = 60;           ///< A worker without a sign of life for this time is considered dead (ADR
                                        ///< 0013).
  int64_t memory_budget = 0;            ///< Upper bound on the memory of the process in bytes; 0: a quarter of
                                        ///< exec::allowed_memory(0).
  std::string reference_path;    ///< Another model that provides the target outputs of layers; empty: the float model.
  bool largest_only = false;     ///< Train only the layer that needs the most memory.
  bool keeps_on_disk = false;    ///< No sample's values stay in memory.
  bool stays_in_memory = false;  ///< No temporary file, regardless of the budget.
  std::string cache_dir;         ///< Folder for data that exceeds the memory; empty: the system's.

  std::vector<KeyWithoutEffect> without_effect;
  std::string deciding;  ///< The given keys that the result depends on, as one line of YAML.
};

/// Fails for unknown keys and wrong values; the message names the key.
Result<FinetuneSettings> read_finetune_settings(const Settings& settings);

/// Fails unless several processes can train the layers of one model, that is, unless no layer depends on another
/// trained layer.
Status check_can_be_shared(const FinetuneSettings& options);

}  // namespace quarkq::config
