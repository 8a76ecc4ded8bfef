// SPDX-License-Identifier: MIT
// What can be fuzzed: one row per kind of bytes that come from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quarkq::fuzz {

struct Target {
  const char* name;
  /// Reads these bytes as a user's file would be read. Whatever happens short of a crash is fine.
  void (*run)(const uint8_t* data, size_t size);
  /// Bytes near those at `data`.
  std::string (*mutate)(const uint8_t* data, size_t size, uint32_t seed);
  /// Good bytes to begin with; null: they come from files.
  std::vector<std::string> (*seeds)();
};

const std::vector<Target>& targets();
/// The target of this name, or null.
const Target* find_target(const std::string& name);

/// The exit status of a program that was asked about its targets; none: it was asked for something else.
/// `--list` prints a target a line, with " files" after it where its seeds are files; `--seeds TARGET FOLDER` writes
/// the others' as files 1, 2, ...
std::optional<int> answer_about_targets(int argc, char** argv);

}  // namespace quarkq::fuzz
