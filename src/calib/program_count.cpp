// SPDX-License-Identifier: MIT
#include "calib/program_count.h"

#include <algorithm>

#include "exec/memory_guard.h"
#include "exec/threads.h"

namespace quarkq::calib {
namespace {

constexpr double kExtraBytes = 512 << 20;  // that further programs may take

/// What a program may take at most: all values of the graph side by side. Unknown dimensions count as 1.
double program_bytes(const ir::Graph& graph) {
  double bytes = 1;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueType& type = graph.value({static_cast<int32_t>(i)}).type;
    if (!type.has_shape) continue;
    double count = 1;
    for (const int64_t dim : type.shape()) count *= dim < 0 ? 1.0 : static_cast<double>(dim);
    bytes += count * sizeof(float);
  }
  return bytes;
}

/// Below a ceiling a quarter of what is left: programs of which several fit are not split into segments then.
double extra_bytes() {
  if (!exec::has_memory_ceiling()) return kExtraBytes;
  return std::min(kExtraBytes, static_cast<double>(exec::memory_left()) / 4);
}

}  // namespace

size_t worthwhile_programs(const ir::Graph& graph, size_t samples, size_t least_each) {
  const auto threads = static_cast<size_t>(exec::independent_threads());
  const auto affordable = 1 + static_cast<size_t>(extra_bytes() / program_bytes(graph));
  return std::max(size_t{1}, std::min({threads, samples / least_each, affordable}));
}

}  // namespace quarkq::calib
