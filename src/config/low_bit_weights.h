// SPDX-License-Identifier: MIT
// Requirements of stored 4-bit weights, for the type of all weights and for the types of single tensors.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace quarkq::config {

constexpr int64_t kOpsetWith4Bits = 21;  ///< Opset of QuantizeLinear and DequantizeLinear.

/// Returns why 4-bit weights are impossible, as "UseGPTQ true, which ...", or null if they are possible.
const char* refusal_of_4_bits(const Settings& settings);

/// GPTQParams (ref:tuning#gptq): settings of GPTQ.
struct GptqSettings {
  int64_t block_size = 128;    ///< Number of rows whose errors are propagated together to the rows after them.
  int64_t group_size = -1;     ///< Number of rows that share scales; -1: all.
  double damping = 0.01;       ///< Relative to the mean diagonal.
  bool by_importance = false;  ///< Process rows with large inputs first.
  bool per_channel = false;
  bool search = false;  ///< Use the scale with the smallest error among 80 narrower ones.
  bool symmetric = true;
};

/// Fails on unknown keys and invalid values.
Result<GptqSettings> read_gptq_settings(const Settings& settings);

// MatMulNBitsParams (ref:writing#matmulnbits): storage of matrices in 4 bits.

enum class NBitsAlgorithm : uint8_t { kDefault, kHqq, kGptq, kKQuant };

constexpr int kMatMulNBitsBits = 4;  ///< The only supported width.

struct MatMulNBitsSettings {
  NBitsAlgorithm algorithm = NBitsAlgorithm::kDefault;
  int64_t group_size = 128;
  bool symmetric = true;
  int64_t accuracy_level = 0;
  int64_t embedding_bits = 0;  ///< Bits of tables that Gather reads: 8; 0: not quantized.
};

/// Fails on unknown keys and wrong values; the message names the key.
Result<MatMulNBitsSettings> read_matmul_nbits_settings(const Settings& settings);

/// Fails, with a message that begins with `option`, unless MatMulNBits supports blocks of this size.
Status check_nbits_block(const char* option, int64_t size);

}  // namespace quarkq::config
