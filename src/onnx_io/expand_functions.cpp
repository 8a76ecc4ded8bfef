// SPDX-License-Identifier: MIT
#include "onnx_io/expand_functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "onnx_io/count_functions.h"
#include "onnx_io/library.h"

namespace quarkq::onnx_io {
namespace {

using Opset = onnx::OperatorSetIdProto;

bool is_standard(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

bool is_same_domain(const std::string& a, const std::string& b) { return a == b || (is_standard(a) && is_standard(b)); }

/// Returns the version of `domain` in a list of imports, or 0.
template <typename Imports>
int64_t version_of(const Imports& imports, const std::string& domain) {
  for (const Opset& import : imports)
    if (is_same_domain(import.domain(), domain)) return import.version();
  return 0;
}

/// Calls `visit(node)` for each node of the list and of nested graphs.
template <typename Visit>
void for_each_node(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const Visit& visit) {
  for (const onnx::NodeProto& node : nodes) {
    visit(node);
    for (const onnx::GraphProto* graph : nested_graphs(node)) for_each_node(graph->node(), visit);
  }
}

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

std::string shown(const onnx::FunctionProto& function) {
  return cat("function ", function.domain(), "::", function.name());
}

class FunctionExpander {
 public:
  explicit FunctionExpander(onnx::ModelProto& model) : model_(model) {
    for (const onnx::FunctionProto& function : model.functions()) domains_.insert(function.domain());
  }

  Status run(Diagnostics& findings) {
    drop_shadowed();
    for (const onnx::FunctionProto& function : model_.functions())
      by_key_[{function.domain(), function.name(), function.overload()}] = &function;
    complete_calls(*model_.mutable_graph()->mutable_node());
    for (onnx::FunctionProto& function : *model_.mutable_functions()) complete_calls(*function.mutable_node());
    for (onnx::FunctionProto& function : *model_.mutable_functions()) {
      QQ_RETURN_IF_ERROR(match_imports(function));
      separate_outputs(function);
    }
    const int functions = model_.functions_size();
    const int before = model_.graph().node_size();
    QQ_RETURN_IF_ERROR(library_inline_functions(model_));
    if (model_.functions_size() > 0) {
      return unsupported(shown(model_.functions(0)),
                         ": its calls cannot be expanded; export the model without functions");
    }
    drop_imports();
    findings.add(
        "functions-expanded", "",
        cat(functions, " model functions were expanded: ", before, " nodes became ", model_.graph().node_size()));
    return Status();
  }

 private:
  /// Gives calls the default attributes of their functions, which the library's inliner does not know.
  void complete_calls(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) const {
    for (onnx::NodeProto& node : nodes) {
      for (onnx::GraphProto* graph : nested_graphs(node)) complete_calls(*graph->mutable_node());
      const auto found = by_key_.find({node.domain(), node.op_type(), node.overload()});
      if (found == by_key_.end()) continue;
      for (const onnx::AttributeProto& standard : found->second->attribute_proto()) {
        const bool is_given = std::ranges::any_of(
            node.attribute(), [&](const onnx::AttributeProto& given) { return given.name() == standard.name(); });
        if (!is_given) *node.add_attribute() = standard;
      }
    }
  }

  /// Functions that a standard operator of the model's opset hides.
  void drop_shadowed() {
    const int64_t version = version_of(model_.opset_import(), "");
    auto& functions = *model_.mutable_functions();
    for (auto it = functions.begin(); it != functions.end();) {
      const bool is_hidden = is_standard(it->domain()) && has_operator(it->name(), version);
      it = is_hidden ? functions.erase(it) : it + 1;
    }
  }

  /// Gives `function` the imports of the model, if its operators are the same in both.
  Status match_imports(onnx::FunctionProto& function) {
    for (Opset& import : *function.mutable_opset_import()) {
      const int64_t version = version_of(model_.opset_import(), import.domain());
      if (version == 0) {
        *model_.add_opset_import() = import;
      } else if (version != import.version()) {
        QQ_RETURN_IF_ERROR(check_unchanged(function, import, version));
        import.set_version(version);
      }
    }
    return Status();
  }

  Status check_unchanged(const onnx::FunctionProto& function, const Opset& import, int64_t version) const {
    Status status;
    if (domains_.contains(import.domain())) return status;  // functions have no versions
    for_each_node(function.node(), [&](const onnx::NodeProto& node) {
      if (!status.ok() || !is_same_domain(node.domain(), import.domain())) return;
      if (means_the_same(node, import.version(), version)) return;
      status = unsupported(shown(function), " imports opset ", import.version(), " of ",
                           is_standard(import.domain()) ? "ai.onnx" : import.domain(), ", the model opset ", version,
                           ", and operator ", node.op_type(),
                           " differs between them; export model and functions with one opset");
    });
    return status;
  }

  /// An output that is an input as well gets an Identity: the library would leave the caller's name without a producer.
  static void separate_outputs(onnx::FunctionProto& function) {
    std::unordered_set<std::string> taken(function.input().begin(), function.input().end());
    for (std::string& output : *function.mutable_output()) {
      if (taken.insert(output).second) continue;
      onnx::NodeProto& identity = *function.add_node();
      identity.set_op_type("Identity");
      identity.add_input(output);
      while (!taken.insert(output).second) output += "_out";
      identity.add_output(output);
    }
  }

  /// Removes imports of the functions' domains that no node uses now.
  void drop_imports() {
    std::set<std::string> used;
    for_each_node(model_.graph().node(), [&](const onnx::NodeProto& node) { used.insert(node.domain()); });
    auto& imports = *model_.mutable_opset_import();
    for (auto it = imports.begin(); it != imports.end();) {
      const bool is_idle =
          !is_standard(it->domain()) && domains_.contains(it->domain()) && !used.contains(it->domain());
      it = is_idle ? imports.erase(it) : it + 1;
    }
  }

  onnx::ModelProto& model_;
  std::set<std::string> domains_;
  std::map<FunctionKey, const onnx::FunctionProto*> by_key_;
};

}  // namespace

Status expand_functions(onnx::ModelProto& model, Diagnostics& findings) {
  if (model.functions_size() == 0) return Status();
  QQ_RETURN_IF_ERROR(check_functions(model));
  return FunctionExpander(model).run(findings);
}

}  // namespace quarkq::onnx_io
