// SPDX-License-Identifier: MIT
#include "onnx_io/count_functions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "onnx_io/count_messages.h"

namespace quarkq::onnx_io {
namespace {

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

}  // namespace

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
    return resource_error("the bodies of its functions take ", size.bytes, " bytes once all calls are expanded, ",
                          kMostBodyBytes, " is the most; store large constants as initializers of the graph");
  }
  return Status();
}

}  // namespace quarkq::onnx_io
