// SPDX-License-Identifier: MIT
// Graphs as text that is the same in every run and on every machine: for goldens, --dump-after and comparisons.
#pragma once

#include <string>

#include "ir/graph.h"

namespace quarkq::ir {

struct DumpOptions {
  bool values = true;  ///< inputs, initializers, outputs and stored types beside the nodes
  bool rests = false;  ///< hashes of the serialized rests, to compare two models completely
};

/// One line a node: `outputs = Op(inputs) {attributes} "name"`. Absent links print as "_", tensors as TYPE[dims] and a
/// hash of their bytes, nested graphs as indented blocks.
std::string dump(const Graph& graph, const DumpOptions& options = {});
/// Versions and opsets, then the graph.
std::string dump(const Model& model, const DumpOptions& options = {});

/// `[dims]`; unknown dimensions print as their symbol or "?".
std::string dims_text(const std::vector<Dim>& dims);
/// `TYPE[dims]`, as above.
std::string type_text(const ValueType& type);
/// `TYPE[dims] #hash`.
std::string tensor_text(const Tensor& tensor);

}  // namespace quarkq::ir
