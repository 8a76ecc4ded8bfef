// SPDX-License-Identifier: MIT
#include "config/preprocess_recipes.h"

#include "base/suggest.h"
#include "config/convert.h"
#include "config/load.h"

namespace quarkq::config {
namespace {

/// `under` overridden by the entries of `over`; null entries remove keys.
Node laid_over(Node under, const Node& over) {
  for (const Node::Entry& entry : over.entries()) {
    const Node* old = under.find(entry.key);
    const bool merges = entry.key == "resize" && old != nullptr && old->is_map() && entry.value.is_map();
    Node value = merges ? laid_over(*old, entry.value) : entry.value;
    under = value.is_null() ? under.without(entry.key) : under.with(entry.key, std::move(value), entry.key_mark);
  }
  return under;
}

Result<const PreprocessRecipe*> find_recipe(const Node& name) {
  std::vector<std::string> known;
  for (const PreprocessRecipe& recipe : preprocess_recipes()) {
    if (name.is_text() && name.as_text() == recipe.name) return &recipe;
    known.emplace_back(recipe.name);
  }
  return invalid_argument(name.mark().prefix(), "preprocess: found ", describe(name),
                          name.is_text() ? did_you_mean(name.as_text(), known) : "", ", allowed is a recipe (",
                          join(known, ", "), ") or a map of settings");
}

}  // namespace

const std::vector<PreprocessRecipe>& preprocess_recipes() {
  // Mean and deviation of photos are taken as 0.45 and 0.26 of the range, those of the ImageNet constants.
  static const std::vector<PreprocessRecipe> table = {
      {"imagenet",
       "torchvision and timm: (x / 255 - mean) / std of ImageNet, RGB, middle 87.5 %",
       "{resize: {mode: shorter_side}, crop_fraction: 0.875, scale: 1/255, mean: [0.485, 0.456, 0.406], "
       "std: [0.229, 0.224, 0.225]}",
       {0, 1.15}},
      {"imagenet-bgr",
       "the same values in BGR order",
       "{color: BGR, resize: {mode: shorter_side}, crop_fraction: 0.875, scale: 1/255, mean: [0.406, 0.456, 0.485], "
       "std: [0.225, 0.224, 0.229]}",
       {0, 1.15}},
      {"caffe",
       "Caffe and Keras 'caffe': 0..255 minus the mean, BGR, middle 87.5 %",
       "{color: BGR, resize: {mode: shorter_side}, crop_fraction: 0.875, mean: [103.939, 116.779, 123.68]}",
       {0, 66}},
      {"tf",
       "TensorFlow, Keras 'tf', Inception: x / 127.5 - 1, RGB, middle 87.5 %",
       "{resize: {mode: shorter_side}, crop_fraction: 0.875, mean: 127.5, std: 127.5}",
       {-0.1, 0.52}},
      {"clip",
       "CLIP: (x / 255 - mean) / std of its data, RGB, bicubic, middle square",
       "{resize: {mode: shorter_side, interpolation: bicubic}, crop_fraction: 1, scale: 1/255, "
       "mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711]}",
       {0, 0.97}},
      {"yolo-letterbox",
       "YOLO v5 and later: x / 255, RGB, the whole photo with a grey border (114)",
       "{resize: {mode: letterbox, fill: 114, antialias: false}, scale: 1/255}",
       {0.45, 0.26}},
      {"raw", "pixels 0..255 as they are, RGB, stretched", "{resize: {mode: stretch}}", {115, 66}},
  };
  return table;
}

std::string recipe_names() {
  std::vector<std::string> names;
  for (const PreprocessRecipe& recipe : preprocess_recipes()) names.emplace_back(recipe.name);
  return join(names, ", ");
}

Result<Node> expand_recipe(const Node& node) {
  const Node* name = node.is_text() ? &node : node.find("recipe");
  if (name == nullptr) return node;
  QQ_TRY(const PreprocessRecipe* recipe, find_recipe(*name));
  QQ_TRY(const Node block, parse_text(recipe->block, recipe->name));
  return laid_over(block.at(node.mark()), node.is_map() ? node.without("recipe") : Node(Node::Map{}));
}

}  // namespace quarkq::config
