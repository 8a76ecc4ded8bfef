// SPDX-License-Identifier: MIT
#include "rewrite/optimize/permutation.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"

namespace quarkq::rewrite::basic {
namespace {

bool contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

bool is_identity(const Permutation& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

Permutation inverse(const Permutation& permutation) {
  Permutation result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[as_index(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

Permutation compose(const Permutation& first, const Permutation& second) { return permuted(first, second); }

Permutation without_axes(const Permutation& permutation, const std::vector<int64_t>& axes) {
  std::vector<int64_t> dropped;
  for (const int64_t axis : axes) dropped.push_back(permutation[as_index(axis)]);
  Permutation result;
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (contains(axes, static_cast<int64_t>(i))) continue;
    const int64_t from = permutation[i];
    const auto below = std::count_if(dropped.begin(), dropped.end(), [&](int64_t dim) { return dim < from; });
    result.push_back(from - below);
  }
  return result;
}

Permutation with_axes(const Permutation& permutation, const std::vector<int64_t>& axes) {
  const size_t rank = permutation.size() + axes.size();
  std::vector<int64_t> kept;  // output positions of the dimensions that were there before
  for (size_t i = 0; i < rank; ++i) {
    if (!contains(axes, static_cast<int64_t>(i))) kept.push_back(static_cast<int64_t>(i));
  }
  Permutation result(rank);
  for (const int64_t axis : axes) result[as_index(axis)] = axis;
  for (size_t i = 0; i < permutation.size(); ++i) result[as_index(kept[i])] = kept[as_index(permutation[i])];
  return result;
}

ir::ValueType permuted(const ir::ValueType& type, const Permutation& permutation) {
  ir::ValueType result = type;
  if (type.has_shape && type.dims.size() == permutation.size()) {
    result.dims = permuted(type.dims, permutation);
  } else {
    result.has_shape = false;
    result.dims.clear();
  }
  return result;
}

std::optional<ir::Tensor> permuted(const ir::Tensor& tensor, const Permutation& permutation) {
  const int bits_each = bits(tensor.type());
  if (tensor.type() == ElementType::kString || bits_each % 8 != 0 || bits_each == 0) return std::nullopt;
  if (tensor.dims().size() != permutation.size()) return std::nullopt;
  const size_t rank = permutation.size(), width = static_cast<size_t>(bits_each / 8);
  std::vector<int64_t> strides(rank, 1);  // strides of the input, in elements
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * tensor.dims()[i];
  const std::vector<int64_t> steps = permuted(strides, permutation);
  ir::Tensor result = ir::Tensor::allocate(tensor.type(), permuted(tensor.dims(), permutation));
  std::byte* to = result.mutable_raw();
  std::vector<int64_t> place(rank, 0);
  int64_t from = 0;
  for (int64_t i = 0; i < tensor.size(); ++i, to += width) {
    std::memcpy(to, tensor.raw() + as_index(from) * width, width);
    for (size_t dim = rank; dim-- > 0;) {
      from += steps[dim];
      if (++place[dim] < result.dims()[dim]) break;
      from -= steps[dim] * place[dim];
      place[dim] = 0;
    }
  }
  return result;
}

}  // namespace quarkq::rewrite::basic
