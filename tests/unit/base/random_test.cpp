// SPDX-License-Identifier: MIT
// Random numbers as NumPy draws them, suggestions, hashes and instruction sets.
#include "base/random.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/isa.h"
#include "base/strings.h"

namespace quarkq {
namespace {

/// numpy.random.RandomState(seed).random_sample().
TEST(RandomTest, UniformNumbersAreNumPys) {
  struct Row {
    uint32_t seed;
    std::vector<double> drawn;
  };
  const Row rows[] = {
      {0, {0.5488135039273248, 0.7151893663724195, 0.6027633760716439, 0.5448831829968969, 0.4236547993389047}},
      {1, {0.417022004702574, 0.7203244934421581, 0.00011437481734488664, 0.30233257263183977, 0.14675589081711304}},
      {42, {0.3745401188473625, 0.9507143064099162, 0.7319939418114051, 0.5986584841970366, 0.15601864044243652}},
      {4294967295, {0.0976320289940138, 0.9123828453026218, 0.78903530185164, 0.7800035981134678, 0.01793967398674523}},
  };
  for (const Row& row : rows) {
    NumpyRandom random(row.seed);
    for (const double expected : row.drawn) EXPECT_EQ(random.uniform(), expected) << row.seed;
  }
}

/// numpy.random.RandomState(seed).randint(low, high + 1) of one number each.
TEST(RandomTest, IntegersAreNumPys) {
  struct Row {
    uint32_t seed;
    int64_t low, high;
    std::vector<int64_t> drawn;
  };
  const Row rows[] = {
      {0, 0, 9, {5, 0, 3, 3, 7, 9, 3, 5}},
      {7, -5, 5, {-1, 4, 1, -2, -2, 2, 2, 4}},
      {42, 0, 255, {102, 179, 92, 14, 106, 71, 188, 20}},
      {3, 0, 2147483647, {218175338, 303761048, 893988089, 1460070019, 1249426360, 521102280, 46504192, 297689877}},
      {1, 10, 10, {10, 10, 10, 10}},
      {5, -1000000, 1000000, {346403, -981362, -455249, 173181, -243290, 956982, -339120, 894473}},
  };
  for (const Row& row : rows) {
    NumpyRandom random(row.seed);
    for (const int64_t expected : row.drawn) EXPECT_EQ(random.integer(row.low, row.high), expected) << row.seed;
  }
}

TEST(RandomTest, ARangeOfOneDrawsNothing) {
  NumpyRandom a(9), b(9);
  a.integer(4, 4);
  EXPECT_EQ(a.uniform(), b.uniform());
}

TEST(RandomTest, NearestNames) {
  const std::vector<std::string> names = {"fuse-batch-norm", "fold-batch-norm", "fuse-gelu", "MinMSE", "A8W8"};
  struct Row {
    const char *name, *nearest;
  };
  const Row rows[] = {{"fuse-batch-nrm", "fuse-batch-norm"},
                      {"fold-batchnorm", "fold-batch-norm"},
                      {"minmse", "MinMSE"},
                      {"a8w8", "A8W8"},
                      {"A8W9", "A8W8"},
                      {"fuse-glu", "fuse-gelu"},
                      {"nothing like it", ""},
                      {"xyz", ""}};
  for (const Row& row : rows) {
    EXPECT_EQ(nearest_name(row.name, names), row.nearest) << row.name;
    EXPECT_EQ(did_you_mean(row.name, names), *row.nearest == 0 ? "" : cat(", did you mean ", row.nearest, "?"));
  }
  EXPECT_EQ(nearest_name("anything", {}), "");
  EXPECT_EQ(nearest_name("ab", {"ba", "ab"}), "ab") << "the nearest, not the first";
}

TEST(RandomTest, HashesTellContentsApart) {
  const auto hash = [](const std::vector<std::string>& parts) {
    ContentHash made;
    for (const std::string& part : parts) made.add(part);
    return made.text();
  };
  EXPECT_EQ(hash({"a", "b"}), hash({"a", "b"}));
  EXPECT_EQ(hash({}).size(), 32u);
  const std::vector<std::vector<std::string>> different = {{},         {""},       {"ab"},    {"a", "b"},
                                                           {"ab", ""}, {"", "ab"}, {"b", "a"}};
  for (size_t i = 0; i < different.size(); ++i) {
    for (size_t j = i + 1; j < different.size(); ++j)
      EXPECT_NE(hash(different[i]), hash(different[j])) << i << " " << j;
  }
  ContentHash whole, pieces;
  whole.add("abcdef", 6);
  pieces.add("abc", 3);
  pieces.add("def", 3);
  EXPECT_EQ(whole.text(), pieces.text()) << "raw bytes have no borders";
  EXPECT_EQ(whole.text(), whole.text()) << "reading it changes nothing";
}

TEST(RandomTest, InstructionSetsByName) {
  EXPECT_EQ(isa_name(Isa::kSse41), "sse41");
  EXPECT_EQ(isa_name(Isa::kAvx2), "avx2");
  EXPECT_EQ(isa_name(Isa::kAvx512), "avx512");
  const Isa before = isa();
  EXPECT_EQ(pin_isa("avx3").code(), Code::kInvalidArgument);
  EXPECT_EQ(pin_isa("").code(), Code::kInvalidArgument);
  EXPECT_EQ(isa(), before) << "a refused name changes nothing";
}

}  // namespace
}  // namespace quarkq
