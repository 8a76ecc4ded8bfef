// SPDX-License-Identifier: MIT
// The loops with one scale and zero point per element against the reference, bit for bit, on every instruction set this
// machine has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "numeric/linear_quant.h"

namespace quarkq::numeric {
namespace {

template <typename Q>
using Quantize = void (*)(const float* x, Q* y, int64_t n, const ElementParams<Q>& params);
template <typename Q>
using Dequantize = void (*)(const Q* x, float* y, int64_t n, const ElementParams<Q>& params);

template <typename Q>
void check(IntegerRange range, Quantize<Q> quantize_each, Dequantize<Q> dequantize_each) {
  std::mt19937 generator(11);
  constexpr size_t kCount = 20003;
  std::vector<float> x = {NAN, INFINITY, -INFINITY, -0.0f, 1e30f, -1e30f, 1e-45f}, scale(kCount), back(kCount);
  std::vector<Q> zero(kCount), q(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    scale[i] = 0.01f + static_cast<float>(generator() % 1000) / 100.0f;
    zero[i] = static_cast<Q>(generator());
    if (i < x.size()) continue;
    const auto steps = static_cast<float>(static_cast<int>(generator() % 140000) - 70000) / 2;  // every other one a tie
    x.push_back(i % 3 == 0 ? std::bit_cast<float>(static_cast<uint32_t>(generator())) : steps * scale[i]);
  }
  for (const Overflow overflow : {Overflow::kLowest, Overflow::kSaturate}) {
    const ElementParams<Q> params{scale.data(), zero.data(), range, overflow};
    quantize_each(x.data(), q.data(), kCount, params);
    dequantize_each(q.data(), back.data(), kCount, params);
    for (size_t i = 0; i < kCount; ++i) {
      const LinearParams one{scale[i], zero[i], range, overflow};
      ASSERT_EQ(static_cast<int64_t>(q[i]), quantize(x[i], one)) << x[i] << " scale " << scale[i];
      ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), std::bit_cast<uint32_t>(dequantize(q[i], one)));
    }
  }
}

#define QQ_CHECK_EACH(name)                                                               \
  check<int8_t>({-128, 127}, name::quantize_each_to_i8, name::dequantize_each_i8);        \
  check<int8_t>({-8, 7}, name::quantize_each_to_i8, name::dequantize_each_i8);            \
  check<uint8_t>({0, 255}, name::quantize_each_to_u8, name::dequantize_each_u8);          \
  check<int16_t>({-32768, 32767}, name::quantize_each_to_i16, name::dequantize_each_i16); \
  check<uint16_t>({0, 65535}, name::quantize_each_to_u16, name::dequantize_each_u16)

TEST(LinearQuantEachTest, EqualsReferenceBitForBit) {
  QQ_CHECK_EACH(sse41);
  if (isa() >= Isa::kAvx2) {
    QQ_CHECK_EACH(avx2);
  }
  if (isa() >= Isa::kAvx512) {
    QQ_CHECK_EACH(avx512);
  }
}

}  // namespace
}  // namespace quarkq::numeric
