// SPDX-License-Identifier: MIT
// MaxPool, AveragePool and their global forms on channels-last images. Own loops rather than oneDNN's: they cover
// ceil_mode, dilations and every padding rule alike, and a window over channels-last rows is one short vector loop.
#include <algorithm>
#include <limits>

#include "exec/kernels/families.h"
#include "exec/kernels/pool_loops.h"
#include "exec/kernels/window.h"

namespace quarkq::exec {
namespace {

/// The rows of the input under each output position, flattened over all spatial positions of one image.
struct Taps {
  std::vector<int64_t> offsets;  ///< elements from the image's start
  std::vector<int64_t> begin;    ///< per output position, into offsets; one more at the end
  std::vector<float> factor;     ///< per output position: 1 / number averaged over
};

/// Index vectors over a spatial box, last dimension fastest.
template <typename Visit>
void for_each_position(const ir::Shape& box, Visit visit) {
  std::vector<int64_t> at(box.size(), 0);
  const int64_t count = ir::checked_count(box);
  for (int64_t i = 0; i < count; ++i) {
    visit(at);
    for (size_t d = box.size(); d-- > 0;) {
      if (++at[d] < box[d]) break;
      at[d] = 0;
    }
  }
}

Taps collect_taps(const ir::Shape& spatial, const Window& w, int64_t channels, bool count_pad) {
  Taps taps;
  const size_t rank = spatial.size();
  for_each_position(w.output, [&](const std::vector<int64_t>& out) {
    taps.begin.push_back(static_cast<int64_t>(taps.offsets.size()));
    int64_t padded = 0;  // positions that count for count_include_pad: inside the declared padding
    for_each_position(w.kernel, [&](const std::vector<int64_t>& k) {
      int64_t index = 0;
      bool inside = true, counts = true;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t x = out[d] * w.strides[d] - w.pads_begin[d] + k[d] * w.dilations[d];
        inside = inside && x >= 0 && x < spatial[d];
        counts = counts && x < spatial[d] + w.pads_end[d];
        index = index * spatial[d] + x;
      }
      if (inside) taps.offsets.push_back(index * channels);
      if (counts) ++padded;
    });
    const int64_t inside = static_cast<int64_t>(taps.offsets.size()) - taps.begin.back();
    taps.factor.push_back(1.0f / static_cast<float>(std::max<int64_t>(count_pad ? padded : inside, 1)));
  });
  taps.begin.push_back(static_cast<int64_t>(taps.offsets.size()));
  return taps;
}

enum class PoolKind { kMax, kAverage };

Status read_image(const Prepare& p, ir::Shape& dims, ir::Shape& spatial) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat}));
  dims = logical_dims(p.in(0).dims, p.in(0).layout);
  if (dims.size() < 3 || dims.size() > 5)
    return p.cannot("input is ", shape_text(dims), ", supported ranks are 3 to 5");
  if (ir::checked_count(dims) == 0) return p.cannot("an image without elements: input ", shape_text(dims));
  spatial.assign(dims.begin() + 2, dims.end());
  return Status();
}

/// The padding that count_include_pad counts is what the node declares, not what ceil_mode adds.
void use_declared_end_padding(const Prepare& p, Window& w) {
  const size_t rank = w.kernel.size();
  const auto pads = p.node().ints_or("pads", {});
  if (pads.size() != 2 * rank || p.node().string_or("auto_pad", "NOTSET") != "NOTSET") return;
  for (size_t i = 0; i < rank; ++i) w.pads_end[i] = pads[rank + i];
}

Result<Kernel> prepare_pool(Prepare& p, PoolKind kind) {
  ir::Shape dims, spatial;
  QQ_RETURN_IF_ERROR(read_image(p, dims, spatial));
  if (p.wants(1)) return p.cannot("output Indices is not supported");
  const auto kernel = p.node().ints_or("kernel_shape", {});
  QQ_TRY(Window window, read_window(p, spatial, kernel));
  const bool count_pad = p.node().int_or("count_include_pad", 0) != 0;
  ir::Shape out = {dims[0], dims[1]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  p.out(0, ElementType::kFloat, stored_dims(out, Layout::kChannelsLast), Layout::kChannelsLast);
  use_declared_end_padding(p, window);
  auto taps = std::make_shared<const Taps>(collect_taps(spatial, window, dims[1], count_pad));
  const int64_t images = dims[0], channels = dims[1];
  const int64_t in_size = ir::checked_count(spatial) * channels, positions = ir::checked_count(window.output);
  return Kernel([=](const Run& run) {
    const auto max_rows = QQ_DISPATCH(exec, max_rows);
    const auto average_rows = QQ_DISPATCH(exec, average_rows);
#pragma omp parallel for schedule(static) if (images * positions * channels > 16384)
    for (int64_t i = 0; i < images * positions; ++i) {
      const auto position = static_cast<size_t>(i % positions);
      const float* image = run.in<float>(0) + i / positions * in_size;
      float* y = run.out<float>(0) + i * channels;
      const int64_t* offsets = taps->offsets.data() + taps->begin[position];
      const int64_t count = taps->begin[position + 1] - taps->begin[position];
      if (count == 0) {  // a window wholly in the padding
        std::fill_n(y, channels, kind == PoolKind::kMax ? std::numeric_limits<float>::lowest() : 0.0f);
      } else if (kind == PoolKind::kMax) {
        max_rows(image, offsets, count, channels, y);
      } else {
        average_rows(image, offsets, count, channels, taps->factor[position], y);
      }
    }
    return Status();
  });
}

Result<Kernel> prepare_global(Prepare& p, PoolKind kind) {
  ir::Shape dims, spatial;
  QQ_RETURN_IF_ERROR(read_image(p, dims, spatial));
  const int64_t images = dims[0], channels = dims[1], rows = ir::checked_count(spatial);
  ir::Shape out(dims.size(), 1);
  out[0] = images;
  out[1] = channels;
  p.out(0, ElementType::kFloat, stored_dims(out, Layout::kChannelsLast), Layout::kChannelsLast);
  constexpr int64_t kChannelsPerTask = 64;
  const int64_t tasks = (channels + kChannelsPerTask - 1) / kChannelsPerTask;
  return Kernel([=](const Run& run) {
    const auto add_rows = QQ_DISPATCH(exec, add_rows);
    const auto max_into = QQ_DISPATCH(exec, max_into);
#pragma omp parallel for schedule(static) if (images * rows * channels > 32768)
    for (int64_t i = 0; i < images * tasks; ++i) {
      const int64_t first = i % tasks * kChannelsPerTask, width = std::min(kChannelsPerTask, channels - first);
      const float* x = run.in<float>(0) + i / tasks * rows * channels + first;
      float* y = run.out<float>(0) + i / tasks * channels + first;
      std::copy_n(x, width, y);
      if (kind == PoolKind::kMax) {
        max_into(x + channels, rows - 1, channels, width, y);
        continue;
      }
      add_rows(x + channels, rows - 1, channels, width, y);
      for (int64_t c = 0; c < width; ++c) y[c] /= static_cast<float>(rows);
    }
    return Status();
  });
}

Result<Kernel> prepare_max_pool(Prepare& p) { return prepare_pool(p, PoolKind::kMax); }
Result<Kernel> prepare_average_pool(Prepare& p) { return prepare_pool(p, PoolKind::kAverage); }
Result<Kernel> prepare_global_max(Prepare& p) { return prepare_global(p, PoolKind::kMax); }
Result<Kernel> prepare_global_average(Prepare& p) { return prepare_global(p, PoolKind::kAverage); }

}  // namespace

std::span<const OpDef> pool_ops() {
  static constexpr OpDef kOps[] = {
      {"MaxPool", "", 1, LayoutRule::kImage, prepare_max_pool},
      {"AveragePool", "", 1, LayoutRule::kImage, prepare_average_pool},
      {"GlobalMaxPool", "", 1, LayoutRule::kImage, prepare_global_max},
      {"GlobalAveragePool", "", 1, LayoutRule::kImage, prepare_global_average},
  };
  return kOps;
}

}  // namespace quarkq::exec
