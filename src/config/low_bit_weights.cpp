// SPDX-License-Identifier: MIT
#include "config/low_bit_weights.h"

#include <algorithm>
#include <array>

#include "config/convert.h"
#include "config/preset.h"

namespace quarkq::config {

Result<GptqSettings> read_gptq_settings(const Settings& settings, const GptqSettings& defaults) {
  const OptionMap map(settings.algorithms.gptq_params.node, "GPTQParams");
  QQ_RETURN_IF_ERROR(map.check_keys(
      {"Bits", "BlockSize", "GroupSize", "PercDamp", "ActOrder", "PerChannel", "MSE", "WeightSymmetric"}));
  GptqSettings options = defaults;
  QQ_RETURN_IF_ERROR(map.take_given("BlockSize", options.block_size));
  QQ_RETURN_IF_ERROR(map.take_given("GroupSize", options.group_size));
  QQ_RETURN_IF_ERROR(map.take_given("PercDamp", options.damping));
  QQ_RETURN_IF_ERROR(map.take_given("ActOrder", options.by_importance));
  QQ_RETURN_IF_ERROR(map.take_given("PerChannel", options.per_channel));
  QQ_RETURN_IF_ERROR(map.take_given("MSE", options.search));
  QQ_RETURN_IF_ERROR(map.take_given("WeightSymmetric", options.symmetric));
  if (options.block_size < 1) return invalid_argument("GPTQParams.BlockSize: ", options.block_size, " is below 1");
  if (options.group_size == 0 || options.group_size < -1)
    return invalid_argument("GPTQParams.GroupSize: ", options.group_size, ", allowed are -1 and numbers above 0");
  if (options.damping < 0) return invalid_argument("GPTQParams.PercDamp: ", options.damping, " is negative");
  return options;
}

namespace {

constexpr int64_t kMostSteps = 100000;     // of AUTOROUND
constexpr int64_t kMostAccuracyLevel = 4;  // The schema of MatMulNBits: 4 is int8.
constexpr std::array<int64_t, 5> kBlockSizes = {16, 32, 64, 128, 256};

struct AlgorithmName {
  const char* text;
  NBitsAlgorithm value;
};
constexpr AlgorithmName kAlgorithms[] = {
    {"DEFAULT", NBitsAlgorithm::kDefault},
    {"HQQ", NBitsAlgorithm::kHqq},
    {"GPTQ", NBitsAlgorithm::kGptq},
    // not in the reference
    {"K_QUANT", NBitsAlgorithm::kKQuant},
    {"AWQ", NBitsAlgorithm::kAwq},
    {"AUTOROUND", NBitsAlgorithm::kAutoRound},
};

}  // namespace

Status check_nbits_block(const char* option, int64_t size) {
  if (std::find(kBlockSizes.begin(), kBlockSizes.end(), size) != kBlockSizes.end()) return Status();
  return invalid_argument(option, ": ", size,
                          " is not a block size of MatMulNBits; allowed are 16, 32, 64, 128 and 256");
}

namespace {

Status check_bits(const OptionMap& map, const Settings& settings, int64_t bits) {
  // The reference always writes 4 bits, but the configured number into the node, which then reads them wrongly.
  if (bits != 4 && !settings.quirk(Quirk::kStoreManyBits))
    return unsupported(map.name_of("Bits"), ": ", bits, "; only 4 are supported with --compat");
  if (bits == 2 || bits == 3 || bits == 4 || bits == 8) return Status();
  return invalid_argument(map.name_of("Bits"), ": ", bits, ", allowed are 2, 3 (stored in 4), 4 and 8");
}

Result<NBitsAlgorithm> read_nbits_algorithm(const OptionMap& map) {
  std::string algorithm = kAlgorithms[0].text;
  QQ_RETURN_IF_ERROR(map.take_given("Algorithm", algorithm));
  const auto* const found = std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                                         [&](const AlgorithmName& row) { return algorithm == row.text; });
  if (found == std::end(kAlgorithms))
    return invalid_argument("MatMulNBitsParams.Algorithm: '", algorithm,
                            "', allowed are DEFAULT, HQQ, GPTQ, K_QUANT, AWQ and AUTOROUND");
  return found->value;
}

/// Reads the keys of the last matrix, which otherwise has the format of the others.
Status read_head(const OptionMap& map, MatMulNBitsSettings& options) {
  options.head = options.matrices;
  int64_t bits = options.head.bits;
  QQ_RETURN_IF_ERROR(map.take_given("HeadBits", bits));
  QQ_RETURN_IF_ERROR(map.take_given("HeadGroupSize", options.head.block));
  if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
    return invalid_argument("MatMulNBitsParams.HeadBits: ", bits, ", allowed are 2, 3 (stored in 4), 4 and 8");
  options.head.bits = static_cast<int>(bits);
  return check_nbits_block("MatMulNBitsParams.HeadGroupSize", options.head.block);
}

Status read_tables(const OptionMap& map, MatMulNBitsSettings& options) {
  options.tables = {8, options.matrices.block, true};
  int64_t bits = 0;
  QQ_RETURN_IF_ERROR(map.take_given("EmbeddingBits", bits));
  QQ_RETURN_IF_ERROR(map.take_given("EmbeddingGroupSize", options.tables.block));
  if (bits != 0 && bits != 4 && bits != 8)
    return invalid_argument("MatMulNBitsParams.EmbeddingBits: ", bits,
                            ", allowed are 0 (tables stay as they are), 4 and 8");
  options.has_tables = bits != 0;
  if (options.has_tables) options.tables.bits = static_cast<int>(bits);
  return check_nbits_block("MatMulNBitsParams.EmbeddingGroupSize", options.tables.block);
}

/// Reads keys of the block quarkq.
Status read_own_keys(const Settings& settings, MatMulNBitsSettings& options) {
  const ToolBlock& own = settings.tool;
  if (own.nbits_form.value_or("") == "qdq") options.form = NBitsForm::kQdq;
  options.target_bits = own.target_bits.value_or(0);
  if (own.target_size) {
    QQ_TRY(options.target_bytes, read_size(Node(*own.target_size), "quarkq.target_size"));
  }
  if (options.target_bits > 0 && options.target_bytes > 0)
    return invalid_argument("quarkq.target_bits and quarkq.target_size are both set; set one of them");
  if (options.has_target() && own.nbits_plan)
    return invalid_argument("quarkq.nbits_plan: the plan decides the size; remove target_bits and target_size");
  const bool has_2_bits = options.matrices.bits == 2 || options.head.bits == 2;
  if (options.form == NBitsForm::kQdq && has_2_bits)
    return unsupported("quarkq.nbits_form: qdq stores 4 and 8 bits; set Bits and HeadBits to 3, 4 or 8");
  return Status();
}

}  // namespace

Result<MatMulNBitsSettings> read_matmul_nbits_settings(const Settings& settings) {
  const OptionMap map(settings.matmul_nbits.matmul_nbits_params.node, "MatMulNBitsParams");
  // The last six keys are not in the reference.
  QQ_RETURN_IF_ERROR(map.check_keys({"Algorithm", "GroupSize", "Symmetric", "Bits", "AccuracyLevel", "EmbeddingBits",
                                     "EmbeddingGroupSize", "HeadBits", "HeadGroupSize", "Steps"}));
  MatMulNBitsSettings options;
  int64_t bits = options.matrices.bits;
  QQ_TRY(options.algorithm, read_nbits_algorithm(map));
  QQ_RETURN_IF_ERROR(map.take_given("GroupSize", options.matrices.block));
  QQ_RETURN_IF_ERROR(map.take_given("Symmetric", options.matrices.is_symmetric));
  QQ_RETURN_IF_ERROR(map.take_given("Bits", bits));
  QQ_RETURN_IF_ERROR(map.take_given("AccuracyLevel", options.accuracy_level));
  if (options.accuracy_level < 0 || options.accuracy_level > kMostAccuracyLevel)
    return invalid_argument("MatMulNBitsParams.AccuracyLevel: ", options.accuracy_level, ", allowed are 0 to ",
                            kMostAccuracyLevel);
  int64_t steps = -1;
  QQ_RETURN_IF_ERROR(map.take_given("Steps", steps));
  if (steps < -1 || steps > kMostSteps)
    return invalid_argument("MatMulNBitsParams.Steps: ", steps, ", allowed are 0 to ", kMostSteps);
  if (steps >= 0) options.steps = steps;
  const bool is_written = options.algorithm != NBitsAlgorithm::kHqq && options.algorithm != NBitsAlgorithm::kGptq;
  options.writes_accuracy_level = is_written || (options.accuracy_level != 0 && settings.quirk(Quirk::kStoreManyBits));
  QQ_RETURN_IF_ERROR(check_bits(map, settings, bits));
  options.matrices.bits = static_cast<int>(bits);
  QQ_RETURN_IF_ERROR(check_nbits_block("MatMulNBitsParams.GroupSize", options.matrices.block));
  QQ_RETURN_IF_ERROR(read_head(map, options));
  QQ_RETURN_IF_ERROR(read_tables(map, options));
  QQ_RETURN_IF_ERROR(read_own_keys(settings, options));
  return options;
}

namespace {

/// Keys that only some settings read, and why they have no effect otherwise.
constexpr struct {
  const char* key;
  bool (*is_read)(const Settings&, const MatMulNBitsSettings&);
  const char* why;
} kReadBySome[] = {
    {"Steps", [](const Settings&, const auto& o) { return o.algorithm == NBitsAlgorithm::kAutoRound; },
     "is read by the Algorithm AUTOROUND only"},
    {"Symmetric",
     [](const Settings&, const auto& o) { return o.algorithm != NBitsAlgorithm::kHqq || !o.matrices.is_symmetric; },
     "the Algorithm HQQ always stores zero points"},
    {"Symmetric",
     [](const Settings& s, const auto& o) {
       return o.algorithm != NBitsAlgorithm::kGptq || s.quirk(Quirk::kGptqInBlocks);
     },
     "GPTQParams.WeightSymmetric decides with --compat"},
    {"AccuracyLevel", [](const Settings&, const auto& o) { return o.form != NBitsForm::kQdq || o.accuracy_level == 0; },
     "DequantizeLinear (quarkq.nbits_form qdq) has no accuracy level"},
    {"AccuracyLevel", [](const Settings&, const auto& o) { return o.writes_accuracy_level || o.accuracy_level == 0; },
     "is not written for the Algorithms HQQ and GPTQ with --compat"},
};

}  // namespace

Status check_matrix_params(const Settings& settings, Diagnostics& diagnostics) {
  QQ_TRY(const MatMulNBitsSettings options, read_matmul_nbits_settings(settings));
  for (const auto& row : kReadBySome) {
    const Node* const given = settings.matmul_nbits.matmul_nbits_params.node.find(row.key);
    if (given != nullptr && is_given_by_user(given->mark()) && !row.is_read(settings, options))
      diagnostics.add("option-no-effect", cat("MatMulNBitsParams.", row.key), row.why);
  }
  return Status();
}

}  // namespace quarkq::config
