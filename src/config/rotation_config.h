// SPDX-License-Identifier: MIT
// The file that RConfigPath names (ref:equalization#quarot): which layers QuaRot rotates, by the names of their nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::config {

/// One entry of the list R1_pairs.
struct RotationEntry {
  std::string label;  ///< "<file>: R1_pairs[0]", for messages
  std::vector<std::string> previous, next;
  std::optional<std::string> norm;
};

/// Fails on what is no list of such entries; the message names the file, the entry and the key.
Result<std::vector<RotationEntry>> load_rotation_config(const std::string& path);

}  // namespace quarkq::config
