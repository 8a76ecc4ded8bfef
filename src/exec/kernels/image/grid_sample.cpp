// SPDX-License-Identifier: MIT
// GridSample on channels-last images of one to three spatial dimensions: the input rows and weights of each output
// position are found once for all channels. Coordinates are float32, as other executors have them.
#include <array>

#include "exec/kernels/image/image_ops.h"

namespace quarkq::exec {

namespace {

enum class Sampling : uint8_t { kNearest, kLinear, kCubic };
enum class Padding : uint8_t { kZeros, kBorder, kReflection };

constexpr size_t kMostAxes = 3;
constexpr int64_t kBlock = 64;  ///< output positions whose taps are collected at a time

struct GridSample {
  Sampling sampling = Sampling::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  ir::Shape spatial;  ///< of the input
  int64_t channels = 0, images = 0;
  int64_t positions = 0;                   ///< of one output image
  std::array<int64_t, kMostAxes> steps{};  ///< elements between neighbours, the last axes of the image at the end
};

/// Input indices of one axis with their weights; index -1 is outside and reads as zero. An axis that the image does not
/// have is one index.
struct AxisSamples {
  size_t count = 1;
  std::array<int64_t, 4> index{};
  std::array<float, 4> weight{1.0f};
};

/// Folds x into [low, high] like a ray between two mirrors.
float reflect(float x, float low, float high) {
  const float range = high - low;
  if (!(range > 0)) return low;
  if (x >= low && x <= high) return x;
  const float beyond = x < low ? low - x : x - high;
  const float turns = std::floor(beyond / range), rest = beyond - turns * range;
  const bool from_low = (x < low) == (std::fmod(turns, 2.0f) == 0.0f);
  return from_low ? low + rest : high - rest;
}

float lowest_place(const GridSample& g) { return g.align_corners ? 0.0f : -0.5f; }
float highest_place(const GridSample& g, int64_t length) {
  return static_cast<float>(length) - (g.align_corners ? 1.0f : 0.5f);
}

/// A grid value in [-1, 1] as a place on an axis. What is no number counts as -1.
float place_of(const GridSample& g, float value, int64_t length) {
  constexpr float kFar = 1e9f;  // beyond every axis, and safe to convert to an integer
  const float n = std::isnan(value) ? -1.0f : value, size = static_cast<float>(length);
  const float place = g.align_corners ? (n + 1.0f) / 2.0f * (size - 1.0f) : ((n + 1.0f) * size - 1.0f) / 2.0f;
  return std::clamp(place, -kFar, kFar);
}

int64_t padded_index(const GridSample& g, int64_t index, int64_t length) {
  if (index >= 0 && index < length) return index;
  if (g.padding == Padding::kZeros) return -1;
  if (g.padding == Padding::kBorder) return std::clamp<int64_t>(index, 0, length - 1);
  const float place = reflect(static_cast<float>(index), lowest_place(g), highest_place(g, length));
  return std::clamp<int64_t>(static_cast<int64_t>(place), 0, length - 1);
}

AxisSamples sample_axis(const GridSample& g, float place, int64_t length) {
  AxisSamples s;
  if (g.sampling == Sampling::kNearest) {
    s.index[0] = padded_index(g, static_cast<int64_t>(std::nearbyint(place)), length);
    return s;
  }
  const float down = std::floor(place), r = place - down;
  int64_t first = static_cast<int64_t>(down);
  s.count = 2;
  if (g.sampling == Sampling::kLinear) {
    s.weight = {1.0f - r, r};
  } else {
    constexpr float a = -0.75f;  // from the operator's definition
    const float t = 1.0f - r, far = r + 1.0f, far_t = t + 1.0f;
    s.count = 4;
    first -= 1;
    s.weight = {((a * far - 5 * a) * far + 8 * a) * far - 4 * a, ((a + 2) * r - (a + 3)) * r * r + 1,
                ((a + 2) * t - (a + 3)) * t * t + 1, ((a * far_t - 5 * a) * far_t + 8 * a) * far_t - 4 * a};
  }
  for (size_t k = 0; k < s.count; ++k) s.index[k] = padded_index(g, first + static_cast<int64_t>(k), length);
  return s;
}

/// Adds all products of the samples of three axes, first axis slowest; `steps`: elements between indices of each.
void add_products(const std::array<AxisSamples, kMostAxes>& axes, const std::array<int64_t, kMostAxes>& steps,
                  int64_t base, RowTaps& taps) {
  const auto& [planes, rows, columns] = axes;
  for (size_t i = 0; i < planes.count; ++i) {
    if (planes.index[i] < 0) continue;
    const int64_t plane = base + planes.index[i] * steps[0];
    for (size_t j = 0; j < rows.count; ++j) {
      if (rows.index[j] < 0) continue;
      const int64_t row = plane + rows.index[j] * steps[1];
      const float weight = planes.weight[i] * rows.weight[j];
      for (size_t k = 0; k < columns.count; ++k) {
        if (columns.index[k] >= 0) taps.add(row + columns.index[k] * steps[2], weight * columns.weight[k]);
      }
    }
  }
}

/// Collects the taps of one output position; `grid` names its place, last axis first.
void add_grid_position(const GridSample& g, const float* grid, int64_t base, RowTaps& taps) {
  const size_t rank = g.spatial.size();
  std::array<float, kMostAxes> place{};
  bool outside = false;
  for (size_t d = 0; d < rank; ++d) {
    place[d] = place_of(g, grid[rank - 1 - d], g.spatial[d]);
    if (g.sampling == Sampling::kNearest) place[d] = std::nearbyint(place[d]);
    outside = outside || place[d] < lowest_place(g) || place[d] > highest_place(g, g.spatial[d]);
  }
  std::array<AxisSamples, kMostAxes> axes;
  const bool moves = outside && g.sampling != Sampling::kCubic;  // cubic sampling pads each input index instead
  for (size_t d = 0; d < rank; ++d) {
    const int64_t length = g.spatial[d];
    if (moves && g.padding == Padding::kBorder) {
      place[d] = std::clamp(place[d], 0.0f, static_cast<float>(length - 1));
    } else if (moves && g.padding == Padding::kReflection) {
      place[d] = reflect(place[d], lowest_place(g), highest_place(g, length));
    }
    axes[kMostAxes - rank + d] = sample_axis(g, place[d], length);
  }
  taps.expect(64);  // four of each of three axes
  add_products(axes, g.steps, base, taps);
  taps.end_row();
}

Kernel grid_sample_kernel(const GridSample& g) {
  return [g](const Run& run) {
    const auto rank = static_cast<int64_t>(g.spatial.size());
    const int64_t image = product(g.spatial) * g.channels;
    const int64_t blocks = (g.positions + kBlock - 1) / kBlock;
    for_rows(g.images * blocks, kBlock * (g.channels * 4 + 32), [&](int64_t begin, int64_t end) {
      RowTaps taps;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / blocks, first = i % blocks * kBlock, count = std::min(kBlock, g.positions - first);
        taps.clear();
        for (int64_t k = 0; k < count; ++k) {
          add_grid_position(g, run.in<float>(1) + (n * g.positions + first + k) * rank, n * image, taps);
        }
        QQ_DISPATCH(exec, weighted_rows)
        (taps.sums(g.channels, g.channels), run.in<float>(0),
         run.out<float>(0) + (n * g.positions + first) * g.channels, count);
      }
    });
    return Status();
  };
}

Status read_modes(const Prepare& p, GridSample& g) {
  const std::string mode = p.node().string_or("mode", p.opset() < 20 ? "bilinear" : "linear");
  if (mode == "nearest") {
    g.sampling = Sampling::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    g.sampling = Sampling::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return p.corrupt("mode is '", mode, "', allowed: linear, nearest, cubic, bilinear, bicubic");
  }
  const std::string padding = p.node().string_or("padding_mode", "zeros");
  if (padding == "border") {
    g.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    g.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return p.corrupt("padding_mode is '", padding, "', allowed: zeros, border, reflection");
  }
  g.align_corners = p.node().int_or("align_corners", 0) != 0;
  return Status();
}

}  // namespace

Result<Kernel> prepare_grid_sample(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_image(p, 3, 5));
  QQ_RETURN_IF_ERROR(require_real(p, 1));
  const Spec& x = p.in(0);
  const ir::Shape& grid = p.in(1).dims;
  GridSample g;
  QQ_RETURN_IF_ERROR(read_modes(p, g));
  g.images = x.dims.front();
  g.channels = x.dims.back();
  g.spatial.assign(x.dims.begin() + 1, x.dims.end() - 1);
  int64_t step = g.channels;
  for (size_t d = g.spatial.size(), k = kMostAxes; d-- > 0; step *= g.spatial[d]) g.steps[--k] = step;
  if (p.in(1).rank() != x.rank() || grid.front() != g.images || grid.back() != x.rank() - 2) {
    return p.corrupt("grid ", shape_text(grid), " does not fit the input ", shape_text(logical_dims(x.dims, x.layout)));
  }
  ir::Shape out(grid.begin(), grid.end() - 1);
  g.positions = product(out, 1, static_cast<int64_t>(out.size()));
  out.push_back(g.channels);
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  p.out(0, x.type, std::move(out), Layout::kChannelsLast);
  return bridged(p, grid_sample_kernel(g));
}

// AffineGrid: where each pixel of an image or a volume comes from under an affine map. The operator has a body in the
// onnx library, which loses the batch dimension of a single image.

namespace {

/// Centres of the pixels of an axis in [-1, 1], or with `align_corners` places whose ends are -1 and 1. A single place
/// is the middle, as in PyTorch; the operator's definition divides 0 by 0 there.
std::vector<float> places_on_axis(int64_t length, bool align_corners) {
  std::vector<float> places(static_cast<size_t>(length));
  const auto count = static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<double>(i);
    const double aligned = length == 1 ? 0.0 : 2 * at / (count - 1) - 1;
    places[static_cast<size_t>(i)] = static_cast<float>(align_corners ? aligned : (2 * at + 1) / count - 1);
  }
  return places;
}

/// Of one map [rank, rank + 1]: for each position of the axes (slowest first) the coordinates, fastest axis first.
void map_positions(const std::vector<std::vector<float>>& axes, const float* theta, float* y) {
  const size_t rank = axes.size();
  int64_t count = 1;
  for (const std::vector<float>& axis : axes) count *= static_cast<int64_t>(axis.size());
  for (int64_t i = 0; i < count; ++i) {
    float place[3] = {};
    int64_t rest = i;
    for (size_t k = rank; k-- > 0; rest /= static_cast<int64_t>(axes[k].size()))
      place[rank - 1 - k] = axes[k][static_cast<size_t>(rest % static_cast<int64_t>(axes[k].size()))];
    for (size_t row = 0; row < rank; ++row, ++y) {
      const float* factors = theta + row * (rank + 1);
      *y = factors[rank];
      for (size_t k = 0; k < rank; ++k) *y += factors[k] * place[k];
    }
  }
}

}  // namespace

Result<Kernel> prepare_affine_grid(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_TRY(const IntList size, read_ints(p, "size", 1, 1));
  if (!size.present) return p.corrupt("input 1 is missing");
  if (!size.known) return Prepare::defer();
  const ir::Shape& theta = p.in(0).dims;
  const auto rank = static_cast<int64_t>(size.values.size()) - 2;
  if (rank != 2 && rank != 3) return p.corrupt("size has ", size.values.size(), " elements, allowed: 4 or 5");
  QQ_RETURN_IF_ERROR(check_dims(p, size.values));
  if (theta != ir::Shape{size.values[0], rank, rank + 1}) {
    return p.corrupt("theta ", shape_text(theta), " does not fit the size ", shape_text(size.values));
  }
  ir::Shape out = {size.values[0]};
  out.insert(out.end(), size.values.begin() + 2, size.values.end());
  out.push_back(rank);
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  const bool align_corners = p.node().int_or("align_corners", 0) != 0;
  std::vector<std::vector<float>> axes;
  for (int64_t k = 0; k < rank; ++k)
    axes.push_back(places_on_axis(size.values[static_cast<size_t>(k) + 2], align_corners));
  const int64_t images = out[0], elements = product(out) / std::max<int64_t>(images, 1);
  p.out(0, p.in(0).type, std::move(out));
  return bridged(p, [=](const Run& run) {
    for (int64_t i = 0; i < images; ++i)
      map_positions(axes, run.in<float>(0) + i * rank * (rank + 1), run.out<float>(0) + i * elements);
    return Status();
  });
}

}  // namespace quarkq::exec
