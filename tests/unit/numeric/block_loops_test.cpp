// SPDX-License-Identifier: MIT
// The vectorized block formats against their scalar definitions, bit for bit, on every instruction set this machine
// has: every format and rounding on values of all kinds, every way in which blocks can lie in memory.
#include "numeric/block_formats.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace quarkq::numeric {
namespace {

using Values = std::vector<float>;
constexpr BlockRounding kRoundings[] = {BlockRounding::kHalfAway, BlockRounding::kHalfUp, BlockRounding::kHalfEven};
constexpr const char* kElements[] = {"fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8"};

using Random = std::mt19937;

/// Values of one kind: neighbours, so that blocks see them together.
float sample(int kind, Random& random) {
  constexpr float kSpecial[] = {0.0f,
                                -0.0f,
                                NAN,
                                -NAN,
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                1.0f,
                                -0x1p-149f,
                                0x1.fffffep127f,
                                -0x1p127f};
  const auto bits = static_cast<uint32_t>(random());
  const auto whole = static_cast<float>(static_cast<int>(bits >> 8 & 1023) - 512);
  const auto exponent = [&](int low, int high) {
    return low + static_cast<int>((bits >> 20) % unsigned(high - low + 1));
  };
  switch (kind) {
    case 0: return std::uniform_real_distribution<float>(-4, 4)(random);
    case 1: return std::bit_cast<float>(bits);
    case 2: return whole / 128;                              // ties and tops
    case 3: return std::ldexp(whole, exponent(-20, 0));      // far apart
    case 4: return std::bit_cast<float>(bits & 0x80FFFFFF);  // subnormal and the smallest normal numbers
    case 5: return std::ldexp(whole, exponent(-158, -130));
    case 6: return std::ldexp(whole, exponent(-157, 118));  // quotients that vanish
    case 7: return std::ldexp(1 - std::ldexp(whole, -20), exponent(126, 128)) * (bits % 2 == 0 ? 1.0f : -1.0f);
    case 8: return kSpecial[bits % std::size(kSpecial)];
    case 9: return bits % 8 == 0 ? kSpecial[(bits >> 4) % std::size(kSpecial)] : whole / 64;
    default: return bits % 2 == 0 ? 0.0f : -0.0f;
  }
}
constexpr int kKinds = 11;

Values block_samples(size_t count) {
  Random random(11);
  Values x;
  while (x.size() < count) {
    const int kind = static_cast<int>(random() % kKinds), second = static_cast<int>(random() % kKinds);
    for (size_t i = 0; i < 64 && x.size() < count; ++i) {
      x.push_back(sample(random() % 4 != 0 ? kind : second, random));
    }
  }
  return x;
}

/// Block by block through the scalar definition.
Values by_definition(const Values& x, const BlockSplit& split, const std::function<void(std::span<float>)>& convert) {
  Values y(x.size()), block(static_cast<size_t>(split.block));
  for (int64_t run = 0; run < split.outer * split.inner; ++run) {
    const int64_t base = run / split.inner * split.length * split.inner + run % split.inner;
    for (int64_t first = 0; first < split.length; first += split.block) {
      const int64_t count = std::min(split.block, split.length - first);
      const auto place = [&](int64_t i) { return static_cast<size_t>(base + (first + i) * split.inner); };
      std::fill(block.begin(), block.end(), 0.0f);
      for (int64_t i = 0; i < count; ++i) block[static_cast<size_t>(i)] = x[place(i)];
      convert(block);
      for (int64_t i = 0; i < count; ++i) y[place(i)] = block[static_cast<size_t>(i)];
    }
  }
  return y;
}

/// One instruction set: the functions under their namespace.
struct BlockLoops {
  Isa isa;
  decltype(&sse41::bfp_blocks) bfp;
  decltype(&sse41::mx_blocks) mx;
};
std::vector<BlockLoops> available_block_loops() {
  std::vector<BlockLoops> loops;
  for (const BlockLoops& candidate : {BlockLoops{Isa::kSse41, sse41::bfp_blocks, sse41::mx_blocks},
                                      BlockLoops{Isa::kAvx2, avx2::bfp_blocks, avx2::mx_blocks},
                                      BlockLoops{Isa::kAvx512, avx512::bfp_blocks, avx512::mx_blocks}}) {
    if (candidate.isa <= isa()) loops.push_back(candidate);
  }
  return loops;
}

void expect_bits_of(const Values& found, const Values& expected, const Values& x) {
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ", " << x[i] << ": " << found[i] << ", expected " << expected[i];
  }
}

/// run(loops, x, y, begin, end) over all blocks at once, and in place over uneven pieces.
template <typename Run>
void check_block_loops(const Values& x, const Values& expected, int64_t blocks, const Run& run) {
  for (const BlockLoops& loops : available_block_loops()) {
    SCOPED_TRACE(isa_name(loops.isa));
    Values y(x.size());
    run(loops, x.data(), y.data(), 0, blocks);
    expect_bits_of(y, expected, x);
    y = x;
    for (int64_t begin = 0, size = 1; begin < blocks; begin += size, size = size * 3 % 101) {
      run(loops, y.data(), y.data(), begin, std::min(begin + size, blocks));
    }
    expect_bits_of(y, expected, x);
  }
}

std::string text(const BlockSplit& s) {
  return ::testing::PrintToString(std::vector<int64_t>{s.outer, s.length, s.inner, s.block});
}

void check_bfp(const Values& all, const BlockSplit& split, const BfpSettings& s) {
  SCOPED_TRACE("[outer, length, inner, block] " + text(split) + ", bits " + std::to_string(s.bit_width) +
               ", rounding " + std::to_string(static_cast<int>(s.rounding)) + ", method " +
               std::to_string(static_cast<int>(s.method)) + ", sub-block " + std::to_string(s.sub_block_size));
  const Values x(all.begin(), all.begin() + split.outer * split.length * split.inner);
  const Values expected = by_definition(x, split, [&](std::span<float> block) { convert_bfp_block(block, s); });
  const int64_t part = s.method == BfpMethod::kBfpPrime ? s.sub_block_size : split.block;
  check_block_loops(x, expected, split.count(),
                    [&](const BlockLoops& loops, const float* from, float* to, int64_t begin, int64_t end) {
                      loops.bfp(from, to, plan_blocks(split, begin, end, part), s);
                    });
}

void check_mx(const Values& all, const BlockSplit& split, const MxSettings& s) {
  SCOPED_TRACE("[outer, length, inner, block] " + text(split) + ", " + std::string(s.element->name) + ", rounding " +
               std::to_string(static_cast<int>(s.rounding)));
  const Values x(all.begin(), all.begin() + split.outer * split.length * split.inner);
  const Values expected = by_definition(x, split, [&](std::span<float> block) { convert_mx_block(block, s); });
  check_block_loops(x, expected, split.count(),
                    [&](const BlockLoops& loops, const float* from, float* to, int64_t begin, int64_t end) {
                      loops.mx(from, to, plan_blocks(split, begin, end, split.block), s);
                    });
}

TEST(BlockLoopsTest, EveryBfpSettingEqualsItsDefinition) {
  const Values x = block_samples(64 * 640);
  for (const BlockSplit& split : {BlockSplit{640, 64, 1, 8}, BlockSplit{1, 64, 640, 16}}) {
    for (const int width : {10, 11, 12, 13, 15, 16, 17, 24, 31, 32}) {
      for (const BlockRounding rounding : kRoundings) {
        for (const bool bfloat_first : {false, true}) {
          const auto settings = [&](BfpMethod method, int shift_bits, bool compiler) {
            return BfpSettings{method, width, rounding, 2, shift_bits, bfloat_first, compiler};
          };
          check_bfp(x, split, settings(BfpMethod::kBfp, 1, false));
          check_bfp(x, split, settings(BfpMethod::kBfp, 1, true));
          for (const int shift_bits : {0, 1, 3, 8})
            check_bfp(x, split, settings(BfpMethod::kBfpPrime, shift_bits, false));
        }
      }
    }
  }
}

TEST(BlockLoopsTest, EveryMxSettingEqualsItsDefinition) {
  const Values x = block_samples(64 * 3200);
  for (const BlockSplit& split : {BlockSplit{3200, 64, 1, 32}, BlockSplit{1, 64, 3200, 8}}) {
    for (const char* element : kElements) {
      for (const BlockRounding rounding : kRoundings) {
        for (const bool up : {false, true}) check_mx(x, split, {find_mx_element(element), rounding, up});
      }
    }
  }
}

TEST(BlockLoopsTest, MillionValues) {
  const Values x = block_samples(1000000);
  const BlockSplit split{1, 1000000, 1, 8};
  for (const BlockRounding rounding : kRoundings) check_bfp(x, split, {BfpMethod::kBfp, 16, rounding});
  check_bfp(x, split, {BfpMethod::kBfpPrime, 16, BlockRounding::kHalfEven});
  check_mx(x, split, {find_mx_element("fp8_e4m3")});
}

TEST(BlockLoopsTest, EveryLayout) {
  const Values x = block_samples(40000);
  for (const int64_t inner : {1, 2, 9, 15, 16, 49, 300}) {
    for (const int64_t length : {1, 3, 8, 27, 32, 100}) {
      for (const int64_t block : {1, 2, 3, 5, 8, 12, 16, 24, 32, 48, 100}) {
        const BlockSplit split{1 + 1200 / (inner * length), length, inner, block};
        check_bfp(x, split, {});
        check_bfp(x, split, {BfpMethod::kBfp, 16, BlockRounding::kHalfEven, 2, 1, false, /*compiler_exponents=*/true});
        check_mx(x, split, {find_mx_element("fp6_e2m3")});
        for (const int64_t part : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{24}, block}) {
          if (block % part == 0) check_bfp(x, split, {BfpMethod::kBfpPrime, 13, BlockRounding::kHalfUp, part, 2});
        }
      }
    }
  }
}

TEST(BlockLoopsTest, LongBlocks) {
  const Values x = block_samples(60000);
  for (const int64_t inner : {1, 3, 20}) {
    for (const int64_t block : {1000, 1024, 1500, 2000}) {
      const BlockSplit split{1, 3000, inner, block};
      check_bfp(x, split, {});
      check_bfp(x, split, {BfpMethod::kBfpPrime, 16, BlockRounding::kHalfAway, block / 4});
      check_mx(x, split, {find_mx_element("int8")});
    }
  }
}

TEST(BlockLoopsTest, NothingToDo) {
  for (const BlockSplit& split : {BlockSplit{0, 8, 1, 8}, BlockSplit{2, 0, 3, 1}, BlockSplit{2, 8, 0, 4}}) {
    EXPECT_EQ(split.count(), 0);
    check_bfp({}, split, {});
    check_mx({}, split, {find_mx_element("int8")});
  }
}

}  // namespace
}  // namespace quarkq::numeric
