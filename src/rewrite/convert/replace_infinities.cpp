// SPDX-License-Identifier: MIT
// Infinities of stored tensors become finite: one range for them would leave no codes for the other values.
#include <algorithm>
#include <cmath>

#include "ir/edit.h"
#include "numeric/element_type.h"
#include "rewrite/convert/conversions.h"

namespace quarkq::rewrite {
namespace {

/// Replaces the infinities of elements read and written by these functions. Returns how many there were.
template <typename Stored, typename Get, typename Set>
size_t replace_in(ir::Tensor& tensor, double value, const Get& get, const Set& set) {
  size_t found = 0;
  for (const Stored one : tensor.data<Stored>()) found += std::isinf(get(one)) ? 1 : 0;
  if (found == 0) return 0;
  for (Stored& one : tensor.mutable_data<Stored>()) {
    if (std::isinf(get(one))) one = set(std::copysign(value, static_cast<double>(get(one))));
  }
  return found;
}

size_t replace_all(ir::Tensor& tensor, double value) {
  const auto to_float = [](double x) { return static_cast<float>(x); };
  const auto same = [](auto x) { return x; };
  switch (tensor.type()) {
    case ElementType::kFloat: return replace_in<float>(tensor, value, same, to_float);
    case ElementType::kDouble: return replace_in<double>(tensor, value, same, same);
    case ElementType::kFloat16:
      return replace_in<uint16_t>(tensor, value, float_from_float16,
                                  [&](double x) { return float16_from_float(to_float(x)); });
    case ElementType::kBFloat16:
      return replace_in<uint16_t>(tensor, value, float_from_bfloat16,
                                  [&](double x) { return bfloat16_from_float(to_float(x)); });
    default: return 0;
  }
}

/// The largest value of a type that may hold infinities.
double largest_of(ElementType type) {
  constexpr double kMostHalf = 65504, kMostBFloat = 3.38953138e38;  // the latter fits wider types, too
  return type == ElementType::kFloat16 ? kMostHalf : kMostBFloat;
}

}  // namespace

Result<size_t> replace_infinities(pass::ConvertContext& context) {
  QQ_TRY(const double value, context.options.number("value"));
  if (value <= 0) return invalid_argument("option value: found ", value, ", allowed is a positive number");
  ir::GraphEdit edit(context.graph());
  size_t replaced = 0;
  const auto replace = [&](ir::Tensor& tensor) {
    return replace_all(tensor, std::min(value, largest_of(tensor.type())));
  };
  for (const ir::ValueId id : std::vector<ir::ValueId>(context.graph().initializers())) {
    ir::Tensor tensor = *context.graph().value(id).constant;
    const size_t found = replace(tensor);
    if (found > 0) edit.set_constant(id, std::move(tensor));
    replaced += found;
  }
  for (const ir::NodeId id : context.graph().order()) {
    if (!context.graph().node(id).is("Constant")) continue;
    for (ir::Attribute& attribute : edit.node(id).attributes) {
      if (auto* tensor = std::get_if<ir::Tensor>(&attribute.value)) replaced += replace(*tensor);
      if (auto* number = std::get_if<float>(&attribute.value); number != nullptr && std::isinf(*number)) {
        *number = std::copysign(static_cast<float>(std::min(value, largest_of(ElementType::kFloat))), *number);
        ++replaced;
      }
    }
  }
  return replaced;
}

}  // namespace quarkq::rewrite
