// SPDX-License-Identifier: MIT
// Orders of dimensions: output dimension i of a Transpose is input dimension permutation[i].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/tensor.h"

namespace quarkq::rewrite::basic {

using Permutation = std::vector<int64_t>;

bool is_identity(const Permutation& permutation);
Permutation inverse(const Permutation& permutation);
/// Returns `first`, then `second`, as one permutation.
Permutation compose(const Permutation& first, const Permutation& second);
/// Removes output dimensions `axes` and the corresponding input dimensions.
Permutation without_axes(const Permutation& permutation, const std::vector<int64_t>& axes);
/// Adds dimensions at output positions `axes` that keep their position.
Permutation with_axes(const Permutation& permutation, const std::vector<int64_t>& axes);

/// Returns `list[permutation[i]]` for each i.
template <typename T>
std::vector<T> permuted(const std::vector<T>& list, const Permutation& permutation) {
  std::vector<T> result;
  for (const int64_t from : permutation) result.push_back(list[static_cast<size_t>(from)]);
  return result;
}
ir::ValueType permuted(const ir::ValueType& type, const Permutation& permutation);

/// Returns nullopt for element types without whole bytes, and for tensors of another rank.
std::optional<ir::Tensor> permuted(const ir::Tensor& tensor, const Permutation& permutation);

}  // namespace quarkq::rewrite::basic
