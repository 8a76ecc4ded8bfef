// SPDX-License-Identifier: MIT
// Settings of single tensors (ref:settings#layer-settings, ref:settings#precedence, ref:settings#tensor-overrides):
// TensorQuantOverrides, MixedPrecisionTensor, and the overrides that result from layer configs.
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

/// The values of one list entry: for the whole tensor, or for one channel.
struct OverrideValues {
  std::optional<numeric::QuantParams> params;  ///< Scale and zero point, given together.
  std::optional<float> min, max;               ///< Replace the tensor's own ends.
};

struct TensorOverride {
  std::optional<DataType> type;
  std::optional<int64_t> axis;  ///< Constants: per channel along this axis.
  std::optional<bool> symmetric, reduce_range;
  std::vector<OverrideValues> values;  ///< One, or one per channel; empty: none given.

  bool is_per_channel() const { return axis.has_value() || values.size() > 1; }
};

struct NamedOverride {
  std::string tensor;
  TensorOverride made;
};

/// Returns TensorQuantOverrides in the order of the file. An error names the tensor and the key.
Result<std::vector<NamedOverride>> read_tensor_overrides(const Settings& settings);
/// Returns whether TensorQuantOverrides contains an entry for the tensor.
bool has_tensor_override(const Settings& settings, const std::string& tensor);
/// Checks only the keys, before a model is loaded.
Status check_override_keys(const Settings& settings);

/// Returns MixedPrecisionTensor, the deprecated {type: [tensor, ...]}; only types are set. Returns an empty list unless
/// specific_tensor_precision is on.
Result<std::vector<NamedOverride>> read_mixed_precision_tensor(const Settings& settings);

/// A tensor and its type in one of the two options.
struct TensorType {
  std::string tensor;
  DataType type;
};
/// Returns the readable entries. Faulty entries are rejected where overrides are read.
std::vector<TensorType> types_of_tensors(const Settings& settings);

/// Converts a tensor of a layer config, using only type and symmetry (ref:settings#layer-settings).
TensorOverride override_of(const TensorSpec& spec);

// Options by operator type: RemoveQDQBetweenOps with RemoveQDQMulAdd, QDQOpTypePerChannelSupportToAxis.

/// An operator type, and the operator type that reads its result.
struct OpTypePair {
  std::string upper, lower;
};

/// Returns the pairs of operator types without a Q/DQ pair between them. Fails for an item that is not a pair of names.
Result<std::vector<OpTypePair>> read_pairs_to_remove(const Settings& settings);

/// Returns the channel axis of operators of type `op` in the settings, or nullopt if there is none or it is not an
/// integer.
std::optional<int64_t> channel_axis_of(const Settings& settings, const std::string& op);

/// BFPAttributes and MXAttributes (ref:settings#block-attributes): attributes of the nodes of block formats.
struct BlockAttribute {
  std::string name;
  std::variant<NoValue, int64_t, std::string> value;
};

/// Returns the attributes for `type` in the settings, in the order of the file. Fails for a value that no attribute can
/// represent. REQUIRES: is_block(type).
Result<std::vector<BlockAttribute>> read_block_attributes(DataType type, const Settings& settings);

}  // namespace quarkq::config
