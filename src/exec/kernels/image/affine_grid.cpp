// SPDX-License-Identifier: MIT
// AffineGrid: where each pixel of an image or a volume comes from under an affine map. The operator has a body in the
// onnx library, which loses the batch dimension of a single image.
#include "exec/kernels/image/image_ops.h"

namespace quarkq::exec {
namespace {

/// Centres of the pixels of an axis in [-1, 1], or with `align_corners` places whose ends are -1 and 1. A single place
/// is the middle, as in PyTorch; the operator's definition divides 0 by 0 there.
std::vector<float> places_on_axis(int64_t length, bool align_corners) {
  std::vector<float> places(static_cast<size_t>(length));
  const auto count = static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<double>(i);
    const double aligned = length == 1 ? 0.0 : 2 * at / (count - 1) - 1;
    places[static_cast<size_t>(i)] = static_cast<float>(align_corners ? aligned : (2 * at + 1) / count - 1);
  }
  return places;
}

/// Of one map [rank, rank + 1]: for each position of the axes (slowest first) the coordinates, fastest axis first.
void map_positions(const std::vector<std::vector<float>>& axes, const float* theta, float* y) {
  const size_t rank = axes.size();
  int64_t count = 1;
  for (const std::vector<float>& axis : axes) count *= static_cast<int64_t>(axis.size());
  for (int64_t i = 0; i < count; ++i) {
    float place[3] = {};
    int64_t rest = i;
    for (size_t k = rank; k-- > 0; rest /= static_cast<int64_t>(axes[k].size()))
      place[rank - 1 - k] = axes[k][static_cast<size_t>(rest % static_cast<int64_t>(axes[k].size()))];
    for (size_t row = 0; row < rank; ++row, ++y) {
      const float* factors = theta + row * (rank + 1);
      *y = factors[rank];
      for (size_t k = 0; k < rank; ++k) *y += factors[k] * place[k];
    }
  }
}

}  // namespace

Result<Kernel> prepare_affine_grid(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_TRY(const IntList size, read_ints(p, "size", 1, 1));
  if (!size.present) return p.corrupt("input 1 is missing");
  if (!size.known) return Prepare::defer();
  const ir::Shape& theta = p.in(0).dims;
  const auto rank = static_cast<int64_t>(size.values.size()) - 2;
  if (rank != 2 && rank != 3) return p.corrupt("size has ", size.values.size(), " elements, allowed: 4 or 5");
  QQ_RETURN_IF_ERROR(check_dims(p, size.values));
  if (theta != ir::Shape{size.values[0], rank, rank + 1}) {
    return p.corrupt("theta ", shape_text(theta), " does not fit the size ", shape_text(size.values));
  }
  ir::Shape out = {size.values[0]};
  out.insert(out.end(), size.values.begin() + 2, size.values.end());
  out.push_back(rank);
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  const bool align_corners = p.node().int_or("align_corners", 0) != 0;
  std::vector<std::vector<float>> axes;
  for (int64_t k = 0; k < rank; ++k)
    axes.push_back(places_on_axis(size.values[static_cast<size_t>(k) + 2], align_corners));
  const int64_t images = out[0], elements = product(out) / std::max<int64_t>(images, 1);
  p.out(0, p.in(0).type, std::move(out));
  return bridged(p, [=](const Run& run) {
    for (int64_t i = 0; i < images; ++i)
      map_positions(axes, run.in<float>(0) + i * rank * (rank + 1), run.out<float>(0) + i * elements);
    return Status();
  });
}

}  // namespace quarkq::exec
