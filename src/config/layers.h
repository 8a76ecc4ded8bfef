// SPDX-License-Identifier: MIT
// Converts the texts of a request to layers of settings, and merges layers (ref:settings#settings-file). The order of
// Origin (config/enums.h) is the precedence of layers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"
#include "config/quant_config.h"

namespace quarkq::config {

/// One setting of a request, which holds settings as texts: "key=value", or "--flag=value" for an option of the command
/// line that has a row in blocks.def. The value is YAML.
struct Setting {
  Origin origin = Origin::kSet;  ///< kSet or kFlag
  std::string key;               ///< The key after --set, or the path of the flag's row: "legalize.shapes".
  std::string value;
  std::string flag;  ///< "--shape"; empty for "key=value"
};

/// Splits a text and determines its origin. Does not check the key.
Setting setting_of(const std::string& text);

/// Returns the layer with the one value that `text` sets. The key is a dotted path from the top, a bare option or a
/// bare field.
Result<Layer> read_layer(const std::string& text);
/// Returns the values of that layer.
Result<Node> parse_set(const std::string& text);

/// A merged tree and, for each setting in it, the strongest layer that touched it (names as in QuantConfig::origins).
struct Merged {
  Node values{Node::Map{}};
  std::map<std::string, Origin> origins;
};

/// Merges `layer` over `merged`. Blocks are merged by key; FastFinetune and the other nested parameter maps by inner
/// key; every other value replaces the existing one. A null removes an existing value; otherwise it stays a null.
Status lay_over(const Layer& layer, Merged& merged);

/// Returns every key that is allowed at the top of a settings file (ref:settings#settings-file).
std::vector<std::string> top_level_keys();

/// Returns `values` with other names of keys at the top replaced: `guards` by `quarkq.guards`, `extends` by `preset`.
Node without_aliases(const Node& values);

}  // namespace quarkq::config
