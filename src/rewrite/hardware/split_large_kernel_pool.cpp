// SPDX-License-Identifier: MIT
// A GlobalAveragePool over more values than the hardware takes at once becomes two pools, of about the square roots.
#include <map>

#include "ir/edit.h"
#include "pass/tidy_up.h"
#include "rewrite/hardware/inner_shape.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kLargestPool = 512;

/// The largest divisor whose square is not above `size`; 1 for primes.
int64_t first_factor(int64_t size) {
  int64_t found = 1;
  for (int64_t divisor = 2; divisor * divisor <= size; ++divisor) {
    if (size % divisor == 0) found = divisor;
  }
  return found;
}

bool is_large(const ir::Graph& graph, const ir::Node& pool) {
  if (!pool.is("GlobalAveragePool") || !has_inner_shape(graph.value(pool.input(0)), 4)) return false;
  const std::vector<ir::Dim>& dims = graph.value(pool.input(0)).type.dims;
  const Result<int64_t> values = ir::element_count({dims[2].size, dims[3].size});  // fails when one is not known
  return values.ok() && values.value() > kLargestPool;
}

/// The value after a new AveragePool of `kernel` on `input`, for the origins of `pool`. It is appended to the
/// list, which pass::tidy_up() sorts: its place among the readers of `input` decides the final order.
ir::ValueId add_pool(ir::GraphEdit& edit, const ir::Value& input, const std::vector<int64_t>& kernel,
                     const ir::Node& pool) {
  const std::string name = input.name + "_Split";
  ir::ValueType type = input.type;
  for (size_t i = 0; i < 2; ++i) type.dims[2 + i] = {type.dims[2 + i].size / kernel[i], {}};
  const ir::ValueId source = input.id, pooled = edit.add_value(name, std::move(type));
  edit.add_node({"AveragePool",
                 "",
                 name,
                 {source},
                 {pooled},
                 {{"kernel_shape", kernel, {}, {}}, {"strides", kernel, {}, {}}},
                 pool.origins});
  return pooled;
}

}  // namespace

bool has_inner_shape(const ir::Value& value, size_t rank) {
  return value.type.has_shape && value.type.dims.size() == rank && !value.is_input && !value.is_output;
}

Result<Changed> split_large_kernel_pool(pass::FloatContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  std::map<ir::ValueId, ir::ValueId> pooled;  // one AveragePool serves all pools of a tensor
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node pool = graph.node(id);
    if (!context.selection.selects(pool) || !is_large(graph, pool)) continue;
    const ir::Value input = graph.value(pool.input(0));
    const int64_t height = input.type.dims[2].size, width = input.type.dims[3].size;
    const std::vector<int64_t> kernel = {first_factor(height), first_factor(width)};
    const int64_t first = kernel[0] * kernel[1], rest = height * width / first;
    if (first > kLargestPool || rest > kLargestPool) {
      context.diagnostics.add("pool-not-split", graph.label(id),
                              cat(height, "x", width, " has no two factors of at most ", kLargestPool, " values"));
      continue;
    }
    if (!pooled.contains(input.id)) pooled[input.id] = add_pool(edit, input, kernel, pool);
    edit.set_input(id, 0, pooled[input.id]);
  }
  return pass::tidy_up(context.graph(), pooled.empty() ? Changed::kNo : Changed::kYes);
}

}  // namespace quarkq::rewrite
