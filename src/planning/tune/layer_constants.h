// SPDX-License-Identifier: MIT
// The chain from a stored constant to the value that a layer reads: the Q, DQ or block format nodes between them,
// computed like the model computes them.
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
  /// Fails if `value` is not computed from one initializer or Constant node through nodes whose other inputs are
  /// constants.
  static Result<ConstantChain> to(const ir::Model& model, ir::ValueId value);

  ir::ValueId stored() const { return stored_; }
  /// Returns the value that the layer reads if `start` is stored.
  Result<ir::Tensor> run(const ir::Tensor& start) const;
  /// Returns the value that the layer reads now.
  Result<ir::Tensor> run() const { return run(*model_->graph.constant(stored_)); }

 private:
  const ir::Model* model_ = nullptr;
  ir::ValueId stored_;
  std::vector<ir::NodeId> nodes_;  ///< In order.
};

/// Replaces the stored constant of `read`, which a layer reads through a chain.
Status store_constant(ir::Model& model, ir::ValueId read, const ir::Tensor& tensor);

/// The integer grid of a constant.
struct Grid {
  numeric::ChannelSplit split;
  std::vector<numeric::QuantParams> params;  ///< Parameters, by channel.
  numeric::IntegerRange limits;

  const numeric::QuantParams& of(size_t i) const {
    const int64_t channel = static_cast<int64_t>(i) / split.inner % split.channels;
    return params[params.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

/// Returns whether the slot's constant is stored as integers.
bool is_stored_integer(const plan::QuantSlot& slot);

/// Returns the grid of a constant that is stored as integers. Returns nullopt for other values, and if the scales do
/// not fit.
std::optional<Grid> stored_grid(const plan::QuantPlan& plan, const config::Settings& settings, ir::ValueId value);

/// Returns the grid of a constant that stays float before a Q/DQ pair, such as weights and biases of VINT8. `stored`
/// contains its values.
std::optional<Grid> pair_grid(const plan::QuantPlan& plan, const ir::Tensor& stored, ir::ValueId value);

}  // namespace quarkq::planning::finetune
