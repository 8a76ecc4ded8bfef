// SPDX-License-Identifier: MIT
#include "config/mixed_precision.h"

#include <algorithm>

#include "base/file_system.h"
#include "config/convert.h"
#include "config/load.h"

namespace quarkq::config {

namespace {

Result<NodeGroup> read_group(const Node& node, const std::string& path) {
  const std::string where = node.mark().prefix() + path;
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"name", "start_nodes", "end_nodes", "description", "quantized"}));
  const OptionMap map(node, path.c_str());
  NodeGroup group;
  QQ_RETURN_IF_ERROR(map.take("name", group.name));
  QQ_RETURN_IF_ERROR(map.take("start_nodes", group.starts));
  QQ_RETURN_IF_ERROR(map.take("end_nodes", group.ends));
  if (group.name.empty()) return invalid_argument(where, ": needs a name");
  if (group.starts.empty()) return invalid_argument(where, ": needs start_nodes, a list of node names");
  return group;
}

Status check_count(const Node& root, size_t found) {
  const Node* count = root.find("num_subgraphs");
  if (count == nullptr || count->is_null()) return {};
  QQ_TRY(const int64_t wanted, read<int64_t>(*count, "num_subgraphs"));
  if (wanted == static_cast<int64_t>(found)) return {};
  return invalid_argument(count->mark().prefix(), "num_subgraphs: found ", wanted, ", but the list has ", found);
}

}  // namespace

Result<std::vector<NodeGroup>> load_subgraphs(const std::string& path) {
  QQ_TRY(const Node root, load_file(path));
  if (!root.is_map()) return wrong_kind(root, "a map with subgraphs").context(path);
  QQ_RETURN_IF_ERROR(check_keys(root, "", {"quantized", "num_subgraphs", "subgraphs"}).context(path));
  const Node* list = root.find("subgraphs");
  if (list == nullptr || !list->is_list()) return invalid_argument(path, ": needs subgraphs, a list");
  std::vector<NodeGroup> groups;
  for (size_t i = 0; i < list->items().size(); ++i) {
    QQ_TRY(NodeGroup group, read_group(list->items()[i], cat("subgraphs[", i, "]")));
    const bool is_known = std::ranges::any_of(groups, [&](const NodeGroup& other) { return other.name == group.name; });
    if (is_known) return invalid_argument(path, ": two subgraphs are named ", group.name);
    groups.push_back(std::move(group));
  }
  QQ_RETURN_IF_ERROR(check_count(root, groups.size()));
  return groups;
}

namespace {

Result<RankedCandidate> read_ranked(const Node& node) {
  if (!node.is_map()) return wrong_kind(node, "a map with name and all_config_scores").context("results");
  const OptionMap map(node, "results");
  RankedCandidate ranked;
  int64_t config = 0;
  QQ_RETURN_IF_ERROR(map.take("name", ranked.name));
  QQ_RETURN_IF_ERROR(map.take("candidate_nodes", ranked.nodes));
  QQ_RETURN_IF_ERROR(map.take("all_config_scores", ranked.scores));
  QQ_RETURN_IF_ERROR(map.take("best_config_index", config));
  QQ_RETURN_IF_ERROR(map.take("enabled", ranked.enabled));
  if (config < 0 || config >= static_cast<int64_t>(ranked.scores.size())) {
    return invalid_argument(node.mark().prefix(), "results.best_config_index: found ", config, " of ",
                            ranked.scores.size(), " scores");
  }
  ranked.config = static_cast<size_t>(config);
  return ranked;
}

Result<SensitivityCache> read_cache(const Node& root) {
  const Node* results = root.find("results");
  if (results == nullptr || !results->is_list()) return invalid_argument("needs results, a list");
  SensitivityCache cache;
  QQ_RETURN_IF_ERROR(OptionMap(root, "sensitivity cache").take("cache_key", cache.key));
  cache.candidates.reserve(results->items().size());
  for (const Node& item : results->items()) {
    QQ_TRY(RankedCandidate ranked, read_ranked(item));
    cache.candidates.push_back(std::move(ranked));
  }
  return cache;
}

Node reals(const std::vector<double>& values) {
  Node::List items;
  for (const double value : values) items.emplace_back(value);
  return Node(std::move(items));
}

}  // namespace

Result<std::optional<SensitivityCache>> load_sensitivity(const std::string& path) {
  if (!file_exists(path)) return std::optional<SensitivityCache>();
  QQ_TRY(const Node root, load_file(path));
  QQ_TRY(SensitivityCache cache, read_cache(root).context(path));
  return std::optional(std::move(cache));
}

Status save_sensitivity(const std::string& path, const SensitivityCache& cache) {
  Node::List results;
  for (const RankedCandidate& one : cache.candidates) {
    results.push_back(Node(Node::Map{{"name", Node(one.name), {}},
                                     {"candidate_nodes", Node::list_of(one.nodes), {}},
                                     {"score", Node(one.scores[one.config]), {}},
                                     {"all_config_scores", reals(one.scores), {}},
                                     {"best_config_index", Node(static_cast<int64_t>(one.config)), {}},
                                     {"enabled", Node(one.enabled), {}}}));
  }
  const Node root(Node::Map{
      {"version", Node("quarkq"), {}}, {"cache_key", Node(cache.key), {}}, {"results", Node(std::move(results)), {}}});
  return write_file(path, to_json(root));
}

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
