// SPDX-License-Identifier: MIT
// Normalizations; norm_group.cpp has more of them. All compute in float32 with sums that continue in double; other real
// types are converted around them.
#include "exec/kernels/norm/norm.h"
#include "exec/op_def.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {
namespace {

// ---- BatchNormalization (inference) ---------------------------------------------------------------------------------

Result<Kernel> prepare_batch_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  if (x.rank() < 1) return p.corrupt("input 0 has rank 0, allowed: 1 and more");
  const bool training = p.opset() < 7 ? p.node().int_or("is_test", 0) == 0 : p.node().int_or("training_mode", 0) != 0;
  if (training) return prepare_training_batch_norm(p);
  if (p.node().int_or("spatial", 1) != 1) return p.cannot("spatial is 0, allowed: 1");
  for (size_t i = 1; i < 5; ++i) {
    if (p.wants(i)) return p.cannot("output ", i, " is requested, which only training supports");
  }
  QQ_TRY(const int64_t axis, p.axis(x.rank() == 1 ? 0 : 1, x.rank()));
  const AxisView view = x.rank() == 1 ? AxisView{x.dims[0], 1, 1} : axis_view(x.dims, axis);
  for (size_t i = 1; i < 5; ++i) QQ_RETURN_IF_ERROR(require_vector(p, i, view.count));
  const float epsilon = p.node().float_or("epsilon", 1e-5f);
  p.out(0, x.type, x.dims);
  if (x.type == ElementType::kFloat) p.in_place(0, 0);
  const auto channels = static_cast<size_t>(view.count);
  return bridged(
      p,
      [view, epsilon, channels](const Run& run) {
        auto* a = reinterpret_cast<float*>(run.scratch);
        float* b = a + channels;
        for (size_t c = 0; c < channels; ++c) {
          a[c] = run.in<float>(1)[c] / std::sqrt(run.in<float>(4)[c] + epsilon);
          b[c] = run.in<float>(2)[c] - run.in<float>(3)[c] * a[c];
        }
        affine_channels(view, run.in<float>(0), run.out<float>(0), a, b);
        return Status();
      },
      2 * channels * sizeof(float));
}

// ---- Softmax --------------------------------------------------------------------------------------------------------

void softmax(const AxisView& v, const float* x, float* y, bool log) {
  if (v.count == 0) return;
  if (v.inner == 1) {
    for_rows(v.outer, 8 * v.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        QQ_DISPATCH(exec, softmax_row)(x + i * v.count, y + i * v.count, v.count, log);
      }
    });
    return;
  }
  const int64_t blocks = (v.inner + kNormColumns - 1) / kNormColumns;
  for_rows(v.outer * blocks, 16 * v.count * std::min(v.inner, kNormColumns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kNormColumns, offset = i / blocks * v.count * v.inner + first;
      QQ_DISPATCH(exec, softmax_columns)
      ({x + offset, v.count, v.inner, std::min(kNormColumns, v.inner - first)}, y + offset, log);
    }
  });
}

template <bool kLog>
Result<Kernel> prepare_softmax(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -1), x.rank()));
  const AxisView view = axis_view(x.dims, axis);
  p.out(0, x.type, x.dims);
  return bridged(p, [view](const Run& run) {
    softmax(view, run.in<float>(0), run.out<float>(0), kLog);
    return Status();
  });
}

/// Before opset 13: over all dimensions from `axis` on.
template <bool kLog>
Result<Kernel> prepare_flat_softmax(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", 1), x.rank()));
  const AxisView view{product(x.dims, 0, axis), product(x.dims, axis, x.rank()), 1};
  p.out(0, x.type, x.dims);
  return bridged(p, [view](const Run& run) {
    softmax(view, run.in<float>(0), run.out<float>(0), kLog);
    return Status();
  });
}

// ---- InstanceNormalization ------------------------------------------------------------------------------------------

/// Channels-last: moments by blocks of columns, then one affine pass. `work`: 2 * channels floats.
void instance_norm_last(int64_t pixels, int64_t channels, const Run& run, int64_t image, float epsilon) {
  auto* a = reinterpret_cast<float*>(run.scratch);
  float* b = a + channels;
  const float* x = run.in<float>(0) + image * pixels * channels;
  const int64_t blocks = (channels + kNormColumns - 1) / kNormColumns;
  for_rows(blocks, pixels * std::min(channels, kNormColumns), [&](int64_t begin, int64_t end) {
    Moments moments[kNormColumns];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kNormColumns, columns = std::min(kNormColumns, channels - first);
      QQ_DISPATCH(exec, column_moments)({x + first, pixels, channels, columns}, epsilon, moments);
      for (int64_t c = 0; c < columns; ++c) {
        a[first + c] = moments[c].inverse * run.in<float>(1)[first + c];
        b[first + c] = run.in<float>(2)[first + c] - moments[c].mean * a[first + c];
      }
    }
  });
  affine_channels({pixels, channels, 1}, x, run.out<float>(0) + image * pixels * channels, a, b);
}

void instance_norm_plain(const AxisView& v, const Run& run, float epsilon) {
  for_rows(v.outer * v.count, 3 * v.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* x = run.in<float>(0) + i * v.inner;
      const Moments m = QQ_DISPATCH(exec, row_moments)(x, v.inner, epsilon);
      const float a = m.inverse * run.in<float>(1)[i % v.count];
      const float b = run.in<float>(2)[i % v.count] - m.mean * a;
      QQ_DISPATCH(exec, affine_row)(x, run.out<float>(0) + i * v.inner, v.inner, a, b);
    }
  });
}

Result<Kernel> prepare_instance_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  if (x.rank() < 3) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 3 and more");
  QQ_TRY(const int64_t axis, p.axis(1, x.rank()));
  const AxisView view = axis_view(x.dims, axis);
  for (size_t i = 1; i < 3; ++i) QQ_RETURN_IF_ERROR(require_vector(p, i, view.count));
  const float epsilon = p.node().float_or("epsilon", 1e-5f);
  p.out(0, x.type, x.dims);
  if (product(x.dims) == 0) return no_kernel();
  const bool last = p.layout() == Layout::kChannelsLast;
  const int64_t images = x.dims[0], pixels = view.outer / images;
  return bridged(
      p,
      [=](const Run& run) {
        for (int64_t i = 0; last && i < images; ++i) instance_norm_last(pixels, view.count, run, i, epsilon);
        if (!last) instance_norm_plain(view, run, epsilon);
        return Status();
      },
      2 * static_cast<size_t>(view.count) * sizeof(float));
}

// ---- LayerNormalization ---------------------------------------------------------------------------------------------

Result<Kernel> prepare_layer_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_RETURN_IF_ERROR(require_real(p, 1));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -1), x.rank()));
  const int64_t rows = product(x.dims, 0, axis), n = product(x.dims, axis, x.rank());
  for (size_t i = 1; i < 3; ++i) {
    if (!p.has(i)) continue;
    QQ_RETURN_IF_ERROR(require_real(p, i));
    if (product(p.in(i).dims) != n) {
      return p.cannot("input ", i, " is ", shape_text(p.in(i).dims), ", allowed: one element for each of ", n,
                      " normalized");
    }
  }
  const float epsilon = p.node().float_or("epsilon", 1e-5f);
  p.out(0, x.type, x.dims);
  ir::Shape kept(x.dims.begin(), x.dims.begin() + axis);
  kept.resize(x.dims.size(), 1);
  p.out(1, ElementType::kFloat, kept);
  p.out(2, ElementType::kFloat, kept);
  return bridged(p, [=, has_bias = p.has(2)](const Run& run) {
    const RowNorm norm{run.in<float>(1), has_bias ? run.in<float>(2) : nullptr, epsilon};
    for_rows(n == 0 ? 0 : rows, 4 * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Moments m =
            QQ_DISPATCH(exec, layer_norm_row)(run.in<float>(0) + i * n, run.out<float>(0) + i * n, n, norm);
        if (wants_output(run, 1)) run.out<float>(1)[i] = m.mean;
        if (wants_output(run, 2)) run.out<float>(2)[i] = m.inverse;
      }
    });
    return Status();
  });
}

// ---- LpNormalization, LRN -------------------------------------------------------------------------------------------

Result<Kernel> prepare_lp_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -1), x.rank()));
  const int64_t order = p.node().int_or("p", 2);
  if (order != 1 && order != 2) return p.corrupt("p is ", order, ", allowed: 1, 2");
  const AxisView v = axis_view(x.dims, axis);
  p.out(0, x.type, x.dims);
  return bridged(p, [v, order](const Run& run) {
    for_rows(v.outer * v.inner, v.count, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t base = row / v.inner * v.count * v.inner + row % v.inner;
        double sum = 0;
        for (int64_t i = 0; i < v.count; ++i) {
          const auto value = static_cast<double>(run.in<float>(0)[base + i * v.inner]);
          sum += order == 1 ? std::fabs(value) : value * value;
        }
        const auto size = static_cast<float>(order == 1 ? sum : std::sqrt(sum));
        for (int64_t i = 0; i < v.count; ++i) {
          const float value = run.in<float>(0)[base + i * v.inner];
          run.out<float>(0)[base + i * v.inner] = size == 0.0f ? 0.0f : value / size;
        }
      }
    });
    return Status();
  });
}

void local_response(const LocalResponse& lrn, const AxisView& v, const float* x, float* y) {
  const int64_t before = (lrn.size - 1) / 2, after = lrn.size - 1 - before;
  for_rows(v.outer * v.count, 16 * v.inner, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t c = row % v.count;
      const int64_t first = std::max<int64_t>(0, c - before) - c, last = std::min(v.count - 1, c + after) - c;
      for (int64_t i = row * v.inner; i < (row + 1) * v.inner; ++i) {
        float squares = 0;
        for (int64_t k = first; k <= last; ++k) squares += x[i + k * v.inner] * x[i + k * v.inner];
        y[i] = squares;
      }
    }
    const int64_t from = begin * v.inner, n = (end - begin) * v.inner;
    QQ_DISPATCH(exec, local_response_loop)(lrn, x + from, y + from, n);
  });
}

Result<Kernel> prepare_lrn(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(1, x.rank()));
  const ir::Node& node = p.node();
  const LocalResponse lrn{node.int_or("size", 0), node.float_or("alpha", 1e-4f), node.float_or("beta", 0.75f),
                          node.float_or("bias", 1.0f)};
  if (lrn.size < 1 || lrn.size > (int64_t{1} << 31)) return p.corrupt("size is ", lrn.size, ", allowed: 1 and more");
  const AxisView view = axis_view(x.dims, axis);
  p.out(0, x.type, x.dims);
  return bridged(p, [lrn, view](const Run& run) {
    local_response(lrn, view, run.in<float>(0), run.out<float>(0));
    return Status();
  });
}

using enum LayoutRule;
constexpr OpDef kNormOps[] = {
    {"BatchNormalization", "", 1, kFollow, prepare_batch_norm},
    {"GroupNormalization", "", 18, kFollow, prepare_group_norm},
    {"Hardmax", "", 1, kPlain, prepare_hardmax},
    {"InstanceNormalization", "", 6, kFollow, prepare_instance_norm},
    {"LRN", "", 1, kFollow, prepare_lrn},
    {"LayerNormalization", "", 1, kPlain, prepare_layer_norm},
    {"LogSoftmax", "", 1, kPlain, prepare_flat_softmax<true>},
    {"LogSoftmax", "", 13, kFollow, prepare_softmax<true>},
    {"LpNormalization", "", 1, kFollow, prepare_lp_norm},
    {"MeanVarianceNormalization", "", 9, kFollow, prepare_mean_variance_norm},
    {"RMSNormalization", "", 23, kPlain, prepare_rms_norm},
    {"SimplifiedLayerNormalization", "", 1, kPlain, prepare_rms_norm},  // as ONNX Runtime calls it
    {"SkipLayerNormalization", ir::kMicrosoftDomain, 1, kPlain, prepare_skip_layer_norm},
    {"Softmax", "", 1, kPlain, prepare_flat_softmax<false>},
    {"Softmax", "", 13, kFollow, prepare_softmax<false>},
};

}  // namespace

std::span<const OpDef> norm_ops() { return kNormOps; }

}  // namespace quarkq::exec
