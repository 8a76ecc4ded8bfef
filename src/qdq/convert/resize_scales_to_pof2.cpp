// SPDX-License-Identifier: MIT
// Scales around Resize as powers of two, as NPUs compute it: the smallest one that holds the range, with the zero point
// in the middle of the type.
#include <algorithm>
#include <cmath>

#include "numeric/finite.h"
#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {
namespace {

/// Scale and zero point that hold what `old` holds.
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
