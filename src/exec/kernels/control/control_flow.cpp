// SPDX-License-Identifier: MIT
// If, Loop and Scan: their graphs run in sessions of their own.
#include <algorithm>

#include "exec/evaluation.h"
#include "exec/kernels/shared/tensor_copy.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

ir::Tensor boolean_scalar(bool value) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kBool, {});
  tensor.mutable_data<uint8_t>()[0] = value ? 1 : 0;
  return tensor;
}

Status run_if(Evaluation& e) {
  QQ_TRY(const bool condition, e.boolean(0));
  QQ_TRY(std::vector<ir::Operand> results, e.run_graph(condition ? "then_branch" : "else_branch", {}));
  if (results.size() < e.output_count()) {
    return e.corrupt("the branch makes ", results.size(), " values, the node has ", e.output_count(), " outputs");
  }
  for (size_t i = 0; i < e.output_count(); ++i) e.out(i, std::move(results[i]));
  return Status();
}

/// What all iterations made for output `output` of the body, as entries of a new axis. Without an iteration only the
/// graph can tell type and shape.
Result<ir::Tensor> stacked(const Evaluation& e, const std::vector<ir::Tensor>& rows, int64_t axis, size_t output) {
  if (!rows.empty()) return stack(rows, axis);
  QQ_TRY(const ir::Graph* const body, e.graph("body"));
  const ir::ValueType& type = body->value(body->outputs()[output]).type;
  ir::Shape dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(std::max<int64_t>(dim.size, 0));
  const auto rank = static_cast<int64_t>(dims.size());
  axis = std::clamp<int64_t>(axis < 0 ? axis + rank + 1 : axis, 0, rank);
  dims.insert(dims.begin() + axis, 0);
  return ir::Tensor::zeros(type.is_tensor() ? type.element : ElementType::kFloat, std::move(dims));
}

/// Results of the iterations, by scan output.
class Rows {
 public:
  explicit Rows(size_t outputs) : rows_(outputs) {}

  std::vector<ir::Tensor>& of(size_t output) { return rows_[output]; }
  size_t outputs() const { return rows_.size(); }

  /// Takes the results of an iteration from number `first` on. A loop may go on for ever: kResource when the rows, and
  /// the outputs that are made of them, would take more memory than is allowed.
  Status add(const Evaluation& e, std::vector<ir::Operand>& results, size_t first) {
    constexpr int64_t kRowOverhead = 256;  // bytes of a tensor beside its elements
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!results[first + i].is_tensor()) return e.corrupt("scan output ", i, " is not a tensor");
      bytes_ += 2 * results[first + i].tensor.bytes() + kRowOverhead;
      rows_[i].push_back(std::move(results[first + i].tensor));
    }
    const int64_t allowed = e.allowed_memory();
    if (bytes_ <= allowed) return Status();
    return resource_error("the scan outputs of ", rows_[0].size(), " iterations take ",
                          bytes_text(static_cast<double>(bytes_)), ", allowed are ",
                          bytes_text(static_cast<double>(allowed)));
  }

 private:
  std::vector<std::vector<ir::Tensor>> rows_;
  int64_t bytes_ = 0;
};

struct LoopState {
  std::vector<ir::Operand> inputs;  ///< iteration, condition, carried values
  Rows rows;
};

/// One iteration; the new condition and carried values replace the old ones.
Status iterate(Evaluation& e, LoopState& state) {
  QQ_TRY(std::vector<ir::Operand> results, e.run_graph("body", state.inputs));
  const size_t carried = state.inputs.size() - 2;
  if (!results[0].is_tensor() || results[0].tensor.type() != ElementType::kBool || results[0].tensor.size() != 1) {
    return e.corrupt("the body's first output is not a BOOL scalar");
  }
  for (size_t i = 0; i <= carried; ++i) state.inputs[1 + i] = std::move(results[i]);
  return state.rows.add(e, results, 1 + carried);
}

Status run_loop(Evaluation& e) {
  int64_t trips = INT64_MAX;
  if (e.has(0)) {
    QQ_TRY(trips, e.integer(0));
  }
  bool goes_on = true;
  if (e.has(1)) {
    QQ_TRY(goes_on, e.boolean(1));
  }
  QQ_TRY(const ir::Graph* const body, e.graph("body"));
  const size_t carried = e.input_count() < 2 ? 0 : e.input_count() - 2;
  if (body->inputs().size() != carried + 2 || body->outputs().size() < carried + 1) {
    return e.corrupt("the body has ", body->inputs().size(), " inputs and ", body->outputs().size(),
                     " outputs, needed: ", carried + 2, " inputs and at least ", carried + 1, " outputs");
  }
  LoopState state{{ir::Tensor::scalar(int64_t{0}), boolean_scalar(goes_on)},
                  Rows(body->outputs().size() - carried - 1)};
  for (size_t i = 0; i < carried; ++i) state.inputs.push_back(e.has(2 + i) ? e.in(2 + i) : ir::Operand());
  for (int64_t trip = 0; trip < trips && goes_on; ++trip) {
    if (trip == e.max_trips())
      return resource_error("exceeds the limit after ", trip, " iterations, allowed are no more");
    state.inputs[0] = ir::Tensor::scalar(trip);
    QQ_RETURN_IF_ERROR(iterate(e, state));
    goes_on = state.inputs[1].tensor.data<uint8_t>()[0] != 0;
  }
  for (size_t i = 0; i < carried; ++i) e.out(i, std::move(state.inputs[2 + i]));
  for (size_t i = 0; i < state.rows.outputs(); ++i) {
    QQ_TRY(ir::Tensor output, stacked(e, state.rows.of(i), 0, 1 + carried + i));
    e.out(carried + i, std::move(output));
  }
  return Status();
}

/// Axes and directions of a Scan, checked; one entry per scan input or output.
struct ScanAxes {
  std::vector<int64_t> axes;
  std::vector<bool> reversed;
};

Result<ScanAxes> scan_axes(const Evaluation& e, std::string_view axes, std::string_view directions, size_t count) {
  ScanAxes plan;
  plan.axes = e.node().ints_or(axes, std::vector<int64_t>(count, 0));
  const std::vector<int64_t> flags = e.node().ints_or(directions, std::vector<int64_t>(count, 0));
  if (plan.axes.size() != count || flags.size() != count) {
    return e.corrupt(axes, " and ", directions, " have ", plan.axes.size(), " and ", flags.size(),
                     " entries, needed: ", count);
  }
  for (const int64_t flag : flags) plan.reversed.push_back(flag != 0);
  return plan;
}

/// One scan over `scanned` (axes still to be normalized); `state` is updated, `rows` gets what each output makes.
Status scan(Evaluation& e, std::vector<ir::Operand>& state, const std::vector<ir::Tensor>& scanned, ScanAxes axes,
            Rows& rows) {
  int64_t length = -1;
  for (size_t i = 0; i < scanned.size(); ++i) {
    QQ_TRY(axes.axes[i], ir::normalize_axis(axes.axes[i], scanned[i].rank()));
    const int64_t found = scanned[i].dims()[static_cast<size_t>(axes.axes[i])];
    if (length >= 0 && found != length) return e.corrupt("scan inputs of lengths ", length, " and ", found);
    length = found;
  }
  std::vector<ir::Operand> inputs;
  for (int64_t step = 0; step < length; ++step) {
    inputs = state;
    for (size_t i = 0; i < scanned.size(); ++i) {
      const int64_t at = axes.reversed[i] ? length - 1 - step : step;
      QQ_TRY(const ir::Tensor piece, cut(scanned[i], axes.axes[i], at, at + 1));
      inputs.emplace_back(without_axis(piece, axes.axes[i]));
    }
    QQ_TRY(std::vector<ir::Operand> results, e.run_graph("body", inputs));
    for (size_t i = 0; i < state.size(); ++i) state[i] = std::move(results[i]);
    QQ_RETURN_IF_ERROR(rows.add(e, results, state.size()));
  }
  return Status();
}

/// Inputs of a Scan apart from the sequence lengths of opset 8: states, then what is scanned.
struct ScanInputs {
  std::vector<ir::Operand> state;
  std::vector<ir::Tensor> scanned;
  size_t outputs = 0;
};

Result<ScanInputs> scan_inputs(const Evaluation& e, size_t first) {
  QQ_TRY(const ir::Graph* const body, e.graph("body"));
  const int64_t count = e.node().int_or("num_scan_inputs", 0);
  const size_t given = e.input_count() - std::min(first, e.input_count());
  if (count < 1 || static_cast<size_t>(count) > given || body->inputs().size() != given) {
    return e.corrupt("num_scan_inputs is ", count, " with ", given, " inputs, and the body accepts ",
                     body->inputs().size());
  }
  const size_t states = given - static_cast<size_t>(count);
  if (body->outputs().size() < states) {
    return e.corrupt("the body makes ", body->outputs().size(), " values for ", states, " states");
  }
  ScanInputs inputs;
  for (size_t i = 0; i < given; ++i) {
    QQ_TRY(const ir::Tensor* const tensor, e.tensor(first + i));
    if (i < states)
      inputs.state.emplace_back(*tensor);
    else
      inputs.scanned.push_back(*tensor);
  }
  inputs.outputs = body->outputs().size() - states;
  return inputs;
}

Status run_scan(Evaluation& e) {
  QQ_TRY(ScanInputs inputs, scan_inputs(e, 0));
  QQ_TRY(ScanAxes axes, scan_axes(e, "scan_input_axes", "scan_input_directions", inputs.scanned.size()));
  QQ_TRY(const ScanAxes out_axes, scan_axes(e, "scan_output_axes", "scan_output_directions", inputs.outputs));
  Rows rows(inputs.outputs);
  QQ_RETURN_IF_ERROR(scan(e, inputs.state, inputs.scanned, std::move(axes), rows));
  for (size_t i = 0; i < inputs.state.size(); ++i) e.out(i, inputs.state[i]);
  for (size_t i = 0; i < rows.outputs(); ++i) {
    if (out_axes.reversed[i]) std::reverse(rows.of(i).begin(), rows.of(i).end());
    int64_t axis = out_axes.axes[i];
    if (!rows.of(i).empty()) {
      QQ_TRY(axis, ir::normalize_axis(axis, rows.of(i)[0].rank() + 1));
    }
    QQ_TRY(ir::Tensor output, stacked(e, rows.of(i), axis, inputs.state.size() + i));
    e.out(inputs.state.size() + i, std::move(output));
  }
  return Status();
}

/// Opset 8: everything has a batch axis in front, and each sample is scanned for itself along its first axis.
Status run_batched_scan(Evaluation& e) {
  if (e.has(0)) return e.cannot("sequence_lens of Scan before opset 9");
  QQ_TRY(const ScanInputs inputs, scan_inputs(e, 1));
  QQ_TRY(ScanAxes axes, scan_axes(e, "", "directions", inputs.scanned.size()));
  for (const ir::Tensor& tensor : inputs.scanned) {
    if (tensor.rank() < 2) return e.corrupt("a scan input has rank ", tensor.rank(), ", allowed: 2 or more");
  }
  const int64_t batch = inputs.scanned[0].dims()[0];
  std::vector<std::vector<ir::Tensor>> outputs(inputs.state.size() + inputs.outputs);
  const auto sample = [&](const ir::Tensor& tensor, int64_t b) -> Result<ir::Tensor> {
    if (tensor.rank() == 0 || tensor.dims()[0] != batch) {
      return e.corrupt("an input has shape ", shape_text(tensor.dims()), ", allowed: ", batch, " samples");
    }
    QQ_TRY(const ir::Tensor one, cut(tensor, 0, b, b + 1));
    return without_axis(one, 0);
  };
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<ir::Operand> state;
    std::vector<ir::Tensor> scanned;
    for (const ir::Operand& operand : inputs.state) {
      QQ_TRY(ir::Tensor one, sample(operand.tensor, b));
      state.emplace_back(std::move(one));
    }
    for (const ir::Tensor& tensor : inputs.scanned) {
      QQ_TRY(ir::Tensor one, sample(tensor, b));
      scanned.push_back(std::move(one));
    }
    Rows rows(inputs.outputs);
    QQ_RETURN_IF_ERROR(scan(e, state, scanned, axes, rows));
    for (size_t i = 0; i < state.size(); ++i) outputs[i].push_back(state[i].tensor);
    for (size_t i = 0; i < rows.outputs(); ++i) {
      QQ_TRY(ir::Tensor output, stacked(e, rows.of(i), 0, state.size() + i));
      outputs[state.size() + i].push_back(std::move(output));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    QQ_TRY(ir::Tensor output, stacked(e, outputs[i], 0, i));
    e.out(i, std::move(output));
  }
  return Status();
}

constexpr OpDef kControlFlowOps[] = {
    {"If", "", 1, LayoutRule::kPlain, nullptr, false, run_if},
    {"Loop", "", 1, LayoutRule::kPlain, nullptr, false, run_loop},
    {"Scan", "", 8, LayoutRule::kPlain, nullptr, false, run_batched_scan},
    {"Scan", "", 9, LayoutRule::kPlain, nullptr, false, run_scan},
};

}  // namespace

std::span<const OpDef> control_flow_ops() { return kControlFlowOps; }

}  // namespace quarkq::exec
