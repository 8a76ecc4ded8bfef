// SPDX-License-Identifier: MIT
// MatMulNBitsParams (ref:writing#matmulnbits): how matrices are stored in 4 bits.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace quarkq::config {

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
