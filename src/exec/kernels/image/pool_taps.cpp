// SPDX-License-Identifier: MIT
#include <algorithm>

#include "exec/kernels/image/pool.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kMaxTableEntries = int64_t{1} << 27;  // 1 GiB; a 56x56 window at each pixel of 200x200 fits

/// One output position along one dimension.
struct Span {
  int64_t first = 0;   ///< input position of the first tap inside
  int64_t inside = 0;  ///< taps inside the input
  int64_t padded = 0;  ///< taps inside the input and its declared padding
};

/// Taps of start, start + step, ... that lie below `end`.
int64_t taps_below(int64_t start, int64_t step, int64_t end, int64_t taps) {
  return end <= start ? 0 : std::min(taps, (end - start + step - 1) / step);
}

std::vector<Span> spans_of(const Window& w, size_t d, int64_t size) {
  std::vector<Span> spans;
  const int64_t step = w.dilations[d], taps = w.kernel[d];
  for (int64_t out = 0; out < w.output[d]; ++out) {
    const int64_t start = out * w.strides[d] - w.pads_begin[d];
    const int64_t before = taps_below(start, step, 0, taps);
    Span span;
    span.first = start + before * step;
    span.inside = taps_below(start, step, size, taps) - before;
    span.padded = taps_below(start, step, size + w.declared_end[d], taps);
    spans.push_back(span);
  }
  return spans;
}

/// Spatial dimensions padded in front to three.
struct Spans {
  std::vector<Span> of[3];
  int64_t size[3] = {1, 1, 1};
  int64_t step[3] = {1, 1, 1};
};

Spans collect_spans(const ir::Shape& spatial, const Window& w) {
  Spans spans;
  const size_t missing = 3 - spatial.size();
  for (size_t d = 0; d < 3; ++d) {
    if (d < missing) {
      spans.of[d] = {{0, 1, 1}};
      continue;
    }
    spans.of[d] = spans_of(w, d - missing, spatial[d - missing]);
    spans.size[d] = spatial[d - missing];
    spans.step[d] = w.dilations[d - missing];
  }
  return spans;
}

/// What one output position sees along each dimension.
struct WindowSpans {
  Span a, b, c;

  int64_t inside() const { return a.inside * b.inside * c.inside; }
  int64_t padded() const { return a.padded * b.padded * c.padded; }
};

void append_taps(const Spans& s, const WindowSpans& window, int64_t channels, std::vector<int64_t>& offsets) {
  const Span &a = window.a, &b = window.b, &c = window.c;
  for (int64_t i = 0; i < a.inside; ++i) {
    for (int64_t j = 0; j < b.inside; ++j) {
      const int64_t row = ((a.first + i * s.step[0]) * s.size[1] + b.first + j * s.step[1]) * s.size[2];
      for (int64_t k = 0; k < c.inside; ++k) offsets.push_back((row + c.first + k * s.step[2]) * channels);
    }
  }
}

}  // namespace

Result<std::shared_ptr<const PoolTaps>> collect_taps(const Prepare& p, const ir::Shape& spatial, const Window& window,
                                                     int64_t channels, bool count_pad) {
  const Spans spans = collect_spans(spatial, window);
  ir::Shape totals;
  for (const auto& dimension : spans.of) {
    int64_t total = 0;
    for (const Span& span : dimension) total += span.inside;
    totals.push_back(total);
  }
  const Result<int64_t> entries = ir::element_count(totals);
  if (!entries.ok() || entries.value() > kMaxTableEntries) {
    return p.cannot("windows of ", shape_text(window.kernel), " over ", shape_text(spatial), " need more than ",
                    kMaxTableEntries, " table entries");
  }
  auto taps = std::make_shared<PoolTaps>();
  taps->offsets.reserve(static_cast<size_t>(entries.value()));
  for (const Span& a : spans.of[0]) {
    for (const Span& b : spans.of[1]) {
      for (const Span& c : spans.of[2]) {
        taps->begin.push_back(static_cast<int64_t>(taps->offsets.size()));
        const WindowSpans covered{a, b, c};
        append_taps(spans, covered, channels, taps->offsets);
        const int64_t divisor = count_pad ? covered.padded() : covered.inside();
        taps->factor.push_back(1.0 / static_cast<double>(std::max<int64_t>(divisor, 1)));
      }
    }
  }
  taps->begin.push_back(static_cast<int64_t>(taps->offsets.size()));
  return std::shared_ptr<const PoolTaps>(std::move(taps));
}

Status read_pool_image(const Prepare& p, ir::Shape& dims, ir::Shape& spatial) {
  dims = logical_dims(p.in(0).dims, p.in(0).layout);
  if (dims.size() < 3 || dims.size() > 5) {
    return p.cannot("input is ", shape_text(dims), ", supported ranks are 3 to 5");
  }
  // No images at all are a result without elements, as in ONNX Runtime.
  if (product(dims, 1, static_cast<int64_t>(dims.size())) == 0)
    return p.cannot("an image without elements: input ", shape_text(dims));
  spatial.assign(dims.begin() + 2, dims.end());
  return Status();
}

}  // namespace quarkq::exec
