// SPDX-License-Identifier: MIT
// The built-in presets: the files of configs/presets, embedded by cmake/EmbedFiles.cmake. They have the form of a
// settings file: `about` describes the preset, `extends` names the preset whose settings it changes.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"

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
  Node body;             ///< Content of the file.
};

/// Returns whether a value at `mark` is from the user: from a file, an option or a caller, not from a preset.
bool is_given_by_user(const Mark& mark);

/// Returns all presets, sorted by name.
const std::vector<PresetInfo>& presets();

/// Returns the preset of this name in any case, with or without ".yaml". For an unknown name, the message suggests the
/// nearest name.
Result<PresetInfo> find_preset(const std::string& name);

/// Returns the settings of the presets that a preset extends, and then its own: weakest first.
Result<std::vector<Node>> preset_bodies(const PresetInfo& preset);

}  // namespace quarkq::config
