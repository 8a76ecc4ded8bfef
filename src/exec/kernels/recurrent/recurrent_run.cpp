// SPDX-License-Identifier: MIT
// Runs a recurrent plan. Rows of the batch are independent, and a row's sums have one order whatever stands beside it:
// how rows and panels are cut into pieces changes no bit.
#include "exec/kernels/recurrent/recurrent.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kProductRows = 48;                 ///< rows of X in one piece of X * W
constexpr int64_t kProductPanels = 16;               ///< panels in one piece of a product
constexpr int64_t kStateRows = 12;                   ///< rows of the batch that go through time together
constexpr int64_t kParallelSums = int64_t{1} << 19;  ///< multiplications that are worth waking threads once
constexpr int64_t kParallelSequence = int64_t{1} << 20;

/// Panels of `columns` columns in gates of `hidden` rows each, every gate padded to `width` columns.
void pack_panels(const RecurrentPlan& plan, const float* weights, int64_t depth, float* packed) {
  for (int64_t panel = 0; panel < plan.gate_row() / kPanelColumns; ++panel, packed += depth * kPanelColumns) {
    for (int64_t lane = 0; lane < kPanelColumns; ++lane) {
      const int64_t column = panel * kPanelColumns + lane, unit = column % plan.width;
      const float* from = weights + (column / plan.width * plan.hidden + unit) * depth;
      for (int64_t k = 0; k < depth; ++k) packed[k * kPanelColumns + lane] = unit < plan.hidden ? from[k] : 0.0f;
    }
  }
}

/// Everything of one run that its loops share.
struct RecurrentRun {
  const RecurrentPlan& plan;
  const Run& run;
  const float* packed;
  float* scratch;
  const int32_t* lengths;  ///< null when every row of the batch has all steps

  int64_t length(int64_t b) const { return lengths == nullptr ? plan.steps : lengths[b]; }
  bool backwards(int64_t d) const { return plan.reverse || d == 1; }
  const float* parameters(int64_t d, int64_t offset) const { return packed + d * plan.packing.size + offset; }
  /// Row of X (and of its product) at one time of one row of the batch.
  int64_t x_row(int64_t t, int64_t b) const { return plan.batch_first ? b * plan.steps + t : t * plan.batch + b; }
  float* products(int64_t d) const {
    return scratch + plan.scratch.products + d * plan.steps * plan.batch * plan.gate_row();
  }
  float* row(int64_t d, int64_t b) const {
    return scratch + plan.scratch.rows + (d * plan.batch + b) * plan.scratch.row_size;
  }
  /// Element of Y where the hidden units of one step begin, and of Y_h, Y_c, initial_h and initial_c.
  int64_t y_offset(int64_t t, int64_t d, int64_t b) const {
    const int64_t place =
        plan.batch_first ? (b * plan.steps + t) * plan.directions + d : (t * plan.directions + d) * plan.batch + b;
    return place * plan.hidden;
  }
  int64_t state_offset(int64_t d, int64_t b) const {
    return (plan.batch_first ? b * plan.directions + d : d * plan.batch + b) * plan.hidden;
  }
};

/// Parts of a row of state, each `width` floats; the gates come last.
enum StatePart : int64_t { kStateH, kStateC, kStateReset, kStateRecurrent, kStateGates };

/// Rows [b, b + rows) of the batch at one step.
struct StepRows {
  float* state = nullptr;       ///< of the first row
  const float* base = nullptr;  ///< X * W + bias of the first row
  int64_t base_stride = 0;
  int64_t rows = 0;
};

void multiply_threaded(const PanelProduct& product) {
  const int64_t sums = product.rows * product.depth * product.panels * kPanelColumns;
  for_pieces(product.panels, kProductPanels, sums >= kParallelSums, [&](int64_t begin, int64_t end) {
    PanelProduct part = product;
    part.b += begin * product.depth * kPanelColumns;
    part.base += begin * kPanelColumns;
    part.y += begin * kPanelColumns;
    part.panels = end - begin;
    QQ_DISPATCH(exec, multiply_panels)(part);
  });
}

void multiply_inputs(const RecurrentRun& r) {
  const RecurrentPlan& plan = r.plan;
  const int64_t rows = plan.steps * plan.batch, panels = plan.gate_row() / kPanelColumns;
  const int64_t row_blocks = (rows + kProductRows - 1) / kProductRows;
  const int64_t panel_blocks = (panels + kProductPanels - 1) / kProductPanels;
  const int64_t tasks = plan.directions * row_blocks * panel_blocks;
  const bool parallel = plan.directions * rows * plan.inputs * plan.gate_row() >= kParallelSums;
  for_pieces(tasks, 1, parallel, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t d = i / (row_blocks * panel_blocks);
      const int64_t row = i / panel_blocks % row_blocks * kProductRows, panel = i % panel_blocks * kProductPanels;
      const int64_t column = panel * kPanelColumns;
      QQ_DISPATCH(exec, multiply_panels)
      ({r.run.in<float>(kX) + row * plan.inputs, r.parameters(d, plan.packing.input_weights) + column * plan.inputs,
        r.parameters(d, plan.packing.bias) + column, r.products(d) + row * plan.gate_row() + column, plan.inputs, 0,
        plan.gate_row(), std::min(kProductRows, rows - row), plan.inputs, std::min(kProductPanels, panels - panel)});
    }
  });
}

/// Gates [first, first + count).
struct GateRange {
  int64_t first = 0, count = 1;
};

/// gates = a * R + base, where `a` is a part of the state.
void multiply_state(const RecurrentRun& r, int64_t d, const StepRows& s, StatePart a, const GateRange& gates) {
  const RecurrentPlan& plan = r.plan;
  const int64_t column = gates.first * plan.width, stride = plan.scratch.row_size;
  multiply_threaded({s.state + a * plan.width, r.parameters(d, plan.packing.recurrent_weights) + column * plan.hidden,
                     s.base + column, s.state + kStateGates * plan.width + column, stride, s.base_stride, stride,
                     s.rows, plan.hidden, gates.count * plan.width / kPanelColumns});
}

void step_rnn(const RecurrentRun& r, int64_t d, const StepRows& s) {
  const int64_t width = r.plan.width;
  multiply_state(r, d, s, kStateH, {0, 1});
  for (int64_t i = 0; i < s.rows; ++i) {
    float* state = s.state + i * r.plan.scratch.row_size;
    QQ_DISPATCH(exec, rnn_row)(r.plan.math[static_cast<size_t>(d)], state + kStateGates * width, state);
  }
}

void step_lstm(const RecurrentRun& r, int64_t d, const StepRows& s) {
  const int64_t width = r.plan.width;
  multiply_state(r, d, s, kStateH, {0, 4});
  const float* peephole = r.plan.has_peephole ? r.parameters(d, r.plan.packing.peephole) : nullptr;
  for (int64_t i = 0; i < s.rows; ++i) {
    float* state = s.state + i * r.plan.scratch.row_size;
    QQ_DISPATCH(exec, lstm_row)
    (r.plan.math[static_cast<size_t>(d)], state + kStateGates * width, peephole, state + kStateC * width, state);
  }
}

void step_gru(const RecurrentRun& r, int64_t d, const StepRows& s) {
  const RecurrentPlan& plan = r.plan;
  const CellMath& math = plan.math[static_cast<size_t>(d)];
  const int64_t width = plan.width, stride = plan.scratch.row_size;
  const auto part = [&](int64_t row, StatePart p) { return s.state + row * stride + p * width; };
  multiply_state(r, d, s, kStateH, {0, 2});
  for (int64_t i = 0; i < s.rows; ++i) {
    QQ_DISPATCH(exec, gru_reset_row)(math, part(i, kStateGates), part(i, kStateH), part(i, kStateReset));
  }
  if (plan.linear_before_reset) {
    multiply_threaded({s.state, r.parameters(d, plan.packing.recurrent_weights) + 2 * width * plan.hidden,
                       r.parameters(d, plan.packing.recurrent_bias), part(0, kStateRecurrent), stride, 0, stride,
                       s.rows, plan.hidden, width / kPanelColumns});
  } else {
    multiply_state(r, d, s, kStateReset, {2, 1});
  }
  for (int64_t i = 0; i < s.rows; ++i) {
    float* gates = part(i, kStateGates);
    if (plan.linear_before_reset) {
      std::copy_n(s.base + i * s.base_stride + 2 * width, width, gates + 2 * width);
      QQ_DISPATCH(exec, gru_join_row)(math, gates, part(i, kStateRecurrent));
    }
    QQ_DISPATCH(exec, gru_update_row)(math, gates, part(i, kStateH));
  }
}

/// One step of rows [b, b + rows) of the batch, all at time `t`.
void step(const RecurrentRun& r, int64_t d, int64_t t, int64_t b, int64_t rows) {
  const RecurrentPlan& plan = r.plan;
  const int64_t base_rows = plan.batch_first ? plan.steps : 1;
  const StepRows s = {r.row(d, b), r.products(d) + r.x_row(t, b) * plan.gate_row(), base_rows * plan.gate_row(), rows};
  switch (plan.cell) {
    case Cell::kRnn: step_rnn(r, d, s); break;
    case Cell::kGru: step_gru(r, d, s); break;
    case Cell::kLstm: step_lstm(r, d, s); break;
  }
  if (!wants_output(r.run, 0)) return;
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(r.row(d, b + i), plan.hidden, r.run.out<float>(0) + r.y_offset(t, d, b + i));
  }
}

void load_state(const RecurrentRun& r, int64_t d, int64_t b, size_t input, StatePart part) {
  float* state = r.row(d, b) + part * r.plan.width;
  std::fill_n(state, r.plan.width, 0.0f);
  // A row without steps has a state of zeros, whatever it starts from: what ONNX Runtime gives.
  if (!has_input(r.run, input) || (r.lengths != nullptr && r.length(b) == 0)) return;
  std::copy_n(r.run.in<float>(input) + r.state_offset(d, b), r.plan.hidden, state);
}

void store_state(const RecurrentRun& r, int64_t d, int64_t b, size_t output, StatePart part) {
  if (!wants_output(r.run, output)) return;
  std::copy_n(r.row(d, b) + part * r.plan.width, r.plan.hidden, r.run.out<float>(output) + r.state_offset(d, b));
}

/// Rows [begin, end) of the batch through all their steps in one direction.
void run_rows(const RecurrentRun& r, int64_t d, int64_t begin, int64_t end) {
  const RecurrentPlan& plan = r.plan;
  const bool backwards = r.backwards(d);
  for (int64_t b = begin; b < end; ++b) {
    load_state(r, d, b, kInitialH, kStateH);
    if (plan.cell == Cell::kLstm) load_state(r, d, b, kInitialC, kStateC);
  }
  for (int64_t i = 0; i < plan.steps && r.lengths == nullptr; ++i) {
    step(r, d, backwards ? plan.steps - 1 - i : i, begin, end - begin);
  }
  for (int64_t b = begin; b < end && r.lengths != nullptr; ++b) {
    const int64_t length = r.length(b);
    for (int64_t i = 0; i < length; ++i) step(r, d, backwards ? length - 1 - i : i, b, 1);
    for (int64_t t = length; t < plan.steps && wants_output(r.run, 0); ++t) {
      std::fill_n(r.run.out<float>(0) + r.y_offset(t, d, b), plan.hidden, 0.0f);
    }
  }
  for (int64_t b = begin; b < end; ++b) {
    store_state(r, d, b, 1, kStateH);
    if (plan.cell == Cell::kLstm) store_state(r, d, b, 2, kStateC);
  }
}

/// The lengths when they differ from the number of steps, else null.
Result<const int32_t*> read_lengths(const RecurrentPlan& plan, const Run& run) {
  if (!has_input(run, kLengths)) return nullptr;
  const auto* lengths = run.in<int32_t>(kLengths);
  bool all = true;
  for (int64_t b = 0; b < plan.batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > plan.steps) {
      return bad_data("sequence_lens holds ", lengths[b], ", allowed: 0 to ", plan.steps);
    }
    all = all && lengths[b] == plan.steps;
  }
  return all && plan.steps > 0 ? nullptr : lengths;
}

}  // namespace

void pack_recurrent(const RecurrentPlan& plan, const RecurrentParameters& from, float* packed) {
  const int64_t g = plan.gates, h = plan.hidden, w = plan.width;
  std::fill_n(packed, plan.directions * plan.packing.size, 0.0f);
  for (int64_t d = 0; d < plan.directions; ++d, packed += plan.packing.size) {
    pack_panels(plan, from.w + d * g * h * plan.inputs, plan.inputs, packed + plan.packing.input_weights);
    pack_panels(plan, from.r + d * g * h * h, h, packed + plan.packing.recurrent_weights);
    for (int64_t i = 0; i < g * h && from.bias != nullptr; ++i) {
      const float own = from.bias[d * 2 * g * h + i], recurrent = from.bias[d * 2 * g * h + g * h + i];
      const bool apart = plan.linear_before_reset && i >= 2 * h;  // multiplied by the reset gate, with its product
      packed[plan.packing.bias + i / h * w + i % h] = apart ? own : own + recurrent;
      if (apart) packed[plan.packing.recurrent_bias + i % h] = recurrent;
    }
    for (int64_t i = 0; i < 3 * h && from.peephole != nullptr; ++i) {
      packed[plan.packing.peephole + i / h * w + i % h] = from.peephole[d * 3 * h + i];
    }
  }
}

Status run_recurrent(const RecurrentPlan& plan, const Run& run) {
  QQ_TRY(const int32_t* const lengths, read_lengths(plan, run));
  auto* scratch = reinterpret_cast<float*>(run.scratch);
  const float* packed = scratch + plan.scratch.packed;
  if (plan.packed.is_defined()) {
    packed = plan.packed.data<float>().data();
  } else {
    const auto given = [&](size_t i) { return has_input(run, i) ? run.in<float>(i) : nullptr; };
    pack_recurrent(plan, {given(kW), given(kR), given(kBias), plan.has_peephole ? given(kPeephole) : nullptr},
                   scratch + plan.scratch.packed);
  }
  const RecurrentRun r = {plan, run, packed, scratch, lengths};
  multiply_inputs(r);
  const int64_t chunks = (plan.batch + kStateRows - 1) / kStateRows;
  const int64_t sums = plan.steps * plan.batch * plan.directions * plan.gate_row() * plan.hidden;
  for_pieces(plan.directions * chunks, 1, sums >= kParallelSequence, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % chunks * kStateRows;
      run_rows(r, i / chunks, first, std::min(plan.batch, first + kStateRows));
    }
  });
  return Status();
}

}  // namespace quarkq::exec
