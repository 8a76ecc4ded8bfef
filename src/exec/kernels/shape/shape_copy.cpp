// SPDX-License-Identifier: MIT
#include <cstring>

#include "exec/kernels/shared/strided_copy.h"
#include "exec/kernels/shared/support.h"
#include "exec/transpose.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kTile = 16;  // rows and columns of a transposed block: 16 cache lines each way

/// Where a copied row starts.
struct RowPosition {
  const std::byte* from;
  std::byte* to;
};

/// Position of outer index `row`, counting over all dimensions but the last and `skip`.
RowPosition row_position(const CopyPlan& plan, size_t skip, int64_t row, const std::byte* from, std::byte* to) {
  int64_t from_offset = plan.from_offset, to_offset = plan.to_offset;
  for (size_t i = plan.dims.size() - 1; i-- > 0;) {
    if (i == skip) continue;
    const int64_t index = row % plan.dims[i];
    row /= plan.dims[i];
    from_offset += index * plan.from_strides[i];
    to_offset += index * plan.to_strides[i];
  }
  return {from + from_offset, to + to_offset};
}

template <typename Unit>
void copy_row_as(const std::byte* from, std::byte* to, int64_t n, int64_t from_step, int64_t to_step) {
  if (from_step == 0 && to_step == static_cast<int64_t>(sizeof(Unit))) {  // Expand
    Unit unit;
    std::memcpy(&unit, from, sizeof(Unit));
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(Unit)), &unit, sizeof(Unit));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    Unit unit;
    std::memcpy(&unit, from + i * from_step, sizeof(Unit));
    std::memcpy(to + i * to_step, &unit, sizeof(Unit));
  }
}

void copy_row_of(const CopyPlan& plan, RowPosition at, int64_t begin, int64_t end) {
  const int64_t from_step = plan.from_strides.back(), to_step = plan.to_strides.back();
  const std::byte* from = at.from + begin * from_step;
  std::byte* to = at.to + begin * to_step;
  switch (plan.element) {
    case 1: return copy_row_as<uint8_t>(from, to, end - begin, from_step, to_step);
    case 2: return copy_row_as<uint16_t>(from, to, end - begin, from_step, to_step);
    case 4: return copy_row_as<uint32_t>(from, to, end - begin, from_step, to_step);
    case 8: return copy_row_as<uint64_t>(from, to, end - begin, from_step, to_step);
    default: break;
  }
  for (int64_t i = begin; i < end; ++i, from += from_step, to += to_step) {
    std::memcpy(to, from, static_cast<size_t>(plan.element));
  }
}

/// Transposes columns [begin, end) of the last dimension against dimension `across`, block by block.
template <typename Unit>
void transpose_block(const CopyPlan& plan, size_t across, RowPosition at, int64_t begin, int64_t end) {
  const int64_t rows = plan.dims[across];
  const int64_t row_from = plan.from_strides[across], row_to = plan.to_strides[across];
  const int64_t column_from = plan.from_strides.back(), column_to = plan.to_strides.back();
  const auto size = static_cast<int64_t>(sizeof(Unit));
  if (size == 4 && row_from == 4 && column_to == 4 && column_from % 4 == 0 && row_to % 4 == 0 && column_from > 0) {
    QQ_DISPATCH(exec, transpose_4)
    (reinterpret_cast<const uint32_t*>(at.from + begin * column_from),
     reinterpret_cast<uint32_t*>(at.to + begin * column_to), {column_from / 4, row_to / 4, end - begin, rows});
    return;
  }
  for (int64_t c0 = begin; c0 < end; c0 += kTile) {
    const int64_t columns = std::min(kTile, end - c0);
    for (int64_t r = 0; r < rows; ++r) {
      copy_row_as<Unit>(at.from + r * row_from + c0 * column_from, at.to + r * row_to + c0 * column_to, columns,
                        column_from, column_to);
    }
  }
}

void transpose_block(const CopyPlan& plan, size_t across, RowPosition at, int64_t begin, int64_t end) {
  switch (plan.element) {
    case 1: return transpose_block<uint8_t>(plan, across, at, begin, end);
    case 2: return transpose_block<uint16_t>(plan, across, at, begin, end);
    case 4: return transpose_block<uint32_t>(plan, across, at, begin, end);
    default: return transpose_block<uint64_t>(plan, across, at, begin, end);
  }
}

/// The dimension along which the source is contiguous while it is not along the last one, or the rank.
size_t transposed_dimension(const CopyPlan& plan) {
  const size_t last = plan.dims.size() - 1;
  const bool small = plan.element == 1 || plan.element == 2 || plan.element == 4 || plan.element == 8;
  if (!small || plan.from_strides[last] == plan.element) return plan.dims.size();
  for (size_t i = 0; i < last; ++i) {
    if (plan.from_strides[i] == plan.element) return i;
  }
  return plan.dims.size();
}

void copy_bytes(const std::byte* from, std::byte* to, int64_t bytes) {
  for_pieces(bytes, 4 * kPieceElements, bytes >= 4 * kParallelElements, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

/// Merges dimension i + 1 into i where both sides step evenly through the two.
void merge_dimensions(CopyPlan& plan) {
  CopyPlan merged = plan;
  merged.dims.clear();
  merged.from_strides.clear();
  merged.to_strides.clear();
  for (size_t i = 0; i < plan.dims.size(); ++i) {
    if (plan.dims[i] == 1) continue;
    if (!merged.dims.empty() && merged.from_strides.back() == plan.from_strides[i] * plan.dims[i] &&
        merged.to_strides.back() == plan.to_strides[i] * plan.dims[i]) {
      merged.dims.back() *= plan.dims[i];
      merged.from_strides.back() = plan.from_strides[i];
      merged.to_strides.back() = plan.to_strides[i];
      continue;
    }
    merged.dims.push_back(plan.dims[i]);
    merged.from_strides.push_back(plan.from_strides[i]);
    merged.to_strides.push_back(plan.to_strides[i]);
  }
  if (!merged.dims.empty() && merged.from_strides.back() == merged.element &&
      merged.to_strides.back() == merged.element) {
    merged.element *= merged.dims.back();
    merged.dims.pop_back();
    merged.from_strides.pop_back();
    merged.to_strides.pop_back();
  }
  plan = std::move(merged);
}

}  // namespace

CopyPlan plan_copy(const CopySpec& spec, int64_t element_bytes) {
  CopyPlan plan;
  plan.dims = spec.dims;
  plan.element = element_bytes;
  plan.from_offset = spec.from_offset * element_bytes;
  plan.to_offset = spec.to_offset * element_bytes;
  for (const int64_t stride : spec.from_strides) plan.from_strides.push_back(stride * element_bytes);
  for (const int64_t stride : spec.to_strides) plan.to_strides.push_back(stride * element_bytes);
  merge_dimensions(plan);
  return plan;
}

void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  const int64_t units = product(plan.dims);
  if (units == 0 || plan.element == 0) return;
  if (plan.dims.empty()) return copy_bytes(from + plan.from_offset, to + plan.to_offset, plan.element);
  const size_t across = transposed_dimension(plan);
  const bool transposes = across < plan.dims.size();
  const int64_t columns = plan.dims.back();
  const int64_t rows = units / columns / (transposes ? plan.dims[across] : 1);
  // Long rows are cut, so that a single transposed image keeps all threads busy.
  const int64_t row_bytes = units / rows * plan.element;
  const int64_t cuts = std::clamp<int64_t>(row_bytes / (4 * kPieceElements), 1, std::max<int64_t>(columns / kTile, 1));
  const int64_t width = (columns + cuts - 1) / cuts;
  for_rows(rows * cuts, row_bytes / cuts / 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % cuts * width, last = std::min(columns, first + width);
      if (first >= last) continue;
      const RowPosition at = row_position(plan, across, i / cuts, from, to);
      transposes ? transpose_block(plan, across, at, first, last) : copy_row_of(plan, at, first, last);
    }
  });
}

CopyPlan plan_transpose(const ir::Shape& dims, const std::vector<int64_t>& order, int64_t element_bytes) {
  const std::vector<int64_t> strides = row_major_strides(dims);
  CopySpec spec;
  for (const int64_t axis : order) {
    spec.dims.push_back(dims[static_cast<size_t>(axis)]);
    spec.from_strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  spec.to_strides = row_major_strides(spec.dims);
  return plan_copy(spec, element_bytes);
}

}  // namespace quarkq::exec
