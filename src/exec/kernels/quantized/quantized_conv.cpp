// SPDX-License-Identifier: MIT
// ConvInteger and QLinearConv: convolutions of bytes on channels-last images in exact 32-bit arithmetic. The inputs of
// a pixel are gathered into one row (padding is zero: it stands for the zero point) and multiplied with all filters.
#include <array>

#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/quantized/quantized_product.h"
#include "exec/kernels/shared/kernel_shapes.h"

namespace quarkq::exec {
namespace {

/// A convolution of [N, C, spatial...] with [O, C/group, kernel...].
struct ByteConv {
  ir::Shape spatial;
  Window window;
  int64_t images = 0, channels = 0, made = 0, groups = 1;
  ElementType input_type = ElementType::kUInt8, weight_type = ElementType::kUInt8;
  size_t weight_input = 0;
  QuantInput input_zero, weight_zero;
  std::vector<int64_t> taps;  ///< window offsets of every kernel element, one entry per spatial dimension

  int64_t group_channels() const { return channels / groups; }
  int64_t group_made() const { return made / groups; }
  int64_t tap_count() const { return product(window.kernel); }
  int64_t depth() const { return tap_count() * group_channels(); }
  int64_t input_size() const { return images * product(spatial) * channels; }
};

std::vector<int64_t> list_taps(const Window& w) {
  std::vector<int64_t> taps;
  std::vector<int64_t> index(w.kernel.size());
  for (int64_t i = 0, count = product(w.kernel); i < count; ++i) {
    for (size_t d = 0; d < index.size(); ++d) taps.push_back(index[d] * w.dilations[d]);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < w.kernel[d]) break;
      index[d] = 0;
    }
  }
  return taps;
}

Result<ByteConv> read_conv(const Prepare& p, size_t weights) {
  QQ_RETURN_IF_ERROR(require_byte(p, 0));
  QQ_RETURN_IF_ERROR(require_byte(p, weights));
  const ir::Shape x = logical_dims(p.in(0).dims, p.in(0).layout), &w = p.in(weights).dims;
  if (x.size() < 3 || x.size() > 5) return p.cannot("input is ", shape_text(x), ", supported ranks are 3 to 5");
  if (w.size() != x.size()) return p.corrupt("weights ", shape_text(w), " do not fit the input ", shape_text(x));
  ByteConv conv;
  conv.images = x[0];
  conv.channels = x[1];
  conv.made = w[0];
  conv.groups = p.node().int_or("group", 1);
  if (conv.groups < 1 || conv.made % conv.groups != 0 || conv.channels % conv.groups != 0) {
    return p.corrupt("group ", conv.groups, " does not divide ", conv.channels, " and ", conv.made, " channels");
  }
  if (conv.group_channels() != w[1]) {
    return p.corrupt("input has ", conv.channels, " channels, the weights ", shape_text(w), " with group ", conv.groups,
                     " take ", w[1], " for each group");
  }
  conv.spatial.assign(x.begin() + 2, x.end());
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  const auto stated = p.node().ints_or("kernel_shape", kernel);
  if (stated != kernel) return p.corrupt("kernel_shape ", shape_text(stated), " disagrees with ", shape_text(w));
  QQ_TRY(conv.window, read_window(p, conv.spatial, kernel));
  conv.input_type = p.in(0).type;
  conv.weight_type = p.in(weights).type;
  conv.weight_input = weights;
  conv.taps = list_taps(conv.window);
  return conv;
}

/// Filters as [made, taps, group channels] in 16 bits.
std::vector<int16_t> pack_filters(const ByteConv& c, const std::byte* data, const std::vector<int32_t>& zero_points) {
  std::vector<int16_t> rows(static_cast<size_t>(c.made * c.depth())), packed(rows.size());
  widen_matrix({data, c.weight_type, c.made, c.depth(), c.depth(), 1}, zero_points, rows.data());
  const int64_t taps = c.tap_count(), inputs = c.group_channels();
  for (int64_t o = 0; o < c.made; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        packed[static_cast<size_t>((o * taps + t) * inputs + i)] =
            rows[static_cast<size_t>((o * inputs + i) * taps + t)];
      }
    }
  }
  return packed;
}

/// Inputs of output pixel `pixel` of group `group`, one row of depth() elements.
void gather_patch_row(const ByteConv& c, const int16_t* image, int64_t pixel, int64_t group, int16_t* row) {
  const size_t rank = c.spatial.size();
  std::array<int64_t, 3> origin{};
  for (size_t d = rank; d-- > 0;) {
    origin[d] = pixel % c.window.output[d] * c.window.strides[d] - c.window.pads_begin[d];
    pixel /= c.window.output[d];
  }
  const int64_t inputs = c.group_channels();
  for (const int64_t *tap = c.taps.data(), *end = tap + c.taps.size(); tap != end; tap += rank, row += inputs) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t at = origin[d] + tap[d];
      inside = inside && at >= 0 && at < c.spatial[d];
      offset = offset * c.spatial[d] + at;
    }
    if (inside)
      std::copy_n(image + offset * c.channels + group * inputs, inputs, row);
    else
      std::fill_n(row, inputs, int16_t{0});
  }
}

/// Stores what `group` makes of pixels [first, first + rows) of image number `image`.
struct Tile {
  int64_t image = 0, first = 0, rows = 0;
};
struct TileBuffers {
  std::vector<int16_t> rows;
  std::vector<int32_t> sums;
};

/// Both without their zero points.
struct ConvOperands {
  const int16_t* x = nullptr;
  const int16_t* filters = nullptr;
};

void run_tile(const ByteConv& c, const ConvOperands& operands, const ProductResult& result, const Tile& tile,
              TileBuffers& buffers) {
  const int64_t depth = c.depth(), made = c.group_made(), pixels = product(c.window.output);
  const int16_t* image = operands.x + tile.image * product(c.spatial) * c.channels;
  for (int64_t group = 0; group < c.groups; ++group) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      gather_patch_row(c, image, tile.first + r, group, buffers.rows.data() + r * depth);
    }
    QQ_DISPATCH(exec, integer_products)
    (buffers.rows.data(), operands.filters + group * made * depth, {tile.rows, depth, made}, buffers.sums.data());
    ProductResult part = result;
    part.data += group * made * (bits(result.type) / 8);
    if (part.bias != nullptr) part.bias += group * made;
    if (part.scale != nullptr) part.scale += group * made;
    for (int64_t r = 0; r < tile.rows; ++r) {
      part.store(buffers.sums.data() + r * made, tile.image * pixels + tile.first + r, made);
    }
  }
}

void run_conv(const ByteConv& c, const ConvOperands& operands, const ProductResult& result) {
  const int64_t pixels = product(c.window.output), tiles = (pixels + kProductRows - 1) / kProductRows;
  for_rows(c.images * tiles, c.depth() * c.group_made() * c.groups + 1, [&](int64_t begin, int64_t end) {
    TileBuffers buffers{std::vector<int16_t>(static_cast<size_t>(kProductRows * c.depth())),
                        std::vector<int32_t>(static_cast<size_t>(kProductRows * c.group_made()))};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % tiles * kProductRows;
      run_tile(c, operands, result, {i / tiles, first, std::min(kProductRows, pixels - first)}, buffers);
    }
  });
}

/// Filters packed once when weights and zero point are constant; null otherwise.
std::shared_ptr<const std::vector<int16_t>> pack_constant(const Prepare& p, const ByteConv& c) {
  const ir::Tensor* data = p.constant(c.weight_input);
  const ir::Tensor* zero = p.constant(c.weight_zero.index);
  if (data == nullptr || (zero == nullptr && c.weight_zero.count > 0)) return nullptr;
  std::vector<const std::byte*> inputs(p.input_count());
  if (zero != nullptr) inputs[c.weight_zero.index] = zero->raw();
  return std::make_shared<const std::vector<int16_t>>(
      pack_filters(c, data->raw(), c.weight_zero.integers(Run{inputs, {}, nullptr})));
}

template <typename MakeResult>
Result<Kernel> conv_kernel(Prepare& p, const ByteConv& c, ElementType type, const MakeResult& make_result) {
  ir::Shape dims = {c.images, c.made};
  dims.insert(dims.end(), c.window.output.begin(), c.window.output.end());
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, type, stored_dims(dims, Layout::kChannelsLast), Layout::kChannelsLast);
  p.scratch(static_cast<size_t>(c.input_size()) * sizeof(int16_t));
  return Kernel([c, type, make_result, packed = pack_constant(p, c)](const Run& run) {
    auto* x = reinterpret_cast<int16_t*>(run.scratch);
    widen_matrix({run.inputs[0], c.input_type, 1, c.input_size(), c.input_size(), 1}, c.input_zero.integers(run), x);
    auto filters = packed;
    if (filters == nullptr) {
      filters = std::make_shared<const std::vector<int16_t>>(
          pack_filters(c, run.inputs[c.weight_input], c.weight_zero.integers(run)));
    }
    make_result(run, [&](ProductResult result) {
      result.type = type;
      result.data = run.outputs[0];
      result.stride = c.made;
      run_conv(c, {x, filters->data()}, result);
    });
    return Status();
  });
}

}  // namespace

Result<Kernel> prepare_conv_integer(Prepare& p) {
  QQ_TRY(ByteConv conv, read_conv(p, 1));
  QQ_TRY(conv.input_zero, read_zero_point(p, 2, conv.input_type));
  QQ_TRY(conv.weight_zero, read_zero_point(p, 3, conv.weight_type, conv.made));
  return conv_kernel(p, conv, ElementType::kInt32, [](const Run&, const auto& body) { body(ProductResult{}); });
}

Result<Kernel> prepare_qlinear_conv(Prepare& p) {
  QQ_TRY(ByteConv conv, read_conv(p, 3));
  QQ_TRY(const QuantInput scale, read_scale(p, 1));
  QQ_TRY(conv.input_zero, read_zero_point(p, 2, conv.input_type));
  QQ_TRY(const QuantInput weight_scale, read_scale(p, 4, conv.made));
  QQ_TRY(conv.weight_zero, read_zero_point(p, 5, conv.weight_type, conv.made));
  QQ_TRY(const QuantInput result_scale, read_scale(p, 6));
  QQ_RETURN_IF_ERROR(require_byte(p, 7));
  const ElementType type = p.in(7).type;
  QQ_TRY(const QuantInput result_zero, read_zero_point(p, 7, type));
  const bool has_bias = p.has(8);
  if (has_bias && (p.in(8).type != ElementType::kInt32 || p.in(8).dims != ir::Shape{conv.made})) {
    return p.corrupt("bias is ", name(p.in(8).type), shape_text(p.in(8).dims), ", INT32", shape_text({conv.made}),
                     " is needed");
  }
  return conv_kernel(p, conv, type, [=, made = conv.made](const Run& run, const auto& body) {
    const std::vector<float> scales =
        product_scales(scale.floats(run)[0], weight_scale.floats(run), result_scale.floats(run)[0], made);
    ProductResult result;
    result.scale = scales.data();
    result.zero_point = result_zero.integers(run)[0];
    result.bias = has_bias ? run.in<int32_t>(8) : nullptr;
    body(result);
  });
}

}  // namespace quarkq::exec
