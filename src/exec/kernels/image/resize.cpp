// SPDX-License-Identifier: MIT
// Resize and Upsample: reads what each opset says about sizes and scales, then copies by index tables (nearest) or
// interpolates (resize_interpolate.cpp), in any memory layout.
#include <string>

#include "base/index.h"
#include "exec/kernels/image/resize_taps.h"
#include "exec/kernels/shared/tensor_copy.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

/// A list of floats that is an input, when it is there and not empty.
struct FloatList {
  bool known = true;
  std::vector<float> values;
};

Result<FloatList> read_floats(const Prepare& p, size_t i) {
  FloatList list;
  if (!p.has(i) || product(p.in(i).dims) == 0) return list;
  QQ_RETURN_IF_ERROR(require_real(p, i));
  if (p.constant(i) == nullptr) {
    list.known = false;
    return list;
  }
  QQ_TRY(const std::vector<double> values, ir::to_double(*p.constant(i)).context(p.label()));
  for (const double value : values) list.values.push_back(static_cast<float>(value));
  return list;
}

/// What sizes, scales and roi say, by position in `axes`.
struct Request {
  bool known = true;
  std::vector<float> scales, roi;
  std::vector<int64_t> sizes, axes;  ///< axes in memory order
};

/// Where an opset keeps the scales: input number, or 0 for the attribute.
size_t scales_input(const Prepare& p) {
  if (p.node().op == "Upsample") return p.opset() < 9 ? 0 : 1;
  return p.opset() < 11 ? 1 : 2;
}

Result<Request> read_request(const Prepare& p) {
  Request request;
  const int64_t rank = p.in(0).rank();
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  axes = p.node().ints_or("axes", axes);
  for (const int64_t axis : axes) {
    QQ_TRY(const int64_t stored, p.axis(axis, rank));
    if (std::find(request.axes.begin(), request.axes.end(), stored) != request.axes.end()) {
      return p.corrupt("axis ", axis, " is named twice");
    }
    request.axes.push_back(stored);
  }
  FloatList scales;
  const size_t input = scales_input(p);
  if (input == 0) {
    const auto* attribute = p.node().get<std::vector<float>>("scales");
    if (attribute != nullptr) scales.values = *attribute;
  } else {
    QQ_TRY(scales, read_floats(p, input));
  }
  request.scales = scales.values;
  request.known = scales.known;
  if (input != 2) return request;
  QQ_TRY(const FloatList roi, read_floats(p, 1));
  QQ_TRY(const IntList sizes, read_ints(p, "sizes", 3, 11));
  request.roi = roi.values;
  request.sizes = sizes.values;
  request.known = request.known && roi.known && sizes.known;
  return request;
}

/// Scales that keep the aspect ratio of the image, and the sizes that follow.
void keep_aspect_ratio(const std::string& policy, Request& request, const ir::Shape& dims) {
  float scale = 0;
  for (size_t i = 0; i < request.sizes.size(); ++i) {
    const float own = static_cast<float>(request.sizes[i]) / static_cast<float>(dims[as_index(request.axes[i])]);
    const bool better = policy == "not_larger" ? own < scale : own > scale;
    if (i == 0 || better) scale = own;
  }
  constexpr float kTooLong = 1e12f;  // refused later, and safe to convert to an integer
  request.scales.assign(request.sizes.size(), scale);
  for (size_t i = 0; i < request.sizes.size(); ++i) {
    const float length = std::floor(scale * static_cast<float>(dims[as_index(request.axes[i])]) + 0.5f);
    request.sizes[i] = static_cast<int64_t>(std::min(length, kTooLong));
  }
}

/// Completes sizes and scales from each other. Fails on counts, signs and lengths that make no sense.
Status complete_request(const Prepare& p, Request& request) {
  const ir::Shape& dims = p.in(0).dims;
  const size_t count = request.axes.size();
  const bool has_sizes = !request.sizes.empty();
  if ((has_sizes ? request.sizes.size() : request.scales.size()) != count) {
    return p.corrupt(request.scales.size(), " scales and ", request.sizes.size(), " sizes for ", count, " axes");
  }
  for (size_t i = 0; i < request.sizes.size(); ++i) {
    const int64_t size = request.sizes[i], least = dims[as_index(request.axes[i])] == 0 ? 0 : 1;
    if (size < least || size > least * kLongestTable)
      return p.corrupt("size ", size, ", allowed: ", least, " to ", least * kLongestTable);
  }
  const std::string policy = p.node().string_or("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return p.corrupt("keep_aspect_ratio_policy is '", policy, "', allowed: stretch, not_larger, not_smaller");
  }
  const bool has_empty_axis =
      std::any_of(request.axes.begin(), request.axes.end(), [&](int64_t axis) { return dims[as_index(axis)] == 0; });
  if (has_sizes && policy != "stretch" && has_empty_axis)
    return p.cannot("keeps the aspect ratio of an empty axis of ", shape_text(dims));
  if (has_sizes && policy != "stretch") {
    keep_aspect_ratio(policy, request, dims);
  } else if (has_sizes) {
    request.scales.clear();
    for (size_t i = 0; i < count; ++i) {
      const int64_t length = dims[as_index(request.axes[i])];  // an empty axis stays one at any scale
      request.scales.push_back(length == 0 ? 1 : static_cast<float>(request.sizes[i]) / static_cast<float>(length));
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const float scale = request.scales[i], length = static_cast<float>(dims[as_index(request.axes[i])]);
    if (!(scale > 0) || !(scale * length <= static_cast<float>(kLongestTable))) {
      return p.corrupt("scale ", scale, " on a length of ", length, ", allowed: results of 1 to ", kLongestTable);
    }
    if (!has_sizes) request.sizes.push_back(static_cast<int64_t>(std::floor(length * scale)));
    if (request.sizes[i] < 1 && length > 0)
      return p.corrupt("scale ", scale, " leaves nothing of a length of ", length);
  }
  return Status();
}

/// ONNX Runtime copies when no size changes, whatever the scales say; with antialias axis by axis.
void drop_idle_scales(const ResizeRule& rule, const ir::Shape& dims, Request& request) {
  if (rule.coordinates == "tf_crop_and_resize") return;
  const auto stays = [&](size_t i) { return request.sizes[i] == dims[as_index(request.axes[i])]; };
  bool all = true;
  for (size_t i = 0; i < request.sizes.size(); ++i) all = all && stays(i);
  for (size_t i = 0; i < request.sizes.size(); ++i) {
    if (all || (rule.antialias && stays(i))) request.scales[i] = 1.0f;
  }
}

/// Every axis of input 0, those of the request with their new length.
Result<std::vector<ResizeAxis>> requested_axes(const Prepare& p, const ResizeRule& rule, const Request& request) {
  const ir::Shape& dims = p.in(0).dims;
  const bool crops = rule.coordinates == "tf_crop_and_resize";
  const size_t count = request.axes.size();
  if (crops && request.roi.size() != 2 * count) {
    return p.corrupt(request.roi.size(), " roi values for ", count, " axes");
  }
  std::vector<ResizeAxis> axes;
  for (const int64_t length : dims) axes.push_back({length, length});
  for (size_t i = 0; i < count; ++i) {
    ResizeAxis& axis = axes[as_index(request.axes[i])];
    axis.out = request.sizes[i];
    axis.scale = request.scales[i];
    if (!crops) continue;
    axis.roi_start = request.roi[i];
    axis.roi_end = request.roi[i + count];
    if (!std::isfinite(axis.roi_start) || !std::isfinite(axis.roi_end)) return p.corrupt("roi is not finite");
  }
  return axes;
}

Result<Kernel> nearest_kernel(const Prepare& p, std::vector<AxisTaps> taps, float outside) {
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  bool fills = false;
  std::vector<std::vector<int64_t>> tables;
  for (AxisTaps& axis : taps) {
    for (size_t i = 0; i < axis.index.size(); ++i) {
      if (!axis.outside[i]) continue;
      axis.index[i] = kFillIndex;
      fills = true;
    }
    tables.push_back(std::move(axis.index));
  }
  if (fills && x.type != ElementType::kFloat && outside != 0.0f) {
    return p.cannot("extrapolates ", name(x.type), " with ", outside);
  }
  IndexPlan plan = plan_index_copy(x.dims, std::move(tables), bytes);
  return Kernel([plan = std::move(plan), outside](const Run& run) {
    std::byte value[16] = {};
    std::memcpy(value, &outside, sizeof(outside));
    run_index_copy(plan, run.inputs[0], value, run.outputs[0]);
    return Status();
  });
}

Result<Kernel> prepare_resize(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.rank() < 1) return p.corrupt("input 0 has rank 0, allowed: 1 and more");
  QQ_TRY(const ResizeRule rule, resize_rule(p));
  QQ_TRY(Request request, read_request(p));
  if (!request.known) return Prepare::defer();
  QQ_RETURN_IF_ERROR(complete_request(p, request));
  drop_idle_scales(rule, x.dims, request);
  ir::Shape dims = x.dims;
  for (size_t i = 0; i < request.axes.size(); ++i) dims[as_index(request.axes[i])] = request.sizes[i];
  QQ_RETURN_IF_ERROR(check_dims(p, dims));  // before tables as long as an axis
  QQ_TRY(const std::vector<ResizeAxis> axes, requested_axes(p, rule, request));
  if (rule.mode != ResizeMode::kNearest) QQ_RETURN_IF_ERROR(require_real(p, 0));
  p.out(0, x.type, dims);
  if (product(dims) == 0) return no_kernel();  // without tables, which would be as long as its other axes
  std::vector<AxisTaps> taps;
  taps.reserve(axes.size());
  for (const ResizeAxis& axis : axes) taps.push_back(make_taps(rule, axis));
  const float outside = p.node().float_or("extrapolation_value", 0.0f);
  if (rule.mode == ResizeMode::kNearest) return nearest_kernel(p, std::move(taps), outside);
  size_t scratch = 0;
  Kernel kernel = interpolate_kernel(x.dims, std::move(taps), outside, scratch);
  return bridged(p, std::move(kernel), scratch);
}

using enum LayoutRule;
constexpr OpDef kResizeOps[] = {
    {"DepthToSpace", "", 1, kFollow, prepare_depth_to_space},
    {"Resize", "", 10, kFollow, prepare_resize},
    {"SpaceToDepth", "", 1, kFollow, prepare_space_to_depth},
    {"Upsample", "", 7, kFollow, prepare_resize},
};

}  // namespace

std::span<const OpDef> resize_ops() { return kResizeOps; }

// DepthToSpace and SpaceToDepth: both are a view with more dimensions, transposed. Letters name the dimensions of that
// view: N, C channels of the image with blocks spread out, H W of the small image, a b rows and columns of a block.

namespace {

struct Blocks {
  int64_t n = 0, c = 0, h = 0, w = 0, size = 1;  ///< h, w: of the small image
};

Result<Blocks> read_resize_blocks(const Prepare& p, bool to_space) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.rank() != 4) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 4");
  const ir::Shape dims = logical_dims(x.dims, x.layout);
  Blocks blocks{dims[0], dims[1], dims[2], dims[3], p.node().int_or("blocksize", 0)};
  const int64_t size = blocks.size;
  if (size < 1 || size > 65536) return p.corrupt("blocksize is ", size, ", allowed: 1 to 65536");
  const bool fits = to_space ? dims[1] % (size * size) == 0 : dims[2] % size == 0 && dims[3] % size == 0;
  if (!fits) return p.corrupt("blocksize ", size, " does not divide ", shape_text(dims));
  if (to_space) blocks.c /= size * size;
  if (!to_space) blocks.h /= size;
  if (!to_space) blocks.w /= size;
  return blocks;
}

/// Copies from dimensions named by `from` to the order `to`, for example "NabCHW" to "NCHaWb".
Kernel rearrange(const Blocks& b, const std::string& from, const std::string& to, int64_t element) {
  ir::Shape dims;
  for (const char letter : from) {
    dims.push_back(letter == 'N' ? b.n : letter == 'C' ? b.c : letter == 'H' ? b.h : letter == 'W' ? b.w : b.size);
  }
  std::vector<int64_t> order;
  for (const char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
  return [plan = plan_transpose(dims, order, element)](const Run& run) {
    run_copy(plan, run.inputs[0], run.outputs[0]);
    return Status();
  };
}

}  // namespace

namespace {

/// The order of the letters of the channels in the deep image: with mode DCR (the default) rows and columns of a block
/// come first, with CRD the channels.
Result<std::string> read_depth(const Prepare& p) {
  const std::string mode = p.node().string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return p.corrupt("mode is '", mode, "', allowed: DCR, CRD");
  return std::string(mode == "DCR" ? "abC" : "Cab");
}

}  // namespace

Result<Kernel> prepare_depth_to_space(Prepare& p) {
  QQ_TRY(const Blocks b, read_resize_blocks(p, /*to_space=*/true));
  QQ_TRY(const std::string depth, read_depth(p));
  QQ_TRY(const int64_t element, element_bytes(p, p.in(0).type));
  p.out(0, p.in(0).type, stored_dims({b.n, b.c, b.h * b.size, b.w * b.size}, p.layout()));
  if (p.layout() == Layout::kPlain) return rearrange(b, cat("N", depth, "HW"), "NCHaWb", element);
  return rearrange(b, cat("NHW", depth), "NHaWbC", element);
}

Result<Kernel> prepare_space_to_depth(Prepare& p) {
  QQ_TRY(const Blocks b, read_resize_blocks(p, /*to_space=*/false));
  QQ_TRY(const std::string depth, read_depth(p));  // an attribute since opset 28
  QQ_TRY(const int64_t element, element_bytes(p, p.in(0).type));
  p.out(0, p.in(0).type, stored_dims({b.n, b.c * b.size * b.size, b.h, b.w}, p.layout()));
  if (p.layout() == Layout::kPlain) return rearrange(b, "NCHaWb", cat("N", depth, "HW"), element);
  return rearrange(b, "NHaWbC", cat("NHW", depth), element);
}

}  // namespace quarkq::exec
