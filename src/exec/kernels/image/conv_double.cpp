// SPDX-License-Identifier: MIT
#include "exec/kernels/image/conv.h"

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {
namespace {

/// Spatial positions of one tensor, last dimension fastest, padded in front to three dimensions.
using Position = std::array<int64_t, 3>;

struct Grid {
  Position extent = {1, 1, 1};
  int64_t size() const { return extent[0] * extent[1] * extent[2]; }
  Position at(int64_t index) const {
    return {index / (extent[1] * extent[2]), index / extent[2] % extent[1], index % extent[2]};
  }
};

Position padded_double(const ir::Shape& list, size_t first, int64_t fill) {
  Position position = {fill, fill, fill};
  std::copy(list.begin() + static_cast<int64_t>(first), list.end(),
            position.end() - (static_cast<int64_t>(list.size()) - static_cast<int64_t>(first)));
  return position;
}

struct DoubleConvolution {
  bool transposed = false, has_bias = false;
  int64_t groups = 1, in_channels = 0, out_channels = 0;
  Grid source, kernel, result;
  Position strides, dilations, pads;

  int64_t group_inputs() const { return in_channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }

  /// The source position under tap `k` of result position `y`; false when there is none.
  bool tap(const Position& y, const Position& k, int64_t& index) const {
    index = 0;
    for (size_t d = 0; d < 3; ++d) {
      int64_t x = 0;
      if (transposed) {
        x = y[d] + pads[d] - k[d] * dilations[d];
        if (x < 0 || x % strides[d] != 0) return false;
        x /= strides[d];
      } else {
        x = y[d] * strides[d] - pads[d] + k[d] * dilations[d];
      }
      if (x < 0 || x >= source.extent[d]) return false;
      index = index * source.extent[d] + x;
    }
    return true;
  }

  /// Element of the weights for tap 0: [O, I/G, kernel] or, transposed, [I, O/G, kernel].
  int64_t weight(int64_t out, int64_t in) const {
    const int64_t group = out / group_outputs();
    const int64_t place = transposed ? (group * group_inputs() + in) * group_outputs() + out % group_outputs()
                                     : out * group_inputs() + in;
    return place * kernel.size();
  }

  /// All channels of one result position.
  void make(const double* x, const double* w, const double* b, int64_t position, double* y) const {
    const Position at = result.at(position);
    for (int64_t o = 0; o < out_channels; ++o) y[o] = has_bias ? b[o] : 0.0;
    for (int64_t k = 0; k < kernel.size(); ++k) {
      int64_t index = 0;
      if (!tap(at, kernel.at(k), index)) continue;
      for (int64_t o = 0; o < out_channels; ++o) {
        const double* channels = x + index * in_channels + o / group_outputs() * group_inputs();
        const double* weights = w + weight(o, 0) + k;
        const int64_t step = weight(o, 1) - weight(o, 0);
        double sum = 0;
        for (int64_t i = 0; i < group_inputs(); ++i) sum += channels[i] * weights[i * step];
        y[o] += sum;
      }
    }
  }
};

}  // namespace

Kernel convolve_doubles(const ConvProblem& problem) {
  DoubleConvolution c;
  c.transposed = problem.transposed;
  c.has_bias = problem.has_bias;
  c.groups = problem.groups;
  c.in_channels = problem.source[1];
  c.out_channels = problem.result[1];
  c.source.extent = padded_double(problem.source, 2, 1);
  c.kernel.extent = padded_double(problem.weights, 2, 1);
  c.result.extent = padded_double(problem.result, 2, 1);
  c.strides = padded_double(problem.strides, 0, 1);
  c.dilations = padded_double(problem.dilations, 0, 1);
  c.pads = padded_double(problem.pads_begin, 0, 0);
  return [c, images = problem.source[0]](const Run& run) {
    const int64_t positions = c.result.size();
    const int64_t cost = c.kernel.size() * c.group_inputs() * c.out_channels;
    for_rows(images * positions, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double* x = run.in<double>(0) + i / positions * c.source.size() * c.in_channels;
        const double* b = c.has_bias ? run.in<double>(2) : nullptr;
        c.make(x, run.in<double>(1), b, i % positions, run.out<double>(0) + i * c.out_channels);
      }
    });
    return Status();
  };
}

}  // namespace quarkq::exec
