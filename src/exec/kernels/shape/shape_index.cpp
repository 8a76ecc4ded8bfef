// SPDX-License-Identifier: MIT
#include "exec/kernels/shared/index_copy.h"

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {
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
