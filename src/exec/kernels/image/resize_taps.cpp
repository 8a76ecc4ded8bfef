// SPDX-License-Identifier: MIT
// All positions are float32, as in other executors: a nearest neighbour must not change by rounding differently.
#include "exec/kernels/image/resize_taps.h"

namespace quarkq::exec {
namespace {

/// Position in the input of output index `i`.
float source_position(const ResizeRule& rule, const ResizeAxis& axis, int64_t i) {
  const auto x = static_cast<float>(i);
  const auto in = static_cast<float>(axis.in), out = static_cast<float>(axis.out);
  const std::string& mode = rule.coordinates;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "align_corners") return axis.out == 1 ? 0.0f : x * (in - 1.0f) / (out - 1.0f);
  if (mode == "pytorch_half_pixel") return axis.out > 1 ? (x + 0.5f) / axis.scale - 0.5f : 0.0f;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5f) / axis.scale;
  if (mode == "half_pixel_symmetric") {
    const float adjustment = out / (axis.scale * in);
    return in / 2.0f * (1.0f - adjustment) + (x + 0.5f) / axis.scale - 0.5f;
  }
  if (mode == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5f * (axis.roi_start + axis.roi_end) * (in - 1.0f);
    return axis.roi_start * (in - 1.0f) + x * (axis.roi_end - axis.roi_start) * (in - 1.0f) / (out - 1.0f);
  }
  return (x + 0.5f) / axis.scale - 0.5f;  // half_pixel
}

float nearest_position(const ResizeRule& rule, const ResizeAxis& axis, float position) {
  if (rule.nearest == "floor") return std::floor(position);
  if (rule.nearest == "ceil") return std::ceil(position);
  if (rule.nearest == "simple") return axis.scale < 1.0f ? std::ceil(position) : std::floor(position);
  // A tie up to the rounding of scale and position is one, as in ONNX Runtime 1.32 (found by 4,802 sizes: ties end
  // between 9.6e-7 and 1.9e-6).
  constexpr float kTie = 1e-6f;
  const float down = std::floor(position), rest = position - down;
  if (std::fabs(rest - 0.5f) <= kTie) return rule.nearest == "round_prefer_ceil" ? down + 1.0f : down;
  return rest > 0.5f ? down + 1.0f : down;
}

int64_t clamp_index(float position, int64_t length) {
  return static_cast<int64_t>(std::clamp(position, 0.0f, static_cast<float>(length - 1)));
}

void add_linear(AxisTaps& taps, const ResizeAxis& axis, float position) {
  const float x = std::clamp(position, 0.0f, static_cast<float>(axis.in - 1));
  const int64_t low = std::min(static_cast<int64_t>(x), axis.in - 1), high = std::min(low + 1, axis.in - 1);
  // Past the last sample both taps are that sample; any weights do, ONNX Runtime's halves keep rounding ties alike.
  const float share = low == high ? 0.5f : x - static_cast<float>(low);
  taps.index.insert(taps.index.end(), {low, high});
  taps.weight.insert(taps.weight.end(), {1.0f - share, share});
}

void add_cubic(AxisTaps& taps, const ResizeRule& rule, const ResizeAxis& axis, float position) {
  const float a = rule.cubic_a, down = std::floor(position), s = position - down, t = 1.0f - s;
  const float far_left = s + 1.0f, far_right = t + 1.0f;
  float weights[4] = {((a * far_left - 5 * a) * far_left + 8 * a) * far_left - 4 * a,
                      ((a + 2) * s - (a + 3)) * s * s + 1, ((a + 2) * t - (a + 3)) * t * t + 1,
                      ((a * far_right - 5 * a) * far_right + 8 * a) * far_right - 4 * a};
  float total = 0;
  for (int k = 0; k < 4; ++k) {
    const float place = down + static_cast<float>(k - 1);
    if (rule.exclude_outside && (place < 0 || place > static_cast<float>(axis.in - 1))) weights[k] = 0;
    total += weights[k];
    taps.index.push_back(clamp_index(place, axis.in));
  }
  for (const float weight : weights) taps.weight.push_back(rule.exclude_outside ? weight / total : weight);
}

/// Value of the interpolation kernel at a distance.
float filter_value(const ResizeRule& rule, float distance) {
  const float x = std::fabs(distance), a = rule.cubic_a;
  if (rule.mode == ResizeMode::kLinear) return x < 1.0f ? 1.0f - x : 0.0f;
  if (x < 1.0f) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2.0f ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0f;
}

/// Where an axis shrinks, the interpolation kernel is widened by that much, as an image library does it.
struct WideFilter {
  float stretch, support;  ///< support: half the width, in input elements
  explicit WideFilter(const ResizeRule& rule, const ResizeAxis& axis)
      : stretch(std::max(1.0f, 1.0f / axis.scale)),
        support((rule.mode == ResizeMode::kLinear ? 1.0f : 2.0f) * stretch) {}
  int64_t width() const { return static_cast<int64_t>(std::ceil(2.0f * support)) + 1; }
};

/// All places have taps.width entries; those that the kernel does not reach weigh nothing.
void add_wide(AxisTaps& taps, const ResizeRule& rule, const ResizeAxis& axis, float position) {
  const WideFilter filter(rule, axis);
  constexpr float kFar = 1e9f;  // beyond every axis, and safe to convert to an integer
  const float center = std::clamp(position, -kFar, kFar) + 0.5f;
  const auto first = static_cast<int64_t>(std::floor(center - filter.support + 0.5f));
  const auto end = static_cast<int64_t>(std::floor(center + filter.support + 0.5f));
  const size_t begin = taps.weight.size();
  float total = 0;
  for (int64_t k = 0; k < taps.width; ++k) {
    const int64_t place = first + k;
    const bool counts = place < end && (!rule.exclude_outside || (place >= 0 && place < axis.in));
    const float distance = (static_cast<float>(place) - center + 0.5f) / filter.stretch;
    taps.index.push_back(std::clamp<int64_t>(place, 0, axis.in - 1));
    taps.weight.push_back(counts ? filter_value(rule, distance) : 0.0f);
    total += taps.weight.back();
  }
  for (size_t k = begin; total != 0.0f && k < taps.weight.size(); ++k) taps.weight[k] /= total;
}

template <typename Allowed>
Status require_one_of(const Prepare& p, std::string_view attribute, const std::string& found, const Allowed& allowed) {
  if (std::find(std::begin(allowed), std::end(allowed), found) != std::end(allowed)) return Status();
  return p.corrupt(attribute, " is '", found, "', allowed: ", join(allowed, ", "));
}

}  // namespace

Result<ResizeRule> resize_rule(const Prepare& p) {
  const ir::Node& node = p.node();
  const bool simple = node.op == "Upsample" || p.opset() < 11;
  const std::string mode = node.string_or("mode", "nearest");
  QQ_RETURN_IF_ERROR(
      require_one_of(p, "mode", mode, std::vector<std::string>{"nearest", "linear", "cubic", "bilinear"}));
  ResizeRule rule;
  rule.mode = mode == "nearest" ? ResizeMode::kNearest : mode == "cubic" ? ResizeMode::kCubic : ResizeMode::kLinear;
  rule.coordinates = simple ? "asymmetric" : node.string_or("coordinate_transformation_mode", "half_pixel");
  rule.nearest = simple ? "simple" : node.string_or("nearest_mode", "round_prefer_floor");
  rule.cubic_a = node.float_or("cubic_coeff_a", -0.75f);
  rule.exclude_outside = node.int_or("exclude_outside", 0) != 0;
  rule.antialias = node.int_or("antialias", 0) != 0 && rule.mode != ResizeMode::kNearest;
  QQ_RETURN_IF_ERROR(
      require_one_of(p, "nearest_mode", rule.nearest,
                     std::vector<std::string>{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"}));
  QQ_RETURN_IF_ERROR(require_one_of(
      p, "coordinate_transformation_mode", rule.coordinates,
      std::vector<std::string>{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                               "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  return rule;
}

AxisTaps make_taps(const ResizeRule& rule, const ResizeAxis& axis) {
  AxisTaps taps;
  const bool crops = rule.coordinates == "tf_crop_and_resize";
  taps.identity = axis.in == axis.out && axis.scale == 1.0f && (!crops || (axis.roi_start == 0 && axis.roi_end == 1));
  const bool copies = taps.identity || rule.mode == ResizeMode::kNearest;
  if (!copies) taps.width = rule.antialias ? WideFilter(rule, axis).width() : rule.mode == ResizeMode::kLinear ? 2 : 4;
  const size_t count = static_cast<size_t>(axis.out) * static_cast<size_t>(taps.width);  // else half of it lies idle
  taps.index.reserve(count);
  if (!copies) taps.weight.reserve(count);
  for (int64_t i = 0; i < axis.out; ++i) {
    const float computed = taps.identity ? static_cast<float>(i) : source_position(rule, axis, i);
    const float position = std::isnan(computed) ? -1.0f : computed;  // of infinite steps: outside
    taps.outside.push_back(crops && !(position >= 0 && position <= static_cast<float>(axis.in - 1)));
    if (copies) {
      taps.index.push_back(taps.identity ? i : clamp_index(nearest_position(rule, axis, position), axis.in));
    } else if (rule.antialias) {
      add_wide(taps, rule, axis, position);
    } else if (rule.mode == ResizeMode::kLinear) {
      add_linear(taps, axis, position);
    } else {
      add_cubic(taps, rule, axis, position);
    }
  }
  return taps;
}

}  // namespace quarkq::exec
