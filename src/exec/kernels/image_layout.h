// SPDX-License-Identifier: MIT
// Operators on images compute channels-last. Where their input comes in ONNX order all the same (constants that are
// folded, inputs known only in a run), it is turned before and the outputs are turned back.
#pragma once

#include <array>
#include <cstdint>

#include "exec/kernels/support.h"
#include "exec/transpose.h"

namespace quarkq::exec {

/// One input or output that is turned: `batch` matrices [rows, columns] into their transposes.
struct TurnedImage {
  int64_t batch = 0, rows = 0, columns = 0;
  int element_bytes = 0;
  size_t offset = 0;  ///< in scratch, bytes

  size_t bytes() const { return static_cast<size_t>(batch * rows * columns) * static_cast<size_t>(element_bytes); }
  void turn(const std::byte* from, std::byte* to) const {
    transpose_matrices(from, to, batch, rows, columns, element_bytes);
  }
};

/// The kernel to return from prepare, whose input 0 and outputs lie channels-last: `kernel` itself when input 0 arrives
/// so. REQUIRES: outputs and scratch are declared; input 0 has a rank of 3 or more.
inline Result<Kernel> on_images(Prepare& p, Kernel kernel) {
  if (p.in(0).layout == Layout::kChannelsLast || p.output_count() > 2 || p.input_count() > 8) return kernel;
  size_t bytes = (p.scratch_bytes() + 63) / 64 * 64;
  const auto place = [&bytes](TurnedImage image) {
    image.offset = bytes;
    bytes += (image.bytes() + 63) / 64 * 64;
    return image;
  };
  const ir::Shape& x = p.in(0).dims;
  const TurnedImage input = place({x[0], x[1], product(x, 2, p.in(0).rank()), bits(p.in(0).type) / 8, 0});
  std::array<TurnedImage, 2> outputs;
  for (size_t i = 0; i < p.output_count(); ++i) {
    if (!p.wants(i)) continue;
    const Spec y = p.output(i).spec;
    const ir::Shape dims = logical_dims(y.dims, Layout::kChannelsLast);
    outputs[i] = place({dims[0], product(dims, 2, y.rank()), dims[1], bits(y.type) / 8, 0});
    p.out(i, y.type, dims, Layout::kPlain);
  }
  p.scratch(bytes);
  return Kernel([=](const Run& run) {
    std::array<const std::byte*, 8> in{};
    std::array<std::byte*, 2> out{};
    std::copy(run.inputs.begin(), run.inputs.end(), in.begin());
    in[0] = run.scratch + input.offset;
    input.turn(run.inputs[0], run.scratch + input.offset);
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      out[i] = run.outputs[i] == nullptr ? nullptr : run.scratch + outputs[i].offset;
    }
    QQ_RETURN_IF_ERROR(kernel(Run{{in.data(), run.inputs.size()}, {out.data(), run.outputs.size()}, run.scratch}));
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      if (run.outputs[i] != nullptr) outputs[i].turn(out[i], run.outputs[i]);
    }
    return Status();
  });
}

}  // namespace quarkq::exec
