// SPDX-License-Identifier: MIT
#include "config/simplify_settings.h"

namespace quarkq::config {
namespace {

std::vector<std::string> texts_of(const Node* list) {
  std::vector<std::string> texts;
  if (list == nullptr) return texts;
  for (const Node& item : list->items()) {
    if (item.is_text()) texts.push_back(item.as_text());
  }
  return texts;
}

}  // namespace

SimplifySettings read_simplify_settings(const Settings& settings) {
  const Node& node = settings.preprocessing.simplify_model_options.node;
  SimplifySettings options;
  for (std::string& step : texts_of(node.find("skip_optimizations"))) options.skipped_steps.insert(std::move(step));
  for (std::string& name : texts_of(node.find("skip_fusion_patterns")))
    options.skipped_patterns.insert(std::move(name));
  options.input_shapes = texts_of(node.find("input_shapes"));
  const Node* threshold = node.find("size_threshold");
  if (threshold != nullptr && threshold->kind() == Node::Kind::kInt) options.size_threshold = threshold->as_int();
  options.merges_computed_shapes = !settings.quirk(Quirk::kFollowShapesThroughAll);
  return options;
}

}  // namespace quarkq::config
