// SPDX-License-Identifier: MIT
#include "plan/tensor_formats.h"

#include "plan/data_types.h"

namespace quarkq::plan {

Result<TensorFormats> TensorFormats::make(const config::Settings& settings, const TensorOverrides& overrides) {
  TensorFormats formats(settings, overrides);
  QQ_TRY(formats.bfp_, block_format(config::DataType::kBfp, settings));
  QQ_TRY(formats.mx_, block_format(config::DataType::kMx, settings));
  return formats;
}

const config::TensorOverride* find_override(const TensorOverrides& overrides, ir::ValueId value) {
  const auto found = overrides.find(value);
  return found == overrides.end() ? nullptr : &found->second;
}

Stage TensorFormats::stage(config::DataType type, StageKind kind) const {
  Stage made;
  made.kind = config::is_block(type) ? StageKind::kBlock : kind;
  made.spec.type = element_type(type);
  if (config::is_block(type)) made.block = type == config::DataType::kBfp ? bfp_ : mx_;
  return made;
}

Stage TensorFormats::activation(ir::ValueId value) const {
  const config::TensorOverride* own = override_of(value);
  const config::DataType type = own != nullptr && own->type ? *own->type : settings_.formats.activation_type;
  Stage made = stage(type, StageKind::kPair);
  const bool is_float = config::is_half(type) || config::is_block(type);
  made.spec.symmetric = settings_.formats.activation_symmetric || (own != nullptr && is_float);
  if (own != nullptr && own->symmetric) made.spec.symmetric = *own->symmetric;
  made.spec.reduce_range = own != nullptr && own->reduce_range.value_or(false);
  made.spec.scale = activation_scale_kind(settings_);
  made.spec.scaled = settings_.formats.activation_scaled && config::is_half(type);
  return made;
}

Stage TensorFormats::constant(ir::ValueId value, int64_t rank) const {
  const config::TensorOverride* own = override_of(value);
  const config::DataType type = own != nullptr && own->type ? *own->type : settings_.formats.weight_type;
  Stage made = stage(type, settings_.qdq.add_qdq_pair_to_weight ? StageKind::kPair : StageKind::kStored);
  if (made.block) made.block = for_constant(*made.block, rank);
  made.spec.symmetric = own != nullptr && own->symmetric ? *own->symmetric : settings_.formats.weight_symmetric;
  made.spec.reduce_range = own != nullptr && own->reduce_range ? *own->reduce_range : settings_.formats.reduce_range;
  made.spec.scale = weight_scale_kind(settings_);
  made.spec.scaled = settings_.formats.weight_scaled && config::is_half(type);
  return made;
}

}  // namespace quarkq::plan
