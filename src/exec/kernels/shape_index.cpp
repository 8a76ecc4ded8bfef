// SPDX-License-Identifier: MIT
#include "exec/kernels/index_copy.h"

#include "exec/kernels/support.h"

namespace quarkq::exec {
namespace {

bool copies_in_order(const std::vector<int64_t>& table, int64_t length) {
  if (static_cast<int64_t>(table.size()) != length) return false;
  for (int64_t i = 0; i < length; ++i) {
    if (table[static_cast<size_t>(i)] != i) return false;
  }
  return true;
}

std::vector<IndexRun> find_runs(const std::vector<int64_t>& table) {
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
    runs.push_back({static_cast<int64_t>(i), from, 1});
  }
  return runs;
}

void fill_units(const IndexPlan& plan, const std::byte* value, std::byte* to, int64_t units) {
  const int64_t count = units * plan.unit / plan.element;
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * plan.element, value, static_cast<size_t>(plan.element));
}

template <typename Unit>
void gather_row(const std::vector<int64_t>& table, const std::byte* from, const std::byte* value, std::byte* to) {
  const auto* x = reinterpret_cast<const Unit*>(from);
  auto* y = reinterpret_cast<Unit*>(to);
  Unit fill;
  std::memcpy(&fill, value, sizeof(Unit));
  for (size_t i = 0; i < table.size(); ++i) y[i] = table[i] == kFillIndex ? fill : x[table[i]];
}

/// One output row along the last axis.
void copy_row(const IndexPlan& plan, const std::byte* from, const std::byte* value, std::byte* to) {
  const std::vector<int64_t>& table = plan.tables.back();
  if (plan.unit == plan.element && 4 * plan.runs.size() > table.size()) {  // short runs: element by element
    switch (plan.unit) {
      case 1: return gather_row<uint8_t>(table, from, value, to);
      case 2: return gather_row<uint16_t>(table, from, value, to);
      case 4: return gather_row<uint32_t>(table, from, value, to);
      case 8: return gather_row<uint64_t>(table, from, value, to);
      default: break;
    }
  }
  for (const IndexRun& run : plan.runs) {
    if (run.from == kFillIndex) {
      fill_units(plan, value, to + run.to * plan.unit, run.count);
    } else {
      std::memcpy(to + run.to * plan.unit, from + run.from * plan.unit, static_cast<size_t>(run.count * plan.unit));
    }
  }
}

/// Bytes from the input's start to the source of output row `row`, or kFillIndex when the row is filled.
int64_t row_offset(const IndexPlan& plan, int64_t row) {
  int64_t offset = 0;
  for (size_t i = plan.tables.size() - 1; i-- > 0;) {
    const auto length = static_cast<int64_t>(plan.tables[i].size());
    const int64_t source = plan.tables[i][static_cast<size_t>(row % length)];
    if (source == kFillIndex) return kFillIndex;
    offset += source * plan.steps[i];
    row /= length;
  }
  return offset;
}

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
    for (int64_t row = begin; row < end; ++row) {
      const int64_t offset = row_offset(plan, row);
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
