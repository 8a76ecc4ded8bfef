// SPDX-License-Identifier: MIT
#include "onnx_io/check_functions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "onnx_io/count_messages.h"

namespace quarkq::onnx_io {
namespace {

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

class FunctionCounter {
 public:
  explicit FunctionCounter(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions())
      functions_[{function.domain(), function.name(), function.overload()}].body = &function;
  }

  /// Nodes of the list with all calls expanded, at most kMostNodes + 1.
  template <typename Nodes>
  Result<size_t> count(const Nodes& nodes) {
    size_t all = 0;
    for (const onnx::NodeProto& node : nodes) {
      QQ_TRY(const size_t own, count_node(node));
      all += own;
      if (all > kMostNodes) return kMostNodes + 1;
    }
    return all;
  }

 private:
  struct Function {
    const onnx::FunctionProto* body = nullptr;
    std::optional<size_t> nodes = {};
    bool is_open = false;  ///< being counted
  };

  Result<size_t> count_node(const onnx::NodeProto& node) {
    size_t all = 1;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        QQ_TRY(const size_t inner, count(attribute.g().node()));
        all += inner;
      }
      for (const onnx::GraphProto& graph : attribute.graphs()) {
        QQ_TRY(const size_t inner, count(graph.node()));
        all += inner;
      }
    }
    const auto found = functions_.find({node.domain(), node.op_type(), node.overload()});
    if (found == functions_.end()) return all;
    QQ_TRY(const size_t called, count_function(found->second));
    return all + called;
  }

  Result<size_t> count_function(Function& function) {
    if (function.nodes) return *function.nodes;
    if (function.is_open) return corrupt_model("function ", function.body->name(), " calls itself");
    if (depth_ == kMaxGraphDepth)
      return unsupported("functions that call functions more than ", kMaxGraphDepth, " deep");
    function.is_open = true;
    ++depth_;
    QQ_TRY(function.nodes, count(function.body->node()));
    --depth_;
    function.is_open = false;
    return *function.nodes;
  }

  std::map<FunctionKey, Function> functions_;
  int depth_ = 0;
};

}  // namespace

Status check_functions(const onnx::ModelProto& model) {
  if (model.functions_size() == 0) return Status();
  FunctionCounter counter(model);
  QQ_TRY(size_t nodes, counter.count(model.graph().node()));
  for (const onnx::FunctionProto& function : model.functions()) {  // those that nothing calls are checked, too
    QQ_TRY(const size_t own, counter.count(function.node()));
    nodes = std::max(nodes, own);
  }
  if (nodes <= kMostNodes) return Status();
  return resource_error("more than ", kMostNodes, " nodes once its functions are expanded, which is the most");
}

}  // namespace quarkq::onnx_io
