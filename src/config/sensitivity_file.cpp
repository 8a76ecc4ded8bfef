// SPDX-License-Identifier: MIT
#include "config/sensitivity_file.h"

#include "base/file_system.h"
#include "config/load.h"
#include "config/option_map.h"

namespace quarkq::config {
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

}  // namespace quarkq::config
