// SPDX-License-Identifier: MIT
#include "exec/kernels/recurrent/recurrent_loops.h"

#include "exec/kernels/shared/simd_math.h"
#include "exec/kernels/shared/simd_vector.h"

namespace quarkq::exec::QQ_ISA {
namespace {

// ---- product --------------------------------------------------------------------------------------------------------

constexpr int64_t kVectors = kPanelColumns / simd::kVectorFloats;  ///< of one row of a panel
constexpr int kTallRows = 6;                                       ///< fills the registers of AVX2 with one panel
constexpr int kTallPanels = simd::kVectorFloats == 16 ? 2 : 1;
constexpr int kFlatPanels = simd::kVectorFloats == 16 ? 8 : 4;  ///< one row: enough sums to hide the latency of adding

template <int kRows, int kPanels>
void multiply_block(const PanelProduct& p, int64_t row, int64_t panel) {
  simd::Vector sum[kRows][kPanels * kVectors];
  const int64_t column = panel * kPanelColumns;
  for (int r = 0; r < kRows; ++r) {
    const float* base = p.base + (row + r) * p.base_stride + column;
    for (int v = 0; v < kPanels * kVectors; ++v) sum[r][v] = simd::load(base + v * simd::kVectorFloats);
  }
  const float* a = p.a + row * p.a_stride;
  const float* b = p.b + column * p.depth;
  const int64_t panel_size = p.depth * kPanelColumns;
  for (int64_t k = 0; k < p.depth; ++k) {
    simd::Vector factor[kRows];
    for (int r = 0; r < kRows; ++r) factor[r] = simd::broadcast(a[r * p.a_stride + k]);
    for (int v = 0; v < kPanels * kVectors; ++v) {
      const simd::Vector weight =
          simd::load(b + v / kVectors * panel_size + k * kPanelColumns + v % kVectors * simd::kVectorFloats);
      for (int r = 0; r < kRows; ++r) sum[r][v] = simd::multiply_add(factor[r], weight, sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = p.y + (row + r) * p.y_stride + column;
    for (int v = 0; v < kPanels * kVectors; ++v) simd::store(y + v * simd::kVectorFloats, sum[r][v]);
  }
}

/// `rows` rows, a multiple of kRows, from panel `panel` on. A panel stays in the first-level cache for all its rows.
template <int kRows, int kPanels>
void multiply_rows(const PanelProduct& p, int64_t row, int64_t rows, int64_t panel) {
  for (; panel + kPanels <= p.panels; panel += kPanels) {
    for (int64_t r = 0; r < rows; r += kRows) multiply_block<kRows, kPanels>(p, row + r, panel);
  }
  if constexpr (kPanels > 1) multiply_rows<kRows, kPanels / 2>(p, row, rows, panel);
}

// ---- gates ----------------------------------------------------------------------------------------------------------

template <typename F>
void apply(float* x, int64_t n, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] = f(x[i]);
}

void activate(const GateActivation& activation, float* x, int64_t n) {
  const float a = activation.alpha, b = activation.beta;
  switch (activation.function) {
    case GateFunction::kAffine: return apply(x, n, [=](float v) { return a * v + b; });
    case GateFunction::kElu: return apply(x, n, [=](float v) { return v < 0.0f ? a * simd::expm1(v) : v; });
    case GateFunction::kHardSigmoid:
      return apply(x, n, [=](float v) { return simd::clamp_keeping_nan(a * v + b, 0.0f, 1.0f); });
    case GateFunction::kLeakyRelu: return apply(x, n, [=](float v) { return v < 0.0f ? a * v : v; });
    case GateFunction::kRelu: return apply(x, n, [](float v) { return v < 0.0f ? 0.0f : v; });
    case GateFunction::kScaledTanh: return apply(x, n, [=](float v) { return a * simd::tanh(b * v); });
    case GateFunction::kSigmoid: return apply(x, n, [](float v) { return simd::sigmoid(v); });
    case GateFunction::kSoftplus: return apply(x, n, [](float v) { return simd::softplus(v); });
    case GateFunction::kSoftsign: return apply(x, n, [](float v) { return v / (1.0f + std::fabs(v)); });
    case GateFunction::kTanh: return apply(x, n, [](float v) { return simd::tanh(v); });
    case GateFunction::kThresholdedRelu: return apply(x, n, [=](float v) { return v > a ? v : 0.0f; });
  }
}

void clamp_and_activate(const CellMath& math, const GateActivation& activation, float* x, int64_t n) {
  if (math.clip > 0.0f) {
    const float limit = math.clip;
    apply(x, n, [limit](float v) { return simd::clamp_keeping_nan(v, -limit, limit); });
  }
  activate(activation, x, n);
}

/// x += p * c
void add_peephole(float* x, const float* p, const float* c, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] += p[i] * c[i];
}

}  // namespace

void multiply_panels(const PanelProduct& p) {
  const int64_t tall = p.rows / kTallRows * kTallRows;
  if (tall > 0) multiply_rows<kTallRows, kTallPanels>(p, 0, tall, 0);
  switch (p.rows - tall) {
    case 1: return multiply_rows<1, kFlatPanels>(p, tall, 1, 0);
    case 2: return multiply_rows<2, kFlatPanels / 2>(p, tall, 2, 0);
    case 3: return multiply_rows<3, kTallPanels>(p, tall, 3, 0);
    case 4: return multiply_rows<4, kTallPanels>(p, tall, 4, 0);
    case 5: return multiply_rows<5, kTallPanels>(p, tall, 5, 0);
    default: return;
  }
}

void rnn_row(const CellMath& math, float* gates, float* h) {
  clamp_and_activate(math, math.f, gates, math.width);
#pragma omp simd
  for (int64_t i = 0; i < math.width; ++i) h[i] = gates[i];
}

void lstm_row(const CellMath& math, float* gates, const float* peephole, float* c, float* h) {
  const int64_t n = math.width;
  float *input = gates, *output = gates + n, *forget = gates + 2 * n, *candidate = gates + 3 * n;
  if (peephole == nullptr) {
    clamp_and_activate(math, math.f, gates, 3 * n);
  } else {
    add_peephole(input, peephole, c, n);
    add_peephole(forget, peephole + 2 * n, c, n);
    clamp_and_activate(math, math.f, input, n);
    clamp_and_activate(math, math.f, forget, n);
  }
  if (math.input_forget) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) forget[i] = 1.0f - input[i];
  }
  clamp_and_activate(math, math.g, candidate, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    c[i] = forget[i] * c[i] + input[i] * candidate[i];
    h[i] = c[i];
  }
  if (peephole != nullptr) {
    add_peephole(output, peephole + n, c, n);
    clamp_and_activate(math, math.f, output, n);
  }
  activate(math.h, h, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) h[i] *= output[i];
}

void gru_reset_row(const CellMath& math, float* gates, const float* h, float* reset_h) {
  const int64_t n = math.width;
  clamp_and_activate(math, math.f, gates, 2 * n);
  const float* reset = gates + n;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) reset_h[i] = reset[i] * h[i];
}

void gru_join_row(const CellMath& math, float* gates, const float* recurrent) {
  const int64_t n = math.width;
  const float* reset = gates + n;
  float* candidate = gates + 2 * n;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) candidate[i] += reset[i] * recurrent[i];
}

void gru_update_row(const CellMath& math, float* gates, float* h) {
  const int64_t n = math.width;
  const float* update = gates;
  float* candidate = gates + 2 * n;
  clamp_and_activate(math, math.g, candidate, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) h[i] = (1.0f - update[i]) * candidate[i] + update[i] * h[i];
}

}  // namespace quarkq::exec::QQ_ISA
