// SPDX-License-Identifier: MIT
// Intermediate results of compensated rounding, kept while several plans of one calibrated model are tried: most of
// these plans differ in other layers, or in the grids of the weights only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "ir/tensor.h"
#include "numeric/quant_params.h"

namespace quarkq::pass {

/// The Cholesky factor of a Gram matrix of inputs.
struct RoundingFactor {
  std::vector<int64_t> order;  ///< The inputs that matter least first: rows and columns of `upper`.
  std::vector<float> upper;    ///< U of U^T U, [depth, depth]; empty if there is none.
};

/// Statistics of a layer's inputs in the float model.
struct RoundingInputs {
  std::vector<RoundingFactor> factors;  ///< One per group.
  std::vector<double> means;            ///< Means of the input rows, [samples][groups][depth].
  int64_t rows = 0;                     ///< Number of rows in each Gram matrix.
};
using RoundingInputsPtr = std::shared_ptr<const RoundingInputs>;

/// Determines the codes of weights, in addition to weights and inputs.
struct RoundingGrid {
  std::vector<numeric::QuantParams> params;
  numeric::IntegerRange limits;

  bool operator==(const RoundingGrid&) const = default;
};

class RoundingCache {
 public:
  /// The weight, the float tensor that the layer reads, and the range that its values are clipped to.
  using Key = std::tuple<ir::ValueId, ir::ValueId, float, float>;

  /// Returns null if nothing is kept of the layer.
  RoundingInputsPtr inputs(const Key& key) const {
    const auto found = kept_.find(key);
    return found == kept_.end() ? nullptr : found->second.inputs;
  }
  /// Returns null if no codes of this grid are kept; otherwise int32, [groups][outputs][depth] as one axis.
  const ir::Tensor* codes(const Key& key, const RoundingGrid& grid) const {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return nullptr;
    const auto& all = found->second.codes;
    const auto place = std::ranges::find(all, grid, &Codes::first);
    return place == all.end() ? nullptr : &place->second;
  }

  /// Layers that no longer fit the limit are computed each time.
  void keep(const Key& key, RoundingInputsPtr inputs) {
    int64_t bytes = static_cast<int64_t>(inputs->means.size() * sizeof(double));
    for (const RoundingFactor& factor : inputs->factors)
      bytes += static_cast<int64_t>(factor.order.size() * sizeof(int64_t) + factor.upper.size() * sizeof(float));
    if (has_room_for(bytes)) kept_[key].inputs = std::move(inputs);
  }
  void keep(const Key& key, RoundingGrid grid, ir::Tensor codes) {
    const auto found = kept_.find(key);
    if (found != kept_.end() && has_room_for(codes.bytes()))
      found->second.codes.emplace_back(std::move(grid), std::move(codes));
  }

 private:
  using Codes = std::pair<RoundingGrid, ir::Tensor>;
  struct Entry {
    RoundingInputsPtr inputs = {};
    std::vector<Codes> codes = {};
  };

  bool has_room_for(int64_t bytes) {
    constexpr int64_t kMostBytes = int64_t{1} << 27;
    if (bytes > kMostBytes - bytes_) return false;
    bytes_ += bytes;
    return true;
  }

  std::map<Key, Entry> kept_;
  int64_t bytes_ = 0;
};

}  // namespace quarkq::pass
