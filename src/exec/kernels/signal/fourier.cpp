// SPDX-License-Identifier: MIT
#include "exec/kernels/signal/fourier.h"

#include <memory>
#include <numbers>
#include <utility>

#include "base/index.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

using Value = Fourier::Value;

/// Without the checks for infinities that operator* has.
Value times(const Value& a, const Value& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Value turn(double part) {  // exp(-2 pi i part)
  const double angle = -2.0 * std::numbers::pi * part;
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

Fourier::Fourier(int64_t length) : length_(length) {
  const auto n = static_cast<size_t>(length);
  const bool plain = (n & (n - 1)) == 0;
  while (power_ < (plain ? n : 2 * n - 1)) power_ *= 2;
  roots_.resize(power_ / 2);
  for (size_t k = 0; k < roots_.size(); ++k) roots_[k] = turn(static_cast<double>(k) / static_cast<double>(power_));
  if (plain) return;
  chirp_.resize(n);
  filter_.resize(power_);
  for (size_t k = 0; k < n; ++k) {
    // k^2 modulo 2 n: the angle stays small, so that no precision is lost.
    chirp_[k] = turn(static_cast<double>(k * k % (2 * n)) / static_cast<double>(2 * n));
    const Value mirrored = std::conj(chirp_[k]) / static_cast<double>(power_);
    filter_[k] = mirrored;
    if (k != 0) filter_[power_ - k] = mirrored;
  }
  halves(filter_.data());
}

/// Transform of power_ values: bit reversal, then butterflies.
void Fourier::halves(Value* x) const {
  for (size_t i = 1, j = 0; i < power_; ++i) {
    size_t bit = power_ / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < power_; half *= 2) {
    const size_t step = power_ / (2 * half);
    for (size_t begin = 0; begin < power_; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Value odd = times(x[begin + k + half], roots_[k * step]), even = x[begin + k];
        x[begin + k] = even + odd;
        x[begin + k + half] = even - odd;
      }
    }
  }
}

void Fourier::forward(Value* x, Value* work) const {
  if (chirp_.empty()) return halves(x);
  const size_t n = chirp_.size();
  for (size_t k = 0; k < power_; ++k) work[k] = k < n ? times(x[k], chirp_[k]) : Value();
  halves(work);
  for (size_t k = 0; k < power_; ++k) work[k] = std::conj(times(work[k], filter_[k]));
  halves(work);  // of the conjugate: the inverse, whose division is in filter_
  for (size_t k = 0; k < n; ++k) x[k] = times(std::conj(work[k]), chirp_[k]);
}

void Fourier::transform(Value* x, Value* work, bool inverse) const {
  if (!inverse) return forward(x, work);
  for (int64_t k = 0; k < length_; ++k) x[k] = std::conj(x[k]);
  forward(x, work);
  for (int64_t k = 0; k < length_; ++k) x[k] = std::conj(x[k]) / static_cast<double>(length_);
}

// Signal processing: DFT, STFT, MelWeightMatrix. Transforms run in double whatever the type.

namespace {

using Value = Fourier::Value;
/// The only element of integer input `i`. Nothing when only a run can tell it.
Result<std::optional<int64_t>> known_scalar(const Prepare& p, size_t i) {
  QQ_RETURN_IF_ERROR(p.require_input(i, {ElementType::kInt64, ElementType::kInt32}));
  if (product(p.in(i).dims) != 1) return p.corrupt("input ", i, " is ", shape_text(p.in(i).dims), ", must be a scalar");
  QQ_TRY(const auto values, p.known_ints(i));
  return values ? std::optional<int64_t>(values->front()) : std::nullopt;
}

/// Many transforms of rows that lie apart: row r begins at from(r) and has `available` values `step` apart.
struct TransformRows {
  int64_t rows = 0, available = 0, step = 1;  ///< step: values, not elements
  int64_t parts = 1;                          ///< of an input value: 1 real, 2 complex
  int64_t bins = 0, out_step = 1;             ///< values that are written, and how far apart
  bool inverse = false;
};

/// What is transformed; `window` (may be null) scales the input.
template <typename T>
struct TransformData {
  const T* x = nullptr;
  T* y = nullptr;
  const T* window = nullptr;
};

/// `from` and `to` give the first input and output value of a row.
template <typename T, typename From, typename To>
void transform_rows(const Fourier& fourier, const TransformRows& t, const TransformData<T>& data, const From& from,
                    const To& to) {
  const T *x = data.x, *window = data.window;
  T* const y = data.y;
  for_rows(t.rows, 64 * fourier.length(), [&](int64_t begin, int64_t end) {
    std::vector<Value> row(as_index(fourier.length())), work(fourier.work());
    for (int64_t r = begin; r < end; ++r) {
      const int64_t first = from(r), target = to(r);
      for (int64_t i = 0; i < fourier.length(); ++i) {
        row[as_index(i)] = Value();
        if (i >= t.available) continue;
        const T* value = x + (first + i * t.step) * t.parts;
        const double scale = window == nullptr ? 1.0 : static_cast<double>(window[i]);
        row[as_index(i)] = {scale * static_cast<double>(value[0]),
                            t.parts == 2 ? scale * static_cast<double>(value[1]) : 0.0};
      }
      fourier.transform(row.data(), work.data(), t.inverse);
      for (int64_t i = 0; i < t.bins; ++i) {
        T* value = y + (target + i * t.out_step) * 2;
        value[0] = static_cast<T>(static_cast<Compute<T>>(row[as_index(i)].real()));
        value[1] = static_cast<T>(static_cast<Compute<T>>(row[as_index(i)].imag()));
      }
    }
  });
}

Status check_signal(const Prepare& p, int64_t lowest_rank) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const ir::Shape& dims = p.in(0).dims;
  if (p.in(0).rank() < lowest_rank || dims.back() < 1 || dims.back() > 2) {
    return p.corrupt("input 0 is ", shape_text(dims), ", must have rank ", lowest_rank,
                     " or more and end in 1 (real) or 2 (complex)");
  }
  return Status();
}

Status check_length(const Prepare& p, int64_t length) {
  if (length >= 1 && length <= kLongestTransform) return Status();
  return p.corrupt("transforms ", length, " values, allowed: 1 to ", kLongestTransform);
}

// ---- DFT ------------------------------------------------------------------------------------------------------------

/// The axis, which older opsets have as an attribute. Nothing when only a run can tell it.
Result<std::optional<int64_t>> dft_axis(const Prepare& p) {
  const int64_t rank = p.in(0).rank();
  std::optional<int64_t> named = p.opset() < 20 ? p.node().int_or("axis", 1) : -2;
  if (p.opset() >= 20 && p.has(2)) {
    QQ_TRY(named, known_scalar(p, 2));
  }
  if (!named) return named;
  QQ_TRY(const int64_t axis, ir::normalize_axis(*named, rank).context(p.label()));
  if (axis == rank - 1) return p.corrupt("axis ", *named, " is the one of real and imaginary parts");
  return std::optional<int64_t>(axis);
}

Result<Kernel> prepare_dft(Prepare& p) {
  QQ_RETURN_IF_ERROR(check_signal(p, 2));
  QQ_TRY(const std::optional<int64_t> axis, dft_axis(p));
  if (!axis) return Prepare::defer();
  const Spec& x = p.in(0);
  std::optional<int64_t> length = x.dims[as_index(*axis)];
  if (p.has(1)) {
    QQ_TRY(length, known_scalar(p, 1));
    if (!length) return Prepare::defer();
  }
  QQ_RETURN_IF_ERROR(check_length(p, *length));
  const bool inverse = p.node().int_or("inverse", 0) != 0, half = p.node().int_or("onesided", 0) != 0;
  if (inverse && half) return p.corrupt("inverse and onesided are both 1");
  ir::Shape dims = x.dims;
  dims.back() = 2;
  dims[as_index(*axis)] = half ? *length / 2 + 1 : *length;
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  const int64_t inner = product(x.dims, *axis + 1, x.rank() - 1);
  const TransformRows t{product(x.dims, 0, *axis) * inner,
                        x.dims[as_index(*axis)],
                        inner,
                        x.dims.back(),
                        dims[as_index(*axis)],
                        inner,
                        inverse};
  p.out(0, x.type, std::move(dims));
  Kernel kernel;
  visit_real(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [t, inner, fourier = std::make_shared<const Fourier>(*length)](const Run& run) {
      transform_rows(
          *fourier, t, TransformData<T>{run.in<T>(0), run.out<T>(0), nullptr},
          [&](int64_t r) { return r / inner * t.available * inner + r % inner; },
          [&](int64_t r) { return r / inner * t.bins * inner + r % inner; });
      return Status();
    };
  });
  return kernel;
}

// ---- STFT -----------------------------------------------------------------------------------------------------------

/// Frame length from input 3 or from the window. Nothing when only a run can tell it.
Result<std::optional<int64_t>> frame_length(const Prepare& p) {
  std::optional<int64_t> length = p.in(0).dims[1];
  if (p.has(3)) {
    QQ_TRY(length, known_scalar(p, 3));
    if (!length) return length;
  } else if (p.has(2)) {
    length = product(p.in(2).dims);
  }
  if (!p.has(2)) return length;
  QQ_RETURN_IF_ERROR(p.require_input(2, {p.in(0).type}));
  if (p.in(2).dims == ir::Shape{*length}) return length;
  return p.corrupt("window is ", shape_text(p.in(2).dims), ", must be [", *length, "]");
}

Result<Kernel> prepare_stft(Prepare& p) {
  QQ_RETURN_IF_ERROR(check_signal(p, 3));
  const Spec& x = p.in(0);
  if (x.rank() != 3) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 3");
  QQ_TRY(const std::optional<int64_t> step, known_scalar(p, 1));
  QQ_TRY(const std::optional<int64_t> length, frame_length(p));
  if (!step || !length) return Prepare::defer();
  QQ_RETURN_IF_ERROR(check_length(p, *length));
  const int64_t samples = x.dims[1];
  if (*step < 1) return p.corrupt("frame_step is ", *step, ", allowed: 1 and more");
  if (*length > samples) return p.corrupt("a frame of ", *length, " does not fit a signal of ", samples);
  const bool half = p.node().int_or("onesided", 1) != 0;
  const int64_t frames = 1 + (samples - *length) / *step, bins = half ? *length / 2 + 1 : *length;
  const ir::Shape dims = {x.dims[0], frames, bins, 2};
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, x.type, dims);
  const TransformRows t{x.dims[0] * frames, *length, 1, x.dims[2], bins, 1, false};
  Kernel kernel;
  visit_real(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [t, frames, samples, hop = *step, fourier = std::make_shared<const Fourier>(*length)](const Run& run) {
      const T* window = has_input(run, 2) ? run.in<T>(2) : nullptr;
      transform_rows(
          *fourier, t, TransformData<T>{run.in<T>(0), run.out<T>(0), window},
          [&](int64_t r) { return r / frames * samples + r % frames * hop; }, [&](int64_t r) { return r * t.bins; });
      return Status();
    };
  });
  return kernel;
}

// ---- MelWeightMatrix ------------------------------------------------------------------------------------------------

struct MelBank {
  int64_t bins = 0, dft_length = 0, rate = 0;
  double lowest = 0, highest = 0;  ///< Hz
  int64_t frequencies() const { return dft_length / 2 + 1; }
};

Result<MelBank> read_bank(const Prepare& p) {
  MelBank bank;
  int64_t* const integers[] = {&bank.bins, &bank.dft_length, &bank.rate};
  for (size_t i = 0; i < 3; ++i) {
    QQ_TRY(const auto value, known_scalar(p, i));
    *integers[i] = *value;
    if (*value < 1 || *value > kLongestTransform) {
      return p.corrupt("input ", i, " is ", *value, ", allowed: 1 to ", kLongestTransform);
    }
  }
  double* const edges[] = {&bank.lowest, &bank.highest};
  for (size_t i = 0; i < 2; ++i) {
    QQ_RETURN_IF_ERROR(require_real(p, i + 3));
    QQ_TRY(const auto values, ir::to_double(*p.constant(i + 3)).context(p.label()));
    if (values.size() != 1) return p.corrupt("input ", i + 3, " has ", values.size(), " elements, must have 1");
    *edges[i] = values.front();
  }
  if (bank.lowest >= 0 && bank.highest >= bank.lowest && bank.highest <= static_cast<double>(bank.rate)) return bank;
  return p.corrupt("frequencies ", bank.lowest, " to ", bank.highest, " Hz at a sample rate of ", bank.rate);
}

/// Spectrum lines where the filters begin, peak and end: equally spaced on the mel scale.
std::vector<int64_t> mel_lines(const MelBank& bank) {
  const auto to_mel = [](double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); };
  const double low = to_mel(bank.lowest), step = (to_mel(bank.highest) - low) / static_cast<double>(bank.bins + 2);
  std::vector<int64_t> lines;
  for (int64_t i = 0; i < bank.bins + 2; ++i) {
    const double hertz = 700.0 * (std::pow(10.0, (low + static_cast<double>(i) * step) / 2595.0) - 1.0);
    lines.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(bank.dft_length + 1) * hertz / static_cast<double>(bank.rate))));
  }
  return lines;
}

/// Triangles [frequencies, bins].
template <typename T>
void fill_bank(const MelBank& bank, const std::vector<int64_t>& lines, T* y) {
  using C = Compute<T>;
  std::fill_n(y, bank.frequencies() * bank.bins, static_cast<T>(C(0)));
  for (int64_t bin = 0; bin < bank.bins; ++bin) {
    const int64_t begin = lines[as_index(bin)], peak = lines[as_index(bin + 1)], end = lines[as_index(bin + 2)];
    const auto share = [](int64_t part, int64_t whole) {
      return static_cast<T>(static_cast<C>(static_cast<double>(part) / static_cast<double>(whole)));
    };
    for (int64_t i = begin; i < peak; ++i) y[i * bank.bins + bin] = share(i - begin, peak - begin);
    y[peak * bank.bins + bin] = static_cast<T>(C(1));
    for (int64_t i = peak; i < end; ++i) y[i * bank.bins + bin] = share(end - i, end - peak);
  }
}

Result<Kernel> prepare_mel_weight_matrix(Prepare& p) {
  for (size_t i = 0; i < 5; ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i));
    if (p.constant(i) == nullptr) return Prepare::defer();
  }
  QQ_TRY(const MelBank bank, read_bank(p));
  const int64_t wire = p.node().int_or("output_datatype", 1);
  const auto type = wire < 0 || wire > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(wire));
  if (!type) return p.corrupt("output_datatype is ", wire, ", which is not an element type");
  const ir::Shape dims = {bank.frequencies(), bank.bins};
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  std::vector<int64_t> lines = mel_lines(bank);
  if (lines.front() < 0 || lines.back() >= bank.frequencies()) {
    return p.corrupt("filters reach to line ", lines.back(), " of a spectrum of ", bank.frequencies());
  }
  Kernel kernel;
  visit_number(*type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [bank, lines](const Run& run) {
      fill_bank(bank, lines, run.out<T>(0));
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("makes ", name(*type), ", allowed: numbers");
  p.out(0, *type, dims);
  return kernel;
}

}  // namespace

std::span<const OpDef> signal_ops() {
  static constexpr OpDef kOps[] = {
      {"DFT", "", 17, LayoutRule::kPlain, prepare_dft},
      {"MelWeightMatrix", "", 17, LayoutRule::kPlain, prepare_mel_weight_matrix},
      {"STFT", "", 17, LayoutRule::kPlain, prepare_stft},
  };
  return kOps;
}

}  // namespace quarkq::exec
