// SPDX-License-Identifier: MIT
// Activations between signed and unsigned integers of one width: codes and zero points move by half of the range, so
// that every value stays what it was.
#include <algorithm>
#include <map>

#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {
namespace {

struct Flip {
  ElementType from, to;
  int64_t shift;  ///< added to codes and zero points
};

ir::Tensor shifted(const ir::Tensor& zero_point, const Flip& flip) {
  const std::vector<int64_t> zeros = ir::to_int64(zero_point).value();  // of integers
  ir::Tensor moved = ir::Tensor::allocate(flip.to, zero_point.dims());
  // Unsigned arithmetic of one width wraps to the right code in either direction.
  for (size_t i = 0; i < zeros.size(); ++i) {
    if (bits(flip.to) == 8) {
      moved.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(zeros[i] + flip.shift);
    } else {
      moved.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(zeros[i] + flip.shift);
    }
  }
  return moved;
}

class Flipper {
 public:
  Flipper(pass::ConvertContext& context, const Flip& flip) : graph_(context.graph()), edit_(graph_), flip_(flip) {}

  size_t run() {
    size_t changed = 0;
    for (const Activation& activation : activations(graph_)) {
      if (!fits(activation)) continue;
      set_zero_point(activation.quantizer);
      for (const ir::NodeId dq : activation.dequantizers) set_zero_point(dq);
      const ir::ValueId codes = graph_.node(activation.quantizer).output(0);
      edit_.mutable_value(codes).type.element = flip_.to;
      ++changed;
    }
    return changed;
  }

 private:
  bool is_of_type(ir::NodeId id) const {
    const auto zero_point = zero_point_of(graph_, graph_.node(id));
    return zero_point && zero_point->type() == flip_.from;
  }
  bool fits(const Activation& activation) const {
    return is_of_type(activation.quantizer) &&
           std::ranges::all_of(activation.dequantizers, [&](ir::NodeId dq) { return is_of_type(dq); });
  }

  void set_zero_point(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    const ir::Tensor moved = shifted(*zero_point_of(graph_, node), flip_);
    const ir::ValueId stored = store(moved);
    put_input(edit_, node, 2, stored);
    if (node.find("output_dtype") != nullptr && quantizes(node))
      edit_.node(id).set("output_dtype", static_cast<int64_t>(flip_.to));
  }

  /// One initializer for each content, "uint8_zp128" for the scalar 128.
  ir::ValueId store(const ir::Tensor& zero_point) {
    const std::string bytes(reinterpret_cast<const char*>(zero_point.raw()), static_cast<size_t>(zero_point.bytes()));
    ir::ValueId& stored = stored_[{zero_point.dims(), bytes}];
    if (!stored.valid()) {
      const std::string value = zero_point.size() == 1 ? cat(ir::to_int64(zero_point).value()[0]) : "s";
      stored = edit_.add_initializer(cat(lower_case(name(flip_.to)), "_zp", value), zero_point);
    }
    return stored;
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
  const Flip flip_;
  std::map<std::pair<ir::Shape, std::string>, ir::ValueId> stored_;
};

constexpr int64_t kHalf8 = 128, kHalf16 = 32768;

}  // namespace

Result<size_t> s8s8_to_u8s8(pass::ConvertContext& context) {
  return Flipper(context, {ElementType::kInt8, ElementType::kUInt8, kHalf8}).run();
}

Result<size_t> u8s8_to_s8s8(pass::ConvertContext& context) {
  return Flipper(context, {ElementType::kUInt8, ElementType::kInt8, -kHalf8}).run();
}

Result<size_t> u16s8_to_s16s8(pass::ConvertContext& context) {
  return Flipper(context, {ElementType::kUInt16, ElementType::kInt16, -kHalf16}).run();
}

Result<size_t> s16s8_to_u16s8(pass::ConvertContext& context) {
  return Flipper(context, {ElementType::kInt16, ElementType::kUInt16, kHalf16}).run();
}

}  // namespace quarkq::qdq
