// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

/// Pools: 2 and 3; then (1, 2) and (2, 3).
OpCall vectorizer(std::string mode, int64_t longest = 2, int64_t skips = 1) {
  const auto list = [](std::vector<int64_t> values) { return values; };
  return {
      "TfIdfVectorizer",
      "",
      9,
      {attribute("mode", std::move(mode)), attribute("min_gram_length", int64_t{1}),
       attribute("max_gram_length", longest), attribute("max_skip_count", skips),
       attribute("ngram_counts", list({0, 2})), attribute("ngram_indexes", list({0, 1, 2, 3})),
       attribute("pool_int64s", list({2, 3, 1, 2, 2, 3})), attribute("weights", std::vector<float>{0.5f, 1, 2, 3})}};
}

TEST(TfIdfTest, CountsAndWeighs) {
  const ir::Tensor x = ints({2, 6}, {1, 2, 3, 1, 2, 7, 7, 7, 2, 3, 3, 3});
  expect_op(vectorizer("TF"), {x}, {2, 4}, {2, 1, 2, 1, 1, 3, 0, 2});
  expect_op(vectorizer("IDF"), {x}, {2, 4}, {0.5, 1, 2, 3, 0.5, 1, 0, 3});
  expect_op(vectorizer("TFIDF"), {x}, {2, 4}, {1, 1, 4, 3, 0.5, 3, 0, 6});
  expect_op(vectorizer("TF", 1), {x}, {2, 4}, {2, 1, 0, 0, 1, 3, 0, 0});
  expect_op(vectorizer("TF", 2, 0), {ints({6}, {1, 2, 3, 1, 2, 7})}, {4}, {2, 1, 2, 1});
  expect_op(vectorizer("TF", 2, INT64_MAX), {ints({2}, {2, 3})}, {4}, {1, 1, 0, 1});
}

TEST(TfIdfTest, RejectsWhatMakesNoSense) {
  const ir::Tensor x = ints({2}, {2, 3});
  const auto with = [](const std::string& name, const ir::AttributeValue& value) {
    OpCall call = vectorizer("TFIDF");
    for (ir::Attribute& own : call.attributes) {
      if (own.name == name) own.value = value;
    }
    return call;
  };
  expect_error(vectorizer("X"), {x}, "mode is 'X'");
  expect_error(with("min_gram_length", int64_t{3}), {x}, "3- to 2-grams");
  expect_error(with("ngram_counts", std::vector<int64_t>{0, 9}), {x}, "ngram_counts");
  expect_error(with("ngram_counts", std::vector<int64_t>{0, 3}), {x}, "ngram_counts");
  expect_error(with("ngram_counts", std::vector<int64_t>{-1, 2}), {x}, "ngram_counts");
  expect_error(with("ngram_indexes", std::vector<int64_t>{0, 1}), {x}, "more n-grams");
  expect_error(with("ngram_indexes", std::vector<int64_t>{0, 1, 2, -3}), {x}, "entry -3");
  expect_error(with("ngram_indexes", std::vector<int64_t>{0, 1, 2, int64_t{1} << 50}), {x}, "ngram_indexes");
  expect_error(with("pool_int64s", std::vector<int64_t>{}), {x}, "pools of strings");
  expect_error(with("weights", std::vector<float>{1}), {x}, "1 weights");
  expect_error(vectorizer("TF"), {floats({1}, {1})}, "allowed");
  expect_error(vectorizer("TF"), {ints({1, 1, 1}, {1})}, "rank 3");
}

}  // namespace
}  // namespace quarkq::test
