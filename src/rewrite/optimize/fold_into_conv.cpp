// SPDX-License-Identifier: MIT
// Folds operators that follow a Conv and work per channel into its weight and bias (ref:rewrites#basic-optimizer).
#include <algorithm>

#include "ir/constants.h"
#include "rewrite/fold_affine.h"
#include "rewrite/optimize/local_rules.h"

namespace quarkq::rewrite::basic {
namespace {

/// The stored operand of a Mul or Add as one number per channel of an image [N, C, ...]: of shape [C, 1, ...] or
/// [1, C, 1, ...]; for Mul a scalar, too.
std::optional<std::vector<double>> per_channel(const Workspace& work, const ir::Node& node, int64_t channels,
                                               size_t rank) {
  const ir::Tensor* stored = ir::stored_floats(work.graph(), node.input(1));
  if (stored == nullptr) return std::nullopt;
  const std::vector<float> numbers = ir::float_values(*stored).value();
  if (stored->rank() == 0 && node.is("Mul")) {
    return std::vector<double>(static_cast<size_t>(channels), numbers[0]);
  }
  ir::Shape dims = stored->dims();
  if (dims.size() == rank && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() != rank - 1 || dims[0] != channels) return std::nullopt;
  const bool rest_is_one = std::all_of(dims.begin() + 1, dims.end(), [](int64_t dim) { return dim == 1; });
  return rest_is_one ? std::optional(std::vector<double>(numbers.begin(), numbers.end())) : std::nullopt;
}

std::optional<ChannelAffine> affine_of(const Workspace& work, const ir::Node& node, int64_t channels, size_t rank) {
  if (node.is("BatchNormalization")) return read_batch_norm(work.graph(), node, work.settings());
  if (!node.is("Mul") && !node.is("Add")) return std::nullopt;
  const std::optional<std::vector<double>> values = per_channel(work, node, channels, rank);
  if (!values) return std::nullopt;
  const auto count = static_cast<size_t>(channels);
  if (node.is("Add")) return ChannelAffine{std::vector<double>(count, 1.0), *values};
  return ChannelAffine{*values, std::vector<double>(count, 0.0)};
}

/// Both get names of their own, which tell what went into them.
void fold_norm(Workspace& work, const ir::Node& conv, const ir::Node& norm, const ChannelAffine& affine,
               ir::GraphPatch& patch) {
  const ir::Graph& graph = work.graph();
  const ir::Tensor& weight = *graph.constant(conv.input(1));
  const ChannelView view = *written_channels(conv, weight.dims());
  const ir::Tensor* bias = conv.input(2).valid() ? graph.constant(conv.input(2)) : nullptr;
  const std::string weight_name = work.new_tensor_name("ConvBnFusion_W_" + graph.value(conv.input(1)).name);
  const std::string bias_name = work.new_tensor_name("ConvBnFusion_BN_B_" + graph.value(norm.input(2)).name);
  patch.set_input(conv.id, 1, patch.initializer(weight_name, fold_into_weight(weight, view, affine)));
  const ir::Shape dims = bias == nullptr ? ir::Shape{view.channels} : bias->dims();
  const ElementType type = bias == nullptr ? weight.type() : bias->type();
  patch.set_input(conv.id, 2, patch.initializer(bias_name, ir::store_floats(fold_into_bias(bias, affine), type, dims)));
}

/// The weight alone, so that a layer without a bias stays one.
void scale_weight(Workspace& work, const ir::Node& conv, const ChannelAffine& affine, ir::GraphPatch& patch) {
  const ir::Tensor& weight = *work.graph().constant(conv.input(1));
  const ChannelView view = *written_channels(conv, weight.dims());
  const std::string name = work.new_tensor_name("ConvMulFusion_W_" + work.graph().value(conv.input(1)).name);
  patch.set_input(conv.id, 1, patch.initializer(name, fold_into_weight(weight, view, affine)));
}

}  // namespace

Proposal fold_into_conv(Workspace& work, const ir::Node& conv) {
  const std::optional<ir::GraphPatch> nothing;
  if (!conv.is("Conv") && !conv.is("ConvTranspose")) return nothing;
  const ir::NodeId reader_id = work.only_consumer(conv.output(0));
  if (!reader_id.valid() || work.node(reader_id).input(0) != conv.output(0)) return nothing;
  const ir::Node& reader = work.node(reader_id);
  const bool is_norm = reader.is("BatchNormalization");
  if (conv.is("ConvTranspose") && !is_norm) return nothing;
  const std::optional<int64_t> channels = foldable_channels(work.graph(), conv);
  if (!channels) return nothing;
  const size_t rank = work.graph().constant(conv.input(1))->dims().size();
  const std::optional<ChannelAffine> affine = affine_of(work, reader, *channels, rank);
  if (!affine || affine->factor.size() != static_cast<size_t>(*channels)) return nothing;
  ir::GraphPatch patch;
  if (is_norm) {
    fold_norm(work, conv, reader, *affine, patch);
  } else if (reader.is("Mul") && !conv.input(2).valid()) {
    scale_weight(work, conv, *affine, patch);
  } else {
    LayerFolds(work.graph(), patch).add(conv, *affine);
  }
  patch.remove(reader_id);
  patch.set_output(conv.id, 0, reader.output(0));
  patch.add_origins(conv.id, reader_id);
  return std::optional(std::move(patch));
}

}  // namespace quarkq::rewrite::basic
