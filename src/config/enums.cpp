// SPDX-License-Identifier: MIT
// Name tables of the enums (ref:settings#data-types, ref:settings#tensor-specs, ref:settings#quantizers) and the one
// parser that reads them all.
#include "config/enums.h"

#include <algorithm>

#include "base/strings.h"

namespace quarkq::config {

template <>
const std::vector<EnumName<CalibrateMethod>>& enum_names() {
  static const std::vector<EnumName<CalibrateMethod>> names = {
      {"CalibrationMethod.MinMax", CalibrateMethod::kMinMax},
      {"CalibrationMethod.Entropy", CalibrateMethod::kEntropy},
      {"CalibrationMethod.Percentile", CalibrateMethod::kPercentile},
      {"CalibrationMethod.Distribution", CalibrateMethod::kDistribution},
      {"LayerWiseMethod.LayerWisePercentile", CalibrateMethod::kLayerWisePercentile},
      {"PowerOfTwoMethod.NonOverflow", CalibrateMethod::kNonOverflow},
      {"PowerOfTwoMethod.MinMSE", CalibrateMethod::kMinMSE},
      {"Int16Method.MinMax", CalibrateMethod::kInt16MinMax, false, /*is_internal=*/true},
      {"ExtendedCalibrationMethod.MinMSE", CalibrateMethod::kFloatMinMSE},
  };
  return names;
}

template <>
const std::vector<EnumName<QuantFormat>>& enum_names() {
  static const std::vector<EnumName<QuantFormat>> names = {
      {"QuantFormat.QDQ", QuantFormat::kQdq},
      {"ExtendedQuantFormat.QDQ", QuantFormat::kExtendedQdq},
      {"QuantFormat.QOperator", QuantFormat::kQOperator},
      {"ExtendedQuantFormat.QOperator", QuantFormat::kQOperator},
      {"VitisQuantFormat.QDQ", QuantFormat::kExtendedQdq, /*is_deprecated=*/true, true},
      {"VitisQuantFormat.FixNeuron", QuantFormat::kExtendedQdq, /*is_deprecated=*/true},
      {"VitisQuantFormat.BFPFixNeuron", QuantFormat::kExtendedQdq, /*is_deprecated=*/true},
      {"VitisQuantFormat.MXFixNeuron", QuantFormat::kExtendedQdq, /*is_deprecated=*/true},
  };
  return names;
}

template <>
const std::vector<EnumName<DataType>>& enum_names() {
  static const std::vector<EnumName<DataType>> names = {
      {"QuantType.QInt8", DataType::kInt8},
      {"QuantType.QUInt8", DataType::kUInt8},
      {"ExtendedQuantType.QInt16", DataType::kInt16},
      {"ExtendedQuantType.QUInt16", DataType::kUInt16},
      {"ExtendedQuantType.QInt32", DataType::kInt32},
      {"ExtendedQuantType.QUInt32", DataType::kUInt32},
      {"ExtendedQuantType.QFloat16", DataType::kFloat16},
      {"ExtendedQuantType.QBFloat16", DataType::kBFloat16},
      {"ExtendedQuantType.QBFP", DataType::kBfp},
      {"ExtendedQuantType.QMX", DataType::kMx},
      {"QuantType.QFLOAT8E4M3FN", DataType::kFloat8E4M3Fn},
      {"QuantType.QInt4", DataType::kInt4},
      {"QuantType.QUInt4", DataType::kUInt4},
      {"ExtendedQuantType.QInt8", DataType::kInt8},
      {"ExtendedQuantType.QUInt8", DataType::kUInt8},
      {"QuantType.QInt16", DataType::kInt16},
      {"QuantType.QUInt16", DataType::kUInt16},
      {"VitisQuantType.QInt8", DataType::kInt8, /*is_deprecated=*/true},
      {"VitisQuantType.QUInt8", DataType::kUInt8, /*is_deprecated=*/true},
      {"VitisQuantType.QInt16", DataType::kInt16, /*is_deprecated=*/true},
      {"VitisQuantType.QUInt16", DataType::kUInt16, /*is_deprecated=*/true},
      {"VitisQuantType.QInt32", DataType::kInt32, /*is_deprecated=*/true},
      {"VitisQuantType.QUInt32", DataType::kUInt32, /*is_deprecated=*/true},
      {"VitisQuantType.QFloat16", DataType::kFloat16, /*is_deprecated=*/true},
      {"VitisQuantType.QBFloat16", DataType::kBFloat16, /*is_deprecated=*/true},
      {"VitisQuantType.QBFP", DataType::kBfp, /*is_deprecated=*/true},
      {"VitisQuantType.QMX", DataType::kMx, /*is_deprecated=*/true},
  };
  return names;
}

template <>
const std::vector<EnumName<ScaleType>>& enum_names() {
  static const std::vector<EnumName<ScaleType>> names = {
      {"ScaleType.Float32", ScaleType::kFloat32},
      {"ScaleType.PowerOf2", ScaleType::kPowerOf2},
      {"ScaleType.Int16", ScaleType::kInt16},
  };
  return names;
}

template <>
const std::vector<EnumName<CalibMethod>>& enum_names() {
  static const std::vector<EnumName<CalibMethod>> names = {
      {"CalibMethod.MinMax", CalibMethod::kMinMax},
      {"CalibMethod.MinMSE", CalibMethod::kMinMSE},
      {"CalibMethod.Percentile", CalibMethod::kPercentile},
      {"CalibMethod.Entropy", CalibMethod::kEntropy},
      {"CalibMethod.LayerwisePercentile", CalibMethod::kLayerwisePercentile},
      {"CalibMethod.Distribution", CalibMethod::kDistribution},
  };
  return names;
}

template <>
const std::vector<EnumName<QuantGranularity>>& enum_names() {
  static const std::vector<EnumName<QuantGranularity>> names = {
      {"QuantGranularity.Tensor", QuantGranularity::kTensor},
      {"QuantGranularity.Channel", QuantGranularity::kChannel},
      {"QuantGranularity.Group", QuantGranularity::kGroup},
  };
  return names;
}

template <typename E>
Result<EnumName<E>> parse_enum(const std::string& text) {
  static const std::string kPrefix = "quark.onnx.";
  const std::string name = text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
  const bool is_bare = name.find('.') == std::string::npos;
  std::vector<std::string> allowed;
  std::vector<EnumName<E>> matches;
  for (const EnumName<E>& row : enum_names<E>()) {
    const std::string spelling = row.text;
    if (!row.is_deprecated && !row.is_internal) allowed.push_back(spelling);
    const bool matches_bare = is_bare && !row.is_internal && spelling.ends_with("." + name);
    if (spelling == name || matches_bare) matches.push_back(row);
  }
  for (const EnumName<E>& row : matches)
    if (row.value != matches.front().value)
      return invalid_argument("found ", text, ", which may be ", matches.front().text, " or ", row.text,
                              ": give the class");
  if (matches.empty())
    return invalid_argument("found ", text, ", allowed are ", join(allowed, ", "), did_you_mean(name, allowed));
  return matches.front();
}

template <typename E>
std::string enum_text(E value) {
  for (const EnumName<E>& row : enum_names<E>())
    if (row.value == value) return row.text;
  return "?";
}

#define QQ_INSTANTIATE(E)                                      \
  template Result<EnumName<E>> parse_enum(const std::string&); \
  template std::string enum_text(E);
QQ_INSTANTIATE(CalibrateMethod)
QQ_INSTANTIATE(QuantFormat)
QQ_INSTANTIATE(DataType)
QQ_INSTANTIATE(ScaleType)
QQ_INSTANTIATE(CalibMethod)
QQ_INSTANTIATE(QuantGranularity)
#undef QQ_INSTANTIATE

Family family(CalibrateMethod method) {
  switch (method) {
    case CalibrateMethod::kNonOverflow:
    case CalibrateMethod::kMinMSE: return Family::kPow2;
    case CalibrateMethod::kInt16MinMax: return Family::kInt16;
    case CalibrateMethod::kLayerWisePercentile: return Family::kLayerwise;
    default: return Family::kFloat;
  }
}

bool is_block(DataType type) { return type == DataType::kBfp || type == DataType::kMx; }
bool is_half(DataType type) { return type == DataType::kFloat16 || type == DataType::kBFloat16; }

bool is_signed_or_float(DataType type) {
  return type == DataType::kInt4 || type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32 ||
         is_half(type) || is_block(type);
}

std::string origin_name(Origin origin) {
  static const char* const kNames[] = {"default", "preset", "target", "file", "flag", "--set", "rescue", "forced"};
  return kNames[static_cast<size_t>(origin)];
}

namespace {

constexpr std::string_view kRuntime = "ort", kProviderSuffix = "executionprovider";

/// Returns whether the name of an execution provider may contain `c`.
bool is_provider_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

Result<std::optional<std::string>> asked_provider(const std::optional<std::string>& backend) {
  using Provider = std::optional<std::string>;
  if (!backend || *backend == "native") return Provider();
  if (*backend == kRuntime) return Provider("cpu");
  std::string provider = backend->starts_with(cat(kRuntime, ':')) ? backend->substr(kRuntime.size() + 1) : "";
  if (!std::ranges::all_of(provider, is_provider_char)) provider.clear();
  provider = lower_case(provider);
  if (provider.ends_with(kProviderSuffix)) provider.resize(provider.size() - kProviderSuffix.size());
  if (!provider.empty()) return Provider(std::move(provider));
  return invalid_argument("quarkq.backend: found ", *backend, ", allowed is native, ort or ort:PROVIDER (ort:cuda)");
}

}  // namespace quarkq::config
