// SPDX-License-Identifier: MIT
// 4-bit elements inside kernels. They are worked on one to a byte and packed at the end. Packed elements cannot be
// moved one by one, so a 4-bit value always lies in ONNX order; a kernel that follows a channels-last input brings its
// result back while it packs.
#pragma once

#include <cstdint>

#include "exec/kernels/shared/support.h"
#include "numeric/small_floats.h"

namespace quarkq::exec {

/// Fails when input `i` holds 4-bit elements in another order than ONNX's.
inline Status require_plain_nibbles(const Prepare& p, size_t i) {
  const Spec& spec = p.in(i);
  if (!numeric::is_nibble(spec.type) || spec.layout == Layout::kPlain || spec.rank() < 3) return Status();
  return p.cannot("input ", i, " is ", name(spec.type), " in channels-last order, allowed: ONNX order");
}

/// Declares output `i` with the shape of input 0; plain when its elements are 4 bits wide.
inline void declare_like_input(Prepare& p, size_t i, ElementType type) {
  const Spec& x = p.in(0);
  if (!numeric::is_nibble(type)) return p.out(i, type, x.dims, x.layout);
  p.out(i, type, logical_dims(x.dims, x.layout), Layout::kPlain);
}

/// Codes that lie in memory order of `layout`, dims `stored`, packed in ONNX order.
inline void pack_in_onnx_order(const uint8_t* codes, uint8_t* packed, const ir::Shape& stored, Layout layout) {
  const int64_t count = product(stored);
  if (layout == Layout::kPlain || stored.size() < 3) return numeric::pack_nibbles(codes, packed, count);
  const int64_t channels = stored.back(), spatial = product(stored, 1, static_cast<int64_t>(stored.size()) - 1);
  for (int64_t i = 0; i < storage_bytes(ElementType::kUInt4, count); ++i) packed[i] = 0;
  int64_t at = 0;
  for (int64_t image = 0; image < stored[0]; ++image) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t s = 0; s < spatial; ++s, ++at) {
        const uint8_t code = codes[(image * spatial + s) * channels + c] & 15;
        packed[at / 2] = static_cast<uint8_t>(packed[at / 2] | (code << (at % 2 * 4)));
      }
    }
  }
}

}  // namespace quarkq::exec
