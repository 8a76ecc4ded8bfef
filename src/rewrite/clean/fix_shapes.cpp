// SPDX-License-Identifier: MIT
#include "rewrite/passes.h"

#include <charconv>
#include <map>

#include "ir/edit.h"
#include "onnx_io/infer.h"

namespace quarkq::rewrite {
namespace {

using Shapes = std::map<std::string, ir::Shape, std::less<>>;

/// "[1, 3]" as numbers; nothing when malformed or negative.
std::optional<ir::Shape> parse_shape(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  ir::Shape shape;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  auto skip_spaces = [&] {
    while (at != end && *at == ' ') ++at;
  };
  for (skip_spaces(); at != end; skip_spaces()) {
    int64_t dim = 0;
    const auto [rest, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0) return std::nullopt;
    shape.push_back(dim);
    at = rest;
    skip_spaces();
    if (at == end) break;
    if (*at++ != ',') return std::nullopt;
  }
  return shape;
}

/// "name:[d,d];name:[d]". A name may hold colons: the last one before the bracket divides.
Result<Shapes> parse_shapes(const std::string& text) {
  Shapes shapes;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t divide = part.rfind(":[");
    const std::optional<ir::Shape> shape =
        divide == std::string::npos ? std::nullopt : parse_shape(std::string_view(part).substr(divide + 1));
    if (!shape) return invalid_argument("FixShapes: '", part, "' is not of the form name:[d,d]");
    shapes[part.substr(0, divide)] = *shape;
    begin = end + 1;
  }
  return shapes;
}

bool contradicts(const ir::ValueType& type, const ir::Shape& shape) {
  if (!type.has_shape) return false;
  if (type.dims.size() != shape.size()) return true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (type.dims[i].known() && type.dims[i].size != shape[i]) return true;
  }
  return false;
}

/// Why the shapes cannot be written; empty when they can.
std::string reason_against(const ir::Graph& graph, const std::vector<ir::ValueId>& values, const Shapes& shapes) {
  for (const ir::ValueId id : values) {
    const ir::Value& value = graph.value(id);
    const auto found = shapes.find(value.name);
    if (found == shapes.end()) return cat("no shape is given for '", value.name, "'");
    if (contradicts(value.type, found->second)) return cat("'", value.name, "' has another shape");
  }
  return "";
}

}  // namespace

Result<Changed> fix_shapes(pass::FloatContext& context) {
  if (!context.settings.runtime.fix_shapes) return Changed::kNo;
  QQ_TRY(const Shapes shapes, parse_shapes(*context.settings.runtime.fix_shapes));
  ir::Graph& graph = context.graph();
  std::vector<ir::ValueId> values = graph.required_inputs();
  values.insert(values.end(), graph.outputs().begin(), graph.outputs().end());
  const std::string reason = reason_against(graph, values, shapes);
  if (!reason.empty()) {
    context.diagnostics.add("shapes-not-fixed", "FixShapes", cat(reason, ", shapes stay as they are"));
    return Changed::kNo;
  }
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::ValueId id : values) {
    ir::ValueType type = graph.value(id).type;
    if (type.is_static()) continue;
    type.has_shape = true;
    type.dims.clear();
    for (const int64_t dim : shapes.find(graph.value(id).name)->second) type.dims.push_back({dim, {}});
    edit.set_type(id, std::move(type));
    changed = Changed::kYes;
  }
  if (changed == Changed::kYes) QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  return changed;
}

}  // namespace quarkq::rewrite
