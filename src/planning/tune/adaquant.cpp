// SPDX-License-Identifier: MIT
// AdaQuant (ref:tuning#adaquant): weights and biases themselves are learned; gradients go straight through the
// rounding.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "planning/tune/optimizer.h"
#include "planning/tune/train_unit.h"

namespace quarkq::planning::finetune {
namespace {

/// To the nearest integer, ties to even, in any instruction set; 32 bits need double. |value| < 2^51.
double rounded(double value) {
  constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves no fraction
  return value + kRounder - kRounder;
}

/// Where a value is on the grid before that is clipped. Far outside it does not matter where.
double position(const Grid& grid, size_t i, float value) {
  const numeric::QuantParams& own = grid.of(i);
  return rounded(std::clamp(static_cast<double>(value / own.scale), -1e12, 1e12)) + own.zero_point;
}

double clipped(const Grid& grid, double at) {
  return std::clamp(at, static_cast<double>(grid.limits.min), static_cast<double>(grid.limits.max));
}

/// One constant: variables, their quantizer, their optimizer.
class Learned {
 public:
  Learned(std::vector<float> start, std::optional<Grid> grid, Quantizer quantizer, double rate)
      : values_(std::move(start)),
        grid_(std::move(grid)),
        quantizer_(std::move(quantizer)),
        adam_(values_.size(), rate) {}

  /// Makes the rate a share of the quantization step, or of `least` if that is larger.
  void count_in_steps(float least) {
    for (size_t i = 0; i < values_.size(); ++i) units_.push_back(std::max(least, grid_->of(i).scale));
  }

  bool empty() const { return values_.empty(); }
  const std::vector<float>& values() const { return values_; }

  Status quantize(std::vector<float>& out) const {
    if (!grid_) return quantizer_(values_, out);
    for_each_element(values_.size(), kWeightsPerPiece, [&](size_t i) {
      const numeric::QuantParams& own = grid_->of(i);
      out[i] = static_cast<float>(clipped(*grid_, position(*grid_, i, values_[i])) - own.zero_point) * own.scale;
    });
    return Status();
  }

  /// `decay` multiplies the rate.
  void step(std::vector<float>& gradient, double decay) {
    for_each_element(grid_ ? values_.size() : 0, kWeightsPerPiece, [&](size_t i) {
      const double at = position(*grid_, i, values_[i]);
      if (at != clipped(*grid_, at)) gradient[i] = 0;
    });
    adam_.step(values_, gradient, units_, decay);
  }

  void append_state(std::vector<std::span<float>>& state) {
    state.emplace_back(values_);
    adam_.append_state(state);
  }
  void set_count(int64_t steps) { adam_.set_count(steps); }

  std::vector<int32_t> codes() const {
    std::vector<int32_t> result;
    for (size_t i = 0; grid_ && i < values_.size(); ++i)
      result.push_back(static_cast<int32_t>(clipped(*grid_, position(*grid_, i, values_[i]))));
    return result;
  }

 private:
  std::vector<float> values_;
  std::optional<Grid> grid_;
  Quantizer quantizer_;
  std::vector<float> units_;  ///< Lengths that the rate is a share of; empty: 1.
  Adam adam_;
};

class AdaQuant : public Variables {
 public:
  AdaQuant(AdaQuantStart start, double rate)
      : weights_(std::move(start.weights), std::move(start.grid), std::move(start.quantizer), rate),
        bias_(std::move(start.bias), std::move(start.bias_grid), {}, rate),
        decay_steps_(start.decay_steps) {
    if (decay_steps_ == 0) return;
    weights_.count_in_steps(0);
    float greatest = 0;
    for (const float value : bias_.values()) greatest = std::max(greatest, std::abs(value));
    if (!bias_.empty()) bias_.count_in_steps(greatest / kFinestBias);
  }

  Status current(std::vector<float>& weights, std::vector<float>& bias) override {
    QQ_RETURN_IF_ERROR(weights_.quantize(weights));
    return bias_.empty() ? Status() : bias_.quantize(bias);
  }
  Status final(std::vector<float>& weights, std::vector<float>& bias) override { return current(weights, bias); }

  double step(int64_t iteration, std::vector<float>& weight_gradient, std::vector<float>& bias_gradient) override {
    const double share = decay_steps_ == 0 ? 0 : static_cast<double>(iteration) / static_cast<double>(decay_steps_);
    const double decay = 0.5 * (1 + std::cos(std::numbers::pi * share));
    weights_.step(weight_gradient, decay);
    if (!bias_.empty()) bias_.step(bias_gradient, decay);
    return 0;
  }

  std::vector<std::span<float>> state() override {
    std::vector<std::span<float>> all;
    weights_.append_state(all);
    if (!bias_.empty()) bias_.append_state(all);
    return all;
  }
  void resume_after(int64_t steps) override {
    weights_.set_count(steps);
    bias_.set_count(steps);
  }

  std::vector<int32_t> weight_codes() const override { return weights_.codes(); }
  std::vector<int32_t> bias_codes() const override { return bias_.codes(); }
  const std::vector<float>& weight_values() const override { return weights_.values(); }
  bool learns_bias() const override { return !bias_.empty(); }

 private:
  static constexpr float kFinestBias = 128;  ///< The unit of a bias is at least that of 8 bits.

  Learned weights_, bias_;
  int64_t decay_steps_;
};

}  // namespace

std::unique_ptr<Variables> make_adaquant(AdaQuantStart start, double learning_rate) {
  return std::make_unique<AdaQuant>(std::move(start), learning_rate);
}

}  // namespace quarkq::planning::finetune
