// SPDX-License-Identifier: MIT
// A GlobalAveragePool over more values than the hardware takes at once becomes two pools, of about the square roots.
#include <map>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/graph.h"
#include "pass/output_guard.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

/// Shape known to inference for an inner value. The reference does not look at graph inputs and outputs here.
bool has_inner_shape(const ir::Value& value, size_t rank) {
  return value.type.has_shape && value.type.dims.size() == rank && !value.is_input && !value.is_output;
}

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

// A BatchNormalization of images that was not folded becomes a depthwise 1x1 Conv.

namespace {

ir::GraphPatch conv_for(const ir::Graph& graph, const ir::Node& norm, const ChannelAffine& affine) {
  const ElementType type = graph.constant(norm.input(1))->type();
  const auto channels = static_cast<int64_t>(affine.factor.size());
  const std::string output = graph.value(norm.output(0)).name;
  const std::vector<float> factor = to_floats(affine.factor), offset = to_floats(affine.offset);
  ir::GraphPatch patch;
  const ir::PatchValue weights =
      patch.initializer(output + "weights", ir::store_floats(factor, type, {channels, 1, 1, 1}));
  const ir::PatchValue bias = patch.initializer(output + "bias", ir::store_floats(offset, type, {channels}));
  const std::vector<int64_t> ones = {1, 1};
  patch.remove(norm.id);
  patch.node({"Conv",
              "",
              norm.name,
              {norm.input(0), weights, bias},
              {norm.output(0)},
              {{"group", channels, {}, {}}, {"kernel_shape", ones, {}, {}}, {"strides", ones, {}, {}}}});
  patch.place_at_end();
  return patch;
}

}  // namespace

Result<Changed> convert_bn_to_conv(pass::FloatContext& context) {
  // For this pass and, as in the reference, for quantization: what cannot be converted is quantized as it is.
  context.selection.op_types.insert("BatchNormalization");
  const auto rule = [&](const ir::Graph& graph, const ir::Node& norm) -> Proposal {
    if (!norm.is("BatchNormalization") || !context.selection.selects(norm)) return std::optional<ir::GraphPatch>();
    const std::optional<ChannelAffine> affine = read_batch_norm(graph, norm, context.settings);
    if (affine && has_inner_shape(graph.value(norm.input(0)), 4)) return std::optional(conv_for(graph, norm, *affine));
    context.diagnostics.add("bn-not-converted", graph.label(norm.id),
                            "its parameters are not stored, or its input is not an inner image; it is kept");
    return std::optional<ir::GraphPatch>();
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

// ReduceMean over axes [2, 3] of an image that keeps its dims is GlobalAveragePool.

namespace {

bool is_pool(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("ReduceMean") || node.int_or("keepdims", 1) != 1) return false;
  const auto axes = ir::integers_of(graph, node, 1, "axes");
  const ir::ValueType& type = graph.value(node.input(0)).type;
  return axes == std::vector<int64_t>{2, 3} && type.has_shape && type.dims.size() == 4;
}

}  // namespace

Result<Changed> convert_reduce_mean_to_global_avg_pool(pass::FloatContext& context) {
  const auto rule = [&](const ir::Graph& graph, const ir::Node& mean) -> Proposal {
    if (!context.selection.selects(mean) || !is_pool(graph, mean)) return std::optional<ir::GraphPatch>();
    ir::GraphPatch patch;
    patch.remove(mean.id);
    patch.node({"GlobalAveragePool", "", mean.name, {mean.input(0)}, {mean.output(0)}, {}});
    patch.place_at_end();
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite
