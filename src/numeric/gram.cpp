// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "numeric/product_loops.h"

namespace quarkq::numeric {

void Gram::add(std::span<const float> inputs, int64_t rows) {
  constexpr int64_t kBlock = 32;  // Rows of the matrix per piece of work.
  parallel_pieces(depth_, kBlock, {.share = Share::kAsFree}, [&](int64_t begin, int64_t end) {
    const ConstMatrixPart from_here{inputs.data() + begin, depth_};
    QQ_DISPATCH(numeric, add_product)
    ({sums_.data() + begin * depth_ + begin, depth_}, from_here, from_here, {end - begin, depth_ - begin, rows}, 1);
  });
}

std::vector<float> Gram::take() {
  for (int64_t i = 0; i < depth_; ++i) {
    for (int64_t k = i + 1; k < depth_; ++k)
      sums_[static_cast<size_t>(k * depth_ + i)] = sums_[static_cast<size_t>(i * depth_ + k)];
  }
  return std::exchange(sums_, {});
}

}  // namespace quarkq::numeric
