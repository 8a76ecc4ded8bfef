// SPDX-License-Identifier: MIT
// legalize.tail: the network ends before its tail (ir/parts.h), and the tail becomes a float model that runs elsewhere.
// The two are one model (ADR 0019): scores and verdicts are of the pair.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "ir/parts.h"
#include "onnx_io/load.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

struct ModelFile;

/// A tail to cut off, and the reason.
struct Cut {
  ir::Tail tail;
  std::string why;
};

/// Returns the tail that these settings cut off: find_tail() for `cut`. For `auto`, decoding of which the target refuses
/// a node (without the moves at its start that it runs, where fewer tensors then leave the body), or other endings from
/// the refused nodes on. The target of a preset, unless the settings name it, cuts only decoding, and only if it takes no float nodes. Empty if
/// nothing is cut. Fails if the target's file cannot be read.
Result<Cut> find_cut(const ir::Model& model, const config::Settings& settings);

/// The part of a model that was cut off.
struct CutTail {
  ir::Model model;                   ///< Its inputs are outputs, or inputs, of the body.
  std::vector<std::string> outputs;  ///< Outputs of the uncut model, in order.
  size_t nodes = 0;                  ///< Number of nodes that were cut off.
};
using CutTailPtr = std::shared_ptr<const CutTail>;

/// If the settings request it, removes the tail from `model` and returns it: `cut` removes what find_tail() finds;
/// `auto` removes it if the target of the settings does not run one of its nodes, or if these settings leave one float.
/// An ending that decodes nothing loses only these nodes and what follows them. The outputs of `model` are then the
/// outputs that the tail does not compute, in order, followed by the inputs of the tail, under the same names. Returns
/// null if nothing is cut, with a warning for `cut`. Fails if the target's file cannot be read.
Result<CutTailPtr> cut_tail(ir::Model& model, const config::Settings& settings, Diagnostics& diagnostics);

/// Returns both parts as one graph, with the outputs of the uncut model in their order. Inner names of the tail that
/// the body uses are changed; the tail is converted to the opset of the body. Fails with kBadData if an input of the
/// tail is neither an output nor an input of the body, or has another
/// type there, or if it does not read an output that the uncut model does not have.
Result<ir::Model> join_tail(const ir::Model& body, const CutTail& tail);

/// Returns join_tail(), or `body` if `tail` is null.
Result<ir::Model> whole_model(const ir::Model& body, const CutTailPtr& tail);

/// Returns `tail` if results are to be judged joined with it. Returns null if no output of the pair can be compared,
/// because it has integers only (ArgMax), or sizes that depend on the values (NonMaxSuppression): then the outputs of
/// the body are judged.
CutTailPtr judged_tail(const CutTailPtr& tail, const ir::Graph& body);

/// Returns where the tail of the result at `path` is written: "d/out_tail.onnx" for "d/out.onnx".
std::string tail_path(const std::string& path);

/// Stores the outputs of the uncut model in the metadata of a body. No file name: the bytes do not depend on where they
/// are written, and both files can be renamed together.
void mark_body(ir::Model& body, const CutTail& tail);

/// Returns whether mark_body() was called: the model ends before its tail.
bool is_body(const ir::Model& model);

/// Writes the tail, if any, next to the result, before the result, so that no body exists without its tail. Returns its
/// path, or an empty string.
Result<std::string> save_tail(const CutTailPtr& tail, const std::string& result_path);

/// Loads a model like load_model(). If it is a body, joins it with the file at tail_path(), and reports that. If
/// the tail is missing, or the body was loaded from memory, the body is returned with a warning. Fails if the two do
/// not fit.
Result<ir::Model> load_whole(const ModelFile& file, onnx_io::LoadReport& report);

}  // namespace quarkq::pipeline
