// SPDX-License-Identifier: MIT
#include "planning/mixed_options.h"

#include <algorithm>

#include "plan/data_types.h"

namespace quarkq::planning {
namespace {

/// Meaning of the names of block formats here (ref:mixed-precision#promotion).
struct BlockRow {
  const char* data_type;
  std::vector<config::BlockAttribute> attributes;
};

const std::vector<BlockRow>& block_rows() {
  const auto bfp = [](const char* method, int64_t bits, int64_t block) {
    return std::vector<config::BlockAttribute>{
        {"bfp_method", method}, {"bit_width", bits}, {"block_size", block}, {"rounding_mode", int64_t{2}}};
  };
  const auto mx = [](const char* element) {
    return std::vector<config::BlockAttribute>{{"element_dtype", element}, {"rounding_mode", int64_t{2}}};
  };
  static const std::vector<BlockRow> rows = {
      {"BFP16", bfp("to_bfp", 16, 8)},      {"MX4", bfp("to_bfp_prime", 11, 16)},
      {"MX6", bfp("to_bfp_prime", 13, 16)}, {"MX9", bfp("to_bfp_prime", 16, 16)},
      {"MXFP4E2M1", mx("fp4_e2m1")},        {"MXFP6E3M2", mx("fp6_e3m2")},
      {"MXFP6E2M3", mx("fp6_e2m3")},        {"MXFP8E5M2", mx("fp8_e5m2")},
      {"MXFP8E4M3", mx("fp8_e4m3")},        {"MXInt8", mx("int8")},
  };
  return rows;
}

MixedFormat format_of(const config::TensorSpec& spec) {
  MixedFormat format;
  format.symmetric = spec.symmetric;
  plan::Stage& stage = format.stage;
  stage.is_mixed = true;
  stage.spec.type = plan::element_type(spec.type);
  if (spec.scale_type == config::ScaleType::kPowerOf2) stage.spec.scale = numeric::ScaleKind::kPowerOfTwo;
  if (!config::is_block(spec.type)) return format;
  stage.kind = plan::StageKind::kBlock;
  std::vector<config::BlockAttribute> attributes;
  for (const BlockRow& row : block_rows()) {
    if (spec.data_type == row.data_type) attributes = row.attributes;
  }
  stage.block = plan::block_format(spec.type, attributes);
  return format;
}

/// A limit on wide formats says nothing where promoted nodes get narrower ones.
Status check_is_wider(const config::Settings& settings, const std::vector<config::LayerSpec>& layers) {
  const int own = bits(plan::element_type(settings.formats.activation_type));
  const bool is_wider = std::any_of(layers.begin(), layers.end(), [&](const config::LayerSpec& layer) {
    return layer.input_tensors && bits(plan::element_type(layer.input_tensors->type)) > own;
  });
  if (!settings.tool.max_wide || is_wider) return {};
  return invalid_argument(
      "quarkq.max_wide: found beside AutoMixprecision whose formats are not wider than the preset's ", own,
      " bits; leave it out, or name a wider format in TargetLayerConfig");
}

std::optional<MixedFormat> format_of(const std::optional<config::TensorSpec>& spec) {
  return spec ? std::optional(format_of(*spec)) : std::nullopt;
}

}  // namespace

Result<std::optional<MixedOptions>> mixed_options(const config::Settings& settings) {
  QQ_TRY(const std::optional<config::MixedSettings> given, config::read_mixed_settings(settings));
  if (!given) return std::optional<MixedOptions>();
  MixedOptions options{*given, {}};
  QQ_RETURN_IF_ERROR(check_is_wider(settings, options.target_layers));
  for (const config::LayerSpec& layer : options.target_layers) {
    options.configs.push_back({format_of(layer.input_tensors), format_of(layer.weight), format_of(layer.bias),
                               format_of(layer.output_tensors)});
  }
  return std::optional<MixedOptions>(std::move(options));
}

}  // namespace quarkq::planning
