// SPDX-License-Identifier: MIT
#include <algorithm>

#include "calib/data_reader.h"
#include "ir/constants.h"
#include "ir/dump.h"
#include "ir/edit.h"
#include "onnx_io/infer.h"
#include "pass/output_guard.h"

namespace quarkq::pass {
namespace {

bool has_batch(const ir::ValueType& type) { return type.has_shape && type.dims.size() > 1; }

/// The operand of a node that is a shape, or nullopt.
std::optional<size_t> shape_operand(const ir::Node& node) {
  if (node.is("Reshape") || node.is("Expand")) return 1;
  if (node.is("ConstantOfShape")) return 0;
  return std::nullopt;
}

/// Divides the first entry of constant shapes by the batch. Shapes that the batch does not divide stay.
void adapt_shapes(ir::Graph& graph, int64_t batch) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const std::optional<size_t> operand = shape_operand(graph.node(id));
    if (!operand) continue;
    const ir::Value& shape = graph.value(graph.node(id).input(*operand));
    if (!shape.constant || shape.constant->type() != ElementType::kInt64 || shape.constant->size() < 2) continue;
    std::vector<int64_t> dims(shape.constant->data<int64_t>().begin(), shape.constant->data<int64_t>().end());
    if (dims[0] <= 0 || dims[0] % batch != 0) continue;
    dims[0] /= batch;
    const ir::Shape size = shape.constant->dims();
    edit.set_input(id, *operand, edit.add_initializer(shape.name + "_row", ir::Tensor::from<int64_t>(size, dims)));
  }
  edit.remove_unused_initializers();
}

/// Gives the inputs a batch of 1, and infers all other types again.
Status set_batch_of_one(ir::Model& model, int64_t batch) {
  ir::Graph& graph = model.graph;
  adapt_shapes(graph, batch);
  ir::GraphEdit edit(graph);
  for (const ir::ValueId id : graph.required_inputs()) {
    ir::ValueType& type = edit.mutable_value(id).type;
    if (has_batch(type)) type.dims[0] = {1, {}};
  }
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      ir::ValueType& type = edit.mutable_value(output).type;
      type.has_shape = false;
      type.dims.clear();
    }
  }
  Diagnostics notes;
  return onnx_io::infer_types(model, notes);
}

/// Fails unless every output is [1, ...] where `whole` has [batch, ...].
Status check_outputs(const ir::Graph& whole, const ir::Graph& single, int64_t batch) {
  for (size_t i = 0; i < whole.outputs().size(); ++i) {
    const ir::Value &from = whole.value(whole.outputs()[i]), &to = single.value(single.outputs()[i]);
    ir::Shape expected = from.type.shape();
    const bool is_fixed = from.type.is_static() && !expected.empty() && expected[0] == batch;
    if (is_fixed) expected[0] = 1;
    if (is_fixed && to.type.is_static() && to.type.shape() == expected) continue;
    return unsupported("output ", from.name, " is ", ir::dims_text(from.type.dims), " and would be ",
                       ir::dims_text(to.type.dims), "; required is a first dimension of ", batch);
  }
  return Status();
}

/// Row `row` of the tensors with a batch; other tensors whole.
std::vector<ir::Tensor> row_of(const std::vector<ir::Tensor>& tensors, int64_t row, int64_t batch) {
  std::vector<ir::Tensor> rows;
  rows.reserve(tensors.size());
  for (const ir::Tensor& tensor : tensors)
    rows.push_back(tensor.rank() < 2 || tensor.dims()[0] != batch ? tensor : tensor.rows(row, 1));
  return rows;
}

}  // namespace

std::optional<int64_t> batch_above_one(const ir::Graph& graph) {
  std::optional<int64_t> batch;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::ValueType& type = graph.value(id).type;
    if (!has_batch(type)) continue;
    if (type.dims[0].size < 2 || (batch && *batch != type.dims[0].size)) return std::nullopt;
    batch = type.dims[0].size;
  }
  return batch;
}

Result<ir::Model> with_batch_of_one(const ir::Model& model, const exec::Environment& environment) {
  constexpr int64_t kMostRows = 4;  // Rows that are compared.
  const int64_t batch = batch_above_one(model.graph).value();
  ir::Model single = model;
  QQ_RETURN_IF_ERROR(set_batch_of_one(single, batch));
  QQ_RETURN_IF_ERROR(check_outputs(model.graph, single.graph, batch));
  QQ_TRY(const auto random, calib::make_random_reader(calib::input_specs(model.graph), {}));
  QQ_TRY(const calib::Sample sample, random->read(0));
  QQ_TRY(const OutputGuard whole, OutputGuard::make(model, environment, sample));
  for (int64_t i = 0; i < std::min(batch, kMostRows); ++i) {
    const int64_t row = batch - 1 - i;
    QQ_TRY(OutputGuard one,
           OutputGuard::make(single, environment, {sample.name, row_of(sample.inputs, row, batch), {}}));
    const double distance = one.distance_to(row_of(whole.outputs(), row, batch));
    if (!(distance <= whole.tolerance()))
      return unsupported("row ", row,
                         " of the outputs differs when it is computed without the other rows of the batch");
  }
  return single;
}

}  // namespace quarkq::pass
