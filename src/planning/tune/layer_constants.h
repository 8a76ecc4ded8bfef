// SPDX-License-Identifier: MIT
// From a stored constant to the value that a layer reads: the Q, DQ or block format nodes between them, computed as the
// model computes them.
#pragma once

#include <optional>
#include <vector>

#include "config/settings.h"
#include "ir/graph.h"
#include "numeric/encode.h"
#include "plan/quant_plan.h"

namespace quarkq::planning::finetune {

class ConstantChain {
 public:
  /// Fails when `value` does not come from one initializer through nodes whose other inputs are constants.
  static Result<ConstantChain> to(const ir::Model& model, ir::ValueId value);

  ir::ValueId stored() const { return stored_; }
  /// What the layer reads when `start` is stored.
  Result<ir::Tensor> run(const ir::Tensor& start) const;
  /// ... with what is stored now.
  Result<ir::Tensor> run() const { return run(*model_->graph.value(stored_).constant); }

 private:
  const ir::Model* model_ = nullptr;
  ir::ValueId stored_;
  std::vector<ir::NodeId> nodes_;  ///< in order
};

/// Changes what is stored for `read`, which a layer reads through a chain.
Status store_constant(ir::Model& model, ir::ValueId read, const ir::Tensor& tensor);

// The integers that a constant of the plan may be stored as.

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
