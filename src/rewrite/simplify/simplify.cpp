// SPDX-License-Identifier: MIT
#include "rewrite/simplify/simplify.h"

#include <algorithm>

#include "ir/traversal.h"
#include "onnx_io/infer.h"

namespace quarkq::rewrite {
namespace {

using simplify::Options;
using simplify::Scope;

struct Step {
  std::string_view option;  ///< Name in SimplifyModelOptions.skip_optimizations.
  Status (*run)(Scope&);
};

/// One round; each step is followed by clean_up().
constexpr Step kSteps[] = {
    {"constant_folding", simplify::fold_constants},     {"graph_fusion", simplify::fuse_patterns},
    {"dead_node_elimination", simplify::remove_no_ops}, {"subexpression_elimination", simplify::merge_equal_nodes},
    {"weight_tying", simplify::merge_equal_constants},
};

/// Names, inputs, outputs and number of attributes of all nodes in order: what a round leaves as it was when there is
/// nothing left to do.
std::string fingerprint(const ir::Graph& graph) {
  std::string text;
  const auto name_of = [&](ir::ValueId id) { return id.valid() ? graph.value(id).name : std::string(); };
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    text += cat(node.op, '\n', node.name, '\n', node.attributes.size(), '\n');
    for (const ir::ValueId input : node.inputs) text += name_of(input) + '\t';
    text += '\n';
    for (const ir::ValueId output : node.outputs) text += name_of(output) + '\t';
    text += '\n';
    for (const ir::Graph* nested : ir::nested_graphs(node)) text += fingerprint(*nested);
  }
  return text;
}

/// Initializers can no longer be fed: IR versions that demand them among the inputs become one that does not.
void freeze_initializers(ir::Model& model) {
  constexpr int64_t kFirstIrWithFreeInitializers = 4, kIrWritten = 7;
  ir::GraphEdit edit(model.graph);
  bool frozen = false;
  for (const ir::ValueId input : std::vector<ir::ValueId>(model.graph.inputs())) {
    if (!model.graph.value(input).is_initializer()) continue;
    edit.remove_graph_input(input);
    frozen = true;
  }
  if (frozen && model.ir_version < kFirstIrWithFreeInitializers) model.ir_version = kIrWritten;
}

/// Values that came out of a branch have no type yet. The others keep theirs until the end of the round: what a round
/// finds depends on the shapes known before it.
Status type_new_values(ir::Model& model, Diagnostics& ignored) {
  ir::Model typed = model;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(typed, ignored));
  ir::GraphEdit edit(model.graph);
  for (const ir::NodeId id : model.graph.order()) {
    for (const ir::ValueId output : model.graph.node(id).outputs) {
      if (output.valid() && model.graph.value(output).type == ir::ValueType())
        edit.set_type(output, typed.graph.value(output).type);
    }
  }
  return Status();
}

Status run_round(ir::Model& model, Scope& scope, const simplify::ShapeInference& shapes, Diagnostics& ignored) {
  for (const Step& step : kSteps) {
    if (!scope.options.runs(step.option)) continue;
    const size_t nodes = model.graph.node_count();
    QQ_RETURN_IF_ERROR(simplify::for_each_nested(scope, step.run));
    QQ_RETURN_IF_ERROR(step.run(scope));
    QQ_RETURN_IF_ERROR(simplify::clean_up(scope));
    const bool flattened = step.run == simplify::fold_constants && model.graph.node_count() > nodes;
    if (flattened) QQ_RETURN_IF_ERROR(type_new_values(model, ignored));
  }
  return shapes.after_round(model, scope, ignored);
}

Status run_rounds(ir::Model& model, const Options& options, const simplify::ShapeInference& shapes) {
  constexpr int kMaxRounds = 10;
  Diagnostics ignored;  // the pipeline infers types again after this pass, and reports then
  freeze_initializers(model);
  QQ_RETURN_IF_ERROR(simplify::set_input_shapes(model, options));
  QQ_RETURN_IF_ERROR(options.input_shapes.empty() ? shapes.before_rounds(model, ignored)
                                                  : onnx_io::infer_types(model, ignored));
  Scope scope{model.graph, model.opsets, options};
  QQ_RETURN_IF_ERROR(simplify::clean_up(scope));
  std::string last;  // two rounds at least: the second one sees more shapes
  for (int round = 0; round < kMaxRounds; ++round) {
    QQ_RETURN_IF_ERROR(run_round(model, scope, shapes, ignored));
    std::string found = fingerprint(model.graph);
    if (found == last) break;
    last = std::move(found);
  }
  return Status();
}

}  // namespace

Result<Changed> simplify_model(pass::FloatContext& context) {
  const Options options = config::read_simplify_settings(context.settings);
  const ir::Model before = context.model;
  const std::string first = fingerprint(before.graph);
  const bool follows_all = context.settings.quirk(config::Quirk::kFollowShapesThroughAll);
  const Status status =
      run_rounds(context.model, options, follows_all ? simplify::kInferByValues : simplify::kInferAsReference);
  if (!status.ok()) {
    context.model = before;
    context.diagnostics.add("simplify-failed", before.path, cat("the model stays as it is: ", status.message()));
    return Changed::kNo;
  }
  const bool same = fingerprint(context.graph()) == first &&
                    before.graph.initializers().size() == context.graph().initializers().size() &&
                    before.graph.inputs().size() == context.graph().inputs().size() && options.input_shapes.empty();
  if (same) context.model = before;  // types that were found on the way change nothing either
  return same ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::rewrite
