// SPDX-License-Identifier: MIT
// Convolutions of bytes with integer sums (VNNI). Scale and bias are operations after the sum instead of attributes of
// the primitive: oneDNN 2.6 would add the bias before it multiplies.
#include <algorithm>
#include <dnnl.hpp>
#include <new>
#include <optional>
#include <string>

#include "exec/backend_onednn_forms.h"
#include "exec/integer_operands.h"

namespace quarkq::exec {
namespace {

using namespace onednn;
using Forward = dnnl::convolution_forward;
using DataType = dnnl::memory::data_type;

/// One number per channel of the result.
Desc per_channel(const ConvProblem& p) {
  ir::Shape dims(p.result.size(), 1);
  dims[1] = p.result[1];
  return channels_last(dims);
}

dnnl::primitive_attr integer_attributes(const ConvProblem& p, const PairParams& source) {
  dnnl::post_ops ops;
  ops.append_binary(dnnl::algorithm::binary_mul, per_channel(p));
  if (p.has_bias) ops.append_binary(dnnl::algorithm::binary_add, per_channel(p));
  append_followers(p.post_ops, channels_last(p.result), ops);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  if (source.zero_point != 0) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
#else
  if (source.zero_point != 0) attr.set_zero_points(DNNL_ARG_SRC, 0, {source.zero_point});
#endif
  return attr;
}

Forward::primitive_desc describe_integers(const ConvProblem& p, const PairParams& params) {
  const DataType type = params.type == ElementType::kInt8 ? DataType::s8 : DataType::u8;
  const Desc source = channels_last(p.source, type), result = channels_last(p.result);
  const Desc weights(weight_dims(p.weights, p.groups), DataType::s8, dnnl::memory::format_tag::any);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::memory::dims strides = p.strides, begin = p.pads_begin, end = p.pads_end, dilations = dense_dilations(p);
#if DNNL_VERSION_MAJOR >= 3
  return {engine(),
          kind,
          algorithm,
          source,
          weights,
          result,
          strides,
          dilations,
          begin,
          end,
          integer_attributes(p, params)};
#else
  const Forward::desc asked(kind, algorithm, source, weights, result, strides, dilations, begin, end);
  return {asked, integer_attributes(p, params), engine()};
#endif
}

class IntegerConvolution : public Convolution {
 public:
  IntegerConvolution(const ConvProblem& p, const IntegerOperands& operands, const Forward::primitive_desc& described)
      : one_thread_(prefers_one_thread(p)),
        primitive_(described),
        weights_(shared_weights(row_major(weight_dims(p.weights, p.groups), DataType::s8), described.weights_desc(),
                                operands.weights.data())),
        scales_(operands.scales),
        zero_point_(operands.source.zero_point),
        source_(placeholder(described.src_desc())),
        result_(placeholder(described.dst_desc())),
        scratchpad_(placeholder(described.scratchpad_desc())),
        scratch_bytes_(described.scratchpad_desc().get_size()) {
    arguments_ = {{DNNL_ARG_SRC, source_.get()},
                  {DNNL_ARG_WEIGHTS, weights_->get()},
                  {DNNL_ARG_DST, result_.get()},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    add_post_op(per_channel(p)).set_data_handle(scales_.data());
    if (p.has_bias) bias_ = add_post_op(per_channel(p));
    for (const PostOp& post : p.post_ops) {
      if (post.kind == PostOp::Kind::kAdd)
        sums_.push_back(add_post_op(channels_last(p.result)));
      else
        ++post_ops_;
    }
#if DNNL_VERSION_MAJOR >= 3
    if (zero_point_ == 0) return;
    zero_points_ = dnnl::memory({{1}, DataType::s32, { 1 }}, engine(), &zero_point_);
    arguments_.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, zero_points_.get()});
#endif
  }

  size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const ConvBuffers& b) override {
    source_.set_data_handle(const_cast<std::byte*>(b.codes));
    result_.set_data_handle(b.result);
    scratchpad_.set_data_handle(b.scratch);
    if (bias_) bias_.set_data_handle(const_cast<float*>(b.bias));
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i].set_data_handle(const_cast<float*>(b.added[i]));
    std::optional<OneThread> alone;
    if (one_thread_) alone.emplace();
    const auto count = static_cast<int>(arguments_.size());
    QQ_CHECK(dnnl_primitive_execute(primitive_.get(), stream().get(), count, arguments_.data()) == dnnl_success);
  }

 private:
  /// Adds the operand of the next binary operation after the sum.
  dnnl::memory& add_post_op(const Desc& desc) {
    added_.push_back(placeholder(desc));
    arguments_.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops_++) | DNNL_ARG_SRC_1, added_.back().get()});
    return added_.back();
  }

  bool one_thread_ = false;
  Forward primitive_;
  std::shared_ptr<const dnnl::memory> weights_;
  std::vector<float> scales_;
  int32_t zero_point_ = 0;
  dnnl::memory source_, result_, scratchpad_, bias_, zero_points_;
  std::vector<dnnl::memory> added_, sums_;  ///< Memory objects are handles.
  std::vector<dnnl_exec_arg_t> arguments_;
  int post_ops_ = 0;
  size_t scratch_bytes_ = 0;
};

/// Forms whose products of bytes are summed in 32 bits at once, two or four at a time.
bool is_fast(const std::string& implementation) {
  return !is_reference(implementation) && implementation.find("gemm") == std::string::npos;
}

}  // namespace

Result<std::shared_ptr<Convolution>> integer_convolution(const ConvProblem& problem, const IntegerOperands& operands) {
  constexpr const char* kNone = "oneDNN has no fast form of this convolution of integers";
  if (problem.transposed || mixes_parameters(problem.post_ops)) return unsupported(kNone);
  try {
    std::optional<OneThread> alone;  // a primitive keeps the number of threads that there were when it was described
    if (prefers_one_thread(problem)) alone.emplace();
    const Forward::primitive_desc described = describe_integers(problem, operands.source);
    if (!is_fast(described.impl_info_str())) return unsupported(kNone);
    return std::shared_ptr<Convolution>(std::make_shared<IntegerConvolution>(problem, operands, described));
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_out_of_memory) throw std::bad_alloc();
    return unsupported(kNone, ": ", failure.what());
  }
}

}  // namespace quarkq::exec
