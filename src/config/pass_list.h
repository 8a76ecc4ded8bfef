// SPDX-License-Identifier: MIT
// Lists of passes in the format of the reference's ShapeShifter (ref:settings#pass-lists): a file, or the name of a
// template, and the meaning of the names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

struct QuantConfig;

struct ListedPass {
  std::string name;  ///< "onnx_simplify"
  Node parameters;   ///< a map
  Mark mark;         ///< Location of the name.
};

struct PassList {
  std::vector<ListedPass> before, after;               ///< For the float model, and for the result of its quantization.
  std::optional<std::string> preprocessed_path;        ///< Where the float model is written after `before`.
  std::optional<std::string> input_path, output_path;  ///< Paths of a list that is used without a request.

  bool empty() const { return before.empty() && after.empty(); }
  /// Returns whether one of `before` has this name.
  bool lists(const std::string& name) const;
};

/// Returns the names of the templates: "a8w8", ...
std::vector<std::string> pass_templates();

/// `source` is a file ending in .yaml, .yml or .json, a template in any case, or the text of a JSON object.
Result<PassList> load_pass_list(const std::string& source);

/// Returns the list named by ShapeShifterYaml or its old name PreprocessYAML; empty if neither is set.
Result<PassList> asked_pass_list(const QuantConfig& config);

/// Meaning of the names in a list of passes: each is one or more conversions (pass/conversions.def).
struct ListedPassInfo {
  std::string name, conversion;
  std::vector<std::string> parameters;  ///< The parameter that enables the pass comes first.
};
/// Returns the names that a list may contain, in the order of `quarkq list listed-passes`.
std::vector<ListedPassInfo> listed_passes();

/// A conversion by name, with options in the format of `quarkq convert --pass`.
struct ListedConversion {
  std::string name;
  std::map<std::string, std::string> options;
};

/// Returns the conversions of a list, in order. A pass that is not enabled is skipped with a warning ("pass-not-on").
/// Fails with kInvalidArgument, naming the line, for unknown names and parameters and for values of another kind.
Result<std::vector<ListedConversion>> conversions_of(const std::vector<ListedPass>& passes, Diagnostics& diagnostics);

}  // namespace quarkq::config
