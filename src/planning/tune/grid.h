// SPDX-License-Identifier: MIT
// The integers that a constant of the plan may be stored as.
#pragma once

#include <optional>
#include <vector>

#include "config/settings.h"
#include "numeric/encode.h"
#include "plan/quant_plan.h"

namespace quarkq::planning::finetune {

/// The integer grid of a constant.
struct Grid {
  numeric::ChannelSplit split;
  std::vector<numeric::QuantParams> params;  ///< by channel
  numeric::IntegerRange limits;

  const numeric::QuantParams& of(size_t i) const {
    const int64_t channel = static_cast<int64_t>(i) / split.inner % split.channels;
    return params[params.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

/// Whether the slot's constant is stored as integers.
bool is_stored_integer(const plan::QuantSlot& slot);

/// The grid of a constant that is stored as integers; nothing for other values, and where the scales do not fit.
std::optional<Grid> stored_grid(const plan::QuantPlan& plan, const config::Settings& settings, ir::ValueId value);

/// The same for a constant that stays float before a Q/DQ pair, as VINT8 has weights and biases: what the pair makes of
/// it. `stored`: its values.
std::optional<Grid> pair_grid(const plan::QuantPlan& plan, const ir::Tensor& stored, ir::ValueId value);

}  // namespace quarkq::planning::finetune
