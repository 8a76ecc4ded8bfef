// SPDX-License-Identifier: MIT
// The built-in presets: the files of configs/presets, embedded by cmake/EmbedFiles.cmake. A file's first comment line
// after the license reads "# summary; target: what it is for", perhaps with "; compiler: name of a target file".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"
#include "config/quant_config.h"

namespace quarkq::config {

/// An embedded file. The function is in the generated source.
struct EmbeddedPreset {
  const char* stem;  ///< file name without ".yaml": "xint8"
  const char* text;
};
const std::vector<EmbeddedPreset>& embedded_presets();

struct PresetInfo {
  std::string name;      ///< "XINT8"
  std::string summary;   ///< "uint8 activations, int8 weights, power-of-two MinMSE"
  std::string target;    ///< "CNNs on AMD NPUs with the XINT8 overlay"
  std::string compiler;  ///< Target of configs/targets for judging results if none is specified; may be empty.
  const char* text;      ///< The YAML text.
};

/// Returns all presets, sorted by name.
const std::vector<PresetInfo>& presets();

/// Returns the preset of this name in any case, with or without ".yaml". For an unknown name, the message suggests the
/// nearest name.
Result<PresetInfo> find_preset(const std::string& name);

/// Returns the body of a preset: a map with quant_config and optionally extra_options.
Result<Node> preset_body(const PresetInfo& preset);

// Merging one source of settings over another (ref:settings#settings-file), on value trees.

/// A merged tree and, for each setting in it, the strongest layer that set it (names as in QuantConfig::origins).
struct Merged {
  Node values{Node::Map{}};
  std::map<std::string, Origin> origins;
};

/// Merges `layer` over `merged`. Blocks are merged by key; FastFinetune and the other nested parameter maps by inner
/// key; every other value replaces the existing one. A null removes an existing value; otherwise it stays a null.
Status lay_over(const Layer& layer, Merged& merged);

/// Returns the tree of "key=value". The key is a dotted path from the top, a bare option or a bare field.
Result<Node> parse_set(const std::string& text);

}  // namespace quarkq::config
