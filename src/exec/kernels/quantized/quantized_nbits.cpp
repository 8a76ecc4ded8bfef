// SPDX-License-Identifier: MIT
// com.microsoft MatMulNBits (ref:writing#matmulnbits): a product with weights of 2, 4 or 8 bits in blocks along K. The
// weights become float32 once when they are constant; the product is the one of floats.
#include "exec/convolution.h"
#include "exec/kernels/elementwise/cast_elements.h"
#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {
namespace {

/// Inputs by number.
constexpr size_t kSource = 0, kCodes = 1, kScales = 2, kZeroPoints = 3, kGroups = 4, kColumnBias = 5;

struct NBits {
  int64_t rows = 0, depth = 0, columns = 0;  ///< [rows, depth] * [depth, columns]
  int64_t bits = 4, block = 32, blocks = 1;  ///< blocks of one column
  ElementType scale_type = ElementType::kFloat;
  ElementType zero_type = ElementType::kUndefined;  ///< kUndefined: absent; kUInt8: packed like the weights

  int64_t block_bytes() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks * bits + 7) / 8; }  ///< of one column
};

/// Element `i` of codes of 2, 4 or 8 bits.
int32_t code_at(const uint8_t* codes, int64_t i, int64_t bits) {
  if (bits == 8) return codes[i];
  if (bits == 4) return (codes[i / 2] >> (i % 2 * 4)) & 15;
  return (codes[i / 4] >> (i % 4 * 2)) & 3;
}

std::vector<float> read_reals(const std::byte* data, ElementType type, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  cast_range(*make_element_cast(type, ElementType::kFloat), data, reinterpret_cast<std::byte*>(values.data()), 0,
             count);
  return values;
}

/// Zero points of all blocks, [columns, blocks]; in the middle of the codes when there are none.
std::vector<float> read_zero_points(const NBits& n, const std::byte* data) {
  if (data != nullptr && n.zero_type != ElementType::kUInt8) return read_reals(data, n.zero_type, n.columns * n.blocks);
  std::vector<float> values(static_cast<size_t>(n.columns * n.blocks), static_cast<float>(1 << (n.bits - 1)));
  for (int64_t c = 0; c < n.columns && data != nullptr; ++c) {
    const auto* packed = reinterpret_cast<const uint8_t*>(data) + c * n.zero_bytes();
    for (int64_t b = 0; b < n.blocks; ++b) {
      values[static_cast<size_t>(c * n.blocks + b)] = static_cast<float>(code_at(packed, b, n.bits));
    }
  }
  return values;
}

struct StoredWeights {
  const std::byte *codes, *scales, *zero_points;  ///< the last may be null
};

/// weights[column * depth + k] = (code - zero point) * scale.
void dequantize(const NBits& n, const StoredWeights& stored, float* weights) {
  const std::vector<float> scales = read_reals(stored.scales, n.scale_type, n.columns * n.blocks);
  const std::vector<float> zeros = read_zero_points(n, stored.zero_points);
  const auto* codes = reinterpret_cast<const uint8_t*>(stored.codes);
  for_rows(n.columns * n.blocks, n.block, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* from = codes + i * n.block_bytes();
      const int64_t first = i % n.blocks * n.block, count = std::min(n.block, n.depth - first);
      const float scale = scales[static_cast<size_t>(i)], zero = zeros[static_cast<size_t>(i)];
      float* to = weights + i / n.blocks * n.depth + first;
      for (int64_t k = 0; k < count; ++k) to[k] = (static_cast<float>(code_at(from, k, n.bits)) - zero) * scale;
    }
  });
}

Status read_nbits_sizes(const Prepare& p, NBits& n) {
  const Spec& a = p.in(kSource);
  n.depth = p.node().int_or("K", 0);
  n.columns = p.node().int_or("N", 0);
  n.bits = p.node().int_or("bits", 4);
  n.block = p.node().int_or("block_size", 0);
  if (a.rank() == 0 || a.dims.back() != n.depth) {
    return p.corrupt("input 0 is ", shape_text(a.dims), ", its last dimension must be K = ", n.depth);
  }
  if (n.bits != 2 && n.bits != 4 && n.bits != 8) return p.cannot("bits is ", n.bits, ", allowed: 2, 4, 8");
  if (n.block < 16 || n.block > (1 << 20) || (n.block & (n.block - 1)) != 0) {
    return p.corrupt("block_size is ", n.block, ", allowed: powers of two from 16 to ", 1 << 20);
  }
  if (n.depth < 1 || n.columns < 1) return p.corrupt("K is ", n.depth, ", N is ", n.columns, ", must be at least 1");
  n.blocks = (n.depth - 1) / n.block + 1;
  n.rows = product(a.dims, 0, a.rank() - 1);
  return Status();
}

/// Fails unless input `i` has `count` elements.
Status require_elements(const Prepare& p, size_t i, std::string_view what, int64_t count) {
  if (product(p.in(i).dims) == count) return Status();
  return p.corrupt(what, " (input ", i, ") is ", shape_text(p.in(i).dims), ", ", count, " elements are needed");
}

Status read_weights(const Prepare& p, NBits& n) {
  QQ_RETURN_IF_ERROR(p.require_input(kCodes, {ElementType::kUInt8}));
  QQ_RETURN_IF_ERROR(check_dims(p, {n.columns, n.blocks, n.block}));
  QQ_RETURN_IF_ERROR(require_elements(p, kCodes, "weights", n.columns * n.blocks * n.block_bytes()));
  QQ_RETURN_IF_ERROR(require_real(p, kScales));
  QQ_RETURN_IF_ERROR(require_elements(p, kScales, "scales", n.columns * n.blocks));
  n.scale_type = p.in(kScales).type;
  if (p.has(kGroups)) return p.cannot("input ", kGroups, " (g_idx) is not supported");
  if (!p.has(kZeroPoints)) return Status();
  n.zero_type = p.in(kZeroPoints).type;
  if (n.zero_type != ElementType::kUInt8) QQ_RETURN_IF_ERROR(require_real(p, kZeroPoints));
  const int64_t count = n.zero_type == ElementType::kUInt8 ? n.columns * n.zero_bytes() : n.columns * n.blocks;
  return require_elements(p, kZeroPoints, "zero points", count);
}

Status read_bias(const Prepare& p, const NBits& n) {
  if (!p.has(kColumnBias)) return Status();
  QQ_RETURN_IF_ERROR(require_real(p, kColumnBias));
  return require_elements(p, kColumnBias, "bias", n.columns);
}

StoredWeights constant_weights(const Prepare& p) {
  const auto raw = [&](size_t i) { return p.constant(i) == nullptr ? nullptr : p.constant(i)->raw(); };
  if (p.has(kZeroPoints) && p.constant(kZeroPoints) == nullptr) return {};
  return {raw(kCodes), raw(kScales), raw(kZeroPoints)};
}

/// The product inside bridged(), where all reals are float32. Weights that only come with a call are dequantized into
/// scratch memory after oneDNN's own.
Kernel nbits_kernel(const NBits& n, std::shared_ptr<Convolution> convolution, size_t own_bytes, bool known) {
  NBits wide = n;
  wide.scale_type = ElementType::kFloat;
  if (n.zero_type != ElementType::kUInt8) wide.zero_type = ElementType::kFloat;
  return [wide, convolution = std::move(convolution), own_bytes, known](const Run& run) {
    auto* weights = known ? nullptr : reinterpret_cast<float*>(run.scratch + own_bytes);
    const std::byte* zeros = has_input(run, kZeroPoints) ? run.inputs[kZeroPoints] : nullptr;
    if (!known) dequantize(wide, {run.inputs[kCodes], run.inputs[kScales], zeros}, weights);
    const float* bias = has_input(run, kColumnBias) ? run.in<float>(kColumnBias) : nullptr;
    convolution->run({run.in<float>(kSource), weights, bias, {}, run.out<float>(0), run.scratch});
    return Status();
  };
}

}  // namespace

Result<Kernel> prepare_matmul_nbits(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, kSource));
  NBits n;
  QQ_RETURN_IF_ERROR(read_nbits_sizes(p, n));
  QQ_RETURN_IF_ERROR(read_weights(p, n));
  QQ_RETURN_IF_ERROR(read_bias(p, n));
  ir::Shape dims = p.in(kSource).dims;
  dims.back() = n.columns;
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, p.in(kSource).type, dims);
  if (n.rows == 0) return no_kernel();
  const StoredWeights constant = constant_weights(p);
  const bool known = constant.codes != nullptr && constant.scales != nullptr;
  std::vector<float> weights(known ? static_cast<size_t>(n.columns * n.depth) : 0);
  if (known) dequantize(n, constant, weights.data());
  ConvProblem problem = product_problem(n.rows, n.depth, n.columns, /*stride_k=*/1, /*stride_n=*/n.depth);
  problem.has_bias = p.has(kColumnBias);
  QQ_TRY(std::shared_ptr<Convolution> convolution,
         Convolution::make(problem, known ? weights.data() : nullptr).context(p.label()));
  const size_t own = (convolution->scratch_bytes() + 63) / 64 * 64;
  const size_t weight_bytes = known ? 0 : static_cast<size_t>(n.columns * n.depth) * sizeof(float);
  return bridged(p, nbits_kernel(n, convolution, own, known), own + weight_bytes);
}

}  // namespace quarkq::exec
