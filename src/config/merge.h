// SPDX-License-Identifier: MIT
// Laying one source of settings over another (ref:settings#settings-file), on value trees.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "config/quant_config.h"

namespace quarkq::config {

/// A merged tree and, for each setting in it, the strongest layer that touched it (names as in QuantConfig::origins).
struct Merged {
  Node values{Node::Map{}};
  std::map<std::string, Origin> origins;
};

/// Puts `layer` over `merged`. Blocks are merged by key; FastFinetune and the other nested parameter maps by inner key;
/// every other value replaces the one below. A null takes the value below away; where there is none it stays a null.
Status lay_over(const Layer& layer, Merged& merged);

/// The tree that "key=value" stands for. The key is a dotted path from the top, a bare option or a bare field.
Result<Node> parse_set(const std::string& text);

}  // namespace quarkq::config
