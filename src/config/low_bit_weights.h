// SPDX-License-Identifier: MIT
// Requirements of stored 4-bit weights, for the type of all weights and for those of single tensors.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace quarkq::config {

constexpr int64_t kOpsetWith4Bits = 21;  ///< of QuantizeLinear and DequantizeLinear

/// Why not, as "UseGPTQ true, which ..."; null: they can.
const char* refusal_of_4_bits(const Settings& settings);

/// GPTQParams (ref:tuning#gptq): settings of GPTQ.
struct GptqSettings {
  int64_t block_size = 128;    ///< rows whose errors are passed on at once to the rows after them
  int64_t group_size = -1;     ///< rows with scales of their own; -1: all
  double damping = 0.01;       ///< of the mean diagonal
  bool by_importance = false;  ///< rows with large inputs first
  bool per_channel = false;
  bool search = false;  ///< the scale with the smallest error among 80 narrower ones
  bool symmetric = true;
};

/// Fails on unknown keys and invalid values.
Result<GptqSettings> read_gptq_settings(const Settings& settings);

// MatMulNBitsParams (ref:writing#matmulnbits): how matrices are stored in 4 bits.

enum class NBitsAlgorithm : uint8_t { kDefault, kHqq, kGptq, kKQuant };

constexpr int kMatMulNBitsBits = 4;  ///< the only width that is written

struct MatMulNBitsSettings {
  NBitsAlgorithm algorithm = NBitsAlgorithm::kDefault;
  int64_t group_size = 128;
  bool symmetric = true;
  int64_t accuracy_level = 0;
  int64_t embedding_bits = 0;  ///< of tables that Gather reads: 8; 0: they stay as they are
};

/// Fails on unknown keys and wrong values; the message names the key.
Result<MatMulNBitsSettings> read_matmul_nbits_settings(const Settings& settings);

/// An error that begins with `option` unless MatMulNBits has blocks of this size.
Status check_nbits_block(const char* option, int64_t size);

}  // namespace quarkq::config
