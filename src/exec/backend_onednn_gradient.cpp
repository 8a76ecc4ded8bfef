// SPDX-License-Identifier: MIT
// One oneDNN primitive per size of slice, made for one thread and run by as many threads as there are slices. Slices of
// channels are copied to dense memory, which is what the fast forms want.
#include "exec/backend_onednn_gradient.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <dnnl.hpp>
#include <memory>
#include <new>
#include <string>

#include "base/error.h"
#include "base/parallel.h"
#include "exec/backend_onednn_forms.h"

namespace quarkq::exec {
namespace {

using namespace onednn;
constexpr int64_t kSliceChannels = 16;

Desc any_gradient_layout(const ir::Shape& dims) { return {dims, kF32, dnnl::memory::format_tag::any}; }

int64_t positions_of(const ir::Shape& dims) {
  int64_t count = 1;
  for (size_t i = 0; i < dims.size(); ++i) count *= i == 1 ? 1 : dims[i];
  return count;
}

using Backward = dnnl::convolution_backward_weights;
using Forward = dnnl::convolution_forward;

/// Where the gradient of some groups' weights is computed.
Backward::primitive_desc describe_gradient(const ConvProblem& p, bool is_free) {
  const ir::Shape weights = weight_dims(p.weights, p.groups);
  const Desc source = is_free ? any_gradient_layout(p.source) : channels_last(p.source);
  const Desc result = is_free ? any_gradient_layout(p.result) : channels_last(p.result);
  const Desc w = any_gradient_layout(weights);
  const dnnl::memory::dims strides = p.strides, begin = p.pads_begin, end = p.pads_end, dilations = dense_dilations(p);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto kind = dnnl::prop_kind::forward_training;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  const Forward::primitive_desc hint(engine(), kind, algorithm, source, w, result, strides, dilations, begin, end);
  return {engine(), algorithm, source, w, result, strides, dilations, begin, end, hint, attr};
#else
  const Forward::primitive_desc hint({kind, algorithm, source, w, result, strides, dilations, begin, end}, engine());
  return {{algorithm, source, w, result, strides, dilations, begin, end}, attr, engine(), hint};
#endif
}

/// The primitive for slices of one size.
struct Form {
  ConvProblem problem;
  Desc source, result, weights, scratchpad;  ///< as the primitive wants them
  dnnl::primitive primitive;
  dnnl::reorder source_in, result_in, weights_out;  ///< empty: not needed

  explicit Form(ConvProblem p) : problem(std::move(p)) {
    const OneThread guard;
    Backward::primitive_desc chosen = describe_gradient(problem, false);
    if (is_reference(chosen.impl_info_str())) {
      const Backward::primitive_desc free = describe_gradient(problem, true);
      if (!is_reference(free.impl_info_str())) chosen = free;
    }
    source = chosen.src_desc();
    result = chosen.diff_dst_desc();
    weights = chosen.diff_weights_desc();
    scratchpad = chosen.scratchpad_desc();
    primitive = Backward(chosen);
    source_in = reorder_between(channels_last(problem.source), source);
    result_in = reorder_between(channels_last(problem.result), result);
    weights_out = reorder_between(weights, given_weights());
  }

  Desc given_weights() const { return row_major(weight_dims(problem.weights, problem.groups)); }

 private:
  static dnnl::reorder reorder_between(const Desc& from, const Desc& to) {
    if (from == to) return {};
    return {dnnl::memory(from, engine(), DNNL_MEMORY_NONE), dnnl::memory(to, engine(), DNNL_MEMORY_NONE)};
  }
};

/// Memory of one thread.
struct Workspace {
  std::vector<float> source, result;  ///< dense slices
  std::vector<float> inner_source, inner_result, inner_weights;
  std::vector<std::byte> scratchpad;
};

void grow(std::vector<float>& buffer, size_t bytes) {
  if (buffer.size() * sizeof(float) < bytes) buffer.resize((bytes + sizeof(float) - 1) / sizeof(float));
}

/// Channels [first, first + count) of channels-last data.
struct ChannelSlice {
  int64_t positions = 0, channels = 0, first = 0, count = 0;
};

/// The slice alone; in `buffer` unless it is all there is.
const float* dense_slice(const float* from, const ChannelSlice& s, std::vector<float>& buffer) {
  if (s.count == s.channels) return from;
  grow(buffer, static_cast<size_t>(s.positions * s.count) * sizeof(float));
  for (int64_t i = 0; i < s.positions; ++i)
    std::memcpy(buffer.data() + i * s.count, from + i * s.channels + s.first,
                static_cast<size_t>(s.count) * sizeof(float));
  return buffer.data();
}

dnnl::memory at(const Desc& desc, const void* data) { return {desc, engine(), const_cast<void*>(data)}; }

dnnl::memory brought_in(const dnnl::reorder& reorder, const Desc& given, const Desc& wanted, const float* data,
                        std::vector<float>& buffer) {
  dnnl::memory from = at(given, data);
  if (!reorder) return from;
  grow(buffer, wanted.get_size());
  dnnl::memory to = at(wanted, buffer.data());
  reorder.execute(stream(), from, to);
  return to;
}

class SlicedGradient : public ConvolutionGradient {
 public:
  explicit SlicedGradient(const ConvProblem& problem) : p_(problem) {
    const int64_t outputs = p_.weights[0] / p_.groups;  // of one group
    is_grouped_ = p_.groups > 1;
    step_ = is_grouped_ ? std::max<int64_t>(1, kSliceChannels / outputs) : kSliceChannels;
    const int64_t whole = is_grouped_ ? p_.groups : outputs;
    count_ = (whole + step_ - 1) / step_;
    last_ = whole - (count_ - 1) * step_;
    forms_.emplace_back(slice_problem(count_ == 1 ? last_ : step_));
    if (last_ != step_ && count_ > 1) forms_.emplace_back(slice_problem(last_));
    workspaces_.resize(static_cast<size_t>(std::max<int64_t>(1, std::min<int64_t>(omp_get_max_threads(), count_))));
  }

  void run(const float* source, const float* result_gradient, float* weight_gradient) override {
    const int threads = std::min(static_cast<int>(workspaces_.size()), omp_get_max_threads());
    parallel_for(count_, {threads, Share::kAsFree}, [&](int64_t i, int thread) {
      run_slice(i, source, result_gradient, weight_gradient, workspaces_[static_cast<size_t>(thread)]);
    });
  }

 private:
  /// `count` groups, or output channels of the only group.
  ConvProblem slice_problem(int64_t count) const {
    ConvProblem slice = p_;
    slice.weights[0] = is_grouped_ ? p_.weights[0] / p_.groups * count : count;
    slice.result[1] = slice.weights[0];
    if (is_grouped_) {
      slice.groups = count;
      slice.source[1] = p_.source[1] / p_.groups * count;
    }
    return slice;
  }

  void run_slice(int64_t index, const float* source, const float* result_gradient, float* weight_gradient,
                 Workspace& room) const {
    const OneThread guard;  // also where a single slice is computed outside of any parallel region
    const Form& form = forms_[index + 1 == count_ ? forms_.size() - 1 : 0];
    const ConvProblem& slice = form.problem;
    const int64_t first_output = index * step_ * (is_grouped_ ? p_.weights[0] / p_.groups : 1);
    const int64_t first_input = is_grouped_ ? index * step_ * (p_.source[1] / p_.groups) : 0;
    const float* x =
        dense_slice(source, {positions_of(p_.source), p_.source[1], first_input, slice.source[1]}, room.source);
    const float* dy = dense_slice(result_gradient,
                                  {positions_of(p_.result), p_.result[1], first_output, slice.result[1]}, room.result);
    int64_t row = 1;
    for (size_t i = 1; i < p_.weights.size(); ++i) row *= p_.weights[i];
    float* dw = weight_gradient + first_output * row;
    const dnnl::memory src = brought_in(form.source_in, channels_last(slice.source), form.source, x, room.inner_source);
    const dnnl::memory dst =
        brought_in(form.result_in, channels_last(slice.result), form.result, dy, room.inner_result);
    if (form.weights_out) grow(room.inner_weights, form.weights.get_size());
    dnnl::memory weights = at(form.weights, form.weights_out ? room.inner_weights.data() : dw);
    if (room.scratchpad.size() < form.scratchpad.get_size() + 64)
      room.scratchpad.resize(form.scratchpad.get_size() + 64);
    void* aligned = room.scratchpad.data();
    size_t space = room.scratchpad.size();
    aligned = std::align(64, form.scratchpad.get_size(), aligned, space);
    form.primitive.execute(stream(), {{DNNL_ARG_SRC, src},
                                      {DNNL_ARG_DIFF_DST, dst},
                                      {DNNL_ARG_DIFF_WEIGHTS, weights},
                                      {DNNL_ARG_SCRATCHPAD, at(form.scratchpad, aligned)}});
    if (!form.weights_out) return;
    dnnl::memory out = at(form.given_weights(), dw);
    form.weights_out.execute(stream(), weights, out);
  }

  ConvProblem p_;
  bool is_grouped_ = false;
  int64_t step_ = 1, count_ = 1, last_ = 1;
  std::vector<Form> forms_;
  std::vector<Workspace> workspaces_;
};

/// A transposed convolution is the gradient of a plain one, whose source and result are swapped.
ConvProblem as_plain(ConvProblem problem) {
  if (!problem.transposed) return problem;
  std::swap(problem.source, problem.result);
  problem.transposed = false;
  return problem;
}

class SwappedGradient : public ConvolutionGradient {
 public:
  explicit SwappedGradient(const ConvProblem& problem) : plain_(as_plain(problem)) {}
  void run(const float* source, const float* result_gradient, float* weight_gradient) override {
    plain_.run(result_gradient, source, weight_gradient);
  }

 private:
  SlicedGradient plain_;
};

}  // namespace

Result<std::shared_ptr<ConvolutionGradient>> ConvolutionGradient::make(const ConvProblem& problem) {
  try {
    if (problem.transposed) return std::shared_ptr<ConvolutionGradient>(std::make_shared<SwappedGradient>(problem));
    return std::shared_ptr<ConvolutionGradient>(std::make_shared<SlicedGradient>(problem));
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_out_of_memory) throw std::bad_alloc();
    return unsupported("oneDNN cannot make the gradient of this convolution: ", failure.what());
  }
}

}  // namespace quarkq::exec
