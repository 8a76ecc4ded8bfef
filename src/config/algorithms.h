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
  const char* flag;    ///< the include_ field or the option that it switches on
  const char* option;  ///< the map option that takes the parameters; "" when each has an option of its own
};

/// One parameter. `by_default` is the value that listing the algorithm writes; "" writes nothing.
struct AlgorithmParam {
  const char* algorithm;
  const char* name;        ///< in algo_config: "num_iterations"
  const char* key;         ///< in extra_options: "NumIterations"
  const char* by_default;  ///< YAML
};

const std::vector<AlgorithmInfo>& algorithms();
const AlgorithmInfo* find_algorithm(const std::string& name);
/// The parameters of one algorithm, or an empty list.
std::vector<AlgorithmParam> algorithm_params(const std::string& name);
/// Reads algo_config. Fails with kInvalidArgument if an algorithm or one of its parameters is unknown.
Result<std::vector<Algorithm>> read_algorithms(const Node& node, const std::string& path);

// FastFinetune (ref:tuning#finetuning-options): settings of AdaRound and AdaQuant.

enum class FinetuneAlgorithm : uint8_t { kAdaRound, kAdaQuant };
/// What is trained at once: a layer with its activation, or a block of layers (ADR 0011).
enum class FinetuneUnit : uint8_t { kLayer, kBlock };

/// A key of an option that was given, but has no effect here.
struct KeyWithoutEffect {
  const char* key;
  const char* why;
};

/// Defaults of an option dictionary without the key.
struct FinetuneSettings {
  FinetuneAlgorithm algorithm = FinetuneAlgorithm::kAdaRound;
  FinetuneUnit unit = FinetuneUnit::kLayer;
  uint32_t seed = 1705472343;
  int64_t data_size = 0;  ///< samples used at most; 0: all
  int64_t batch_size = 1;
  int64_t num_batches = 1;  ///< window of early_stop
  int64_t iterations = 1000;
  double learning_rate = 0.1;
  bool early_stop = false;
  std::optional<std::pair<double, double>> lr_adjust;  ///< above this error, that learning rate
  std::vector<std::string> target_ops = {"Conv", "ConvTranspose", "InstanceNormalization", "LayerNormalization",
                                         "Gemm", "MatMul"};
  bool selective_update = false;  ///< a layer is kept only when the outputs of the model improve, too
  bool update_bias = true;        ///< AdaQuant
  bool output_qdq = false;
  double drop_ratio = 1.0;  ///< share of the inputs taken from the quantized model; in blocks of all quantized values
  double reg_param = 0.01;
  double beta_start = 20, beta_end = 2;
  double warm_start = 0.2;
  std::optional<int64_t> output_index;  ///< the output that selective_update measures; nothing: all
  bool parallel = false;                ///< inputs come from the model without the layers finetuned before
  int64_t claim_seconds = 60;           ///< a worker that gave no sign of life for so long has died (ADR 0013)
  int64_t memory_budget = 0;            ///< bytes that the process may take; 0: a quarter of exec::allowed_memory(0)
  std::string reference_path;    ///< another model that gives the target outputs of layers; empty: the float model
  bool largest_only = false;     ///< of all layers only the one that takes most memory
  bool keeps_on_disk = false;    ///< no sample's values stay in memory
  bool stays_in_memory = false;  ///< no temporary file, whatever the budget is
  std::string cache_dir;         ///< folder of what does not fit into memory; empty: the system's

  std::vector<KeyWithoutEffect> without_effect;
  std::string deciding;  ///< the given keys on which the result depends, as one line of YAML
};

/// Fails on unknown keys and wrong values; the message names the key.
Result<FinetuneSettings> read_finetune_settings(const Settings& settings);

/// Whether several processes can train the layers of one model: none may depend on what another one learned.
Status check_can_be_shared(const FinetuneSettings& options);

}  // namespace quarkq::config
