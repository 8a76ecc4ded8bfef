// SPDX-License-Identifier: MIT
// Channels whose weights are almost zero have scales that compilers cannot represent next to the other scales. The
// smallest scales are enlarged and the integers encoded again, so that values are preserved (the reference keeps the
// integers, which enlarges the values).
#include <algorithm>
#include <cmath>

#include "numeric/real_numbers.h"
#include "plan/constant_codes.h"
#include "qdq/convert/conversions.h"
#include "qdq/convert/integer_operands.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {

namespace {

struct Limits {
  double least = 0, ratio = 0;
  bool adaptive = false, adjusts_bias = false;
};

Result<Limits> read_limits(const pass::ConversionOptions& options) {
  Limits limits;
  QQ_TRY(limits.least, options.number("min_scale"));
  QQ_TRY(limits.ratio, options.number("ratio"));
  QQ_TRY(limits.adaptive, options.flag("adaptive"));
  QQ_TRY(limits.adjusts_bias, options.flag("adjust_bias"));
  if (limits.least <= 0)
    return invalid_argument("option min_scale: found ", limits.least, ", allowed is a positive number");
  if (limits.ratio < 1) return invalid_argument("option ratio: found ", limits.ratio, ", allowed is 1 or more");
  return limits;
}

bool are_positive(const std::vector<float>& scales) { return std::ranges::all_of(scales, numeric::is_usable_scale); }

/// The scales that these become; nothing where they are close enough to each other.
std::optional<std::vector<float>> constrained(const std::vector<float>& scales, const Limits& limits) {
  if (scales.size() < 2 || !are_positive(scales)) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(scales);
  if (most / least <= limits.ratio) return std::nullopt;
  const double floor = limits.adaptive ? std::max(limits.least, most / limits.ratio) : limits.least;
  std::vector<float> changed = scales;
  for (float& scale : changed) scale = std::max(scale, static_cast<float>(floor));
  return changed == scales ? std::nullopt : std::optional(std::move(changed));
}

/// Returns codes along `axis` in steps of `to` instead of `from`, or nullopt if the channels do not match the axis.
std::optional<ir::Tensor> encoded_anew(const ir::Tensor& codes, const Operand& from, const std::vector<float>& to) {
  const auto integers = ir::to_int64(codes);
  const int64_t axis = from.axis < 0 ? from.axis + codes.rank() : from.axis;
  if (!integers.ok() || axis < 0 || axis >= codes.rank()) return std::nullopt;
  const auto channels = static_cast<size_t>(codes.dims()[static_cast<size_t>(axis)]);
  if (channels != to.size() || codes.size() == 0) return std::nullopt;
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < codes.dims().size(); ++i)
    inner *= static_cast<size_t>(codes.dims()[i]);
  std::vector<double> moved(integers.value().size());
  for (size_t i = 0; i < moved.size(); ++i) {
    const size_t channel = i / inner % channels;
    const double steps = static_cast<double>(integers.value()[i] - from.zero_points[channel]) * from.scales[channel];
    moved[i] = numeric::round_half_even(steps / to[channel]) + static_cast<double>(from.zero_points[channel]);
  }
  return plan::store_saturated(moved, codes.type(), codes.dims());
}

/// The stored integers that input `index` of the layer dequantizes, when nothing else reads them.
struct Stored {
  ir::Node dq;
  ir::Tensor codes;
  Operand operand;
};
std::optional<Stored> stored_at(ir::Graph& graph, const ir::Node& layer, size_t index) {
  const ir::Node* dq = ir::source_of(graph, layer, index);
  if (dq == nullptr || !dequantizes(*dq) || !dq->input(0).valid()) return std::nullopt;
  const ir::Tensor* codes = graph.constant(dq->input(0));
  if (codes == nullptr) return std::nullopt;
  const Stored found{*dq, *codes, {}};
  std::optional<Operand> operand = operand_of(graph, found.dq.id);
  if (!operand) return std::nullopt;
  return Stored{graph.node(found.dq.id), found.codes, std::move(*operand)};
}

void store(ir::Graph& graph, const Stored& old, ir::Tensor codes, const std::vector<float>& scales) {
  ir::GraphEdit edit(graph);
  const ir::Shape dims = {static_cast<int64_t>(scales.size())};
  const auto put = [&](size_t input, ir::Tensor data) {
    const ir::ValueId value =
        edit.add_initializer(graph.value(old.dq.input(input)).name + "_constrained", std::move(data));
    put_input(edit, graph.node(old.dq.id), input, value);
  };
  put(0, std::move(codes));
  put(1, ir::Tensor::from<float>(dims, scales));
}

void constrain_bias(pass::ConvertContext& context, ir::NodeId layer, const Operand& weight,
                    const std::vector<float>& scales) {
  const std::optional<Stored> bias = stored_at(context.graph(), context.graph().node(layer), 2);
  if (!bias) return;
  if (bias->operand.scales.size() != scales.size())
    return context.leave(layer, "its bias has other channels than its weights");
  std::vector<float> moved = bias->operand.scales;
  for (size_t i = 0; i < moved.size(); ++i) moved[i] *= scales[i] / weight.scales[i];
  if (!are_positive(bias->operand.scales) || !are_positive(moved))
    return context.leave(layer, "its bias has scales that are not positive numbers, or would have");
  Operand from = bias->operand;
  from.axis = 0;
  std::optional<ir::Tensor> codes = encoded_anew(bias->codes, from, moved);
  if (!codes) return context.leave(layer, "its bias has other dimensions than channels");
  store(context.graph(), *bias, std::move(*codes), moved);
}

}  // namespace

Result<size_t> constrain_weight_scales(pass::ConvertContext& context) {
  QQ_TRY(const Limits limits, read_limits(context.options));
  ir::Graph& graph = context.graph();
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!has_integer_bias(graph.node(id))) continue;
    const std::optional<Stored> weight = stored_at(graph, graph.node(id), 1);
    if (!weight) continue;
    const std::optional<std::vector<float>> scales = constrained(weight->operand.scales, limits);
    if (!scales) continue;
    std::optional<ir::Tensor> codes = encoded_anew(weight->codes, weight->operand, *scales);
    if (!codes) {
      context.leave(id, "its weights have other channels than scales");
      continue;
    }
    store(graph, *weight, std::move(*codes), *scales);
    if (limits.adjusts_bias) constrain_bias(context, id, weight->operand, *scales);
    ++changed;
  }
  ir::GraphEdit(graph).remove_unused_initializers();
  return changed;
}

// Converts scales around Resize to powers of two, as computed by NPUs: the smallest one that contains the range, with
// the zero point in the middle of the type.

namespace {

/// Returns scale and zero point that cover the range of `old`.
PairRange power_of_two(const PairRange& old) {
  const numeric::IntegerRange codes = numeric::integer_range(old.type, numeric::RangeKind::kFull);
  const double step = static_cast<double>(old.scale);
  const double low = static_cast<double>(codes.min - old.zero_point) * step;
  const double high = static_cast<double>(codes.max - old.zero_point) * step;
  const double half = static_cast<double>(codes.max - codes.min + 1) / 2;
  const double position = std::floor(-std::log2(std::max(std::abs(low), std::abs(high)) / half));
  return {old.type, static_cast<float>(std::exp2(-position)), codes.min + static_cast<int64_t>(half)};
}

ir::Tensor scalar_of(ElementType type, int64_t value, const ir::Shape& dims) {
  ir::Tensor tensor = ir::Tensor::allocate(type, dims);
  if (bits(type) == 8) {
    tensor.mutable_data<uint8_t>()[0] = static_cast<uint8_t>(value);
  } else {
    tensor.mutable_data<uint16_t>()[0] = static_cast<uint16_t>(value);
  }
  return tensor;
}

/// Sets the scales of a Q and of all that dequantizes its integers. False where they are powers of two already, or
/// where the pair is left, with the reason.
bool set_power_of_two(pass::ConvertContext& context, const Activation& activation) {
  ir::Graph& graph = context.graph();
  const ir::Node q = graph.node(activation.quantizer);
  const auto old = range_of(graph, q);
  if (!old || !numeric::is_usable_scale(old->scale) || (bits(old->type) != 8 && bits(old->type) != 16)) {
    context.leave(q.id, "it has no one positive scale and zero point of 8 or 16 bits");
    return false;
  }
  const PairRange made = power_of_two(*old);
  if (made.scale == old->scale && made.zero_point == old->zero_point) return false;
  ir::GraphEdit edit(graph);
  const ir::Shape dims = graph.constant(q.input(1))->dims();
  const std::string scale_name = graph.value(q.input(1)).name;
  const ir::ValueId scale =
      edit.add_initializer(scale_name + "_pof2", ir::Tensor::from<float>(dims, std::vector<float>{made.scale}));
  const ir::ValueId zero_point =
      edit.add_initializer(scale_name + "_pof2_zero_point", scalar_of(made.type, made.zero_point, dims));
  std::vector<ir::NodeId> nodes = activation.dequantizers;
  nodes.push_back(q.id);
  for (const ir::NodeId id : nodes) {
    edit.set_input(id, 1, scale);
    put_input(edit, graph.node(id), 2, zero_point);
  }
  return true;
}

}  // namespace

Result<size_t> resize_scales_to_pof2(pass::ConvertContext& context) {
  const ir::Graph& graph = context.graph();
  const auto is_resize = [&](ir::NodeId id) { return graph.node(id).is("Resize"); };
  size_t changed = 0;
  for (const Activation& activation : activations(graph)) {
    const ir::Node* producer = ir::source_of(graph, graph.node(activation.quantizer), 0);
    bool is_around = producer != nullptr && is_resize(producer->id);
    for (const ir::NodeId dq : activation.dequantizers) {
      for (const ir::Use& use : graph.value(graph.node(dq).output(0)).uses)
        is_around |= !use.is_capture && use.input == 0 && is_resize(use.node);
    }
    if (is_around) changed += set_power_of_two(context, activation) ? 1 : 0;
  }
  return changed;
}

}  // namespace quarkq::qdq
