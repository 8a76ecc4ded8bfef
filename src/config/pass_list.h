// SPDX-License-Identifier: MIT
// Lists of passes as the reference's ShapeShifter takes them (ref:settings#pass-lists): a file, or the name of a
// template. What the names mean is decided in listed_passes.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

}  // namespace quarkq::config
