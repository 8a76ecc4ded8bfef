// SPDX-License-Identifier: MIT
// SimplifyModelOptions.input_shapes: "name:1,3,224,224" fixes the dimensions of a graph input before the first round.
#include <charconv>

#include "base/strings.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

Result<std::vector<ir::Dim>> read_dims(const std::string& entry, const std::string& text) {
  std::vector<ir::Dim> dims;
  for (const std::string& part : split(text, ',')) {
    int64_t size = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 0)
      return invalid_argument("input_shapes '", entry, "': '", part, "' is not a dimension");
    dims.push_back({size, {}});
  }
  return dims;
}

}  // namespace

Status set_input_shapes(ir::Model& model, const Options& options) {
  for (const std::string& entry : options.input_shapes) {
    const size_t colon = entry.rfind(':');  // names may hold colons, dimensions do not
    if (colon == std::string::npos)
      return invalid_argument("input_shapes '", entry, "': not of the form name:1,3,224,224");
    QQ_TRY(std::vector<ir::Dim> dims, read_dims(entry, entry.substr(colon + 1)));
    const ir::ValueId input = model.graph.find(entry.substr(0, colon));
    if (!input.valid() || !model.graph.value(input).is_input)
      return invalid_argument("input_shapes '", entry, "': the model has no such input");
    ir::ValueType type = model.graph.value(input).type;
    if (type.has_shape && type.dims.size() != dims.size())
      return invalid_argument("input_shapes '", entry, "': the input has ", type.dims.size(), " dimensions");
    type.has_shape = true;
    type.dims = std::move(dims);
    ir::GraphEdit(model.graph).set_type(input, std::move(type));
  }
  return Status();
}

}  // namespace quarkq::rewrite::simplify
