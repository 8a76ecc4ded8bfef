// SPDX-License-Identifier: MIT
#include "config/low_bit_weights.h"

#include <algorithm>
#include <array>

#include "config/convert.h"

namespace quarkq::config {

Result<GptqSettings> read_gptq_settings(const Settings& settings) {
  const OptionMap map(settings.algorithms.gptq_params.node, "GPTQParams");
  QQ_RETURN_IF_ERROR(map.check_keys(
      {"Bits", "BlockSize", "GroupSize", "PercDamp", "ActOrder", "PerChannel", "MSE", "WeightSymmetric"}));
  GptqSettings options;
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

constexpr std::array<int64_t, 5> kBlockSizes = {16, 32, 64, 128, 256};

struct AlgorithmName {
  const char* text;
  NBitsAlgorithm value;
};
constexpr AlgorithmName kAlgorithms[] = {
    {"DEFAULT", NBitsAlgorithm::kDefault},
    {"HQQ", NBitsAlgorithm::kHqq},
    {"GPTQ", NBitsAlgorithm::kGptq},
    {"K_QUANT", NBitsAlgorithm::kKQuant},  // not in the reference
};

}  // namespace

Status check_nbits_block(const char* option, int64_t size) {
  if (std::find(kBlockSizes.begin(), kBlockSizes.end(), size) != kBlockSizes.end()) return Status();
  return invalid_argument(option, ": ", size,
                          " is not a block size of MatMulNBits; allowed are 16, 32, 64, 128 and 256");
}

Result<MatMulNBitsSettings> read_matmul_nbits_settings(const Settings& settings) {
  const OptionMap map(settings.matmul_nbits.matmul_nbits_params.node, "MatMulNBitsParams");
  QQ_RETURN_IF_ERROR(map.check_keys({"Algorithm", "GroupSize", "Symmetric", "Bits", "AccuracyLevel", "EmbeddingBits"}));
  MatMulNBitsSettings options;
  int64_t bits = kMatMulNBitsBits;
  std::string algorithm = kAlgorithms[0].text;
  QQ_RETURN_IF_ERROR(map.take_given("Algorithm", algorithm));
  QQ_RETURN_IF_ERROR(map.take_given("GroupSize", options.group_size));
  QQ_RETURN_IF_ERROR(map.take_given("Symmetric", options.symmetric));
  QQ_RETURN_IF_ERROR(map.take_given("Bits", bits));
  QQ_RETURN_IF_ERROR(map.take_given("AccuracyLevel", options.accuracy_level));
  QQ_RETURN_IF_ERROR(map.take_given("EmbeddingBits", options.embedding_bits));  // not in the reference
  const auto* const found = std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                                         [&](const AlgorithmName& row) { return algorithm == row.text; });
  if (found == std::end(kAlgorithms))
    return invalid_argument("MatMulNBitsParams.Algorithm: '", algorithm,
                            "', allowed are DEFAULT, HQQ, GPTQ and K_QUANT");
  options.algorithm = found->value;
  // The reference always writes 4 bits, but the configured number into the node, which then reads them wrongly.
  if (bits != kMatMulNBitsBits) return unsupported("MatMulNBitsParams.Bits: ", bits, "; only 4 are supported");
  if (options.embedding_bits != 0 && options.embedding_bits != 8)
    return invalid_argument("MatMulNBitsParams.EmbeddingBits: ", options.embedding_bits,
                            ", allowed are 0 (tables stay as they are) and 8");
  QQ_RETURN_IF_ERROR(check_nbits_block("MatMulNBitsParams.GroupSize", options.group_size));
  return options;
}

}  // namespace quarkq::config
