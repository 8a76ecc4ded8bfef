// SPDX-License-Identifier: MIT
#include "pipeline/interface.h"

#include <algorithm>

#include "base/strings.h"

namespace quarkq::pipeline {
namespace {

bool contradicts(const ir::ValueType& a, const ir::ValueType& b) {
  if (!a.has_shape || !b.has_shape) return false;
  if (a.dims.size() != b.dims.size()) return true;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].known() && b.dims[i].known() && a.dims[i].size != b.dims[i].size) return true;
  }
  return false;
}

std::string text(const ir::ValueType& type) {
  if (!type.is_tensor()) return "no tensor";
  std::string text(name(type.element));
  if (!type.has_shape) return text;
  std::vector<std::string> dims;
  for (const ir::Dim& dim : type.dims)
    dims.push_back(dim.known() ? cat(dim.size) : dim.symbol.empty() ? "?" : dim.symbol);
  return text + " [" + join(dims, ", ") + "]";
}

Status check(const char* kind, const ir::Value& wanted, const ir::Value& found) {
  const bool is_same_kind =
      wanted.type.element == found.type.element && wanted.type.other_type.empty() == found.type.other_type.empty();
  if (wanted.name != found.name) {
    return internal_error("the result has the ", kind, " '", found.name, "' in place of '", wanted.name,
                          "'; please report this");
  }
  if (is_same_kind) return Status();
  return internal_error("the ", kind, " '", wanted.name, "' is ", text(wanted.type), " in the model and ",
                        text(found.type), " in the result; please report this");
}

Status check_all(const char* kind, const ir::Graph& wanted, const std::vector<ir::ValueId>& wanted_ids,
                 const ir::Graph& result, const std::vector<ir::ValueId>& ids) {
  if (wanted_ids.size() != ids.size()) {
    return internal_error("the result has ", ids.size(), " ", kind, "s and the model ", wanted_ids.size(),
                          "; please report this");
  }
  for (size_t i = 0; i < ids.size(); ++i)
    QQ_RETURN_IF_ERROR(check(kind, wanted.value(wanted_ids[i]), result.value(ids[i])));
  return Status();
}

void add_changes(const ir::Graph& loaded, const std::vector<ir::ValueId>& from, const ir::Graph& result,
                 const std::vector<ir::ValueId>& to, std::vector<std::string>& changes) {
  if (from.size() != to.size()) return;
  for (size_t i = 0; i < from.size(); ++i) {
    const ir::ValueType &before = loaded.value(from[i]).type, &after = result.value(to[i]).type;
    if (before.element == after.element && !contradicts(before, after)) continue;
    changes.push_back(cat(result.value(to[i]).name, " is ", text(after), " instead of ", text(before)));
  }
}

}  // namespace

Status check_interface(const ir::Graph& wanted, const ir::Graph& result) {
  QQ_RETURN_IF_ERROR(check_all("input", wanted, wanted.required_inputs(), result, result.required_inputs()));
  return check_all("output", wanted, wanted.outputs(), result, result.outputs());
}

void report_changed_interface(const ir::Graph& loaded, const ir::Graph& result, Diagnostics& diagnostics) {
  constexpr size_t kMostListed = 4;
  std::vector<std::string> changes;
  add_changes(loaded, loaded.required_inputs(), result, result.required_inputs(), changes);
  add_changes(loaded, loaded.outputs(), result, result.outputs(), changes);
  if (changes.empty()) return;
  const size_t more = changes.size() - std::min(changes.size(), kMostListed);
  changes.resize(changes.size() - more);
  diagnostics.add("interface-changed", "", join(changes, "; ") + (more > 0 ? cat("; and ", more, " more") : ""));
}

}  // namespace quarkq::pipeline
