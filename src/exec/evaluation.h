// SPDX-License-Identifier: MIT
// One call of an operator that works on whole values instead of buffers: control flow, sequences, optionals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "exec/op_def.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace quarkq::exec {

/// A node that runs immediately, and its operator. REQUIRES: op.prepare is set.
struct KnownCall {
  const OpDef& op;
  const ir::Node& node;
  std::string label;
  int64_t opset = 0;
  int64_t max_memory = 0;  ///< Bytes that the outputs may need; 0: the memory of the machine.
};

/// Returns the outputs of the node in ONNX order. `inputs` has an entry per node input, null if omitted. Images are
/// passed to their operators channels-last, as in a program. Returns nullopt if the operator's `prepare` declines.
/// Fails with kResource if the outputs need too much memory.
Result<std::optional<std::vector<ir::Tensor>>> run_known(const KnownCall& call,
                                                         const std::vector<const ir::Tensor*>& inputs);

class NestedGraphs;

class Evaluation {
 public:
  /// `inputs` has an entry per node input, null if omitted. `graphs` contains the graphs of the node's attributes.
  Evaluation(const ir::Node& node, std::vector<const ir::Operand*> inputs, NestedGraphs* graphs)
      : node_(node), inputs_(std::move(inputs)), outputs_(node.outputs.size()), graphs_(graphs) {}

  const ir::Node& node() const { return node_; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  /// REQUIRES: has(i).
  const ir::Operand& in(size_t i) const { return *inputs_[i]; }
  /// Return input `i` as a tensor or a sequence. Fail if it is omitted or of another kind.
  Result<const ir::Tensor*> tensor(size_t i) const;
  Result<const std::vector<ir::Tensor>*> sequence(size_t i) const;
  /// Returns the only element of tensor input `i`.
  Result<int64_t> integer(size_t i) const;
  Result<bool> boolean(size_t i) const;

  void out(size_t i, ir::Operand value) {
    if (i < outputs_.size()) outputs_[i] = std::move(value);
  }
  std::vector<ir::Operand>& outputs() { return outputs_; }

  /// Runs the graph in attribute `name` with `inputs`, one per input of that graph. Captured values are fed as well.
  Result<std::vector<ir::Operand>> run_graph(std::string_view name, std::span<const ir::Operand> inputs);
  /// Returns the upper bound on the iterations of a loop.
  int64_t max_trips() const;
  /// Returns the upper bound on the bytes of the results.
  int64_t allowed_memory() const;
  /// Returns the graph in attribute `name`. Fails if there is none.
  Result<const ir::Graph*> graph(std::string_view name) const;

  /// Return errors; the caller prepends the node.
  template <typename... Args>
  Status corrupt(const Args&... args) const {
    return corrupt_model(args...);
  }
  template <typename... Args>
  Status cannot(const Args&... args) const {
    return unsupported(args...);
  }

 private:
  const ir::Node& node_;
  std::vector<const ir::Operand*> inputs_;
  std::vector<ir::Operand> outputs_;
  NestedGraphs* graphs_;
};

}  // namespace quarkq::exec
