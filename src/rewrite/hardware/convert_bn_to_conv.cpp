// SPDX-License-Identifier: MIT
// A BatchNormalization of images that was not folded becomes a depthwise 1x1 Conv.
#include "ir/stored_floats.h"
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/hardware/inner_shape.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
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

}  // namespace quarkq::rewrite
