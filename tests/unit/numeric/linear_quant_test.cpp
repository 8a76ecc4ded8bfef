// SPDX-License-Identifier: MIT
// The fast loops against the reference, bit for bit, on every instruction set this machine has.
#include "numeric/linear_quant.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace quarkq::numeric {
namespace {

/// Random bit patterns, random values near ties, and every special value.
std::vector<float> samples(size_t count, float scale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,
                          -0.0f,
                          kInfinity,
                          -kInfinity,
                          NAN,
                          -NAN,
                          1e30f,
                          -1e30f,
                          9.223372e18f * scale,
                          -9.223372e18f * scale,
                          9.2233715e18f * scale,
                          1e-45f,
                          -1e-45f,
                          3.4e38f,
                          -3.4e38f};
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> wide(-70000.0f, 70000.0f);
  std::uniform_int_distribution<int> step(-300, 300);
  while (x.size() < count) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(generator())));
    x.push_back(wide(generator) * scale);
    x.push_back((static_cast<float>(step(generator)) + 0.5f) * scale);
    x.push_back(static_cast<float>(step(generator)) * scale);
  }
  return x;
}

struct Format {
  ElementType type;
  IntegerRange range;
  int64_t zero_point;
};
const Format kFormats[] = {
    {ElementType::kInt8, {-128, 127}, 0},
    {ElementType::kInt8, {-127, 127}, 5},
    {ElementType::kUInt8, {0, 255}, 128},
    {ElementType::kInt16, {-32768, 32767}, -77},
    {ElementType::kUInt16, {0, 65535}, 32768},
    {ElementType::kInt32, {-2147483648LL, 2147483647LL}, 0},
    {ElementType::kInt32, {-2147483648LL, 2147483647LL}, 2147483647LL},
    {ElementType::kInt32, {-2147483648LL, 2147483647LL}, -2147483648LL},
};
const float kScales[] = {1.0f, 0.1f, 0.0078125f, 3.0e-5f, 17.3f};

/// One instruction set: the functions under their namespace.
struct LinearLoops {
  Isa isa;
  decltype(&sse41::fake_quantize) fake;
  decltype(&sse41::quantize_to_i8) to_i8;
  decltype(&sse41::quantize_to_u8) to_u8;
  decltype(&sse41::quantize_to_i16) to_i16;
  decltype(&sse41::quantize_to_u16) to_u16;
  decltype(&sse41::quantize_to_i32) to_i32;
  decltype(&sse41::dequantize_i8) from_i8;
  decltype(&sse41::dequantize_u8) from_u8;
  decltype(&sse41::dequantize_i16) from_i16;
  decltype(&sse41::dequantize_u16) from_u16;
  decltype(&sse41::dequantize_i32) from_i32;
};
#define QQ_LOOPS(kind, name)                                                                                          \
  LinearLoops {                                                                                                       \
    Isa::kind, name::fake_quantize, name::quantize_to_i8, name::quantize_to_u8, name::quantize_to_i16,                \
        name::quantize_to_u16, name::quantize_to_i32, name::dequantize_i8, name::dequantize_u8, name::dequantize_i16, \
        name::dequantize_u16, name::dequantize_i32                                                                    \
  }

std::vector<LinearLoops> available_linear_loops() {
  std::vector<LinearLoops> loops;
  for (const LinearLoops& candidate : {QQ_LOOPS(kSse41, sse41), QQ_LOOPS(kAvx2, avx2), QQ_LOOPS(kAvx512, avx512)}) {
    if (candidate.isa <= isa()) loops.push_back(candidate);
  }
  return loops;
}

template <typename Q, typename Quantize, typename Dequantize>
void check_integers(const std::vector<float>& x, const LinearParams& params, Quantize quantize_all,
                    Dequantize dequantize_all) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<Q> q(x.size());
  std::vector<float> y(x.size());
  quantize_all(x.data(), q.data(), n, params);
  dequantize_all(q.data(), y.data(), n, params.scale, static_cast<int32_t>(params.zero_point));
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(static_cast<int64_t>(q[i]), quantize(x[i], params)) << x[i] << " scale " << params.scale;
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(dequantize(q[i], params))) << x[i];
  }
}

void check_format(const LinearLoops& loops, const std::vector<float>& x, const Format& format, LinearParams params) {
  params.range = format.range;
  params.zero_point = format.zero_point;
  switch (format.type) {
    case ElementType::kInt8: return check_integers<int8_t>(x, params, loops.to_i8, loops.from_i8);
    case ElementType::kUInt8: return check_integers<uint8_t>(x, params, loops.to_u8, loops.from_u8);
    case ElementType::kInt16: return check_integers<int16_t>(x, params, loops.to_i16, loops.from_i16);
    case ElementType::kUInt16: return check_integers<uint16_t>(x, params, loops.to_u16, loops.from_u16);
    default: return check_integers<int32_t>(x, params, loops.to_i32, loops.from_i32);
  }
}

void check_fake(const LinearLoops& loops, const std::vector<float>& x, const Format& format, LinearParams params) {
  params.range = format.range;
  params.zero_point = format.zero_point;
  std::vector<float> y = x;  // in place
  loops.fake(y.data(), y.data(), static_cast<int64_t>(y.size()), params);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(fake_quantize(x[i], params))) << x[i];
  }
}

TEST(LinearQuantTest, EqualsReferenceBitForBit) {
  for (const float scale : kScales) {
    const std::vector<float> x = samples(25000, scale);
    for (const LinearLoops& loops : available_linear_loops()) {
      SCOPED_TRACE(isa_name(loops.isa));
      for (const Format& format : kFormats) {
        for (const Overflow overflow : {Overflow::kLowest, Overflow::kSaturate}) {
          check_format(loops, x, format, {scale, 0, {}, overflow});
          check_fake(loops, x, format, {scale, 0, {}, overflow});
        }
      }
    }
  }
}

TEST(LinearQuantTest, MillionValuesEqualReference) {
  const std::vector<float> x = samples(1000000, 0.05f);
  check_format(available_linear_loops().back(), x, kFormats[0], {0.05f, 0, {}, Overflow::kLowest});
  check_fake(available_linear_loops().back(), x, kFormats[2], {0.05f, 0, {}, Overflow::kLowest});
}

TEST(LinearQuantTest, OddLengthsAreHandled) {
  const std::vector<float> x = samples(100, 1.0f);
  for (size_t n = 0; n < 40; ++n) {
    check_format(available_linear_loops().back(), {x.begin(), x.begin() + static_cast<int64_t>(n)}, kFormats[3],
                 {1.0f, 0, {}, Overflow::kLowest});
  }
}

}  // namespace
}  // namespace quarkq::numeric
