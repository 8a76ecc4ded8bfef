// SPDX-License-Identifier: MIT
// RoiAlign on channels-last images: the sample points of an output bin are found once for all channels.
#include "exec/kernels/image/image_ops.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kMostSamples = 1 << 20;         ///< sample points along one axis of a bin
constexpr int64_t kMostInBin = int64_t{1} << 22;  ///< and in a bin: their taps are held in memory

struct RoiAlign {
  int64_t images = 0, height = 0, width = 0, channels = 0, rois = 0;
  int64_t out_height = 1, out_width = 1, sampling_ratio = 0;
  float scale = 1;
  bool half_pixel = true, largest = false, wide_indices = true;
};

/// One axis of a region in input coordinates: where it starts, how large a bin is, and how many sample points one has.
struct Axis {
  float start = 0, bin = 0;
  int64_t samples = 1;

  float place(int64_t of_bin, int64_t i) const {
    return start + static_cast<float>(of_bin) * bin +
           (static_cast<float>(i) + 0.5f) * bin / static_cast<float>(samples);
  }
};
struct Region {
  Axis rows, columns;
  int64_t points() const { return rows.samples * columns.samples; }
};

Region read_region(const RoiAlign& r, const float* roi) {
  const float shift = r.half_pixel ? 0.5f : 0.0f;
  Region region{{.start = roi[1] * r.scale - shift}, {.start = roi[0] * r.scale - shift}};
  float height = roi[3] * r.scale - shift - region.rows.start, width = roi[2] * r.scale - shift - region.columns.start;
  if (!r.half_pixel) {  // older versions force at least one pixel
    height = std::max(height, 1.0f);
    width = std::max(width, 1.0f);
  }
  region.rows.bin = height / static_cast<float>(r.out_height);
  region.columns.bin = width / static_cast<float>(r.out_width);
  const auto samples = [&](float bin) {
    if (r.sampling_ratio > 0) return r.sampling_ratio;
    return bin > 0 ? static_cast<int64_t>(std::min(std::ceil(bin), static_cast<float>(kMostSamples))) : 0;  // or NaN
  };
  region.rows.samples = samples(region.rows.bin);
  region.columns.samples = samples(region.columns.bin);
  return region;
}

/// The two input lines around a place, with weights. False: so far outside that the point counts as zero.
struct Between {
  int64_t low = 0, high = 0;
  float low_weight = 0, high_weight = 0;
};
bool between(float place, int64_t length, Between& b) {
  if (!(place >= -1.0f) || place > static_cast<float>(length)) return false;
  place = std::max(place, 0.0f);
  b.low = std::min(static_cast<int64_t>(place), length - 1);
  b.high = std::min(b.low + 1, length - 1);
  if (b.low == length - 1) place = static_cast<float>(b.low);
  b.high_weight = place - static_cast<float>(b.low);
  b.low_weight = 1.0f - b.high_weight;
  return true;
}

/// A place in the pooled region.
struct Bin {
  int64_t row = 0, column = 0;
};

/// A row of pixels and the accumulated weight of its sample points.
struct Line {
  int64_t at = 0;
  double weight = 0;
};
using Lines = std::vector<Line>;

/// Adds `weight` to line `at`. Lines are added in order, so an existing one is among the last two.
void add_line(Lines& lines, int64_t at, float weight) {
  for (size_t back = 1; back <= std::min<size_t>(lines.size(), 2); ++back) {
    Line& line = lines[lines.size() - back];
    if (line.at != at) continue;
    line.weight += weight;
    return;
  }
  lines.push_back({at, weight});
}

/// The lines between which the sample points of a bin lie, along an axis of `length` lines.
void find_lines(const Axis& axis, int64_t of_bin, int64_t length, Lines& lines) {
  lines.clear();
  Between b;
  for (int64_t i = 0; i < axis.samples; ++i) {
    if (!between(axis.place(of_bin, i), length, b)) continue;
    add_line(lines, b.low, b.low_weight);
    if (b.high != b.low) add_line(lines, b.high, b.high_weight);
  }
}

/// Buffers that a thread reuses for all bins.
struct Scratch {
  Lines rows, columns;
  RowTaps taps;
};

/// Computes the sum over the sample points of a bin. Reads each pixel once, however many points use it.
void add_sum(const RoiAlign& r, const Region& region, const Bin& bin, int64_t base, Scratch& s) {
  find_lines(region.rows, bin.row, r.height, s.rows);
  find_lines(region.columns, bin.column, r.width, s.columns);
  s.taps.expect(static_cast<int64_t>(s.rows.size() * s.columns.size()));
  for (const Line& row : s.rows) {
    for (const Line& column : s.columns) {
      s.taps.add(base + (row.at * r.width + column.at) * r.channels, static_cast<float>(row.weight * column.weight));
    }
  }
  s.taps.end_row();
}

/// Lists every sample point of a bin; the result is their maximum.
void add_points(const RoiAlign& r, const Region& region, const Bin& bin, int64_t base, RowTaps& taps) {
  taps.expect(4 * region.points());
  for (int64_t iy = 0; iy < region.rows.samples; ++iy) {
    Between v;
    const bool row_counts = between(region.rows.place(bin.row, iy), r.height, v);
    for (int64_t ix = 0; ix < region.columns.samples; ++ix) {
      Between h;
      if (!row_counts || !between(region.columns.place(bin.column, ix), r.width, h)) {
        taps.add(base, 0.0f);  // a point outside is a zero among those compared
        continue;
      }
      const auto at = [&](int64_t row, int64_t column) { return base + (row * r.width + column) * r.channels; };
      taps.add(at(v.low, h.low), v.low_weight * h.low_weight);
      taps.add(at(v.low, h.high), v.low_weight * h.high_weight);
      taps.add(at(v.high, h.low), v.high_weight * h.low_weight);
      taps.add(at(v.high, h.high), v.high_weight * h.high_weight);
    }
  }
  taps.end_row();
}

int64_t image_of(const RoiAlign& r, const Run& run, int64_t roi) {
  return r.wide_indices ? run.in<int64_t>(2)[roi] : run.in<int32_t>(2)[roi];
}

void align_region(const RoiAlign& r, const Run& run, int64_t roi, Scratch& s) {
  const Region region = read_region(r, run.in<float>(1) + 4 * roi);
  const int64_t base = image_of(r, run, roi) * r.height * r.width * r.channels;
  const float factor = 1.0f / static_cast<float>(std::max<int64_t>(region.points(), 1));
  for (int64_t ph = 0; ph < r.out_height; ++ph) {
    for (int64_t pw = 0; pw < r.out_width; ++pw) {
      s.taps.clear();
      float* y = run.out<float>(0) + ((roi * r.out_height + ph) * r.out_width + pw) * r.channels;
      if (r.largest) {
        add_points(r, region, {ph, pw}, base, s.taps);
        QQ_DISPATCH(exec, largest_rows)(s.taps.sums(r.channels, r.channels), run.in<float>(0), y, 1);
      } else {
        add_sum(r, region, {ph, pw}, base, s);
        RowSums sums = s.taps.sums(r.channels, r.channels);
        sums.factor = &factor;
        QQ_DISPATCH(exec, weighted_rows)(sums, run.in<float>(0), y, 1);
      }
    }
  }
}

Kernel roi_align_kernel(const RoiAlign& r, const std::string& label) {
  return [r, label](const Run& run) {
    for (int64_t i = 0; i < r.rois; ++i) {
      const int64_t image = image_of(r, run, i);
      if (image < 0 || image >= r.images) {
        return bad_data(label, ": batch index ", image, " is outside of [0,", r.images - 1, "]");
      }
      for (int64_t k = 0; k < 4; ++k) {
        if (std::isfinite(run.in<float>(1)[4 * i + k] * r.scale)) continue;
        return bad_data(label, ": region ", i, " is not finite");
      }
      const Region region = read_region(r, run.in<float>(1) + 4 * i);
      if (region.points() > kMostInBin) {
        return bad_data(label, ": region ", i, " needs ", region.rows.samples, " x ", region.columns.samples,
                        " points for each bin");
      }
    }
    for_rows(r.rois, r.out_height * r.out_width * (r.channels * 4 + 32), [&](int64_t begin, int64_t end) {
      Scratch scratch;
      for (int64_t i = begin; i < end; ++i) align_region(r, run, i, scratch);
    });
    return Status();
  };
}

Status read_attributes(const Prepare& p, RoiAlign& r) {
  const ir::Node& node = p.node();
  r.out_height = node.int_or("output_height", 1);
  r.out_width = node.int_or("output_width", 1);
  r.sampling_ratio = node.int_or("sampling_ratio", 0);
  r.scale = node.float_or("spatial_scale", 1.0f);
  for (const int64_t size : {r.out_height, r.out_width}) {
    if (size < 1 || size > (1 << 16)) return p.corrupt("output size is ", size, ", allowed: 1 to 65536");
  }
  if (r.sampling_ratio < 0 || r.sampling_ratio > kMostSamples) {
    return p.corrupt("sampling_ratio is ", r.sampling_ratio, ", allowed: 0 to ", kMostSamples);
  }
  const std::string mode = node.string_or("mode", "avg");
  if (mode != "avg" && mode != "max") return p.corrupt("mode is '", mode, "', allowed: avg, max");
  r.largest = mode == "max";
  const std::string coordinates =
      p.opset() < 16 ? "output_half_pixel" : node.string_or("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return p.corrupt("coordinate_transformation_mode is '", coordinates, "', allowed: half_pixel, output_half_pixel");
  }
  r.half_pixel = coordinates == "half_pixel";
  return Status();
}

}  // namespace

Result<Kernel> prepare_roi_align(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_image(p, 4, 4));
  QQ_RETURN_IF_ERROR(require_real(p, 1));
  QQ_RETURN_IF_ERROR(p.require_input(2, {ElementType::kInt64, ElementType::kInt32}));
  const Spec& x = p.in(0);
  RoiAlign r;
  QQ_RETURN_IF_ERROR(read_attributes(p, r));
  r.images = x.dims[0];
  r.height = x.dims[1];
  r.width = x.dims[2];
  r.channels = x.dims[3];
  r.wide_indices = p.in(2).type == ElementType::kInt64;
  const ir::Shape& rois = p.in(1).dims;
  if (rois.size() != 2 || rois[1] != 4) return p.corrupt("rois are ", shape_text(rois), ", must be [regions, 4]");
  r.rois = rois[0];
  if (p.in(2).dims != ir::Shape{r.rois}) {
    return p.corrupt("batch indices are ", shape_text(p.in(2).dims), ", must be [", r.rois, "]");
  }
  const ir::Shape out = {r.rois, r.out_height, r.out_width, r.channels};
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  p.out(0, x.type, out, Layout::kChannelsLast);
  return bridged(p, roi_align_kernel(r, p.label()));
}

}  // namespace quarkq::exec
