// SPDX-License-Identifier: MIT
#include "config/mixed_settings.h"

#include "config/option_map.h"

namespace quarkq::config {
namespace {

template <typename T>
struct NamedValue {
  const char* text;
  T value;
};
constexpr NamedValue<MixedMetric> kMetricNames[] = {{"l2", MixedMetric::kL2},
                                                    {"kl", MixedMetric::kKl},
                                                    {"cosine", MixedMetric::kCosine},
                                                    {"sqnr", MixedMetric::kSqnr},
                                                    {"psnr", MixedMetric::kPsnr}};
constexpr NamedValue<MixedGoal> kGoals[] = {{"speed", MixedGoal::kSpeed}, {"quality", MixedGoal::kQuality}};
constexpr NamedValue<bool> kSharing[] = {{"propagate", false}, {"unshare", true}};

template <typename T, size_t N>
Status take_choice(const OptionMap& map, const char* key, const NamedValue<T> (&rows)[N], T& member) {
  std::string text;
  QQ_RETURN_IF_ERROR(map.take(key, text));
  if (text.empty()) return Status();
  std::vector<std::string> allowed;
  for (const NamedValue<T>& row : rows) {
    if (text == row.text) {
      member = row.value;
      return Status();
    }
    allowed.emplace_back(row.text);
  }
  return invalid_argument(map.name_of(key), ": found ", text, ", allowed is ", join(allowed, " or "));
}

Status refuse_unbuilt(const OptionMap& map) {
  for (const char* key : {"MetricDistanceFn", "MetricEvaluateFn"}) {
    if (map.find(key) != nullptr) {
      return unsupported(map.name_of(key),
                         ": a function of the caller's has no counterpart here, allowed is MetricDefault; quarkq tune "
                         "--metric-cmd judges whole models");
    }
  }
  return Status();
}

/// Null means no threshold, which is not the default.
Status take_threshold(const Node& node, std::optional<double>& member) {
  const Node* threshold = node.find("MetricThreshold");
  if (threshold == nullptr) return Status();
  member.reset();
  if (threshold->is_null()) return Status();
  QQ_TRY(member, read<double>(*threshold, "AutoMixprecision.MetricThreshold"));
  return Status();
}

}  // namespace

Result<std::optional<MixedSettings>> read_mixed_settings(const Settings& settings) {
  const Node& node = settings.algorithms.auto_mixprecision.node;
  const OptionMap map(node, "AutoMixprecision");
  const Node* target = map.find("TargetLayerConfig");
  if (target == nullptr) return std::optional<MixedSettings>();
  QQ_RETURN_IF_ERROR(refuse_unbuilt(map));
  MixedSettings options;
  for (const Node& one : target->is_list() ? target->items() : std::vector<Node>{*target}) {
    QQ_TRY(LayerSpec layer, read_layer_spec(one, map.name_of("TargetLayerConfig"), /*is_global=*/false));
    options.target_texts.push_back(to_flow(to_node(layer)));
    options.target_layers.push_back(std::move(layer));
  }
  QQ_RETURN_IF_ERROR(map.take("TargetOpType", options.target_ops));
  QQ_RETURN_IF_ERROR(map.take("IncludeLayers", options.include));
  QQ_RETURN_IF_ERROR(map.take("ExcludeLayers", options.exclude));
  QQ_RETURN_IF_ERROR(map.take("SubgraphJson", options.subgraph_file));
  QQ_RETURN_IF_ERROR(map.take("SensitivityCacheFile", options.cache_file));
  QQ_RETURN_IF_ERROR(map.take("DataSize", options.data_size));
  QQ_RETURN_IF_ERROR(map.take("MetricOutputIndex", options.output_index));
  QQ_RETURN_IF_ERROR(map.take("DualQuantNodes", options.dual_pairs));
  QQ_RETURN_IF_ERROR(map.take("NoInputQDQShared", options.skip_shared_inputs));
  QQ_RETURN_IF_ERROR(take_choice(map, "MetricDefault", kMetricNames, options.metric));
  QQ_RETURN_IF_ERROR(take_choice(map, "MetricOptimizeObject", kGoals, options.goal));
  QQ_RETURN_IF_ERROR(take_choice(map, "SharedParamMode", kSharing, options.unshares));
  QQ_RETURN_IF_ERROR(take_threshold(node, options.threshold));
  return std::optional<MixedSettings>(std::move(options));
}

}  // namespace quarkq::config
