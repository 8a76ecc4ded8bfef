// SPDX-License-Identifier: MIT
#include "config/format_settings.h"

#include <cmath>
#include <limits>

#include "config/convert.h"

namespace quarkq::config {

namespace {

/// A number, or a list of one: arrays of one element are how the reference's users write rmin and rmax.
Status read_override_number(const Node& map, const std::string& path, const char* key, std::optional<float>& member) {
  const Node* found = map.find(key);
  if (found == nullptr || found->is_null()) return {};
  const Node& node = found->is_list() && found->items().size() == 1 ? found->items()[0] : *found;
  QQ_TRY(const double value, read<double>(node, path + "." + key));
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::abs(value) > kLargest)
    return invalid_argument(path, ".", key, ": found ", value, ", allowed is a finite float32");
  member = static_cast<float>(value);
  return {};
}

Result<OverrideValues> read_override_values(const Node& map, const std::string& path) {
  OverrideValues values;
  std::optional<float> scale, zero_point;
  QQ_RETURN_IF_ERROR(read_override_number(map, path, "scale", scale));
  QQ_RETURN_IF_ERROR(read_override_number(map, path, "zero_point", zero_point));
  QQ_RETURN_IF_ERROR(read_override_number(map, path, "rmin", values.min));
  QQ_RETURN_IF_ERROR(read_override_number(map, path, "rmax", values.max));
  if (scale.has_value() != zero_point.has_value()) {
    return invalid_argument(path, ": found one of scale and zero_point, allowed are both or neither");
  }
  if (values.min.has_value() != values.max.has_value()) {
    return invalid_argument(path, ": found one of rmin and rmax, allowed are both or neither");
  }
  if (!scale) return values;
  if (map.find("symmetric") != nullptr || map.find("reduce_range") != nullptr || values.min) {
    return invalid_argument(path,
                            ": scale and zero_point cannot be combined with symmetric, reduce_range, rmin or rmax");
  }
  // Those of all types with a zero point; a conversion of larger ones is not defined.
  constexpr float kLeastZeroPoint = -32768, kLargestZeroPoint = 65535;
  if (*zero_point != std::trunc(*zero_point) || *zero_point < kLeastZeroPoint || *zero_point > kLargestZeroPoint) {
    return invalid_argument(path, ".zero_point: found ", *zero_point, ", allowed is a whole number from ",
                            kLeastZeroPoint, " to ", kLargestZeroPoint);
  }
  if (!(*scale > 0)) return invalid_argument(path, ".scale: found ", *scale, ", allowed is more than 0");
  values.params = numeric::QuantParams{*scale, static_cast<int32_t>(*zero_point)};
  return values;
}

/// A range whose end is below its start is invalid.
Status check_override_range(const OverrideValues& values, const std::string& path) {
  if (values.min && *values.min > *values.max) {
    return invalid_argument(path, ": found rmin ", *values.min, " above rmax ", *values.max);
  }
  return {};
}

/// The list of maps of one tensor; `path` names it in messages.
Result<TensorOverride> read_override(const Node& list, const std::string& path) {
  TensorOverride made;
  if (!list.is_list() || list.items().empty()) return wrong_kind(list, "a list of maps").context(path);
  bool first = true;
  for (const Node& map : list.items()) {
    TensorOverride one;
    const OptionMap keys(map, path.c_str());
    QQ_RETURN_IF_ERROR(keys.take("quant_type", one.type));
    QQ_RETURN_IF_ERROR(keys.take("axis", one.axis));
    QQ_RETURN_IF_ERROR(keys.take("symmetric", one.symmetric));
    QQ_RETURN_IF_ERROR(keys.take("reduce_range", one.reduce_range));
    QQ_TRY(const OverrideValues values, read_override_values(map, path));
    QQ_RETURN_IF_ERROR(check_override_range(values, path));
    if (!first && (one.type != made.type || one.axis != made.axis || one.symmetric != made.symmetric ||
                   one.reduce_range != made.reduce_range)) {
      return invalid_argument(path, ": the entries of the channels must agree on quant_type, axis, symmetric and ",
                              "reduce_range");
    }
    if (first) made = std::move(one);
    made.values.push_back(values);
    first = false;
  }
  return made;
}

std::string path_of(const Node::Entry& entry) { return "TensorQuantOverrides." + entry.key; }

}  // namespace

Result<std::vector<NamedOverride>> read_tensor_overrides(const Settings& settings) {
  std::vector<NamedOverride> overrides;
  for (const Node::Entry& entry : settings.ranges.tensor_quant_overrides.node.entries()) {
    QQ_TRY(TensorOverride made, read_override(entry.value, path_of(entry)));
    overrides.push_back({entry.key, std::move(made)});
  }
  return overrides;
}

bool has_tensor_override(const Settings& settings, const std::string& tensor) {
  return settings.ranges.tensor_quant_overrides.node.find(tensor) != nullptr;
}

Status check_override_keys(const Settings& settings) {
  for (const Node::Entry& entry : settings.ranges.tensor_quant_overrides.node.entries()) {
    const std::string path = path_of(entry);
    if (!entry.value.is_list()) return wrong_kind(entry.value, "a list of maps").context(path);
    for (const Node& item : entry.value.items()) {
      QQ_RETURN_IF_ERROR(check_keys(
          item, path,
          {"quant_type", "axis", "scale", "zero_point", "symmetric", "reduce_range", "rmin", "rmax", "convert"}));
    }
  }
  return {};
}

Result<std::vector<NamedOverride>> read_mixed_precision_tensor(const Settings& settings) {
  std::vector<NamedOverride> overrides;
  if (!settings.algorithms.specific_tensor_precision) return overrides;
  for (const Node::Entry& entry : settings.algorithms.mixed_precision_tensor.node.entries()) {
    const std::string path = "MixedPrecisionTensor." + entry.key;
    QQ_TRY(const DataType type, read<DataType>(Node(entry.key), path));
    QQ_TRY(const std::vector<std::string> names, read<std::vector<std::string>>(entry.value, path));
    for (const std::string& name : names) {
      TensorOverride made;
      made.type = type;
      overrides.push_back({name, std::move(made)});
    }
  }
  return overrides;
}

std::vector<TensorType> types_of_tensors(const Settings& settings) {
  std::vector<TensorType> types;
  const Node none{Node::Map{}};
  const Node& by_type =
      settings.algorithms.specific_tensor_precision ? settings.algorithms.mixed_precision_tensor.node : none;
  for (const Node::Entry& entry : by_type.entries()) {
    const Result<DataType> type = read<DataType>(Node(entry.key), "");
    const Result<std::vector<std::string>> names = read<std::vector<std::string>>(entry.value, "");
    if (!type.ok() || !names.ok()) continue;
    for (const std::string& name : names.value()) types.push_back({name, type.value()});
  }
  for (const Node::Entry& entry : settings.ranges.tensor_quant_overrides.node.entries()) {
    for (const Node& item : entry.value.items()) {
      const Node* given = item.find("quant_type");
      if (given == nullptr) continue;
      if (const Result<DataType> type = read<DataType>(*given, ""); type.ok())
        types.push_back({entry.key, type.value()});
    }
  }
  return types;
}

TensorOverride override_of(const TensorSpec& spec) {
  TensorOverride made;
  made.type = spec.type;
  made.symmetric = spec.symmetric;
  return made;
}

Result<std::vector<OpTypePair>> read_pairs_to_remove(const Settings& settings) {
  std::vector<OpTypePair> pairs;
  if (settings.qdq.remove_qdq_mul_add) pairs.push_back({"Mul", "Add"});
  for (const Node& item : settings.qdq.remove_qdq_between_ops.node.items()) {
    const Node::List& types = item.items();
    if (types.size() != 2 || !types[0].is_text() || !types[1].is_text())
      return invalid_argument(item.mark().prefix(),
                              "RemoveQDQBetweenOps: each item is a pair of op types such as [Conv, Relu]");
    pairs.push_back({types[0].as_text(), types[1].as_text()});
  }
  return pairs;
}

std::optional<int64_t> channel_axis_of(const Settings& settings, const std::string& op) {
  const Node* chosen = settings.qdq.qdq_op_type_per_channel_support_to_axis.node.find(op);
  if (chosen == nullptr || chosen->kind() != Node::Kind::kInt) return std::nullopt;
  return chosen->as_int();
}

namespace {

Result<decltype(BlockAttribute::value)> attribute_value(const Node& node, const std::string& path) {
  using Value = decltype(BlockAttribute::value);
  if (node.kind() == Node::Kind::kInt) return Value(node.as_int());
  if (node.kind() == Node::Kind::kBool) return Value(static_cast<int64_t>(node.as_bool()));
  if (node.is_text()) return Value(node.as_text());
  return wrong_kind(node, "a whole number or a text").context(path);
}

}  // namespace

Result<std::vector<BlockAttribute>> read_block_attributes(DataType type, const Settings& settings) {
  const bool is_bfp = type == DataType::kBfp;
  std::vector<BlockAttribute> attributes;
  for (const Node::Entry& entry :
       (is_bfp ? settings.formats.bfp_attributes : settings.formats.mx_attributes).node.entries()) {
    QQ_TRY(auto value, attribute_value(entry.value, cat(is_bfp ? "BFPAttributes." : "MXAttributes.", entry.key)));
    attributes.push_back({entry.key, std::move(value)});
  }
  return attributes;
}

}  // namespace quarkq::config
