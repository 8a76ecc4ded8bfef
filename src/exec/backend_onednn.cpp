// SPDX-License-Identifier: MIT
#include "exec/backend_onednn.h"

#include <dnnl.hpp>
#include <limits>
#include <string>

namespace quarkq::exec {
namespace {

using Desc = dnnl::memory::desc;
constexpr auto kF32 = dnnl::memory::data_type::f32;

dnnl::engine& engine() {
  static dnnl::engine value(dnnl::engine::kind::cpu, 0);
  return value;
}

dnnl::stream& stream() {
  static dnnl::stream value(engine());
  return value;
}

/// Memory that somebody else owns and that run() points at.
dnnl::memory placeholder(const Desc& desc) { return {desc, engine(), DNNL_MEMORY_NONE}; }

Desc channels_last(const ir::Shape& dims) {
  dnnl::memory::dims strides(dims.size());
  int64_t stride = dims[1];
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[1] = 1;
  strides[0] = stride;
  return {dims, kF32, strides};
}

/// Weights as the caller has them, in oneDNN's dimensions: [G, O/G, I/G, kernel...] or without G for one group.
Desc given_weights(const ConvProblem& p) {
  ir::Shape strides = p.weight_strides;
  if (strides.empty()) {
    strides.assign(p.weights.size(), 1);
    for (size_t i = p.weights.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * p.weights[i + 1];
  }
  ir::Shape dims = p.weights;
  if (p.transposed) {  // ONNX: [I, O/G, k...]; oneDNN wants [G, O/G, I/G, k...]
    dims[0] = p.weights[1];
    dims[1] = p.weights[0] / p.groups;
    const int64_t per_group = strides[0] * dims[1];
    std::swap(strides[0], strides[1]);
    if (p.groups == 1) return {dims, kF32, strides};
    dims.insert(dims.begin(), p.groups);
    strides.insert(strides.begin(), per_group);
    return {dims, kF32, strides};
  }
  if (p.groups == 1) return {dims, kF32, strides};
  dims[0] = p.weights[0] / p.groups;
  dims.insert(dims.begin(), p.groups);
  strides.insert(strides.begin(), strides[0] * dims[1]);
  return {dims, kF32, strides};
}

Desc any_layout(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return {desc.get_dims(), kF32, dnnl::memory::format_tag::any};
#else
  return {desc.dims(), kF32, dnnl::memory::format_tag::any};
#endif
}

void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm, alpha, beta);
#else
  ops.append_eltwise(1.0f, algorithm, alpha, beta);
#endif
}

dnnl::primitive_attr attributes(const ConvProblem& p, const Desc& result) {
  dnnl::post_ops ops;
  for (const PostOp& post : p.post_ops) {
    switch (post.kind) {
      case PostOp::Kind::kClip:
        if (post.low == 0.0f && post.high == std::numeric_limits<float>::infinity()) {
          append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
        } else {
          append_eltwise(ops, dnnl::algorithm::eltwise_clip, post.low, post.high);
        }
        break;
      case PostOp::Kind::kLeakyRelu: append_eltwise(ops, dnnl::algorithm::eltwise_relu, post.slope, 0.0f); break;
      case PostOp::Kind::kAdd: ops.append_binary(dnnl::algorithm::binary_add, result); break;
    }
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::memory::dims dense_dilations(const ConvProblem& p) {
  dnnl::memory::dims dilations = p.dilations;
  for (auto& dilation : dilations) dilation -= 1;  // oneDNN counts the gaps
  return dilations;
}

template <typename Forward>
typename Forward::primitive_desc describe(const ConvProblem& p, dnnl::algorithm algorithm, const Desc& weights) {
  const Desc source = channels_last(p.source), result = channels_last(p.result);
  const Desc bias({p.result[1]}, kF32, dnnl::memory::format_tag::x);
  const dnnl::primitive_attr attr = attributes(p, result);
  const auto kind = dnnl::prop_kind::forward_inference;
  const dnnl::memory::dims strides = p.strides, begin = p.pads_begin, end = p.pads_end, dilations = dense_dilations(p);
#if DNNL_VERSION_MAJOR >= 3
  if (p.has_bias) {
    return {engine(), kind, algorithm, source, weights, bias, result, strides, dilations, begin, end, attr};
  }
  return {engine(), kind, algorithm, source, weights, result, strides, dilations, begin, end, attr};
#else
  if (p.has_bias) {
    return {{kind, algorithm, source, weights, bias, result, strides, dilations, begin, end}, attr, engine()};
  }
  return {{kind, algorithm, source, weights, result, strides, dilations, begin, end}, attr, engine()};
#endif
}

class OneDnnConvolution : public Convolution {
 public:
  template <typename Forward>
  static std::shared_ptr<Convolution> build(const ConvProblem& p, dnnl::algorithm algorithm, const float* weights) {
    const Desc given = given_weights(p);
    const auto described = describe<Forward>(p, algorithm, any_layout(given));
    const std::string implementation = described.impl_info_str();
    // The reference form is correct and slow; with post-ops the executor does better by itself.
    if (!p.post_ops.empty() && implementation.starts_with("ref")) return nullptr;
    auto made = std::shared_ptr<OneDnnConvolution>(new OneDnnConvolution);
    made->primitive_ = Forward(described);
    made->source_ = placeholder(described.src_desc());
    made->given_ = placeholder(given);
    made->result_ = placeholder(described.dst_desc());
    made->scratchpad_ = placeholder(described.scratchpad_desc());
    made->packs_each_call_ = weights == nullptr;
    made->pad_ = (described.scratchpad_desc().get_size() + 63) / 64 * 64;
    made->packed_bytes_ = described.weights_desc().get_size();
    made->packed_ =
        weights == nullptr ? placeholder(described.weights_desc()) : dnnl::memory(described.weights_desc(), engine());
    made->pack_ = dnnl::reorder(made->given_, made->packed_);
    if (weights != nullptr) made->pack(weights);
    made->bind(p);
    return made;
  }

  size_t scratch_bytes() const override { return pad_ + (packs_each_call_ ? packed_bytes_ : 0); }

  void run(const float* source, const float* weights, const float* bias, const std::vector<const float*>& added,
           float* result, std::byte* scratch) override {
    if (packs_each_call_) {
      packed_.set_data_handle(scratch + pad_);
      pack(weights);
    }
    source_.set_data_handle(const_cast<float*>(source));
    result_.set_data_handle(result);
    scratchpad_.set_data_handle(scratch);
    if (bias_) bias_.set_data_handle(const_cast<float*>(bias));
    for (size_t i = 0; i < added_.size(); ++i) added_[i].set_data_handle(const_cast<float*>(added[i]));
    primitive_.execute(stream(), arguments_);
  }

 private:
  void pack(const float* weights) {
    given_.set_data_handle(const_cast<float*>(weights));
    pack_.execute(stream(), given_, packed_);
    stream().wait();
  }

  /// Memory objects are handles: the table below is filled once, run() only moves their pointers.
  void bind(const ConvProblem& p) {
    arguments_ = {{DNNL_ARG_SRC, source_},
                  {DNNL_ARG_WEIGHTS, packed_},
                  {DNNL_ARG_DST, result_},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_}};
    if (p.has_bias) {
      bias_ = placeholder(Desc({p.result[1]}, kF32, dnnl::memory::format_tag::x));
      arguments_[DNNL_ARG_BIAS] = bias_;
    }
    for (size_t i = 0; i < p.post_ops.size(); ++i) {
      if (p.post_ops[i].kind != PostOp::Kind::kAdd) continue;
      added_.push_back(placeholder(channels_last(p.result)));
      arguments_[DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1] = added_.back();
    }
  }

  dnnl::primitive primitive_;
  dnnl::reorder pack_;
  dnnl::memory source_, given_, packed_, bias_, result_, scratchpad_;
  std::vector<dnnl::memory> added_;
  std::unordered_map<int, dnnl::memory> arguments_;
  bool packs_each_call_ = false;
  size_t pad_ = 0, packed_bytes_ = 0;
};

}  // namespace

Result<std::shared_ptr<Convolution>> Convolution::make(const ConvProblem& problem, const float* weights) {
  try {
    std::shared_ptr<Convolution> made = problem.transposed
                                            ? OneDnnConvolution::build<dnnl::deconvolution_forward>(
                                                  problem, dnnl::algorithm::deconvolution_direct, weights)
                                            : OneDnnConvolution::build<dnnl::convolution_forward>(
                                                  problem, dnnl::algorithm::convolution_direct, weights);
    if (made == nullptr)
      return unsupported("oneDNN has no fast form for this convolution with what is fused behind it");
    return made;
  } catch (const dnnl::error& failure) {
    return unsupported("oneDNN cannot make this convolution: ", failure.what());
  }
}

}  // namespace quarkq::exec
