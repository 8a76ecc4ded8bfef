// SPDX-License-Identifier: MIT
#include "onnx_io/model_proto.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>

#include "base/diagnostics.h"
#include "base/error.h"
#include "ir/quantizing_ops.h"
#include "ir/traversal.h"
#include "onnx_io/count_messages.h"
#include "onnx_io/library.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

// Model-local functions: when a model is loaded, calls are replaced by the nodes of the function, as in ONNX Runtime,
// so that no later code has to support functions. Private to src/onnx_io.

// Bounds on what a model becomes when its local functions are expanded. Private to src/onnx_io.

/// Upper bound on the bytes that expanded calls add: bodies with large constants that are called many times.
constexpr size_t kMostBodyBytes = size_t{1} << 30;

/// Size of a node list with all calls expanded.
struct Size {
  size_t nodes = 0;
  size_t bytes = 0;  ///< serialized, of the bodies of functions

  bool is_too_large() const { return nodes > kMostNodes || bytes > kMostBodyBytes; }
  Size& operator+=(const Size& other) {
    nodes += other.nodes;
    bytes += other.bytes;
    return *this;
  }
};

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

class FunctionCounter {
 public:
  explicit FunctionCounter(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions())
      functions_[{function.domain(), function.name(), function.overload()}].body = &function;
  }

  /// Returns the size of the list with all calls expanded. Counting stops once it is too large.
  template <typename Nodes>
  Result<Size> count(const Nodes& nodes) {
    Size all;
    for (const onnx::NodeProto& node : nodes) {
      QQ_TRY(const Size own, count_node(node));
      all += own;
      if (all.is_too_large()) return all;
    }
    return all;
  }

 private:
  struct Function {
    const onnx::FunctionProto* body = nullptr;
    std::optional<Size> size = {};
    bool is_open = false;  ///< being counted
  };

  Result<Size> count_node(const onnx::NodeProto& node) {
    Size all{1, 0};
    for (const onnx::GraphProto* graph : nested_graphs(node)) {
      QQ_TRY(const Size inner, count(graph->node()));
      all += inner;
    }
    const auto found = functions_.find({node.domain(), node.op_type(), node.overload()});
    if (found == functions_.end()) return all;
    QQ_TRY(const Size called, count_function(found->second));
    all += called;
    return all;
  }

  Result<Size> count_function(Function& function) {
    if (function.size) return *function.size;
    if (function.is_open) return corrupt_model("function ", function.body->name(), " calls itself");
    if (depth_ == kMaxGraphDepth)
      return unsupported("functions that call functions more than ", kMaxGraphDepth, " deep");
    function.is_open = true;
    ++depth_;
    QQ_TRY(function.size, count(function.body->node()));
    --depth_;
    function.is_open = false;
    function.size->bytes += function.body->ByteSizeLong();
    return *function.size;
  }

  std::map<FunctionKey, Function> functions_;
  int depth_ = 0;
};

/// Fails for a function that calls itself, also through others (kCorruptModel), if calls are nested more than
/// kMaxGraphDepth deep (kUnsupported), and if the expanded model has more than kMostNodes nodes or function bodies add
/// more than kMostBodyBytes (kResource).
Status check_functions(const onnx::ModelProto& model) {
  if (model.functions_size() == 0) return Status();
  FunctionCounter counter(model);
  QQ_TRY(Size size, counter.count(model.graph().node()));
  for (const onnx::FunctionProto& function : model.functions()) {  // functions without a call are checked as well
    QQ_TRY(const Size own, counter.count(function.node()));
    size.nodes = std::max(size.nodes, own.nodes);
  }
  if (size.nodes > kMostNodes)
    return resource_error("more than ", kMostNodes, " nodes once its functions are expanded, which is the most");
  if (size.bytes > kMostBodyBytes) {
    return resource_error("the bodies of its functions require ", size.bytes, " bytes once all calls are expanded, ",
                          kMostBodyBytes, " is the most; store large constants as initializers of the graph");
  }
  return Status();
}

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

/// Expands all calls, nested ones too, and removes the functions. A function with the domain and name of a standard
/// operator is not called, as in ONNX Runtime. Opset imports that only functions have become imports of the model.
/// Fails as check_functions() does, and with kUnsupported if a function and the model import two opsets between which
/// an operator of the function changes.
Status expand_functions(onnx::ModelProto& model, Diagnostics& findings) {
  if (model.functions_size() == 0) return Status();
  QQ_RETURN_IF_ERROR(check_functions(model));
  return FunctionExpander(model).run(findings);
}

Status check_versions(const onnx::ModelProto& proto) {
  if (!proto.has_ir_version()) return corrupt_model("no ir_version, so this is not an ONNX model");
  if (proto.ir_version() <= 0) return corrupt_model("IR version ", proto.ir_version(), " does not exist");
  if (!proto.has_graph()) return corrupt_model("no graph");
  if (proto.opset_import_size() == 0 && proto.ir_version() >= kOldestIrVersion) {
    return corrupt_model("no opset_import, which IR version ", proto.ir_version(), " needs");
  }
  return Status();
}

/// Fails with kUnsupported if an operator of a model of opset `version`, which is not known yet, does not fit the
/// newest known opset.
Status check_newer_opset(const onnx::ModelProto& proto, int64_t version, Diagnostics& findings) {
  std::string problem;
  for_each_node(proto.graph().node(), [&](const onnx::NodeProto& node) {
    if (!problem.empty() || !is_standard(node.domain())) return;
    const std::string reason = misfit(node, kNewestOpset);
    if (reason.empty()) return;
    const bool has_name = !node.name().empty() || node.output_size() == 0;
    problem = cat("node ", has_name ? node.name() : node.output(0), " (", node.op_type(), "): ", reason);
  });
  if (!problem.empty()) {
    return unsupported("opset ", version, " of ai.onnx, the newest known is ", kNewestOpset,
                       " and does not fit: ", problem, "; export the model with opset ", kNewestOpset, " or older");
  }
  findings.add("opset-newer", "ai.onnx", cat("opset ", version, " was read as ", kNewestOpset));
  return Status();
}

Status take_opsets(onnx::ModelProto& proto, ir::Model& model, Diagnostics& findings) {
  int64_t newer = 0;  // opset of ai.onnx that is not known yet
  for (const onnx::OperatorSetIdProto& entry : proto.opset_import()) {
    const std::string domain = entry.domain() == "ai.onnx" ? "" : entry.domain();
    const std::string shown = domain.empty() ? "ai.onnx" : domain;
    if (entry.version() <= 0) return corrupt_model("opset ", entry.version(), " of ", shown, " does not exist");
    const bool is_newer = domain.empty() && entry.version() > kNewestOpset;
    const int64_t known = is_newer && newer != 0 ? newer : model.opset(domain);
    if (known != 0 && known != entry.version()) {
      return corrupt_model("two opsets of ", shown, ": ", known, " and ", entry.version());
    }
    if (is_newer && newer == 0) QQ_RETURN_IF_ERROR(check_newer_opset(proto, entry.version(), findings));
    if (is_newer) newer = entry.version();
    model.set_opset(domain, is_newer ? kNewestOpset : entry.version());
  }
  if (proto.opset_import_size() == 0) model.set_opset("", 1);  // the default of IR versions before 3
  proto.clear_opset_import();
  return Status();
}

/// True if a node of `graph` or of a graph nested in it belongs to `domain`.
bool uses_domain(const ir::Graph& graph, const std::string& domain) {
  return std::ranges::any_of(graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    if (node.domain == domain) return true;
    const auto nested = ir::nested_graphs(node);
    return std::ranges::any_of(nested, [&](const ir::Graph* inner) { return uses_domain(*inner, domain); });
  });
}

/// ONNX Runtime knows its own domain without an import.
void add_missing_import(ir::Model& model, Diagnostics& findings) {
  if (model.opset(ir::kMicrosoftDomain) != 0 || !uses_domain(model.graph, ir::kMicrosoftDomain)) return;
  model.set_opset(ir::kMicrosoftDomain, 1);
  findings.add("opset-import-added", ir::kMicrosoftDomain,
               "the model has operators of this domain without an opset import");
}

}  // namespace

Result<ir::Model> import_model(onnx::ModelProto& proto, const ImportContext& context) {
  QQ_RETURN_IF_ERROR(check_versions(proto));
  if (proto.ir_version() > kNewestIrVersion) {
    context.findings.add("ir-version-newer", "",
                         cat("IR version ", proto.ir_version(), " was read as ", kNewestIrVersion));
    proto.set_ir_version(kNewestIrVersion);
  }
  QQ_RETURN_IF_ERROR(expand_functions(proto, context.findings));
  ir::Model model;
  QQ_RETURN_IF_ERROR(take_opsets(proto, model, context.findings));
  model.ir_version = proto.ir_version();
  model.producer_name = proto.producer_name();
  model.producer_version = proto.producer_version();
  QQ_TRY(model.graph, import_graph(*proto.mutable_graph(), context));
  add_missing_import(model, context.findings);
  proto.clear_graph();
  proto.clear_ir_version();
  proto.clear_producer_name();
  proto.clear_producer_version();
  model.extra = proto.SerializeAsString();
  return model;
}

Result<ir::Model> import_own_model(onnx::ModelProto& proto) {
  ExternalFiles no_files("");
  Diagnostics ignored;
  return import_model(proto, {no_files, ignored});
}

}  // namespace quarkq::onnx_io
