// SPDX-License-Identifier: MIT
// Quantizers of activations on a tape: rounding, or clipping alone for the elements that are left float (QDrop).
#include <cmath>

#include "exec/quantize_pair.h"
#include "numeric/linear_quant.h"
#include "planning/tune/tape_loops.h"
#include "planning/tune/tape_ops.h"

namespace quarkq::planning::finetune {
namespace {

/// Another stream of draws for each place on the tape.
uint32_t seed_of(uint32_t seed, size_t place) { return seed ^ (static_cast<uint32_t>(place) * 0x85ebca6bu); }

class QuantizeOp : public TapeOp {
 public:
  QuantizeOp(const TapeNode& node, const exec::PairParams& params)
      : input_(*node.inputs[0]), output_(node.output), place_(node.place), only_clips_(node.only_clips) {
    const numeric::IntegerRange range = numeric::integer_range(params.type, numeric::RangeKind::kFull);
    params_ = {params.scale, params.zero_point, range, numeric::Overflow::kSaturate};
    span_ = {static_cast<float>(range.min - params.zero_point) * params.scale,
             static_cast<float>(range.max - params.zero_point) * params.scale};
  }

  void forward(const TapePass& pass) override {
    const float* const x = input_.data;
    float* const y = output_.storage.data();
    const double share = only_clips_ ? 0 : pass.mixing.rounded;
    const Draw draw{seed_of(pass.mixing.seed, place_), draw_limit(share)};
    in_chunks(output_.size, [&](int64_t begin, int64_t end) {
      if (share > 0) QQ_DISPATCH(numeric, fake_quantize)(x + begin, y + begin, end - begin, params_);
      if (share < 1) QQ_DISPATCH(planning, clip_the_rest)(x, y, span_, draw, {begin, end});
    });
  }

  void backward(const TapePass& /*pass*/) override {
    if (!input_.needs_gradient) return;
    const float half = params_.scale / 2;
    float* const dy = output_.gradient.data();
    in_chunks(output_.size, [&](int64_t begin, int64_t end) {
      QQ_DISPATCH(planning, pass_inside)(input_.data, dy, {span_.low - half, span_.high + half}, {begin, end});
    });
    hand_over(output_, input_);
  }

 private:
  TapeValue &input_, &output_;
  size_t place_;
  bool only_clips_;
  numeric::LinearParams params_;
  Span span_;
};

}  // namespace

Result<std::unique_ptr<TapeOp>> make_quantize_op(const TapeNode& node) {
  if (node.inputs.size() != 3 || node.inputs[0] == nullptr || !node.constants[1] || !node.constants[2])
    return node.cannot("has computed parameters");
  const auto params = exec::read_pair_params(&*node.constants[1], &*node.constants[2]);
  if (!params) return node.cannot("has another format than integers of 8 or 16 bits with one scale");
  shape_output(node, node.inputs[0]->dims);
  return std::unique_ptr<TapeOp>(std::make_unique<QuantizeOp>(node, *params));
}

}  // namespace quarkq::planning::finetune
