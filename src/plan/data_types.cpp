// SPDX-License-Identifier: MIT
#include "plan/data_types.h"

namespace quarkq::plan {
namespace {

struct TypeRow {
  config::DataType type;
  ElementType element;
};
constexpr TypeRow kTypes[] = {
    {config::DataType::kInt8, ElementType::kInt8},
    {config::DataType::kUInt8, ElementType::kUInt8},
    {config::DataType::kInt16, ElementType::kInt16},
    {config::DataType::kUInt16, ElementType::kUInt16},
    {config::DataType::kInt32, ElementType::kInt32},
    {config::DataType::kUInt32, ElementType::kUInt32},
    {config::DataType::kFloat16, ElementType::kFloat16},
    {config::DataType::kBFloat16, ElementType::kBFloat16},
    {config::DataType::kFloat8E4M3Fn, ElementType::kFloat8E4M3Fn},
    {config::DataType::kInt4, ElementType::kInt4},
    {config::DataType::kUInt4, ElementType::kUInt4},
};

}  // namespace

ElementType element_type(config::DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.element;
  }
  return ElementType::kUndefined;
}

numeric::ScaleKind activation_scale_kind(const config::Settings& settings) {
  if (settings.formats.int16_scale) return numeric::ScaleKind::kInt16;
  if (config::family(settings.ranges.calibrate_method) != config::Family::kPow2) return numeric::ScaleKind::kFloat;
  return settings.formats.use_power_of2_scale ? numeric::ScaleKind::kPowerOfTwo : numeric::ScaleKind::kFloat;
}

numeric::ScaleKind weight_scale_kind(const config::Settings& settings) {
  if (settings.formats.int16_scale) return numeric::ScaleKind::kInt16;
  const bool pow2 = config::family(settings.ranges.calibrate_method) == config::Family::kPow2;
  // MinMSE searches among powers of two, so its weights keep them even when UsePowerOf2Scale is off
  // (ref:scales#power-of-two-scales).
  const bool kept =
      settings.formats.use_power_of2_scale || settings.ranges.calibrate_method == config::CalibrateMethod::kMinMSE;
  return pow2 && kept ? numeric::ScaleKind::kPowerOfTwo : numeric::ScaleKind::kFloat;
}

}  // namespace quarkq::plan
