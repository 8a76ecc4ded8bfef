// SPDX-License-Identifier: MIT
// Vectorized loops of the recurrent operators: a matrix product with a fixed order of summation and the arithmetic of
// the gates. A gate takes `width` floats: its hidden units, padded to whole panels.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

constexpr int64_t kPanelColumns = 16;

/// y[r][n] = base[r][n] + sum over k of a[r][k] * b[k][n], one partial sum per element, k ascending, so a row's result
/// does not depend on adjacent rows. Strides in elements. b is stored in panels: [panels][depth][kPanelColumns].
struct PanelProduct {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* base = nullptr;
  float* y = nullptr;
  int64_t a_stride = 0, base_stride = 0, y_stride = 0;
  int64_t rows = 0, depth = 0, panels = 0;
};

enum class GateFunction : uint8_t {
  kAffine,
  kElu,
  kHardSigmoid,
  kLeakyRelu,
  kRelu,
  kScaledTanh,
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kTanh,
  kThresholdedRelu,
};

struct GateActivation {
  GateFunction function = GateFunction::kTanh;
  float alpha = 0, beta = 0;
};

/// One direction of a cell.
struct CellMath {
  int64_t width = 0;
  GateActivation f, g, h;
  float clip = 0;  ///< gates are clamped to [-clip, clip] before their activation; 0: they are not
  bool input_forget = false;
};

QQ_DECLARE_ISA(void multiply_panels(const PanelProduct& product);
               /// h = f(gates).
               void rnn_row(const CellMath& math, float* gates, float* h);
               /// gates [4][width] in the order i, o, f, c; peephole [3][width] in the order i, o, f, or null.
               void lstm_row(const CellMath& math, float* gates, const float* peephole, float* c, float* h);
               /// Activates the gates z and r and computes r * h, which the candidate's product reads.
               void gru_reset_row(const CellMath& math, float* gates, const float* h, float* reset_h);
               /// The candidate's gate contains X * W + bias, `recurrent` contains h * R + bias: joins them by r.
               void gru_join_row(const CellMath& math, float* gates, const float* recurrent);
               /// Activates the candidate; h = (1 - z) * candidate + z * h.
               void gru_update_row(const CellMath& math, float* gates, float* h);)
}  // namespace quarkq::exec
