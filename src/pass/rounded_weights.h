// SPDX-License-Identifier: MIT
// Weights that compensated rounding rounded, kept while plans of one calibrated model are tried: most of these plans
// differ in other layers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ir/ids.h"
#include "ir/tensor.h"
#include "numeric/quant_spec.h"

namespace quarkq::pass {

/// What the codes of a layer's weights depend on, beside the weights and the samples.
struct RoundingGrid {
  std::vector<numeric::QuantParams> params;
  numeric::IntegerRange limits;
  float low = 0, high = 0;  ///< values of the layer's input that the plan can hold

  bool operator==(const RoundingGrid&) const = default;
};

struct RoundedWeights {
  RoundingGrid grid;
  ir::Tensor codes;                ///< int32, [groups][outputs][depth] as one axis
  std::vector<double> input_mean;  ///< of the float layer's input rows, [groups][depth]
  int64_t rows = 0;                ///< that these were found with
};

/// By the weight and the float tensor that the layer reads.
class RoundingCache {
 public:
  using Key = std::pair<ir::ValueId, ir::ValueId>;

  /// Null: nothing is kept for this grid.
  const RoundedWeights* find(const Key& key, const RoundingGrid& grid) const {
    const auto found = kept_.find(key);
    return found == kept_.end() || !(found->second.grid == grid) ? nullptr : &found->second;
  }

  /// In place of what was kept for the layer. Not more than kMostCodes in all: the rest is rounded each time.
  void keep(const Key& key, RoundedWeights rounded) {
    auto& place = kept_[key];
    count_ += rounded.codes.size() - place.codes.size();
    place = std::move(rounded);
    if (count_ <= kMostCodes) return;
    count_ -= place.codes.size();
    kept_.erase(key);
  }

 private:
  static constexpr int64_t kMostCodes = int64_t{1} << 25;  // 128 MB

  std::map<Key, RoundedWeights> kept_;
  int64_t count_ = 0;  ///< codes
};

}  // namespace quarkq::pass
