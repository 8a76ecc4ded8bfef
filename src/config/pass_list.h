// SPDX-License-Identifier: MIT
// Lists of passes as the reference's ShapeShifter takes them (ref:settings#pass-lists): a file, or the name of a
// template. What the names mean is decided in pass_list.h.
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
  Mark mark;         ///< where the name was written
};

struct PassList {
  std::vector<ListedPass> before, after;               ///< on the float model, and on the result of its quantization
  std::optional<std::string> preprocessed_path;        ///< where the float model is kept after `before`
  std::optional<std::string> input_path, output_path;  ///< of a list that stands alone

  bool empty() const { return before.empty() && after.empty(); }
  /// Whether one of `before` has this name.
  bool lists(const std::string& name) const;
};

/// The templates: "a8w8", ...
std::vector<std::string> pass_templates();

/// `source`: a file that ends in .yaml, .yml or .json, a template in any case, or the text of a JSON object.
Result<PassList> load_pass_list(const std::string& source);

/// The list that ShapeShifterYaml, or its old name PreprocessYAML, asks for; an empty one without them.
Result<PassList> asked_pass_list(const QuantConfig& config);

/// What the names in a list of passes (pass_list.h) mean: each is a conversion, or several (pass/conversions.def).
struct ListedPassInfo {
  std::string name, conversion;
  std::vector<std::string> parameters;  ///< the one that switches the pass on first
};
/// The names that a list may hold, in the order of `quarkq list listed-passes`.
std::vector<ListedPassInfo> listed_passes();

/// A conversion by name, and its options as `quarkq convert --pass` takes them.
struct ListedConversion {
  std::string name;
  std::map<std::string, std::string> options;
};

/// The conversions of a list, in its order. A pass that is not switched on is left out with a warning ("pass-not-on").
/// kInvalidArgument, with the line, for names and parameters that there are not, and for values of another kind.
Result<std::vector<ListedConversion>> conversions_of(const std::vector<ListedPass>& passes, Diagnostics& diagnostics);

}  // namespace quarkq::config
