// SPDX-License-Identifier: MIT
#include "plan/overrides.h"

#include "config/convert.h"

namespace quarkq::plan {
namespace {

template <typename T>
Status read_key(const config::Node& map, const std::string& path, const char* key, std::optional<T>& member) {
  const config::Node* found = map.find(key);
  if (found == nullptr || found->is_null()) return {};
  QQ_TRY(member, config::read<T>(*found, path + "." + key));
  return {};
}

/// A number, or a list of one: arrays of one element are how the reference's users write rmin and rmax.
Status read_number(const config::Node& map, const std::string& path, const char* key, std::optional<float>& member) {
  const config::Node* found = map.find(key);
  if (found == nullptr || found->is_null()) return {};
  const config::Node& node = found->is_list() && found->items().size() == 1 ? found->items()[0] : *found;
  QQ_TRY(const double value, config::read<double>(node, path + "." + key));
  member = static_cast<float>(value);
  return {};
}

Result<OverrideValues> read_values(const config::Node& map, const std::string& path) {
  OverrideValues values;
  std::optional<float> scale, zero_point;
  QQ_RETURN_IF_ERROR(read_number(map, path, "scale", scale));
  QQ_RETURN_IF_ERROR(read_number(map, path, "zero_point", zero_point));
  QQ_RETURN_IF_ERROR(read_number(map, path, "rmin", values.min));
  QQ_RETURN_IF_ERROR(read_number(map, path, "rmax", values.max));
  if (scale.has_value() != zero_point.has_value()) {
    return invalid_argument(path, ": found one of scale and zero_point, allowed are both or neither");
  }
  if (values.min.has_value() != values.max.has_value()) {
    return invalid_argument(path, ": found one of rmin and rmax, allowed are both or neither");
  }
  if (!scale) return values;
  if (map.find("symmetric") != nullptr || map.find("reduce_range") != nullptr || values.min) {
    return invalid_argument(path, ": scale and zero_point leave nothing to symmetric, reduce_range, rmin or rmax");
  }
  if (!(*scale > 0)) return invalid_argument(path, ".scale: found ", *scale, ", allowed is more than 0");
  values.params = numeric::QuantParams{*scale, static_cast<int32_t>(*zero_point)};
  return values;
}

/// A range that ends before it begins quantizes nothing.
Status check_range(const OverrideValues& values, const std::string& path) {
  if (values.min && *values.min > *values.max) {
    return invalid_argument(path, ": found rmin ", *values.min, " above rmax ", *values.max);
  }
  return {};
}

}  // namespace

Result<TensorOverride> read_override(const config::Node& list, const std::string& path) {
  TensorOverride made;
  if (!list.is_list() || list.items().empty()) return config::wrong_kind(list, "a list of maps").context(path);
  bool first = true;
  for (const config::Node& map : list.items()) {
    TensorOverride one;
    QQ_RETURN_IF_ERROR(read_key(map, path, "quant_type", one.type));
    QQ_RETURN_IF_ERROR(read_key(map, path, "axis", one.axis));
    QQ_RETURN_IF_ERROR(read_key(map, path, "symmetric", one.symmetric));
    QQ_RETURN_IF_ERROR(read_key(map, path, "reduce_range", one.reduce_range));
    QQ_TRY(const OverrideValues values, read_values(map, path));
    QQ_RETURN_IF_ERROR(check_range(values, path));
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

TensorOverride override_of(const config::TensorSpec& spec) {
  TensorOverride made;
  made.type = spec.type;
  made.symmetric = spec.symmetric;
  return made;
}

}  // namespace quarkq::plan
