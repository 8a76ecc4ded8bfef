// SPDX-License-Identifier: MIT
#include "plan/flavors.h"

#include "base/check.h"

namespace quarkq::plan {
namespace {

using config::Quantizer;

constexpr Flavor kFlavors[] = {
    // quantizer, registry, domains, narrow, per-channel bias, folds, folds need option, output exclusion by name, 16
    // bits
    {Quantizer::kCpu, Registry::kCpu, DomainPolicy::kStandard, true, true, true, false, true, true},
    {Quantizer::kExtended, Registry::kNpuCnn, DomainPolicy::kContrib, true, true, true, true, true, true},
    {Quantizer::kNpuCnn, Registry::kNpuCnn, DomainPolicy::kAlwaysStandard, true, false, true, false, true, false},
    {Quantizer::kNpuTransformer, Registry::kNpuTransformer, DomainPolicy::kStandard, false, true, true, false, false,
     true},
};

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

const Flavor& flavor_of(Quantizer quantizer) {
  for (const Flavor& flavor : kFlavors) {
    if (flavor.quantizer == quantizer) return flavor;
  }
  QQ_CHECK(false && "a quantizer that writes Q/DQ");
  return kFlavors[0];
}

ElementType element_type(config::DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.element;
  }
  return ElementType::kUndefined;
}

numeric::ScaleKind activation_scale_kind(const config::Settings& settings) {
  if (settings.int16_scale) return numeric::ScaleKind::kInt16;
  if (config::family(settings.calibrate_method) != config::Family::kPow2) return numeric::ScaleKind::kFloat;
  return settings.use_power_of2_scale ? numeric::ScaleKind::kPowerOfTwo : numeric::ScaleKind::kFloat;
}

numeric::ScaleKind weight_scale_kind(const config::Settings& settings) {
  if (settings.int16_scale) return numeric::ScaleKind::kInt16;
  const bool pow2 = config::family(settings.calibrate_method) == config::Family::kPow2;
  // MinMSE searches among powers of two, so its weights keep them even when UsePowerOf2Scale is off (spec 02 C.4).
  const bool kept = settings.use_power_of2_scale || settings.calibrate_method == config::CalibrateMethod::kMinMSE;
  return pow2 && kept ? numeric::ScaleKind::kPowerOfTwo : numeric::ScaleKind::kFloat;
}

bool takes_channel_scales(const config::Settings& settings) {
  return weight_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

bool takes_16_bit_activations(const config::Settings& settings) {
  return flavor_of(settings.quantizer).runs_16_bits && activation_scale_kind(settings) == numeric::ScaleKind::kFloat;
}

}  // namespace quarkq::plan
