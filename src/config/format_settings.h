// SPDX-License-Identifier: MIT
// Settings of single tensors (ref:settings#layer-settings, ref:settings#precedence, ref:settings#tensor-overrides):
// TensorQuantOverrides, MixedPrecisionTensor, and what layer configs turn into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/no_value.h"
#include "config/settings.h"
#include "numeric/quant_params.h"

namespace quarkq::config {

/// What one entry of the list says: of the whole tensor, or of one channel.
struct OverrideValues {
  std::optional<numeric::QuantParams> params;  ///< scale and zero point, given together
  std::optional<float> min, max;               ///< instead of the tensor's own ends
};

struct TensorOverride {
  std::optional<DataType> type;
  std::optional<int64_t> axis;  ///< constants: per channel along it
  std::optional<bool> symmetric, reduce_range;
  std::vector<OverrideValues> values;  ///< one, or one per channel; empty: none given

  bool is_per_channel() const { return axis.has_value() || values.size() > 1; }
};

struct NamedOverride {
  std::string tensor;
  TensorOverride made;
};

/// TensorQuantOverrides, in the order of the file. An error names the tensor and the key.
Result<std::vector<NamedOverride>> read_tensor_overrides(const Settings& settings);
/// Whether TensorQuantOverrides says something of the tensor.
bool has_tensor_override(const Settings& settings, const std::string& tensor);
/// Checks the keys alone, before a model is loaded.
Status check_override_keys(const Settings& settings);

/// MixedPrecisionTensor, the deprecated {type: [tensor, ...]}; only types are set. Empty unless
/// specific_tensor_precision is on.
Result<std::vector<NamedOverride>> read_mixed_precision_tensor(const Settings& settings);

/// A tensor and the type that one of the two options gives it.
struct TensorType {
  std::string tensor;
  DataType type;
};
/// As far as they can be read: what cannot is refused where overrides are read.
std::vector<TensorType> types_of_tensors(const Settings& settings);

/// Of a layer config only the type and the symmetry count (ref:settings#layer-settings).
TensorOverride override_of(const TensorSpec& spec);

// Options by operator type: RemoveQDQBetweenOps with RemoveQDQMulAdd, QDQOpTypePerChannelSupportToAxis.

/// An operator type, and one that reads its result.
struct OpTypePair {
  std::string upper, lower;
};

/// The pairs of operator types that get no Q/DQ pair between them. Fails for an item that is no pair of names.
Result<std::vector<OpTypePair>> read_pairs_to_remove(const Settings& settings);

/// The channel axis that the settings give operators of type `op`; nothing: none, or no whole number.
std::optional<int64_t> channel_axis_of(const Settings& settings, const std::string& op);

/// BFPAttributes and MXAttributes (ref:settings#block-attributes): attributes of the nodes of block formats.
struct BlockAttribute {
  std::string name;
  std::variant<NoValue, int64_t, std::string> value;
};

/// The attributes that the settings give for `type`, in the order of the file. Fails for a value that no attribute can
/// hold. REQUIRES: is_block(type).
Result<std::vector<BlockAttribute>> read_block_attributes(DataType type, const Settings& settings);

}  // namespace quarkq::config
