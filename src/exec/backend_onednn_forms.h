// SPDX-License-Identifier: MIT
// Descriptions of convolutions for oneDNN, forward and backward. Only for the backend's own files.
#pragma once

#include <omp.h>
#include <dnnl.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/convolution.h"

namespace quarkq::exec {

// Packed weights, shared by all live programs of the process: several samples run concurrently (calibration), and each
// program has its own primitives, but the weights in cache and memory are shared.

/// Returns the weights of layout `given` at `data`, reordered to `packed`. Weights are identified by content, not by
/// address. Thread-safe; the result is read-only.
std::shared_ptr<const dnnl::memory> shared_weights(const dnnl::memory::desc& given, const dnnl::memory::desc& packed,
                                                   const void* data);

/// The one engine of the process, and the calling thread's stream on it.
dnnl::engine& engine();
dnnl::stream& stream();

}  // namespace quarkq::exec

namespace quarkq::exec::onednn {

using Desc = dnnl::memory::desc;
constexpr auto kF32 = dnnl::memory::data_type::f32;

/// Returns a memory owned by others. Its pointer is set for each run.
inline dnnl::memory placeholder(const Desc& desc) { return {desc, engine(), DNNL_MEMORY_NONE}; }

/// dims [N, C, spatial...], channels innermost in memory.
inline Desc channels_last(const ir::Shape& dims, dnnl::memory::data_type type = kF32) {
  dnnl::memory::dims strides(dims.size());
  int64_t stride = dims[1];
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[1] = 1;
  strides[0] = stride;
  return {dims, type, strides};
}

inline Desc row_major(const ir::Shape& dims, dnnl::memory::data_type type = kF32) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return {dims, type, strides};
}

/// Weights of `groups` groups in oneDNN's dimensions, row-major.
inline ir::Shape weight_dims(const ir::Shape& weights, int64_t groups) {
  if (groups == 1) return weights;
  ir::Shape dims = weights;
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return dims;
}

inline dnnl::memory::dims dense_dilations(const ConvProblem& p) {
  dnnl::memory::dims dilations = p.dilations;
  for (auto& dilation : dilations) dilation -= 1;  // oneDNN counts the gaps
  return dilations;
}

inline bool is_reference(const std::string& implementation) { return implementation.starts_with("ref"); }

/// The blocked form of AVX-512 divides its sums by the number of threads for which it is created: measured in 1 of 8
/// shapes with 3x3 kernels, and in all shapes with wide pads. 1x1 kernels use another form without this behaviour (0 of
/// 400).
inline bool is_blocked(const std::string& implementation) { return implementation.starts_with("brgconv:"); }

/// Returns whether the form divides its sums by the number of threads at run time, like the gemm form.
inline bool follows_threads(const std::string& implementation) {
  return is_blocked(implementation) || implementation.find("gemm") != std::string::npos;
}

/// A follower that oneDNN computes element by element.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};

/// Returns nullopt for sums.
inline std::optional<Eltwise> eltwise_of(const PostOp& post) {
  if (post.kind == PostOp::Kind::kAdd) return std::nullopt;
  if (post.kind == PostOp::Kind::kLeakyRelu) return Eltwise{dnnl::algorithm::eltwise_relu, post.slope};
  if (post.low == 0.0f && post.high == std::numeric_limits<float>::infinity()) {
    return Eltwise{dnnl::algorithm::eltwise_relu};
  }
  return Eltwise{dnnl::algorithm::eltwise_clip, post.low, post.high};
}

/// Appends the followers to the operations after a primitive with this result.
inline void append_followers(const std::vector<PostOp>& followers, const Desc& result, dnnl::post_ops& ops) {
  for (const PostOp& post : followers) {
    const std::optional<Eltwise> own = eltwise_of(post);
#if DNNL_VERSION_MAJOR >= 3
    if (own) ops.append_eltwise(own->algorithm, own->alpha, own->beta);
#else
    if (own) ops.append_eltwise(1.0f, own->algorithm, own->alpha, own->beta);
#endif
    if (!own) ops.append_binary(dnnl::algorithm::binary_add, result);
  }
}

/// Returns whether two followers use one algorithm with different parameters: oneDNN 2.6 computes both with the
/// parameters of the first.
inline bool mixes_parameters(const std::vector<PostOp>& followers) {
  for (size_t i = 0; i < followers.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const std::optional<Eltwise> a = eltwise_of(followers[k]), b = eltwise_of(followers[i]);
      if (a && b && a->algorithm == b->algorithm && (a->alpha != b->alpha || a->beta != b->beta)) return true;
    }
  }
  return false;
}

/// Limits OpenMP to one thread during its lifetime.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace quarkq::exec::onednn
