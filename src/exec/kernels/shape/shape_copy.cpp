// SPDX-License-Identifier: MIT
#include <cstring>

#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/tensor_copy.h"
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

namespace {

bool copies_in_order(const std::vector<int64_t>& table, int64_t length) {
  if (static_cast<int64_t>(table.size()) != length) return false;
  for (int64_t i = 0; i < length; ++i) {
    if (table[static_cast<size_t>(i)] != i) return false;
  }
  return true;
}

/// Nothing when runs are short: then the table is read element by element.
std::vector<IndexRun> find_runs(const std::vector<int64_t>& table) {
  constexpr size_t kShortest = 4;  // on average
  std::vector<IndexRun> runs;
  for (size_t i = 0; i < table.size(); ++i) {
    const int64_t from = table[i];
    if (!runs.empty()) {
      IndexRun& last = runs.back();
      if (last.from == kFillIndex ? from == kFillIndex : from == last.from + last.count) {
        ++last.count;
        continue;
      }
    }
    if (kShortest * (runs.size() + 1) > table.size()) return {};
    runs.push_back({static_cast<int64_t>(i), from, 1});
  }
  return runs;
}

template <typename T>
void fill_as(const std::byte* value, std::byte* to, int64_t count) {
  T element;
  std::memcpy(&element, value, sizeof(T));
  std::fill_n(reinterpret_cast<T*>(to), count, element);
}

void fill_units(const IndexPlan& plan, const std::byte* value, std::byte* to, int64_t units) {
  const int64_t count = units * plan.unit / plan.element;
  switch (plan.element) {
    case 1: return fill_as<uint8_t>(value, to, count);
    case 2: return fill_as<uint16_t>(value, to, count);
    case 4: return fill_as<uint32_t>(value, to, count);
    case 8: return fill_as<uint64_t>(value, to, count);
    default: break;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * plan.element, value, static_cast<size_t>(plan.element));
}

template <typename Unit>
void gather_index_row(const std::vector<int64_t>& table, const std::byte* from, const std::byte* value, std::byte* to) {
  const auto* x = reinterpret_cast<const Unit*>(from);
  auto* y = reinterpret_cast<Unit*>(to);
  Unit fill;
  std::memcpy(&fill, value, sizeof(Unit));
  for (size_t i = 0; i < table.size(); ++i) y[i] = table[i] == kFillIndex ? fill : x[table[i]];
}

void copy_run(const IndexPlan& plan, const IndexRun& run, const std::byte* from, const std::byte* value,
              std::byte* to) {
  if (run.from == kFillIndex) {
    fill_units(plan, value, to + run.to * plan.unit, run.count);
  } else {
    std::memcpy(to + run.to * plan.unit, from + run.from * plan.unit, static_cast<size_t>(run.count * plan.unit));
  }
}

/// One output row along the last axis.
void copy_row(const IndexPlan& plan, const std::byte* from, const std::byte* value, std::byte* to) {
  for (const IndexRun& run : plan.runs) copy_run(plan, run, from, value, to);
  if (!plan.runs.empty()) return;
  const std::vector<int64_t>& table = plan.tables.back();
  if (plan.unit == plan.element) {
    switch (plan.unit) {
      case 1: return gather_index_row<uint8_t>(table, from, value, to);
      case 2: return gather_index_row<uint16_t>(table, from, value, to);
      case 4: return gather_index_row<uint32_t>(table, from, value, to);
      case 8: return gather_index_row<uint64_t>(table, from, value, to);
      default: break;
    }
  }
  for (size_t i = 0; i < table.size(); ++i) copy_run(plan, {static_cast<int64_t>(i), table[i], 1}, from, value, to);
}

/// Walks output rows one by one: where in the input the source of each starts.
class RowWalk {
 public:
  RowWalk(const IndexPlan& plan, int64_t row) : plan_(plan), rows_(plan.tables.size() - 1) {
    if (rows_ > 0) start_block(row);
  }

  /// Bytes from the input's start to the source of the current row, or kFillIndex when it is filled. Goes on to the
  /// next.
  int64_t next() {
    if (rows_ == 0) return 0;
    const std::vector<int64_t>& table = plan_.tables[rows_ - 1];
    if (place_ == table.size()) start_block(block_ + static_cast<int64_t>(table.size()));
    const int64_t source = table[place_++];
    return outer_ == kFillIndex || source == kFillIndex ? kFillIndex : outer_ + source * plan_.steps[rows_ - 1];
  }

 private:
  /// Divisions, which cost as much as copying a short row, are only made here.
  void start_block(int64_t row) {
    const auto length = static_cast<int64_t>(plan_.tables[rows_ - 1].size());
    place_ = static_cast<size_t>(row % length);
    block_ = row - row % length;
    int64_t rest = row / length;
    outer_ = 0;
    for (size_t i = rows_ - 1; i-- > 0 && outer_ != kFillIndex;) {
      const auto count = static_cast<int64_t>(plan_.tables[i].size());
      const int64_t source = plan_.tables[i][static_cast<size_t>(rest % count)];
      outer_ = source == kFillIndex ? kFillIndex : outer_ + source * plan_.steps[i];
      rest /= count;
    }
  }

  const IndexPlan& plan_;
  size_t rows_;        ///< axes that count rows
  size_t place_ = 0;   ///< on the last of them
  int64_t block_ = 0;  ///< first row with the same places on the axes before
  int64_t outer_ = 0;  ///< what those contribute
};

}  // namespace

IndexPlan plan_index_copy(const ir::Shape& in, std::vector<std::vector<int64_t>> tables, int64_t element_bytes) {
  IndexPlan plan;
  plan.unit = plan.element = element_bytes;
  size_t rank = in.size();
  while (rank > 1 && copies_in_order(tables[rank - 1], in[rank - 1])) plan.unit *= in[--rank];
  tables.resize(rank);
  plan.steps.resize(rank);
  int64_t step = plan.unit;
  for (size_t i = rank; i-- > 0; step *= in[i]) plan.steps[i] = step;
  plan.runs = find_runs(tables.back());
  plan.tables = std::move(tables);
  return plan;
}

void run_index_copy(const IndexPlan& plan, const std::byte* from, const std::byte* value, std::byte* to) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < plan.tables.size(); ++i) rows *= static_cast<int64_t>(plan.tables[i].size());
  const auto columns = static_cast<int64_t>(plan.tables.back().size());
  const int64_t row_bytes = columns * plan.unit;
  if (row_bytes == 0) return;
  for_rows(rows, row_bytes / 4, [&](int64_t begin, int64_t end) {
    int64_t before = kFillIndex;
    RowWalk walk(plan, begin);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t offset = walk.next();
      std::byte* out = to + row * row_bytes;
      if (offset == kFillIndex) {
        fill_units(plan, value, out, columns);
      } else if (offset == before) {  // an enlarged image repeats whole rows
        std::memcpy(out, out - row_bytes, static_cast<size_t>(row_bytes));
      } else {
        copy_row(plan, from + offset, value, out);
      }
      before = offset;
    }
  });
}

}  // namespace quarkq::exec
