// SPDX-License-Identifier: MIT
// Lets the kernels of QuantizeLinear and DequantizeLinear, which know float32 and integers of 8 to 32 bits, work on all
// types: inputs are converted into scratch memory first, the output is converted or packed afterwards.
#pragma once

#include <cstdint>

#include "exec/kernels/elementwise/cast_elements.h"
#include "exec/kernels/shared/nibbles.h"

namespace quarkq::exec {

/// What elements of `type` are computed as: float32 for all reals, 8-bit integers for 4-bit ones.
inline ElementType compute_type(ElementType type) {
  if (is_floating(type)) return ElementType::kFloat;
  if (!numeric::is_nibble(type)) return type;
  return type == ElementType::kInt4 ? ElementType::kInt8 : ElementType::kUInt8;
}

class QuantBridge {
 public:
  /// Input `i`, when it is there, arrives at the kernel as `wide`.
  Status input(const Prepare& p, size_t i, ElementType wide);
  /// The kernel writes compute_type(stored). Declares output 0 with the shape of input 0.
  Status output(Prepare& p, ElementType stored, bool saturate);
  /// The kernel to return; asks for the scratch memory.
  Kernel wrap(Prepare& p, Kernel kernel) const;

 private:
  struct Value {
    size_t index = 0;
    ElementCast cast;
    int64_t count = 0;
    size_t offset = 0;  ///< of the wide elements in scratch, bytes
  };
  struct Target {
    bool wide = false, converts = false, packs = false;
    ElementCast cast;
    size_t wide_offset = 0, codes_offset = 0;
    ir::Shape dims;
    Layout layout = Layout::kPlain;
  };
  size_t reserve(ElementType type, int64_t count);
  void store_target(const Run& run) const;

  std::vector<Value> inputs_;
  Target target_;
  size_t bytes_ = 0;
};

}  // namespace quarkq::exec
