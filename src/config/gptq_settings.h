// SPDX-License-Identifier: MIT
// GPTQParams (ref:tuning#gptq): settings of GPTQ.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace quarkq::config {

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

}  // namespace quarkq::config
