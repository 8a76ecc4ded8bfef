// SPDX-License-Identifier: MIT
// The plan of one RNN, GRU or LSTM node. Private to the recurrent family: recurrent.cpp creates it, recurrent_run.cpp
// runs it. Float32; other real types are converted around it.
#pragma once

#include <array>
#include <cstdint>

#include "exec/kernels/recurrent/recurrent_loops.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {

enum class Cell : uint8_t { kRnn, kGru, kLstm };

/// Inputs by number; GRU and RNN end with kInitialH.
enum RecurrentInput : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeephole };

/// Offsets of the parameters of one direction, in floats from its start. Each gate has `width` columns; columns past
/// the hidden units are zero.
struct RecurrentPacking {
  int64_t input_weights = 0;      ///< panels of [gates * width] columns, depth `inputs`
  int64_t recurrent_weights = 0;  ///< Panels of [gates * width] columns, depth `hidden`.
  int64_t bias = 0;               ///< [gates][width]: initial value of X * W.
  int64_t recurrent_bias = 0;     ///< [width], GRU with linear_before_reset: initial value of the candidate's h * R.
  int64_t peephole = 0;           ///< [3][width]
  int64_t size = 0;
};

/// Offsets in the scratch memory of a run, in floats.
struct RecurrentScratch {
  int64_t packed = 0;    ///< The parameters of all directions, if they are not constant.
  int64_t products = 0;  ///< X * W + bias: [directions][rows of X][gates * width]
  int64_t rows = 0;      ///< state: [directions][batch][row_size]: h, c, reset h, recurrent product, gates
  int64_t row_size = 0;
  int64_t size = 0;
};

struct RecurrentPlan {
  Cell cell = Cell::kRnn;
  int64_t gates = 1, directions = 1;
  bool reverse = false;      ///< The only direction runs backwards; of two directions the second does.
  bool batch_first = false;  ///< layout 1
  bool linear_before_reset = false;
  bool has_peephole = false;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, width = 0;
  std::array<CellMath, 2> math;
  RecurrentPacking packing;
  RecurrentScratch scratch;
  ir::Tensor packed;  ///< Defined if every parameter is constant.

  int64_t gate_row() const { return gates * width; }
};

/// W, R and the given parts of B and P, as floats in ONNX order.
struct RecurrentParameters {
  const float *w = nullptr, *r = nullptr, *bias = nullptr, *peephole = nullptr;
};

/// Writes `plan.directions * plan.packing.size` floats.
void pack_recurrent(const RecurrentPlan& plan, const RecurrentParameters& parameters, float* packed);

Status run_recurrent(const RecurrentPlan& plan, const Run& run);

/// Reads activations, activation_alpha, activation_beta, clip and input_forget into plan.math.
Status read_cell_math(const Prepare& p, RecurrentPlan& plan);

// recurrent_extended.cpp
Result<Kernel> prepare_extended_lstm(Prepare& p);

}  // namespace quarkq::exec
