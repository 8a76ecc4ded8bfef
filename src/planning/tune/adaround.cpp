// SPDX-License-Identifier: MIT
// AdaRound (ref:tuning#adaround): weights stay, what is learned is which way each is rounded.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "planning/tune/optimizer.h"
#include "planning/tune/train_loops.h"
#include "planning/tune/train_unit.h"

namespace quarkq::planning::finetune {
namespace {

constexpr int64_t kChunk = 4096;  // sums are made chunk by chunk, so that threads do not show

class AdaRound : public Variables {
 public:
  AdaRound(std::vector<float> weights, Grid grid, const config::FinetuneSettings& options, double rate)
      : grid_(std::move(grid)),
        reg_param_(options.reg_param),
        rate_(rate),
        schedule_{options.iterations, options.warm_start, options.beta_start, options.beta_end},
        floors_(weights.size()),
        zeros_(weights.size()),
        scales_(weights.size()),
        alpha_(weights.size()),
        raw_(weights.size()),
        first_(weights.size()),
        second_(weights.size()) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const numeric::QuantParams& own = grid_.of(i);
      const float scaled = weights[i] / own.scale;
      const float floor = std::floor(scaled);
      scales_[i] = own.scale;
      zeros_[i] = static_cast<float>(own.zero_point);
      floors_[i] = floor + zeros_[i];
      alpha_[i] = alpha_of_fraction(scaled - floor);
    }
  }

  Status current(std::vector<float>& weights, std::vector<float>& /*bias*/) override {
    const AdaRoundArrays all = arrays();
    for_each_chunk([&](size_t, int64_t begin, int64_t end) {
      QQ_DISPATCH(planning, adaround_weights)(all, weights.data(), begin, end);
    });
    return Status();
  }

  Status final(std::vector<float>& weights, std::vector<float>& /*bias*/) override {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = (code(i) - zeros_[i]) * scales_[i];
    return Status();
  }

  double step(int64_t iteration, std::vector<float>& gradient, std::vector<float>& /*bias*/) override {
    const AdamFactors adam(iteration + 1, rate_);
    AdaRoundStep step{schedule_.is_warm_up(iteration), 0, static_cast<float>(reg_param_), adam.rate, adam.root};
    if (!step.is_warm_up) step.beta = static_cast<float>(schedule_.beta(iteration));
    const AdaRoundArrays all = arrays();
    std::vector<double> costs(chunk_count());
    for_each_chunk([&](size_t chunk, int64_t begin, int64_t end) {
      costs[chunk] = QQ_DISPATCH(planning, adaround_step)(all, gradient.data(), step, begin, end);
    });
    double cost = 0;
    for (const double part : costs) cost += part;
    return reg_param_ * cost;
  }

  std::vector<int32_t> weight_codes() const override {
    std::vector<int32_t> codes(alpha_.size());
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int32_t>(code(i));
    return codes;
  }
  const std::vector<float>& weight_values() const override { return alpha_; }

 private:
  size_t chunk_count() const { return (alpha_.size() + kChunk - 1) / kChunk; }
  template <typename F>
  void for_each_chunk(const F& f) const {
    parallel_pieces(static_cast<int64_t>(alpha_.size()), kChunk, {},
                    [&](int64_t begin, int64_t end) { f(static_cast<size_t>(begin / kChunk), begin, end); });
  }
  AdaRoundArrays arrays() {
    return {scales_.data(),
            floors_.data(),
            zeros_.data(),
            alpha_.data(),
            raw_.data(),
            first_.data(),
            second_.data(),
            static_cast<float>(grid_.limits.min),
            static_cast<float>(grid_.limits.max)};
  }
  float code(size_t i) const {
    return std::clamp(floors_[i] + hard_share(alpha_[i]), static_cast<float>(grid_.limits.min),
                      static_cast<float>(grid_.limits.max));
  }

  Grid grid_;
  double reg_param_, rate_;
  BetaSchedule schedule_;
  std::vector<float> floors_, zeros_, scales_, alpha_, raw_, first_, second_;
};

}  // namespace

std::unique_ptr<Variables> make_adaround(std::vector<float> weights, Grid grid, const config::FinetuneSettings& options,
                                         double learning_rate) {
  return std::make_unique<AdaRound>(std::move(weights), std::move(grid), options, learning_rate);
}

}  // namespace quarkq::planning::finetune
