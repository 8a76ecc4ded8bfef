// SPDX-License-Identifier: MIT
// RNN, GRU and LSTM: checks and plans. X * W of all time steps is one product up front, h * R one small product per
// step. Our own loops, because oneDNN's recurrent primitives give other bits for other numbers of threads.
#include "exec/kernels/recurrent/recurrent.h"

#include "exec/op_def.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {

namespace {

int64_t gate_count(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

/// Fails unless input `i` is absent, or of a real type and of these dims.
Status check_input(const Prepare& p, size_t i, std::string_view name, const ir::Shape& dims) {
  if (!p.has(i)) return Status();
  QQ_RETURN_IF_ERROR(require_real(p, i));
  if (p.in(i).type != p.in(kX).type) {
    return p.corrupt(name, " is ", quarkq::name(p.in(i).type), ", X is ", quarkq::name(p.in(kX).type));
  }
  if (p.in(i).dims == dims) return Status();
  return p.corrupt(name, " is ", shape_text(p.in(i).dims), ", must be ", shape_text(dims));
}

Status read_direction(const Prepare& p, RecurrentPlan& plan) {
  const std::string direction = p.node().string_or("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return p.corrupt("direction is '", direction, "', allowed: forward, reverse, bidirectional");
  }
  plan.reverse = direction == "reverse";
  plan.directions = direction == "bidirectional" ? 2 : 1;
  const int64_t layout = p.node().int_or("layout", 0);
  if (layout != 0 && layout != 1) return p.corrupt("layout is ", layout, ", allowed: 0, 1");
  plan.batch_first = layout == 1;
  return Status();
}

Status read_recurrent_sizes(const Prepare& p, RecurrentPlan& plan) {
  const ir::Shape &x = p.in(kX).dims, &r = p.in(kR).dims;
  if (x.size() != 3) return p.corrupt("X is ", shape_text(x), ", rank 3 is needed");
  if (r.size() != 3) return p.corrupt("R is ", shape_text(r), ", rank 3 is needed");
  plan.steps = x[plan.batch_first ? 1 : 0];
  plan.batch = x[plan.batch_first ? 0 : 1];
  plan.inputs = x[2];
  plan.hidden = r[2];
  const int64_t stated = p.node().int_or("hidden_size", plan.hidden);
  if (stated != plan.hidden || plan.hidden < 1) {
    return p.corrupt("hidden_size is ", stated, ", R is ", shape_text(r));
  }
  plan.gates = gate_count(plan.cell);
  plan.width = (plan.hidden + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
  return Status();
}

Status check_inputs(const Prepare& p, const RecurrentPlan& plan) {
  const int64_t d = plan.directions, h = plan.hidden, rows = plan.gates * h;
  const ir::Shape state = plan.batch_first ? ir::Shape{plan.batch, d, h} : ir::Shape{d, plan.batch, h};
  QQ_RETURN_IF_ERROR(check_input(p, kW, "W", {d, rows, plan.inputs}));
  QQ_RETURN_IF_ERROR(check_input(p, kR, "R", {d, rows, h}));
  QQ_RETURN_IF_ERROR(check_input(p, kBias, "B", {d, 2 * rows}));
  QQ_RETURN_IF_ERROR(check_input(p, kInitialH, "initial_h", state));
  if (plan.cell == Cell::kLstm) {
    QQ_RETURN_IF_ERROR(check_input(p, kInitialC, "initial_c", state));
    QQ_RETURN_IF_ERROR(check_input(p, kPeephole, "P", {d, 3 * h}));
  }
  if (!p.has(kLengths)) return Status();
  QQ_RETURN_IF_ERROR(p.require_input(kLengths, {ElementType::kInt32}));
  if (p.in(kLengths).dims == ir::Shape{plan.batch}) return Status();
  return p.corrupt("sequence_lens is ", shape_text(p.in(kLengths).dims), ", must be [", plan.batch, "]");
}

void place_parameters(RecurrentPlan& plan) {
  RecurrentPacking& at = plan.packing;
  at.recurrent_weights = at.input_weights + plan.inputs * plan.gate_row();
  at.bias = at.recurrent_weights + plan.hidden * plan.gate_row();
  at.recurrent_bias = at.bias + plan.gate_row();
  at.peephole = at.recurrent_bias + plan.width;
  at.size = at.peephole + (plan.has_peephole ? 3 * plan.width : 0);
}

/// Fails when no machine has the memory.
Status place_scratch(const Prepare& p, RecurrentPlan& plan) {
  RecurrentScratch& at = plan.scratch;
  at.row_size = 4 * plan.width + plan.gate_row();
  for (const ir::Shape& part : {ir::Shape{plan.directions, plan.packing.size},
                                ir::Shape{plan.directions, plan.steps, plan.batch, plan.gate_row()},
                                ir::Shape{plan.directions, plan.batch, at.row_size}}) {
    QQ_RETURN_IF_ERROR(check_dims(p, part));
  }
  at.products = at.packed + (plan.packed.is_defined() ? 0 : plan.directions * plan.packing.size);
  at.rows = at.products + plan.directions * plan.steps * plan.batch * plan.gate_row();
  at.size = at.rows + plan.directions * plan.batch * at.row_size;
  return Status();
}

/// Packs the parameters when all are constants. Returns the inputs that a run does not read then, as a set of bits.
Result<uint32_t> pack_constants(const Prepare& p, RecurrentPlan& plan) {
  std::array<ir::Tensor, 8> floats;
  uint32_t taken = 0;
  for (const size_t i : {kW, kR, kBias, kPeephole}) {
    if (!p.has(i)) continue;
    if (p.constant(i) == nullptr) return uint32_t{0};
    taken |= uint32_t{1} << i;
  }
  const auto data = [&](size_t i) -> const float* {
    if (!p.has(i)) return nullptr;
    floats[i] = float_constant(p, i);
    return floats[i].data<float>().data();
  };
  const ir::Shape dims = {plan.directions, plan.packing.size};
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  plan.packed = ir::Tensor::allocate(ElementType::kFloat, dims);
  pack_recurrent(plan, {data(kW), data(kR), data(kBias), data(kPeephole)}, plan.packed.mutable_data<float>().data());
  return taken;
}

void declare_outputs(Prepare& p, const RecurrentPlan& plan) {
  const ElementType type = p.in(kX).type;
  const int64_t t = plan.steps, d = plan.directions, b = plan.batch, h = plan.hidden;
  p.out(0, type, plan.batch_first ? ir::Shape{b, t, d, h} : ir::Shape{t, d, b, h});
  const ir::Shape state = plan.batch_first ? ir::Shape{b, d, h} : ir::Shape{d, b, h};
  p.out(1, type, state);
  if (plan.cell == Cell::kLstm) p.out(2, type, state);
}

template <Cell kCell>
Result<Kernel> prepare_recurrent(Prepare& p) {
  for (const size_t i : {kX, kW, kR}) QQ_RETURN_IF_ERROR(require_real(p, i));
  QQ_RETURN_IF_ERROR(require_count(p, "inputs", p.input_count(), 3, kCell == Cell::kLstm ? 8 : 6));
  QQ_RETURN_IF_ERROR(require_count(p, "outputs", p.output_count(), 0, kCell == Cell::kLstm ? 3 : 2));
  RecurrentPlan plan;
  plan.cell = kCell;
  QQ_RETURN_IF_ERROR(read_direction(p, plan));
  QQ_RETURN_IF_ERROR(read_recurrent_sizes(p, plan));
  QQ_RETURN_IF_ERROR(check_inputs(p, plan));
  plan.linear_before_reset = kCell == Cell::kGru && p.node().int_or("linear_before_reset", 0) != 0;
  plan.has_peephole = kCell == Cell::kLstm && p.has(kPeephole);
  QQ_RETURN_IF_ERROR(read_cell_math(p, plan));
  place_parameters(plan);
  QQ_TRY(const uint32_t taken, pack_constants(p, plan));
  QQ_RETURN_IF_ERROR(place_scratch(p, plan));
  declare_outputs(p, plan);
  const size_t own_bytes = static_cast<size_t>(plan.scratch.size) * sizeof(float);
  return bridged(
      p, [plan](const Run& run) { return run_recurrent(plan, run); }, own_bytes, taken);
}

using enum LayoutRule;
constexpr OpDef kRecurrentOps[] = {
    {"ExtendedLSTM", ir::kQuarkDomain, 1, kPlain, prepare_extended_lstm},
    {"GRU", "", 1, kPlain, prepare_recurrent<Cell::kGru>},
    {"LSTM", "", 1, kPlain, prepare_recurrent<Cell::kLstm>},
    {"RNN", "", 1, kPlain, prepare_recurrent<Cell::kRnn>},
};

}  // namespace

std::span<const OpDef> recurrent_ops() { return kRecurrentOps; }

// Reads which functions the gates of a recurrent cell use.

namespace {

struct FunctionRow {
  std::string_view name;
  GateFunction function;
  int arguments;      ///< 0: none, 1: alpha, 2: alpha and beta
  float alpha, beta;  ///< when the node states none: what ONNX Runtime takes
};
constexpr FunctionRow kFunctions[] = {
    {"Affine", GateFunction::kAffine, 2, 0.0f, 0.0f},
    {"Elu", GateFunction::kElu, 1, 1.0f, 0.0f},
    {"HardSigmoid", GateFunction::kHardSigmoid, 2, 0.2f, 0.5f},
    {"LeakyRelu", GateFunction::kLeakyRelu, 1, 0.01f, 0.0f},
    {"Relu", GateFunction::kRelu, 0, 0.0f, 0.0f},
    {"ScaledTanh", GateFunction::kScaledTanh, 2, 0.0f, 0.0f},
    {"Sigmoid", GateFunction::kSigmoid, 0, 0.0f, 0.0f},
    {"Softplus", GateFunction::kSoftplus, 0, 0.0f, 0.0f},
    {"Softsign", GateFunction::kSoftsign, 0, 0.0f, 0.0f},
    {"Tanh", GateFunction::kTanh, 0, 0.0f, 0.0f},
    {"ThresholdedRelu", GateFunction::kThresholdedRelu, 1, 0.0f, 0.0f},
};

bool same_word(std::string_view a, std::string_view b) {  // the definition calls the names case insensitive
  return lower_case(a) == lower_case(b);
}

/// The arguments stated, handed out in order to the functions that take some.
struct Arguments {
  std::vector<float> values;
  size_t next = 0;
  float take(float fallback) { return next < values.size() ? values[next++] : fallback; }
};

Arguments read_arguments(const Prepare& p, std::string_view attribute) {
  const auto* values = p.node().get<std::vector<float>>(attribute);
  return {values == nullptr ? std::vector<float>() : *values, 0};
}

std::vector<std::string> default_names(Cell cell) {
  switch (cell) {
    case Cell::kLstm: return {"Sigmoid", "Tanh", "Tanh"};
    case Cell::kGru: return {"Sigmoid", "Tanh"};
    default: return {"Tanh"};
  }
}

}  // namespace

Status read_cell_math(const Prepare& p, RecurrentPlan& plan) {
  const std::vector<std::string> defaults = default_names(plan.cell);
  const size_t functions = defaults.size();
  std::vector<std::string> names;
  for (int64_t d = 0; d < plan.directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (const auto* stated = p.node().get<std::vector<std::string>>("activations"); stated != nullptr) {
    if (stated->size() != names.size()) {
      return p.corrupt("activations has ", stated->size(), " entries, ", names.size(), " are needed");
    }
    names = *stated;
  }
  Arguments alphas = read_arguments(p, "activation_alpha"), betas = read_arguments(p, "activation_beta");
  const float clip = p.node().float_or("clip", 0.0f);
  if (!(clip >= 0.0f)) return p.corrupt("clip is ", clip, ", allowed: 0 and more");
  for (size_t i = 0; i < names.size(); ++i) {
    const auto* row = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const FunctionRow& r) { return same_word(r.name, names[i]); });
    if (row == std::end(kFunctions)) {
      std::vector<std::string_view> allowed;
      for (const FunctionRow& r : kFunctions) allowed.push_back(r.name);
      return p.corrupt("activation '", names[i], "' is unknown, allowed: ", join(allowed, ", "));
    }
    CellMath& math = plan.math[i / functions];
    math.width = plan.width;
    math.clip = clip;
    math.input_forget = p.node().int_or("input_forget", 0) != 0;
    GateActivation& activation = i % functions == 0 ? math.f : i % functions == 1 ? math.g : math.h;
    activation = {row->function, row->alpha, row->beta};
    if (row->arguments >= 1) activation.alpha = alphas.take(row->alpha);
    if (row->arguments >= 2) activation.beta = betas.take(row->beta);
  }
  return Status();
}

}  // namespace quarkq::exec
