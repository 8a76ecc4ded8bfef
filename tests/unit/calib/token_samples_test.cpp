// SPDX-License-Identifier: MIT
// Samples of a language model from its tokens: which inputs follow, what they hold, which shapes are refused.
#include "calib/reader/fit_samples.h"

#include "calib/sample_readers.h"
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using test::input;
using Fills = std::vector<TokenFill>;
using Numbers = std::vector<double>;

InputSpec integers(const std::string& name, ir::Shape dims) {
  return input(name, std::move(dims), ElementType::kInt64);
}

const InputSpec kTokens = integers("input_ids", {-1, -1});

TEST(TokenFillsTest, NamesTypesAndRanksSayWhatFollows) {
  const struct {
    InputSpec input;
    TokenFill fill;
  } rows[] = {{integers("attention_mask", {-1, -1}), TokenFill::kMask},
              {input("attention_mask", {-1, -1}, ElementType::kBool), TokenFill::kMask},
              {integers("position_ids", {1, -1}), TokenFill::kPositions},
              {integers("cache_position", {-1}), TokenFill::kPositions},
              {integers("token_type_ids", {-1, -1}), TokenFill::kZeros},
              {input("use_cache_branch", {1}, ElementType::kBool), TokenFill::kNo},
              {input("use_cache_branch", {}, ElementType::kBool), TokenFill::kNo},
              {input("past_key_values.0.key", {-1, 2, -1, 4}), TokenFill::kPast},
              {input("past", {2, -1, 2, -1, 4}, ElementType::kFloat16), TokenFill::kPast}};
  for (const auto& row : rows) {
    EXPECT_EQ(token_fills({kTokens, row.input}), (Fills{TokenFill::kTokens, row.fill})) << row.input.name;
    EXPECT_EQ(token_fills({row.input, kTokens}), (Fills{row.fill, TokenFill::kTokens})) << row.input.name;
  }
}

TEST(TokenFillsTest, OtherInputsNeedSamplesOfTheirOwn) {
  InputSpec shapeless = integers("attention_mask", {});
  shapeless.has_shape = false;
  const InputSpec others[] = {input("pixels", {1, 3, 8, 8}),
                              integers("decoder_input_ids", {-1, -1}),
                              input("attention_mask", {-1, -1}),            // floats
                              integers("attention_mask", {-1, 1, -1, -1}),  // as decoders add it
                              integers("past_key_values.0.key", {1, 2, 3, 4}),
                              input("past_key_values.0.key", {-1, -1}),
                              integers("use_cache_branch", {1}),
                              shapeless};
  for (const InputSpec& other : others) EXPECT_FALSE(token_fills({kTokens, other})) << other.name;
  EXPECT_FALSE(token_fills({kTokens})) << "an input alone is read as ever";
  EXPECT_FALSE(token_fills({integers("attention_mask", {-1, -1}), integers("position_ids", {-1, -1})}));
  EXPECT_FALSE(token_fills({integers("input_ids", {-1}), integers("attention_mask", {-1, -1})}));
}

Result<Sample> sample_of(const ir::Shape& tokens, const std::vector<InputSpec>& inputs) {
  const Sample given{"s", {ir::Tensor::zeros(ElementType::kInt64, tokens)}, {"s.npy"}};
  QQ_TRY(const auto reader, fill_from_tokens(std::make_unique<OneSample>(given), inputs, token_fills(inputs).value()));
  EXPECT_EQ(reader->size(), 1U);
  return reader->read(0);
}

TEST(TokenSamplesTest, InputsHoldWhatFollows) {
  const Result<Sample> sample = sample_of(
      {2, 3}, {integers("attention_mask", {-1, -1}), kTokens, input("position_ids", {-1, -1}, ElementType::kInt32),
               integers("token_type_ids", {2, 3}), integers("cache_position", {-1}),
               input("use_cache_branch", {1}, ElementType::kBool), input("past.0", {-1, 4, -1, 8})});
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  const struct {
    ir::Shape dims;
    Numbers values;
  } wanted[] = {{{2, 3}, {1, 1, 1, 1, 1, 1}},
                {{2, 3}, {0, 0, 0, 0, 0, 0}},
                {{2, 3}, {0, 1, 2, 0, 1, 2}},
                {{2, 3}, {0, 0, 0, 0, 0, 0}},
                {{3}, {0, 1, 2}},
                {{1}, {0}},
                {{2, 4, 0, 8}, {}}};
  ASSERT_EQ(sample.value().inputs.size(), std::size(wanted));
  for (size_t i = 0; i < std::size(wanted); ++i) {
    EXPECT_EQ(sample.value().inputs[i].dims(), wanted[i].dims) << i;
    EXPECT_EQ(ir::to_double(sample.value().inputs[i]).value(), wanted[i].values) << i;
  }
  EXPECT_EQ(sample.value().inputs[2].type(), ElementType::kInt32);
  EXPECT_EQ(sample.value().files, std::vector<std::string>(7, "s.npy"));
}

TEST(TokenSamplesTest, AMaskLeavesOutThePastThatTheModelFixes) {
  for (const ElementType type : {ElementType::kInt64, ElementType::kBool, ElementType::kInt8}) {
    for (const ir::Shape& mask : {ir::Shape{-1, -1}, ir::Shape{1, 5}}) {
      const Result<Sample> sample =
          sample_of({1, 3}, {kTokens, input("attention_mask", mask, type), input("past_key", {1, 2, 2, 4})});
      ASSERT_TRUE(sample.ok()) << sample.status().message();
      EXPECT_EQ(sample.value().inputs[1].type(), type);
      EXPECT_EQ(ir::to_double(sample.value().inputs[1]).value(), (Numbers{0, 0, 1, 1, 1}));
      EXPECT_EQ(sample.value().inputs[2].dims(), (ir::Shape{1, 2, 2, 4}));
    }
  }
}

TEST(TokenSamplesTest, TokensThatDoNotFitAreRefused) {
  const struct {
    InputSpec input;
    const char* part;
  } rows[] = {
      {integers("position_ids", {-1, 4}), "tokens [2,3] do not fit input position_ids, which is [?,4]"},
      {integers("token_type_ids", {1, -1}), "do not fit input token_type_ids"},
      {integers("attention_mask", {-1, 2}), "do not fit input attention_mask"},
      {integers("cache_position", {2}), "do not fit input cache_position"},
      {input("past_key", {-1, -1, -1, 8}), "tokens alone do not determine its size; give a folder for each input"}};
  for (const auto& row : rows) {
    const Result<Sample> sample = sample_of({2, 3}, {kTokens, row.input});
    ASSERT_FALSE(sample.ok()) << row.input.name;
    EXPECT_EQ(sample.status().code(), Code::kBadData) << row.input.name;
    QQ_EXPECT_MENTIONS(sample.status().message(), row.part);
  }
}

TEST(TokenSamplesTest, SizesThatNoMachineHasAreRefused) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t past : {int64_t{1} << 46, int64_t{1} << 62, kLargest}) {
    for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16}) {
      const Result<Sample> sample =
          sample_of({1, 3}, {integers("attention_mask", {-1, -1}), kTokens, input("past_key", {1, 1, past, 1}, type)});
      ASSERT_FALSE(sample.ok()) << past;
      EXPECT_EQ(sample.status().code(), Code::kResource) << sample.status().message();
      QQ_EXPECT_MENTIONS(sample.status().message(), "input ");
    }
  }
  const Result<Sample> mask = sample_of({1, 3}, {kTokens, integers("attention_mask", {1, kLargest})});
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.status().code(), Code::kResource);
  QQ_EXPECT_MENTIONS(mask.status().message(), "input attention_mask");
}

TEST(TokenizeFirstTest, TextsAndTokenizersAreNamed) {
  for (const char* path : {"a/wiki.txt", "b.text", "c.jsonl", "d.md", "/m/tokenizer.json"})
    QQ_EXPECT_MENTIONS(tokenize_first(path), "tokenizer.json");
  for (const char* path : {"a.npy", "labels.csv", "config.json", "folder.txt/a.npy"})
    EXPECT_EQ(tokenize_first(path), "") << path;
}

}  // namespace
}  // namespace quarkq::calib
