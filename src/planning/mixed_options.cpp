// SPDX-License-Identifier: MIT
#include "planning/mixed_options.h"

#include <algorithm>

#include "config/convert.h"
#include "config/fields.h"
#include "plan/flavors.h"

namespace quarkq::planning {
namespace {

using config::Node;

/// What the names of block formats stand for here (spec 04 F.4).
constexpr struct {
  const char* data_type;
  const char* attributes;
} kBlocks[] = {
    {"BFP16", "{bfp_method: to_bfp, bit_width: 16, block_size: 8, rounding_mode: 2}"},
    {"MX4", "{bfp_method: to_bfp_prime, bit_width: 11, block_size: 16, rounding_mode: 2}"},
    {"MX6", "{bfp_method: to_bfp_prime, bit_width: 13, block_size: 16, rounding_mode: 2}"},
    {"MX9", "{bfp_method: to_bfp_prime, bit_width: 16, block_size: 16, rounding_mode: 2}"},
    {"MXFP4E2M1", "{element_dtype: fp4_e2m1, rounding_mode: 2}"},
    {"MXFP6E3M2", "{element_dtype: fp6_e3m2, rounding_mode: 2}"},
    {"MXFP6E2M3", "{element_dtype: fp6_e2m3, rounding_mode: 2}"},
    {"MXFP8E5M2", "{element_dtype: fp8_e5m2, rounding_mode: 2}"},
    {"MXFP8E4M3", "{element_dtype: fp8_e4m3, rounding_mode: 2}"},
    {"MXInt8", "{element_dtype: int8, rounding_mode: 2}"},
};

Result<MixedFormat> format_of(const config::TensorSpec& spec) {
  MixedFormat format;
  format.symmetric = spec.symmetric;
  plan::Stage& stage = format.stage;
  stage.is_mixed = true;
  stage.spec.type = plan::element_type(spec.type);
  if (spec.scale_type == config::ScaleType::kPowerOf2) stage.spec.scale = numeric::ScaleKind::kPowerOfTwo;
  if (!config::is_block(spec.type)) return format;
  stage.kind = plan::StageKind::kBlock;
  config::Settings settings;
  for (const auto& row : kBlocks) {
    if (spec.data_type != row.data_type) continue;
    const bool is_bfp = spec.type == config::DataType::kBfp;
    (is_bfp ? settings.bfp_attributes : settings.mx_attributes).node = config::literal(row.attributes);
  }
  QQ_TRY(stage.block, plan::block_format(spec.type, settings));
  return format;
}

Status take_format(const std::optional<config::TensorSpec>& spec, std::optional<MixedFormat>& format) {
  if (!spec) return Status();
  QQ_TRY(format, format_of(*spec));
  return Status();
}

Result<MixedConfig> read_config(const Node& node, const std::string& path) {
  QQ_TRY(const config::LayerSpec spec, config::read_layer_spec(node, path, false));
  MixedConfig made;
  QQ_RETURN_IF_ERROR(take_format(spec.input_tensors, made.input));
  QQ_RETURN_IF_ERROR(take_format(spec.weight, made.weight));
  QQ_RETURN_IF_ERROR(take_format(spec.bias, made.bias));
  QQ_RETURN_IF_ERROR(take_format(spec.output_tensors, made.output));
  return made;
}

template <typename T>
Status take(const Node& map, const char* key, T& member) {
  const Node* found = map.find(key);
  if (found == nullptr || found->is_null()) return Status();
  QQ_TRY(member, config::read<T>(*found, cat("AutoMixprecision.", key)));
  return Status();
}

template <typename T>
struct Choice {
  const char* text;
  T value;
};
constexpr Choice<MixedMetric> kMetricNames[] = {{"l2", MixedMetric::kL2},
                                                {"kl", MixedMetric::kKl},
                                                {"cosine", MixedMetric::kCosine},
                                                {"sqnr", MixedMetric::kSqnr},
                                                {"psnr", MixedMetric::kPsnr}};
constexpr Choice<MixedGoal> kGoals[] = {{"speed", MixedGoal::kSpeed}, {"quality", MixedGoal::kQuality}};
constexpr Choice<bool> kSharing[] = {{"propagate", false}, {"unshare", true}};

template <typename T, size_t N>
Status take_choice(const Node& map, const char* key, const Choice<T> (&rows)[N], T& member) {
  std::string text;
  QQ_RETURN_IF_ERROR(take(map, key, text));
  if (text.empty()) return Status();
  std::vector<std::string> allowed;
  for (const Choice<T>& row : rows) {
    if (text == row.text) {
      member = row.value;
      return Status();
    }
    allowed.emplace_back(row.text);
  }
  return invalid_argument("AutoMixprecision.", key, ": found ", text, ", allowed is ", join(allowed, " or "));
}

Status refuse_unbuilt(const Node& map) {
  for (const char* key : {"SubgraphJson", "SensitivityCacheFile", "MetricDistanceFn", "MetricEvaluateFn"}) {
    const Node* found = map.find(key);
    if (found != nullptr && !found->is_null())
      return unsupported("AutoMixprecision.", key, ": known, not supported yet");
  }
  return Status();
}

}  // namespace

Result<std::optional<MixedOptions>> mixed_options(const config::Settings& settings) {
  const Node& map = settings.auto_mixprecision.node;
  const Node* target = map.find("TargetLayerConfig");
  if (target == nullptr || target->is_null()) return std::optional<MixedOptions>();
  QQ_RETURN_IF_ERROR(refuse_unbuilt(map));
  MixedOptions options;
  constexpr const char kTarget[] = "AutoMixprecision.TargetLayerConfig";
  for (const Node& one : target->is_list() ? target->items() : std::vector<Node>{*target}) {
    QQ_TRY(MixedConfig made, read_config(one, kTarget));
    options.configs.push_back(std::move(made));
  }
  QQ_RETURN_IF_ERROR(take(map, "TargetOpType", options.target_ops));
  QQ_RETURN_IF_ERROR(take(map, "IncludeLayers", options.include));
  QQ_RETURN_IF_ERROR(take(map, "ExcludeLayers", options.exclude));
  QQ_RETURN_IF_ERROR(take(map, "DataSize", options.data_size));
  QQ_RETURN_IF_ERROR(take(map, "MetricOutputIndex", options.output_index));
  QQ_RETURN_IF_ERROR(take(map, "DualQuantNodes", options.dual_pairs));
  QQ_RETURN_IF_ERROR(take(map, "NoInputQDQShared", options.skip_shared_inputs));
  QQ_RETURN_IF_ERROR(take_choice(map, "MetricDefault", kMetricNames, options.metric));
  QQ_RETURN_IF_ERROR(take_choice(map, "MetricOptimizeObject", kGoals, options.goal));
  QQ_RETURN_IF_ERROR(take_choice(map, "SharedParamMode", kSharing, options.unshares));
  if (const Node* threshold = map.find("MetricThreshold"); threshold != nullptr) {
    options.threshold.reset();
    if (!threshold->is_null()) {
      QQ_TRY(options.threshold, config::read<double>(*threshold, "AutoMixprecision.MetricThreshold"));
    }
  }
  return std::optional<MixedOptions>(std::move(options));
}

}  // namespace quarkq::planning
