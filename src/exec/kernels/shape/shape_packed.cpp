// SPDX-License-Identifier: MIT
// Transpose, Slice and Concat of elements below 8 bits: unpacked to a byte each, moved, packed again.
#include <algorithm>
#include <array>

#include "exec/kernels/shape/shape.h"
#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/type_bridges.h"
#include "numeric/small_floats.h"

namespace quarkq::exec {

namespace {

size_t whole_lines(int64_t bytes) { return static_cast<size_t>((bytes + 63) / 64 * 64); }

/// A packed input and the place of its unpacked elements in scratch memory.
struct Unpacked {
  size_t index = 0;
  int64_t count = 0;
  size_t offset = 0;
};

struct PackedMove {
  std::vector<Unpacked> inputs;
  Kernel move;  ///< Empty if the result is input 0 in another order of dimensions.
  Spec result;  ///< Result of `move`, one byte per element.
  size_t result_offset = 0, scratch_offset = 0;
  int width = 4;

  Status run(const Run& run) const {
    std::vector<const std::byte*> inputs_of_move(run.inputs.begin(), run.inputs.end());
    for (const Unpacked& one : inputs) {
      auto* codes = reinterpret_cast<uint8_t*>(run.scratch + one.offset);
      numeric::unpack_codes(reinterpret_cast<const uint8_t*>(run.inputs[one.index]), 0, one.count, width, codes);
      inputs_of_move[one.index] = run.scratch + one.offset;
    }
    std::byte* const moved = move == nullptr ? run.scratch + inputs[0].offset : run.scratch + result_offset;
    const std::array<std::byte*, 1> outputs = {moved};
    if (move != nullptr) QQ_RETURN_IF_ERROR(move(Run{inputs_of_move, outputs, run.scratch + scratch_offset}));
    pack_in_onnx_order(reinterpret_cast<const uint8_t*>(moved), reinterpret_cast<uint8_t*>(run.outputs[0]), result.dims,
                       result.layout, width);
    return Status();
  }
};

}  // namespace

Result<Kernel> move_packed(Prepare& p, Result<Kernel> (*prepare)(Prepare&)) {
  const ElementType type = p.in(0).type;
  PackedMove made;
  made.width = bits(type);
  std::vector<Spec> inputs;
  std::vector<bool> present;
  size_t bytes = 0;
  for (size_t i = 0; i < p.input_count(); ++i) {
    present.push_back(p.has(i));
    inputs.push_back(p.has(i) ? p.in(i) : Spec{});
    if (!p.has(i) || p.in(i).type != type) continue;
    QQ_RETURN_IF_ERROR(require_plain_packed(p, i));
    inputs.back().type = ElementType::kUInt8;
    inputs.back().constant = nullptr;
    made.inputs.push_back({i, product(p.in(i).dims), bytes});
    bytes += whole_lines(made.inputs.back().count);
  }
  Prepare inner(p.node(), p.label(), p.opset(), std::move(inputs), std::move(present));
  inner.set_max_memory(p.max_memory());
  QQ_TRY(Kernel move, prepare(inner));
  if (!inner.output(0).declared) return Prepare::defer();
  made.result = inner.output(0).spec;
  const bool is_alias = inner.output(0).alias_of >= 0;
  if (!is_alias) made.move = std::move(move);
  made.result_offset = bytes;
  made.scratch_offset = bytes + whole_lines(product(made.result.dims));
  p.out(0, type, logical_dims(made.result.dims, made.result.layout), Layout::kPlain);
  p.scratch(made.scratch_offset + inner.scratch_bytes());
  return Kernel([made = std::move(made)](const Run& run) { return made.run(run); });
}

}  // namespace quarkq::exec
