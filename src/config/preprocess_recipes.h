// SPDX-License-Identifier: MIT
// Recipes: the blocks "preprocess:" that most networks were trained with, by name.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

/// Typical mean and standard deviation, per channel, of photos prepared by a recipe.
struct TypicalInput {
  double mean = 0, deviation = 0;
};

struct PreprocessRecipe {
  const char* name;
  const char* summary;
  const char* block;  ///< what it stands for, as a settings file would say it (flow YAML)
  TypicalInput typical;
};

/// THE table. Sizes are those of the model's input.
const std::vector<PreprocessRecipe>& preprocess_recipes();

/// "imagenet, imagenet-bgr, ..."
std::string recipe_names();

/// `node` as a map without the key "recipe": a text names a recipe; in a map the other keys override those of its
/// recipe, and in the map "resize" each key for itself. Null stays null. Fails with kInvalidArgument naming the known
/// recipes.
Result<Node> expand_recipe(const Node& node);

}  // namespace quarkq::config
