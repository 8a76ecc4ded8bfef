// SPDX-License-Identifier: MIT
// ExtendedLSTM of com.amd.quark: a bidirectional LSTM in 16-bit integers, bit for bit (ref:operators#lstm). Stored
// codes are UINT16; all arithmetic is on codes - 32768.
#include <bit>
#include <cmath>

#include "exec/kernels/recurrent/recurrent.h"
#include "numeric/linear_quant.h"

namespace quarkq::exec {
namespace {

constexpr double kOne = 16777216.0;  ///< 1.0 in the fixed-point numbers between the gates
constexpr int32_t kMiddle = 32768;

/// Shift amounts are 8 bits wide and a shift uses six of them, as on x86-64.
int shift_bits(int64_t amount) { return static_cast<int>(amount & 63); }

/// v / 2^s, half away from zero.
int64_t shift_round(int64_t v, int64_t s) {
  const auto amount = static_cast<uint8_t>(s);
  const uint64_t size = v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const uint64_t half = amount == 0 ? 0 : uint64_t{1} << shift_bits(amount - 1);
  const auto shifted = static_cast<int64_t>((size + half) >> shift_bits(amount));
  return v < 0 ? -shifted : shifted;
}
int64_t shift_to_int(int64_t v, int64_t s) { return std::clamp<int64_t>(shift_round(v, s), INT32_MIN, INT32_MAX); }

/// The short forms saturate to 17 bits and then keep 16.
int16_t wrap_short(int64_t v) {
  return static_cast<int16_t>(static_cast<uint16_t>(std::clamp<int64_t>(v, -65536, 65535)));
}

/// Half away from zero; what lies between -1 and 0 counts as positive.
int64_t round_int(double x) {
  const double bounded = std::clamp(x, -4.0e18, 4.0e18);
  const double half = static_cast<int64_t>(bounded) < 0 ? -0.5 : 0.5;
  return static_cast<int64_t>(bounded + half);
}
int64_t round_to_int(double x) { return std::clamp<int64_t>(round_int(x), INT32_MIN, INT32_MAX); }

int64_t ceil_log2(double x) { return static_cast<int64_t>(std::ceil(std::log2(std::fabs(x)))); }

/// x = value / 2^shift with the value in 16 bits.
struct Fixed {
  int16_t value = 0;
  int64_t shift = 0;
};
Fixed fix(double x) {
  if (x == 0.0) return {};
  const int64_t shift = 15 - ceil_log2(x);
  return {wrap_short(round_int(std::ldexp(x, static_cast<int>(shift)))), shift};
}

struct QuantSide {
  float scale = 1;
  int32_t zero_point = 0;                                       ///< of the stored codes
  int32_t middle_zero() const { return zero_point - kMiddle; }  ///< of the codes that are computed with
};

struct ExtendedLstm {
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  QuantSide x, w, r, b, y;
  double qx = 0, qh = 0, qa = 0, qb = 0;
  Fixed fx, fh, fa, fb;
  int64_t input_shift = 0, hidden_shift = 0;  ///< before the scales: room for the sums
  uint16_t output_scale = 0;
  int64_t output_shift = 0;
  size_t codes_x = 0, codes_w = 0, codes_r = 0, codes_b = 0, offsets = 0, h = 0, next_h = 0, c = 0,
         bytes = 0;  ///< in scratch, bytes

  int64_t rows() const { return 4 * hidden; }
};

/// One direction, its codes and its work space.
struct DirectionRun {
  const int16_t *x = nullptr, *w = nullptr, *r = nullptr;
  const int32_t* offsets = nullptr;  ///< qc, one for each gate row
  int16_t *h = nullptr, *next_h = nullptr;
  float* c = nullptr;
};

int64_t dot(const int16_t* a, const int16_t* b, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += int64_t{a[i]} * b[i];
  return sum;
}
int64_t total(const int16_t* a, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i];
  return sum;
}

Status read_side(const Prepare& p, const std::string& name, QuantSide& side) {
  const auto* scale = p.node().get<float>(name + "_scale");
  const auto* zero = p.node().get<int64_t>(name + "_zero_point");
  if (scale == nullptr || zero == nullptr) return p.corrupt(name, "_scale and ", name, "_zero_point are needed");
  if (!(*scale > 0.0f) || !std::isfinite(*scale)) return p.corrupt(name, "_scale is ", *scale, ", must be positive");
  if (*zero < 0 || *zero > 65535) return p.corrupt(name, "_zero_point is ", *zero, ", allowed: 0 to 65535");
  side = {*scale, static_cast<int32_t>(*zero)};
  return Status();
}

Status check_dims_of(const Prepare& p, size_t i, const ir::Shape& dims) {
  QQ_RETURN_IF_ERROR(p.require_input(i, {ElementType::kFloat}));
  if (p.in(i).dims == dims) return Status();
  return p.corrupt("input ", i, " is ", shape_text(p.in(i).dims), ", must be ", shape_text(dims));
}

Status read_shapes(const Prepare& p, ExtendedLstm& lstm) {
  QQ_RETURN_IF_ERROR(require_count(p, "inputs", p.input_count(), 4, 4));
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat}));
  lstm.hidden = p.node().int_or("hidden_size", 0);
  if (lstm.hidden < 1 || lstm.hidden > INT32_MAX) {
    return p.corrupt("hidden_size is ", lstm.hidden, ", allowed: 1 and more");
  }
  if (p.node().int_or("layout", 0) != 0) return p.cannot("layout is not 0");
  if (p.node().int_or("input_forget", 0) != 0) return p.cannot("input_forget is not 0");
  const ir::Shape& x = p.in(0).dims;
  if (x.size() != 3 || x[2] < 1) return p.corrupt("X is ", shape_text(x), ", rank 3 with inputs is needed");
  lstm.steps = x[0];
  lstm.batch = x[1];
  lstm.inputs = x[2];
  QQ_RETURN_IF_ERROR(check_dims_of(p, 1, {2, lstm.rows(), lstm.inputs}));
  QQ_RETURN_IF_ERROR(check_dims_of(p, 2, {2, lstm.rows(), lstm.hidden}));
  return check_dims_of(p, 3, {2, 2 * lstm.rows()});
}

Status derive_constants(const Prepare& p, ExtendedLstm& lstm) {
  const float of_inputs = lstm.x.scale * lstm.w.scale, of_hidden = lstm.y.scale * lstm.r.scale;
  if (!std::isfinite(of_inputs) || !std::isfinite(of_hidden))
    return p.corrupt("products of its scales are ", of_inputs, " and ", of_hidden, ", must be finite");
  lstm.qx = static_cast<double>(of_inputs) * kOne;
  lstm.qh = static_cast<double>(of_hidden) * kOne;
  lstm.qa = lstm.qx * lstm.w.middle_zero();
  lstm.qb = lstm.qh * lstm.r.middle_zero();
  lstm.fx = fix(lstm.qx);
  lstm.fh = fix(lstm.qh);
  lstm.fa = fix(lstm.qa);
  lstm.fb = fix(lstm.qb);
  lstm.input_shift = ceil_log2(static_cast<double>(lstm.inputs));
  lstm.hidden_shift = ceil_log2(static_cast<double>(lstm.hidden));
  const double inverse = 1.0 / static_cast<double>(lstm.y.scale);
  const int64_t shift = 16 - ceil_log2(inverse);
  lstm.output_scale = static_cast<uint16_t>(wrap_short(round_int(std::ldexp(inverse, static_cast<int>(shift)))));
  lstm.output_shift = 24 + shift;
  return Status();
}

void place_extended_scratch(const Prepare& p, ExtendedLstm& lstm) {
  const auto place = [&](size_t& offset, int64_t count, size_t size) {
    offset = lstm.bytes;
    lstm.bytes += (static_cast<size_t>(count) * size + 63) / 64 * 64;
  };
  size_t* const codes[] = {&lstm.codes_x, &lstm.codes_w, &lstm.codes_r, &lstm.codes_b};
  for (size_t i = 0; i < 4; ++i) place(*codes[i], product(p.in(i).dims), sizeof(int16_t));
  place(lstm.offsets, 2 * lstm.rows(), sizeof(int32_t));
  place(lstm.h, lstm.hidden, sizeof(int16_t));
  place(lstm.next_h, lstm.hidden, sizeof(int16_t));
  place(lstm.c, lstm.hidden, sizeof(float));
}

/// Codes of `x` minus 32768: flipping the top bit.
void quantize(const float* x, int64_t n, const QuantSide& side, int16_t* codes) {
  const numeric::LinearParams params = {side.scale, side.zero_point,
                                        numeric::integer_range(ElementType::kUInt16, numeric::RangeKind::kFull)};
  for_elements(n, [&](int64_t begin, int64_t end) {
    auto* stored = reinterpret_cast<uint16_t*>(codes) + begin;
    QQ_DISPATCH(numeric, quantize_to_u16)(x + begin, stored, end - begin, params);
    for (int64_t i = 0; i < end - begin; ++i) stored[i] ^= 0x8000;
  });
}

/// qc: everything of a gate row that depends neither on X nor on h.
void gate_offsets(const ExtendedLstm& l, const int16_t* w, const int16_t* r, const int16_t* b, int32_t* offsets) {
  const double zx = l.x.middle_zero(), zy = l.y.middle_zero();
  for (int64_t i = 0; i < l.rows(); ++i) {
    const auto sum_w = static_cast<double>(total(w + i * l.inputs, l.inputs));
    const auto sum_r = static_cast<double>(total(r + i * l.hidden, l.hidden));
    const double bias = static_cast<double>(l.b.scale) * kOne * (b[i] + b[l.rows() + i] - 2 * l.b.middle_zero());
    const double sum = static_cast<double>(l.inputs) * l.qa * zx + static_cast<double>(l.hidden) * l.qb * zy -
                       l.qx * zx * sum_w - l.qh * zy * sum_r + bias;
    offsets[i] = static_cast<int32_t>(round_to_int(sum));
  }
}

/// Sums of the four gates of one unit, fixed-point.
struct StepSums {
  int64_t x = 0, h = 0;  ///< what the zero points of W and R take off
};

int32_t gate_sum(const ExtendedLstm& l, const DirectionRun& d, const int16_t* x, int64_t row, const StepSums& sums) {
  const int64_t from_x = shift_to_int(dot(x, d.w + row * l.inputs, l.inputs), l.input_shift);
  const int64_t from_h = shift_to_int(dot(d.h, d.r + row * l.hidden, l.hidden), l.hidden_shift);
  const int64_t sum = shift_to_int(l.fx.value * from_x, l.fx.shift - l.input_shift) +
                      shift_to_int(l.fh.value * from_h, l.fh.shift - l.hidden_shift) - sums.x - sums.h + d.offsets[row];
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(sum)));
}

float sigmoid_of(int32_t sum) {
  const float t = std::tanh(static_cast<float>(sum / (2.0 * kOne)));
  return static_cast<float>(0.5 * static_cast<double>(t) + 0.5);
}
float tanh_of(int32_t sum) { return std::tanh(static_cast<float>(sum / kOne)); }

int16_t output_code(const ExtendedLstm& l, float h) {
  const int64_t scaled = round_to_int(static_cast<double>(h) * kOne) * l.output_scale;
  const auto zero = static_cast<uint64_t>(int64_t{l.y.middle_zero()}) << shift_bits(l.output_shift);
  return wrap_short(shift_round(static_cast<int64_t>(static_cast<uint64_t>(scaled) + zero), l.output_shift));
}

void run_step(const ExtendedLstm& l, DirectionRun& d, const int16_t* x, float* y) {
  const StepSums sums = {shift_to_int(l.fa.value * total(x, l.inputs), l.fa.shift),
                         shift_to_int(l.fb.value * total(d.h, l.hidden), l.fb.shift)};
  for (int64_t unit = 0; unit < l.hidden; ++unit) {
    const float input = sigmoid_of(gate_sum(l, d, x, unit, sums));
    const float output = sigmoid_of(gate_sum(l, d, x, l.hidden + unit, sums));
    const float forget = sigmoid_of(gate_sum(l, d, x, 2 * l.hidden + unit, sums));
    const float candidate = tanh_of(gate_sum(l, d, x, 3 * l.hidden + unit, sums));
    const float taken = input * candidate, kept = forget * d.c[unit];
    d.c[unit] = taken + kept;
    d.next_h[unit] = output_code(l, output * std::tanh(d.c[unit]));
    y[unit] = static_cast<float>(d.next_h[unit] - l.y.middle_zero()) * l.y.scale;
  }
  std::swap(d.h, d.next_h);
}

Status run_extended(const ExtendedLstm& l, const Run& run) {
  const auto codes = [&](size_t offset) { return reinterpret_cast<int16_t*>(run.scratch + offset); };
  quantize(run.in<float>(0), l.steps * l.batch * l.inputs, l.x, codes(l.codes_x));
  quantize(run.in<float>(1), 2 * l.rows() * l.inputs, l.w, codes(l.codes_w));
  quantize(run.in<float>(2), 2 * l.rows() * l.hidden, l.r, codes(l.codes_r));
  quantize(run.in<float>(3), 4 * l.rows(), l.b, codes(l.codes_b));
  for (int64_t direction = 0; direction < 2; ++direction) {
    auto* offsets = reinterpret_cast<int32_t*>(run.scratch + l.offsets) + direction * l.rows();
    DirectionRun d = {codes(l.codes_x),
                      codes(l.codes_w) + direction * l.rows() * l.inputs,
                      codes(l.codes_r) + direction * l.rows() * l.hidden,
                      offsets,
                      codes(l.h),
                      codes(l.next_h),
                      reinterpret_cast<float*>(run.scratch + l.c)};
    gate_offsets(l, d.w, d.r, codes(l.codes_b) + direction * 2 * l.rows(), offsets);
    for (int64_t b = 0; b < l.batch; ++b) {
      std::fill_n(d.h, l.hidden, static_cast<int16_t>(l.y.middle_zero()));
      std::fill_n(d.c, l.hidden, 0.0f);
      for (int64_t i = 0; i < l.steps; ++i) {
        const int64_t t = direction == 0 ? i : l.steps - 1 - i;
        run_step(l, d, d.x + (t * l.batch + b) * l.inputs,
                 run.out<float>(0) + ((t * 2 + direction) * l.batch + b) * l.hidden);
      }
    }
  }
  return Status();
}

}  // namespace

Result<Kernel> prepare_extended_lstm(Prepare& p) {
  ExtendedLstm lstm;
  QQ_RETURN_IF_ERROR(read_shapes(p, lstm));
  QQ_RETURN_IF_ERROR(read_side(p, "x", lstm.x));
  QQ_RETURN_IF_ERROR(read_side(p, "w", lstm.w));
  QQ_RETURN_IF_ERROR(read_side(p, "r", lstm.r));
  QQ_RETURN_IF_ERROR(read_side(p, "b", lstm.b));
  QQ_RETURN_IF_ERROR(read_side(p, "y", lstm.y));
  QQ_RETURN_IF_ERROR(derive_constants(p, lstm));
  place_extended_scratch(p, lstm);
  const ir::Shape dims = {lstm.steps, 2, lstm.batch, lstm.hidden};
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, ElementType::kFloat, dims);
  p.scratch(lstm.bytes);
  return Kernel([lstm](const Run& run) { return run_extended(lstm, run); });
}

}  // namespace quarkq::exec
