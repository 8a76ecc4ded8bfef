// SPDX-License-Identifier: MIT
// What comes behind a Conv and works per channel goes into its weight and bias (spec 04 A.6.1, "further rewrites").
#include <algorithm>

#include "ir/stored_floats.h"
#include "plan/constant_codes.h"
#include "rewrite/fold_into_layer.h"
#include "rewrite/optimize/local_rules.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite::basic {
namespace {

/// The stored operand of a Mul or Add as one number per channel of an image [N, C, ...]: of shape [C, 1, ...] or
/// [1, C, 1, ...]; for Mul a scalar, too.
std::optional<std::vector<float>> per_channel(const Workspace& work, const ir::Node& node, int64_t channels,
                                              size_t rank) {
  const ir::Tensor* stored = ir::stored_floats(work.graph(), node.input(1));
  if (stored == nullptr) return std::nullopt;
  const std::vector<float> values = ir::float_values(*stored).value();
  if (stored->rank() == 0 && node.is("Mul")) {
    return std::vector<float>(static_cast<size_t>(channels), values[0]);
  }
  ir::Shape dims = stored->dims();
  if (dims.size() == rank && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() != rank - 1 || dims[0] != channels) return std::nullopt;
  const bool rest_is_one = std::all_of(dims.begin() + 1, dims.end(), [](int64_t dim) { return dim == 1; });
  return rest_is_one ? std::optional(values) : std::nullopt;
}

std::optional<ChannelAffine> affine_of(const Workspace& work, const ir::Node& node, int64_t channels, size_t rank) {
  if (node.is("BatchNormalization")) return read_batch_norm(work.graph(), node, work.settings());
  if (!node.is("Mul") && !node.is("Add")) return std::nullopt;
  const std::optional<std::vector<float>> values = per_channel(work, node, channels, rank);
  if (!values) return std::nullopt;
  const auto count = static_cast<size_t>(channels);
  if (node.is("Add")) return ChannelAffine{std::vector<float>(count, 1.0f), *values};
  return ChannelAffine{*values, std::vector<float>(count, 0.0f)};
}

/// The weight alone, so that a layer without a bias stays one.
void scale_weight(Workspace& work, ir::NodeId id, const std::vector<float>& factor) {
  const ir::ValueId old = work.node(id).input(1);
  const ir::Tensor weight = *work.graph().constant(old);
  std::vector<float> values = ir::float_values(weight).value();
  scale_channels(values, *output_channels(work.node(id), weight.dims()), factor);
  work.set_input(id, 1,
                 work.add_constant("ConvMulFusion_W_" + work.graph().value(old).name,
                                   ir::store_floats(values, weight.type(), weight.dims())));
}

/// What a BatchNormalization went into has names that tell so.
void name_folded(Workspace& work, ir::NodeId id, const std::string& weight, const std::string& bias) {
  const std::string names[] = {"ConvBnFusion_W_" + weight, "ConvBnFusion_BN_B_" + bias};
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const ir::Tensor folded = *work.graph().constant(work.node(id).input(i));
    work.set_input(id, i, work.add_constant(names[i - 1], folded));
  }
}

}  // namespace

bool fold_into_conv(Workspace& work, ir::NodeId id) {
  const ir::Node& conv = work.node(id);
  if (!conv.is("Conv") && !conv.is("ConvTranspose")) return false;
  const ir::NodeId reader_id = work.only_consumer(conv.output(0));
  if (!reader_id.valid() || work.node(reader_id).input(0) != conv.output(0)) return false;
  const ir::Node& reader = work.node(reader_id);
  if (conv.is("ConvTranspose") && !reader.is("BatchNormalization")) return false;
  const std::optional<int64_t> channels = foldable_channels(work.graph(), conv);
  if (!channels) return false;
  const size_t rank = work.graph().constant(conv.input(1))->dims().size();
  const std::optional<ChannelAffine> affine = affine_of(work, reader, *channels, rank);
  if (!affine || affine->factor.size() != static_cast<size_t>(*channels)) return false;
  if (reader.is("Mul") && !conv.input(2).valid()) {
    scale_weight(work, id, affine->factor);
  } else {
    const std::string weight = work.graph().value(conv.input(1)).name;
    fold_into(work.model().graph, id, *affine, 0);
    if (work.node(reader_id).is("BatchNormalization")) {
      name_folded(work, id, weight, work.graph().value(work.node(reader_id).input(2)).name);
    }
  }
  const ir::ValueId output = work.node(reader_id).output(0);
  work.set_input(reader_id, 0, {});
  work.take_output(id, 0, output);
  work.add_origins(id, reader_id);
  work.remove_node(reader_id);
  return true;
}

}  // namespace quarkq::rewrite::basic
