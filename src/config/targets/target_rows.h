// SPDX-License-Identifier: MIT
// Reading the rows of a target's file. A row is a map; every row names its grade and its source.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "config/convert.h"
#include "config/targets/target.h"

namespace quarkq::config {

/// By value of the enum.
extern const std::array<const char*, 4> kPlacementNames;
extern const std::array<const char*, 6> kEffectNames;

/// Each adds what it reads from `node` to `target`; rows of the same operator and column, type, option or setting
/// replace the ones there, and the rules of a file replace those of the same id that it extends.
Status read_target_types(const Node& node, Target& target);
Status read_target_operators(const Node& node, Target& target);
Status read_target_rules(const Node& node, Target& target);
Status read_target_options(const Node& node, Target& target);
Status read_other_operators(const Node& node, Target& target);
Status read_target_settings(const Node& node, Target& target);
Status read_cutting(const Node& node, Target& target);

}  // namespace quarkq::config
