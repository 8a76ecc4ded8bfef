// SPDX-License-Identifier: MIT
// The pool of quantization parameters. Tensors that share a scale hold the same ParamId, so a change reaches all of
// them.
#pragma once

#include <vector>

#include "base/check.h"
#include "numeric/quant_spec.h"

namespace quarkq::plan {

struct ParamId {
  int index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ParamId&) const = default;
};

/// Parameters of one tensor: one entry, or one per index of the channel axis.
using ParamList = std::vector<numeric::QuantParams>;

class ParamPool {
 public:
  ParamId add(ParamList params = {}) {
    entries_.push_back(std::move(params));
    return {static_cast<int>(entries_.size()) - 1};
  }
  const ParamList& operator[](ParamId id) const {
    QQ_CHECK(id.valid());
    return entries_[static_cast<size_t>(id.index)];
  }
  void set(ParamId id, ParamList params) { entries_[static_cast<size_t>(id.index)] = std::move(params); }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<ParamList> entries_;
};

}  // namespace quarkq::plan
