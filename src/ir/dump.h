// SPDX-License-Identifier: MIT
// Graphs as text that is identical in every run and on every machine: for goldens, --dump-after and comparisons.
#pragma once

#include <string>

#include "ir/graph.h"

namespace quarkq::ir {

struct DumpOptions {
  bool values = true;  ///< Print inputs, initializers, outputs and stored types in addition to the nodes.
  bool rests = false;  ///< Print hashes of the serialized rests, for a complete comparison of two models.
};

/// Returns one line per node: `outputs = Op(inputs) {attributes} "name"`. Absent links print as "_", tensors as
/// TYPE[dims] and a hash of their bytes, nested graphs as indented blocks.
std::string dump(const Graph& graph, const DumpOptions& options = {});
/// Returns versions and opsets, followed by the graph.
std::string dump(const Model& model, const DumpOptions& options = {});

/// Returns `[dims]`. Unknown dimensions print as their symbol or "?".
std::string dims_text(const std::vector<Dim>& dims);
/// Returns `TYPE[dims]`.
std::string type_text(const ValueType& type);
/// Returns `TYPE[dims] #hash`.
std::string tensor_text(const Tensor& tensor);

}  // namespace quarkq::ir
