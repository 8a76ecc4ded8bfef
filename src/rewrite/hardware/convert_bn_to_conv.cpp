// SPDX-License-Identifier: MIT
// A BatchNormalization of images that no fold took becomes a depthwise Conv 1x1.
#include "ir/edit.h"
#include "ir/stored_floats.h"
#include "pass/tidy_up.h"
#include "rewrite/batch_norm.h"
#include "rewrite/hardware/inner_shape.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

void replace_norm(ir::Graph& graph, ir::NodeId id, const ChannelAffine& affine) {
  ir::GraphEdit edit(graph);
  const ir::Node norm = graph.node(id);
  const ElementType type = graph.constant(norm.input(1))->type();
  const auto channels = static_cast<int64_t>(affine.factor.size());
  const std::string output = graph.value(norm.output(0)).name;
  const ir::ValueId weights =
      edit.add_initializer(output + "weights", ir::store_floats(affine.factor, type, {channels, 1, 1, 1}));
  const ir::ValueId bias = edit.add_initializer(output + "bias", ir::store_floats(affine.offset, type, {channels}));
  edit.remove_node(id);
  const std::vector<int64_t> ones = {1, 1};
  edit.add_node({"Conv",
                 "",
                 norm.name,
                 {norm.input(0), weights, bias},
                 {norm.output(0)},
                 {{"group", channels, {}, {}}, {"kernel_shape", ones, {}, {}}, {"strides", ones, {}, {}}},
                 norm.origins});
}

}  // namespace

Result<Changed> convert_bn_to_conv(pass::FloatContext& context) {
  ir::Graph& graph = context.graph();
  // For this pass and, as in the reference, for quantization: what cannot be converted is quantized as it is.
  context.selection.op_types.insert("BatchNormalization");
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& norm = graph.node(id);
    if (!norm.is("BatchNormalization") || !context.selection.selects(norm)) continue;
    const std::optional<ChannelAffine> affine = read_batch_norm(graph, norm, context.settings);
    if (!affine || !has_inner_shape(graph.value(norm.input(0)), 4)) {
      context.diagnostics.warn("bn-not-converted", graph.label(id),
                               "its parameters are not stored or its input is no inner image, it stays as it is");
      continue;
    }
    replace_norm(graph, id, *affine);
    changed = Changed::kYes;
  }
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite
