// SPDX-License-Identifier: MIT
// Text recognition: CTC, alphabets, edits between texts, files of texts.
#include <gtest/gtest.h>

#include <cmath>

#include "metrics/text_errors.h"
#include "metrics/truth/labels.h"
#include "unit/base/temp_folder.h"
#include "unit/metrics/scored.h"

namespace quarkq::metrics {
namespace {

/// Scores whose highest class at each step is that of `classes`.
ir::Tensor steps(const std::vector<size_t>& classes, size_t count, bool is_steps_first = false) {
  std::vector<float> scores(classes.size() * count, -1.0F);
  for (size_t i = 0; i < classes.size(); ++i) scores[i * count + classes[i]] = 2.0F;
  const auto length = static_cast<int64_t>(classes.size()), last = static_cast<int64_t>(count);
  return ir::Tensor::from<float>(is_steps_first ? ir::Shape{length, 1, last} : ir::Shape{1, length, last}, scores);
}

const Alphabet kAbc{"abc.txt", {"a", "b", "\xC3\xA9"}};

TEST(CtcTest, RepeatsAreMergedAndBlanksLeftOut) {
  EXPECT_EQ(decode_ctc(steps({0, 1, 1, 0, 1, 2, 2, 3, 0}, 4), kAbc).value(), "aab\xC3\xA9");
  EXPECT_EQ(decode_ctc(steps({2, 1, 2}, 4, /*is_steps_first=*/true), kAbc).value(), "bab");
  EXPECT_EQ(decode_ctc(steps({0, 0}, 4), kAbc).value(), "");
}

TEST(CtcTest, TheClassAfterTheAlphabetIsTheSpace) {
  EXPECT_EQ(decode_ctc(steps({1, 4, 2}, 5), kAbc).value(), "a b");
  const std::string refused = decode_ctc(steps({1}, 6), kAbc).status().message();
  EXPECT_NE(refused.find("abc.txt has 3 symbols: allowed are 4 classes"), std::string::npos) << refused;
  EXPECT_EQ(decode_ctc(steps({1}, 3), kAbc).status().code(), Code::kBadData);
  EXPECT_EQ(decode_ctc(ir::Tensor::zeros(ElementType::kFloat, {2, 2, 4}), kAbc).status().code(), Code::kBadData);
}

TEST(CtcTest, AStepThatIsNoNumberIsABlank) {
  const auto scores = ir::Tensor::from<float>({3, 4}, std::vector<float>{0, 1, 0, 0, 0, 1, 0, NAN, 0, 1, 0, 0});
  EXPECT_EQ(decode_ctc(scores, kAbc).value(), "aa");
}

TEST(AlphabetTest, EveryLineIsASymbol) {
  const test::TempFolder folder;
  const auto symbols = [&](const std::string& text) { return Alphabet::read(folder.write("a", text)).value().symbols; };
  const std::vector<std::string> expected = {"a", " ", "", "b"};
  EXPECT_EQ(symbols("a\n \n\nb\n"), expected);
  EXPECT_EQ(symbols("\xEF\xBB\xBF"
                    "a\r\n \r\n\r\nb"),
            expected);
  EXPECT_FALSE(Alphabet::read(folder.write("a", "")).ok());
}

size_t edits(const std::string& a, const std::string& b) { return edits_between(characters_of(a), characters_of(b)); }

TEST(EditDistanceTest, CountsCharacters) {
  EXPECT_EQ(edits("kitten", "sitting"), 3u);
  EXPECT_EQ(edits("", "abc"), 3u);
  EXPECT_EQ(edits("abc", ""), 3u);
  EXPECT_EQ(edits("same", "same"), 0u);
  EXPECT_EQ(edits("caf\xC3\xA9", "cafe"), 1u);  // two bytes, one character
  EXPECT_EQ(characters_of("\x80\x80"
                          "a\xFF")
                .size(),
            3u);  // bytes that are no UTF-8
}

TEST(EditDistanceTest, WordsStandBetweenBlanks) {
  EXPECT_EQ(words_of("  to be\tor  not "), (Parts{"to", "be", "or", "not"}));
  EXPECT_TRUE(words_of(" ").empty());
}

TEST(TextsTest, TabsAreStrongerThanCommas) {
  const test::TempFolder folder;
  const std::string path = folder.write("t",
                                        "\xEF\xBB\xBF"
                                        "lines/a.png\tone, two \r\n\nb.jpg,x, y\nc\t\n");
  const Texts texts = Texts::read(path).value();
  EXPECT_EQ(texts.of("a").value(), "one, two ");
  EXPECT_EQ(texts.of("some/b").value(), "x, y");
  EXPECT_EQ(texts.of("c").value(), "");
  EXPECT_EQ(texts.of("d").status().message(), path + ": has no text called d");
  EXPECT_NE(Texts::read(folder.write("u", "a,b\nword\n")).status().message().find("u:2: found \"word\""),
            std::string::npos);
  EXPECT_FALSE(Texts::read(folder.write("v", "\n")).ok());
}

TEST(TextErrorsTest, AreRatesOverAllTexts) {
  const test::TempFolder folder;
  MetricRequest request{.truth_path = folder.write("t", "s0,ab a\ns1,b\n")};
  request.alphabet_path = folder.write("abc", "a\nb\n");
  const auto found =
      test::score({"cer", "wer", "exact"}, request, {{"s0", steps({1, 3, 1}, 4)}, {"s1", steps({2, 2}, 4)}}).value();
  EXPECT_NEAR(found[0], 1.0 / 5, 1e-12);
  EXPECT_NEAR(found[1], 1.0 / 3, 1e-12);
  EXPECT_NEAR(found[2], 1.0 / 2, 1e-12);
}

TEST(TextErrorsTest, NeedAnAlphabet) {
  const test::TempFolder folder;
  const auto refused = test::score({"cer"}, {.truth_path = folder.write("t", "a,b\n")}, {});
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("--alphabet: found none"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::metrics
