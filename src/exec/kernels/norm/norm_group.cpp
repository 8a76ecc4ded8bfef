// SPDX-License-Identifier: MIT
// Normalizations whose statistics cover groups of channels, chosen axes or the whole batch: GroupNormalization,
// MeanVarianceNormalization, BatchNormalization in training mode.
#include "exec/kernels/norm/norm.h"

namespace quarkq::exec {
namespace {

// ---- GroupNormalization ---------------------------------------------------------------------------------------------

struct GroupNorm {
  int64_t images = 0, groups = 1, channels = 0, pixels = 0;
  bool per_channel = true;  ///< scale and bias have an entry for each channel, else for each group (opset 18)
  float epsilon = 0;
  int64_t width() const { return channels / groups; }
};

/// y = x * a + b
struct AffineMap {
  float a = 0, b = 0;
};

/// The map of one channel, given the moments of its group.
AffineMap fold_scale(const GroupNorm& g, const Run& run, int64_t channel, const Moments& m) {
  const int64_t entry = g.per_channel ? channel : channel / g.width();
  const float a = m.inverse * run.in<float>(1)[entry];
  return {a, run.in<float>(2)[entry] - m.mean * a};
}

void group_norm_plain(const GroupNorm& g, const Run& run) {
  const int64_t row = g.width() * g.pixels;
  for_rows(g.images * g.groups, 3 * row, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* x = run.in<float>(0) + i * row;
      const Moments m = QQ_DISPATCH(exec, row_moments)(x, row, g.epsilon);
      for (int64_t k = 0; k < g.width(); ++k) {
        const AffineMap map = fold_scale(g, run, i % g.groups * g.width() + k, m);
        QQ_DISPATCH(exec, affine_row)
        (x + k * g.pixels, run.out<float>(0) + i * row + k * g.pixels, g.pixels, map.a, map.b);
      }
    }
  });
}

/// Sums of each channel of one channels-last image; of squared distances when there are centers.
void channel_totals(const GroupNorm& g, const float* x, const float* centers, double* sums) {
  const int64_t blocks = (g.channels + kNormColumns - 1) / kNormColumns;
  for_rows(blocks, g.pixels * std::min(g.channels, kNormColumns), [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kNormColumns; first < std::min(end * kNormColumns, g.channels);
         first += kNormColumns) {
      QQ_DISPATCH(exec, column_totals)
      ({x + first, g.pixels, g.channels, std::min(kNormColumns, g.channels - first)},
       centers == nullptr ? nullptr : centers + first, sums + first);
    }
  });
}

double group_mean(const GroupNorm& g, const double* sums, int64_t group) {
  double sum = 0;
  for (int64_t k = 0; k < g.width(); ++k) sum += sums[group * g.width() + k];
  return sum / (static_cast<double>(g.width()) * static_cast<double>(g.pixels));
}

/// Scratch: a double and two floats for each channel.
void group_norm_last(const GroupNorm& g, const Run& run, int64_t image) {
  auto* sums = reinterpret_cast<double*>(run.scratch);
  auto* a = reinterpret_cast<float*>(sums + g.channels);
  float* b = a + g.channels;
  const int64_t offset = image * g.pixels * g.channels;
  channel_totals(g, run.in<float>(0) + offset, nullptr, sums);
  for (int64_t c = 0; c < g.channels; ++c) a[c] = static_cast<float>(group_mean(g, sums, c / g.width()));
  channel_totals(g, run.in<float>(0) + offset, a, sums);
  for (int64_t group = 0; group < g.groups; ++group) {
    const double variance = group_mean(g, sums, group);
    const auto inverse = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(g.epsilon)));
    for (int64_t c = group * g.width(); c < (group + 1) * g.width(); ++c) {
      const AffineMap map = fold_scale(g, run, c, Moments{a[c], inverse});
      a[c] = map.a;
      b[c] = map.b;
    }
  }
  affine_channels({g.pixels, g.channels, 1}, run.in<float>(0) + offset, run.out<float>(0) + offset, a, b);
}

}  // namespace

Result<Kernel> prepare_group_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  if (x.rank() < 2) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 2 and more");
  QQ_TRY(const int64_t axis, p.axis(1, x.rank()));
  GroupNorm g;
  g.images = x.dims[0];
  g.channels = x.dims[static_cast<size_t>(axis)];
  g.groups = p.node().int_or("num_groups", 0);
  if (g.groups < 1 || g.channels % g.groups != 0) {
    return p.corrupt("num_groups is ", g.groups, ", must divide ", g.channels, " channels");
  }
  g.epsilon = p.node().float_or("epsilon", 1e-5f);
  g.per_channel = p.opset() >= 21;
  for (size_t i = 1; i < 3; ++i) QQ_RETURN_IF_ERROR(require_vector(p, i, g.per_channel ? g.channels : g.groups));
  p.out(0, x.type, x.dims);
  if (product(x.dims) == 0) return no_kernel();
  g.pixels = product(x.dims) / g.images / g.channels;
  const bool last = p.layout() == Layout::kChannelsLast;
  return bridged(
      p,
      [g, last](const Run& run) {
        for (int64_t i = 0; last && i < g.images; ++i) group_norm_last(g, run, i);
        if (!last) group_norm_plain(g, run);
        return Status();
      },
      static_cast<size_t>(g.channels) * (sizeof(double) + 2 * sizeof(float)));
}

// ---- MeanVarianceNormalization --------------------------------------------------------------------------------------

namespace {

/// For every element in memory order, calls visit(element, index of the statistics it belongs to).
template <typename Visit>
void each_with_group(const ir::Shape& dims, const std::vector<int64_t>& group_steps, const Visit& visit) {
  ir::Shape place(dims.size());
  int64_t group = 0;
  for (int64_t i = 0, count = product(dims); i < count; ++i) {
    visit(i, group);
    for (size_t d = dims.size(); d-- > 0;) {
      group += group_steps[d];
      if (++place[d] < dims[d]) break;
      group -= place[d] * group_steps[d];
      place[d] = 0;
    }
  }
}

}  // namespace

Result<Kernel> prepare_mean_variance_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  ir::Shape kept = x.dims;
  for (const int64_t named : p.node().ints_or("axes", {0, 2, 3})) {
    QQ_TRY(const int64_t axis, p.axis(named, x.rank()));
    kept[static_cast<size_t>(axis)] = 1;
  }
  std::vector<int64_t> steps = row_major_strides(kept);
  for (size_t d = 0; d < kept.size(); ++d) steps[d] = kept[d] == 1 ? 0 : steps[d];
  p.out(0, x.type, x.dims);
  if (product(x.dims) == 0) return no_kernel();
  const auto groups = static_cast<size_t>(product(kept));
  const double members = static_cast<double>(product(x.dims)) / static_cast<double>(groups);
  return bridged(p, [dims = x.dims, steps, groups, members](const Run& run) {
    constexpr double kEpsilon = 1e-9;  // of the operator's definition, added to the deviation
    const float* in = run.in<float>(0);
    std::vector<double> means(groups), deviations(groups);
    each_with_group(dims, steps, [&](int64_t i, int64_t g) { means[static_cast<size_t>(g)] += in[i]; });
    for (double& mean : means) mean /= members;
    each_with_group(dims, steps, [&](int64_t i, int64_t g) {
      const double distance = in[i] - means[static_cast<size_t>(g)];
      deviations[static_cast<size_t>(g)] += distance * distance;
    });
    for (double& deviation : deviations) deviation = std::sqrt(deviation / members) + kEpsilon;
    each_with_group(dims, steps, [&](int64_t i, int64_t g) {
      const auto group = static_cast<size_t>(g);
      run.out<float>(0)[i] = static_cast<float>((in[i] - means[group]) / deviations[group]);
    });
    return Status();
  });
}

// ---- BatchNormalization in training mode ----------------------------------------------------------------------------

/// Normalizes by the statistics of the batch and moves the stored ones towards them. Inputs: X, scale, B, mean, var.
Result<Kernel> prepare_training_batch_norm(Prepare& p) {
  if (p.opset() < 14) return p.cannot("runs in training mode, allowed before opset 14: inference");
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(x.rank() == 1 ? 0 : 1, x.rank()));
  const AxisView v = x.rank() == 1 ? AxisView{x.dims[0], 1, 1} : axis_view(x.dims, axis);
  for (size_t i = 1; i < 5; ++i) QQ_RETURN_IF_ERROR(require_vector(p, i, v.count));
  if (v.outer * v.inner == 0) return p.cannot("no elements to compute statistics of: ", shape_text(x.dims));
  const float epsilon = p.node().float_or("epsilon", 1e-5f), momentum = p.node().float_or("momentum", 0.9f);
  p.out(0, x.type, x.dims);
  for (size_t i = 1; i < 3; ++i) p.out(i, p.in(i + 2).type, {v.count});
  return bridged(p, [v, epsilon, momentum](const Run& run) {
    const double members = static_cast<double>(v.outer) * static_cast<double>(v.inner);
    for_rows(v.count, 3 * v.outer * v.inner, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const auto each = [&](const auto& visit) {
          for (int64_t o = 0; o < v.outer; ++o) {
            for (int64_t i = 0; i < v.inner; ++i) visit((o * v.count + c) * v.inner + i);
          }
        };
        double mean = 0, variance = 0;
        each([&](int64_t i) { mean += run.in<float>(0)[i]; });
        mean /= members;
        each([&](int64_t i) { variance += (run.in<float>(0)[i] - mean) * (run.in<float>(0)[i] - mean); });
        variance /= members;
        const auto a = static_cast<float>(run.in<float>(1)[c] / std::sqrt(variance + epsilon));
        const float b = run.in<float>(2)[c] - static_cast<float>(mean) * a;
        each([&](int64_t i) { run.out<float>(0)[i] = run.in<float>(0)[i] * a + b; });
        const double now[2] = {mean, variance};
        for (size_t k = 0; k < 2; ++k) {
          if (!wants_output(run, k + 1)) continue;
          run.out<float>(k + 1)[c] =
              run.in<float>(k + 3)[c] * momentum + static_cast<float>(now[k]) * (1.0f - momentum);
        }
      }
    });
    return Status();
  });
}

}  // namespace quarkq::exec
