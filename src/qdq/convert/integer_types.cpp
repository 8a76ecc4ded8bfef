// SPDX-License-Identifier: MIT
// Activations between signed and unsigned integers of one width: codes and zero points move by half of the range, so
// that every value stays what it was.
#include <algorithm>
#include <map>

#include "ir/constants.h"
#include "numeric/real_numbers.h"
#include "qdq/convert/conversions.h"
#include "qdq/convert/integer_operands.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {

namespace {

struct Flip {
  ElementType from, to;
  int64_t shift;  ///< added to codes and zero points
};

ir::Tensor shifted(const ir::Tensor& zero_point, const Flip& flip) {
  const std::vector<int64_t> zeros = ir::to_int64(zero_point).value();  // zero points of integers
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

// Activations from uint16 to uint8: the same ranges in 257 times larger steps. Stored uint16 tensors and biases follow.

namespace {

constexpr double kSteps16 = 65535, kSteps8 = 255;

class Narrowing {
 public:
  explicit Narrowing(pass::ConvertContext& context) : context_(context), graph_(context.graph()), edit_(graph_) {}

  Result<size_t> run() {
    size_t changed = 0;
    for (const Activation& activation : activations(graph_)) {
      const bool is_wide =
          has_wide_zero(activation.quantizer) &&
          std::ranges::all_of(activation.dequantizers, [&](ir::NodeId dq) { return has_wide_zero(dq); });
      if (!is_wide) continue;
      narrow_parameters(activation.quantizer);
      for (const ir::NodeId dq : activation.dequantizers) narrow_parameters(dq);
      edit_.mutable_value(graph_.node(activation.quantizer).output(0)).type.element = ElementType::kUInt8;
      ++changed;
    }
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph_.order())) {
      QQ_TRY(const bool is_narrowed, narrow_stored(id));
      changed += is_narrowed ? 1 : 0;
    }
    if (changed > 0) {
      for (const ir::NodeId id : std::vector<ir::NodeId>(graph_.order()))
        QQ_RETURN_IF_ERROR(store_bias_in_int32(context_, id).status());
    }
    return changed;
  }

 private:
  bool has_wide_zero(ir::NodeId id) const {
    const auto zero_point = zero_point_of(graph_, graph_.node(id));
    const ir::Tensor* scale = graph_.constant(graph_.node(id).input(1));
    return zero_point && zero_point->type() == ElementType::kUInt16 && scale != nullptr &&
           scale->type() == ElementType::kFloat;
  }

  /// Sets scale and zero point of a Q or DQ; each initializer is narrowed once, under a name of its own.
  void narrow_parameters(ir::NodeId id) {
    const ir::ValueId scale = graph_.node(id).input(1), zero_point = graph_.node(id).input(2);
    ir::ValueId& wide = narrowed_[scale];
    if (!wide.valid()) {
      std::vector<float> scales = ir::float_values(*graph_.constant(scale)).value();
      for (float& one : scales) one = static_cast<float>(static_cast<double>(one) * (kSteps16 / kSteps8));
      const ir::Shape dims = graph_.constant(scale)->dims();
      wide = edit_.add_initializer(graph_.value(scale).name + "_uint8", ir::Tensor::from<float>(dims, scales));
    }
    edit_.set_input(id, 1, wide);
    if (graph_.node(id).find("output_dtype") != nullptr && quantizes(graph_.node(id)))
      edit_.node(id).set("output_dtype", static_cast<int64_t>(ElementType::kUInt8));
    if (!zero_point.valid()) return;  // 0 in both types
    ir::ValueId& zero = narrowed_[zero_point];
    if (!zero.valid()) {
      const ir::Tensor& old = *graph_.constant(zero_point);
      ir::Tensor zeros = ir::Tensor::allocate(ElementType::kUInt8, old.dims());
      std::ranges::transform(old.data<uint16_t>(), zeros.mutable_data<uint8_t>().begin(), [](uint16_t code) {
        return static_cast<uint8_t>(numeric::round_half_even(static_cast<float>(code * (kSteps8 / kSteps16))));
      });
      zero = edit_.add_initializer(graph_.value(zero_point).name + "_uint8", std::move(zeros));
    }
    edit_.set_input(id, 2, zero);
  }

  /// A DQ of a stored uint16 tensor: the codes nearest to its values.
  Result<bool> narrow_stored(ir::NodeId id) {
    const ir::Node dq = graph_.node(id);
    const ir::Tensor* codes = dequantizes(dq) && dq.input(0).valid() ? graph_.constant(dq.input(0)) : nullptr;
    if (codes == nullptr || codes->type() != ElementType::kUInt16 || !has_wide_zero(id)) return false;
    const ir::Tensor zeros = *zero_point_of(graph_, dq);
    if (zeros.size() != 1) {
      context_.leave(id, "its stored uint16 tensor has a scale for each channel");
      return false;
    }
    const ir::Tensor wide = *codes;
    narrow_parameters(id);
    const double zero = zeros.data<uint16_t>()[0];
    const ir::ValueId moved_zero = graph_.node(id).input(2);
    const double new_zero = moved_zero.valid() ? graph_.constant(moved_zero)->data<uint8_t>()[0] : 0.0;
    ir::Tensor narrow = ir::Tensor::allocate(ElementType::kUInt8, wide.dims());
    std::ranges::transform(wide.data<uint16_t>(), narrow.mutable_data<uint8_t>().begin(), [&](uint16_t code) {
      const double moved = numeric::round_half_even((code - zero) * (kSteps8 / kSteps16)) + new_zero;
      return static_cast<uint8_t>(std::clamp(moved, 0.0, kSteps8));
    });
    edit_.set_input(id, 0, edit_.add_initializer(graph_.value(dq.input(0)).name + "_uint8", std::move(narrow)));
    return true;
  }

  pass::ConvertContext& context_;
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  std::map<ir::ValueId, ir::ValueId> narrowed_;
};

}  // namespace

Result<size_t> u16u8_to_u8u8(pass::ConvertContext& context) { return Narrowing(context).run(); }

}  // namespace quarkq::qdq
