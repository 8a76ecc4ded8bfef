// SPDX-License-Identifier: MIT
// Private to the image family: prepare functions that live in files of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/kernels/image/image_loops.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {

// grid_sample.cpp
Result<Kernel> prepare_affine_grid(Prepare& p);
// grid_sample.cpp
Result<Kernel> prepare_grid_sample(Prepare& p);
// roi_align.cpp
Result<Kernel> prepare_roi_align(Prepare& p);
// deform_conv.cpp
Result<Kernel> prepare_deform_conv(Prepare& p);
// col2im.cpp
Result<Kernel> prepare_col2im(Prepare& p);

/// The inputs of a run of output rows, collected one after the other; memory is kept between runs.
class RowTaps {
 public:
  void clear() {
    begin_.assign(1, 0);
    count_ = 0;
  }
  /// Makes room for `most` calls of add().
  void expect(int64_t most) {
    const size_t needed = count_ + static_cast<size_t>(most);
    if (needed <= offsets_.size()) return;
    offsets_.resize(2 * needed);
    weights_.resize(2 * needed);
  }
  /// REQUIRES: expect() made room.
  void add(int64_t offset, float weight) {
    offsets_[count_] = offset;
    weights_[count_++] = weight;
  }
  void end_row() { begin_.push_back(static_cast<int64_t>(count_)); }
  RowSums sums(int64_t channels, int64_t stride) const {
    return {begin_.data(), offsets_.data(), weights_.data(), nullptr, channels, stride};
  }

 private:
  std::vector<int64_t> begin_ = {0}, offsets_;
  std::vector<float> weights_;
  size_t count_ = 0;
};

/// Fails unless input 0 is a real image of `low` to `high` dimensions (channels-last) with elements.
inline Status require_image(const Prepare& p, int64_t low, int64_t high) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  if (x.rank() < low || x.rank() > high) {
    return p.corrupt("input 0 has rank ", x.rank(), ", allowed: ", low, " to ", high);
  }
  for (size_t i = 1; i < x.dims.size(); ++i) {
    if (x.dims[i] < 1) return p.cannot("an image without elements: ", shape_text(logical_dims(x.dims, x.layout)));
  }
  return Status();
}

}  // namespace quarkq::exec
