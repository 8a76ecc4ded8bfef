// SPDX-License-Identifier: MIT
// Top-k accuracy of results whose right classes are known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/compare_arrays.h"
#include "metrics/truth/labels.h"
#include "quarkq/evaluate.h"

namespace quarkq::metrics {

/// Labels and hits so far. Counts are integers, so their order does not matter.
class AccuracyCount {
 public:
  /// `is_scored`: by result, in order. `is_part`: see Labels::share_out().
  static Result<AccuracyCount> open(const AccuracyRequest& request, const std::vector<bool>& is_scored, bool is_part);

  /// The hits of result number `result`; nothing when it is not scored. Safe to call from several threads.
  Result<std::optional<Accuracy>> score(size_t result, const std::string& name, const ArrayPair& arrays) const;
  /// Fails with kBadData when the classes are not those of the results before.
  Status add(const Accuracy& one, const std::string& name);
  const Accuracy& counted() const { return counted_; }

 private:
  Labels labels_;
  std::vector<std::optional<size_t>> place_;  ///< by result: its place among the scored ones
  std::vector<int> top_;
  bool top_by_default_ = false;
  Accuracy counted_;
};

}  // namespace quarkq::metrics
