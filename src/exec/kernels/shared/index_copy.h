// SPDX-License-Identifier: MIT
// Copies by one index table per axis: output index -> input index, or "filled". What Pad and nearest-neighbour Resize
// share.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/shape.h"

namespace quarkq::exec {

constexpr int64_t kFillIndex = -1;
constexpr int64_t kLongestTable = int64_t{1} << 26;  ///< longest axis that a table is made for

/// Neighbouring outputs that copy neighbouring inputs, or are all filled (from == kFillIndex).
struct IndexRun {
  int64_t to, from, count;
};

struct IndexPlan {
  std::vector<std::vector<int64_t>> tables;  ///< by axis; trailing axes that copy in order are part of the unit
  std::vector<int64_t> steps;                ///< bytes between input indices of an axis
  std::vector<IndexRun> runs;                ///< of the last table; none when they are short
  int64_t unit = 1;                          ///< bytes copied at a time
  int64_t element = 1;                       ///< bytes of the fill value
};

/// Tables by axis of input dims `in`. REQUIRES: at least one axis.
IndexPlan plan_index_copy(const ir::Shape& in, std::vector<std::vector<int64_t>> tables, int64_t element_bytes);

/// `value`: one element, put where tables say kFillIndex. Runs on several threads when much is copied.
void run_index_copy(const IndexPlan& plan, const std::byte* from, const std::byte* value, std::byte* to);

}  // namespace quarkq::exec
