// SPDX-License-Identifier: MIT
#include "exec/convolution.h"

#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <string>

#include "base/error.h"
#include "exec/backend_onednn_forms.h"

namespace quarkq::exec {
namespace {

using namespace onednn;

/// Weights as the caller has them, in oneDNN's dimensions: [G, O/G, I/G, kernel...] or without G for one group.
Desc given_weights(const ConvProblem& p) {
  ir::Shape strides = strides_of_weights(p), dims = p.weights;
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

dnnl::primitive_attr attributes(const ConvProblem& p, const Desc& result) {
  dnnl::post_ops ops;
  append_followers(p.post_ops, result, ops);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// Layouts that a primitive computes in: ours, 16 channels of a pixel at a time, or those it prefers.
enum class Layouts { kChannelsLast, kBlocked, kFree };

/// Of a source or a result.
Desc in_layout(Layouts layouts, const ir::Shape& dims) {
  using Tag = dnnl::memory::format_tag;
  constexpr Tag kBlocks[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};  // of one, two and three spatial axes
  switch (layouts) {
    case Layouts::kChannelsLast: return channels_last(dims);
    case Layouts::kBlocked: return {dims, kF32, kBlocks[dims.size() - 3]};
    case Layouts::kFree: return any_layout(channels_last(dims));
  }
  QQ_CHECK(false);
}

/// The first form from this one on that is not blocked, if there is one.
template <typename Description>
Description stable_form(Description description) {
  while (is_blocked(description.impl_info_str()) && description.next_impl()) {
  }
  return description;
}

template <typename Forward>
typename Forward::primitive_desc describe(const ConvProblem& p, dnnl::algorithm algorithm, Layouts layouts) {
  using Description = typename Forward::primitive_desc;
  const Desc weights = any_layout(given_weights(p));
  const Desc source = in_layout(layouts, p.source), result = in_layout(layouts, p.result);
  const Desc bias({p.result[1]}, kF32, dnnl::memory::format_tag::x);
  const dnnl::primitive_attr attr = attributes(p, result);
  const auto kind = dnnl::prop_kind::forward_inference;
  const dnnl::memory::dims strides = p.strides, begin = p.pads_begin, end = p.pads_end, dilations = dense_dilations(p);
#if DNNL_VERSION_MAJOR >= 3
  if (p.has_bias) {
    return stable_form<Description>(
        {engine(), kind, algorithm, source, weights, bias, result, strides, dilations, begin, end, attr});
  }
  return stable_form<Description>(
      {engine(), kind, algorithm, source, weights, result, strides, dilations, begin, end, attr});
#else
  std::optional<typename Forward::desc> asked;  // lives as long as forms are looked through
  if (p.has_bias) {
    asked.emplace(kind, algorithm, source, weights, bias, result, strides, dilations, begin, end);
  } else {
    asked.emplace(kind, algorithm, source, weights, result, strides, dilations, begin, end);
  }
  return stable_form<Description>({*asked, attr, engine()});
#endif
}

/// A choice among oneDNN's forms of one convolution.
template <typename Forward>
struct Choice {
  std::optional<typename Forward::primitive_desc> description;  ///< nothing: not with these post-ops
  bool one_thread = false;                                      ///< while it is made and while it runs
};

/// The direct form of AVX-512 reads one channel of up to 28 pixels in turn, which channels-last are 4 C stride bytes
/// apart. Where that is a multiple of 2048 they share one or two sets of the first-level cache, and drive each other
/// out of it (docs/adr/0001-channels-last.md has the speeds).
bool shares_cache_sets(const ConvProblem& p, const std::string& implementation) {
  constexpr int64_t kPixels = 28, kWays = 8, kWayBytes = 4096;  // a line of 64 bytes in each of 64 sets
  if (implementation != "jit:avx512_core" || p.transposed || p.source.size() > 5) return false;
  const int64_t gap = p.source[1] * p.strides.back() * static_cast<int64_t>(sizeof(float));
  const int64_t sets = kWayBytes / std::gcd(gap, kWayBytes);
  return std::min(p.result.back(), kPixels) > sets * kWays;
}

bool adds(const PostOp& post) { return post.kind == PostOp::Kind::kAdd; }

/// The jit forms are fast and give the same bits for any number of threads. Where there is none for channels-last
/// (AVX2: few channels, wide padding; SSE4.1: most), there often is one for its own layouts; the last resort is gemm on
/// one thread. With post-ops only the first will do: the executor runs followers as well.
template <typename Forward>
Choice<Forward> choose(const ConvProblem& p, dnnl::algorithm algorithm) {
  if (mixes_parameters(p.post_ops)) return {};
  const bool one_thread = prefers_one_thread(p);
  std::optional<OneThread> alone;  // a primitive keeps the number of threads that there were when it was described
  if (one_thread) alone.emplace();
  const auto first = describe<Forward>(p, algorithm, Layouts::kChannelsLast);
  const std::string implementation = first.impl_info_str();
  if (shares_cache_sets(p, implementation)) {
    if (std::ranges::any_of(p.post_ops, adds)) return {};  // what is added would be converted, too
    const auto blocked = describe<Forward>(p, algorithm, Layouts::kBlocked);
    if (blocked.impl_info_str() == implementation) return {blocked, one_thread};
  }
  if (!follows_threads(implementation) && !is_reference(implementation)) return {first, one_thread};
  if (!p.post_ops.empty()) return {};
  const auto free = describe<Forward>(p, algorithm, Layouts::kFree);
  const std::string own = free.impl_info_str();
  if (!follows_threads(own) && !is_reference(own)) return {free, one_thread};
  const OneThread guard;
  return {describe<Forward>(p, algorithm, Layouts::kChannelsLast), follows_threads(implementation)};
}

/// Source or result: where the caller has it, and where the primitive wants it when that is another layout.
struct Side {
  dnnl::memory ours, inner;
  dnnl::reorder reorder;
  size_t offset = 0;  ///< of `inner` in scratch
  bool converts() const { return static_cast<bool>(inner); }
  dnnl_memory_t argument() const { return converts() ? inner.get() : ours.get(); }
};

class OneDnnConvolution : public Convolution {
 public:
  template <typename Forward>
  static std::shared_ptr<Convolution> build(const ConvProblem& p, dnnl::algorithm algorithm, const float* weights) {
    const Choice<Forward> choice = choose<Forward>(p, algorithm);
    if (!choice.description) return nullptr;
    const auto& described = *choice.description;
    auto made = std::shared_ptr<OneDnnConvolution>(new OneDnnConvolution);
    made->one_thread_ = choice.one_thread;
    {
      std::optional<OneThread> guard;
      if (choice.one_thread) guard.emplace();
      made->primitive_ = Forward(described);
    }
    const Desc given = given_weights(p);
    made->given_ = placeholder(given);
    made->scratchpad_ = placeholder(described.scratchpad_desc());
    made->reserve(described.scratchpad_desc().get_size());
    made->add_side(made->source_, channels_last(p.source), described.src_desc());
    made->add_side(made->result_, channels_last(p.result), described.dst_desc());
    if (made->source_.converts()) made->source_.reorder = dnnl::reorder(made->source_.ours, made->source_.inner);
    if (made->result_.converts()) made->result_.reorder = dnnl::reorder(made->result_.inner, made->result_.ours);
    made->packs_each_call_ = weights == nullptr;
    if (weights == nullptr) {
      made->packed_ = placeholder(described.weights_desc());
      made->packed_offset_ = made->reserve(described.weights_desc().get_size());
      made->pack_ = dnnl::reorder(made->given_, made->packed_);
    } else {
      made->shared_ = shared_weights(given, described.weights_desc(), weights);
      made->packed_ = *made->shared_;
    }
    made->bind(p);
    return made;
  }

  size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const ConvBuffers& b) override {
    if (packs_each_call_) {
      packed_.set_data_handle(b.scratch + packed_offset_);
      pack(b.weights);
    }
    source_.ours.set_data_handle(const_cast<float*>(b.source));
    result_.ours.set_data_handle(b.result);
    scratchpad_.set_data_handle(b.scratch);
    if (bias_) bias_.set_data_handle(const_cast<float*>(b.bias));
    for (size_t i = 0; i < added_.size(); ++i) added_[i].set_data_handle(const_cast<float*>(b.added[i]));
    if (result_.converts()) result_.inner.set_data_handle(b.scratch + result_.offset);
    if (source_.converts()) {
      source_.inner.set_data_handle(b.scratch + source_.offset);
      source_.reorder.execute(stream(), source_.ours, source_.inner);
    }
    execute();
    if (result_.converts()) result_.reorder.execute(stream(), result_.inner, result_.ours);
  }

 private:
  /// Room in scratch; returns where it begins.
  size_t reserve(size_t bytes) {
    const size_t offset = scratch_bytes_;
    scratch_bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }

  void add_side(Side& side, const Desc& ours, const Desc& wanted) {
    side.ours = placeholder(ours);
    if (ours == wanted) return;
    side.inner = placeholder(wanted);
    side.offset = reserve(wanted.get_size());
  }

  void pack(const float* weights) {
    given_.set_data_handle(const_cast<float*>(weights));
    pack_.execute(stream(), given_, packed_);
    stream().wait();
  }

  void execute() {
    std::optional<OneThread> guard;
    if (one_thread_) guard.emplace();
    // The C++ interface makes a new argument list in every call.
    const auto count = static_cast<int>(arguments_.size());
    QQ_CHECK(dnnl_primitive_execute(primitive_.get(), stream().get(), count, arguments_.data()) == dnnl_success);
  }

  /// Memory objects are handles: the table below is filled once, run() only moves their pointers.
  void bind(const ConvProblem& p) {
    arguments_ = {{DNNL_ARG_SRC, source_.argument()},
                  {DNNL_ARG_WEIGHTS, packed_.get()},
                  {DNNL_ARG_DST, result_.argument()},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    if (p.has_bias) {
      bias_ = placeholder(Desc({p.result[1]}, kF32, dnnl::memory::format_tag::x));
      arguments_.push_back({DNNL_ARG_BIAS, bias_.get()});
    }
    for (size_t i = 0; i < p.post_ops.size(); ++i) {
      if (p.post_ops[i].kind != PostOp::Kind::kAdd) continue;
      added_.push_back(placeholder(channels_last(p.result)));
      arguments_.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, added_.back().get()});
    }
  }

  dnnl::primitive primitive_;
  std::shared_ptr<const dnnl::memory> shared_;  ///< keeps packed_ alive for others
  dnnl::reorder pack_;
  Side source_, result_;
  dnnl::memory given_, packed_, bias_, scratchpad_;
  std::vector<dnnl::memory> added_;
  std::vector<dnnl_exec_arg_t> arguments_;
  bool packs_each_call_ = false, one_thread_ = false;
  size_t scratch_bytes_ = 0, packed_offset_ = 0;
};

}  // namespace

Result<std::shared_ptr<Convolution>> onednn_convolution(const ConvProblem& problem, const float* weights) {
  try {
    std::shared_ptr<Convolution> made = problem.transposed
                                            ? OneDnnConvolution::build<dnnl::deconvolution_forward>(
                                                  problem, dnnl::algorithm::deconvolution_direct, weights)
                                            : OneDnnConvolution::build<dnnl::convolution_forward>(
                                                  problem, dnnl::algorithm::convolution_direct, weights);
    if (made == nullptr)
      return unsupported("oneDNN has no fast form of this convolution with the operations fused after it");
    return made;
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_out_of_memory) throw std::bad_alloc();
    return unsupported("oneDNN cannot make this convolution: ", failure.what());
  }
}

}  // namespace quarkq::exec
