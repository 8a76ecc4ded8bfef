// SPDX-License-Identifier: MIT
// Text recognition: how far what is read is from the truth, in characters and words, and how often it is the same.
#include "metrics/text_errors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metrics/label_metrics.h"
#include "metrics/scorer.h"
#include "metrics/truth/labels.h"

namespace quarkq::metrics {

namespace {

/// Steps and classes.
Result<std::pair<size_t, size_t>> steps_of(const ir::Tensor& scores, const Alphabet& alphabet) {
  ir::Shape dims = scores.dims();
  if (dims.size() == 3 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() != 2) {
    return bad_data("shape ", shape_text(scores.dims()), ", needed are scores of symbols [1,T,C] or [T,1,C]");
  }
  const size_t classes = static_cast<size_t>(dims[1]), lines = alphabet.symbols.size();
  if (classes != lines + 1 && classes != lines + 2) {
    return bad_data("shape ", shape_text(scores.dims()), " holds scores of ", classes, " classes, ", alphabet.path,
                    " has ", lines, " symbols: allowed are ", lines + 1, " classes with the blank, or ", lines + 2,
                    " with the space after them");
  }
  return std::pair(static_cast<size_t>(dims[0]), classes);
}

}  // namespace

Result<Alphabet> Alphabet::read(const std::string& path) {
  Alphabet alphabet{path, {}};
  QQ_TRY(alphabet.symbols, read_lines(path));
  if (alphabet.symbols.empty()) return bad_data(path, ": contains no symbols");
  return alphabet;
}

Result<std::string> decode_ctc(const ir::Tensor& scores, const Alphabet& alphabet) {
  QQ_TRY(const auto shape, steps_of(scores, alphabet));
  const auto [steps, classes] = shape;
  QQ_TRY(const std::vector<double> values, ir::to_double(scores));
  std::string text;
  size_t last = 0;
  for (size_t step = 0; step < steps; ++step) {
    const size_t symbol = highest_of(std::span(values).subspan(step * classes, classes)).value_or(0);
    if (symbol != 0 && symbol != last) text += symbol <= alphabet.symbols.size() ? alphabet.symbols[symbol - 1] : " ";
    last = symbol;
  }
  return text;
}

Parts characters_of(std::string_view text) {
  const auto goes_on = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  Parts parts;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    ++end;
    while (end < text.size() && goes_on(end)) ++end;
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

Parts words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  Parts parts;
  for (size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return parts;
}

size_t edits_between(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  std::vector<size_t> row(b.size() + 1);  // from the parts of `a` so far to the first parts of `b`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

namespace {

constexpr size_t kMostCharacters = 1 << 16;  // of a text: longer ones would take minutes to compare

class TextErrors : public Scorer {
 public:
  TextErrors(Texts texts, Alphabet alphabet, std::string output)
      : texts_(std::move(texts)), alphabet_(std::move(alphabet)), output_(std::move(output)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const ir::Tensor* scores, results_of(results, output_));
    QQ_TRY(const std::string text, texts_.of(results.name));
    QQ_TRY(const std::string read, decode_ctc(*scores, alphabet_));
    const Parts characters = characters_of(text), read_characters = characters_of(read);
    const size_t longest = std::max(characters.size(), read_characters.size());
    if (longest > kMostCharacters) {
      return bad_data("a text has ", longest, " characters, allowed are ", kMostCharacters);
    }
    const Parts words = words_of(text);
    const auto add = [](std::vector<compare::Parts>& samples, size_t top, size_t bottom) {
      samples.push_back({static_cast<double>(top), static_cast<double>(bottom)});
    };
    add(characters_, edits_between(characters, read_characters), characters.size());
    add(words_, edits_between(words, words_of(read)), words.size());
    add(exact_, read == text ? 1 : 0, 1);
    return Status();
  }

  Result<compare::SampledScore> score(int variant) const override {
    const std::vector<compare::Parts>* const samples[] = {&characters_, &words_, &exact_};
    compare::SampledScore score = compare::ratio_of(*samples[variant]);
    if (variant != 2) score.hits.clear();  // errors, even where each text has one part
    return score;
  }

 private:
  Texts texts_;
  Alphabet alphabet_;
  std::string output_;
  std::vector<compare::Parts> characters_, words_, exact_;  ///< Edits and length per sample; 1 of 1 for an exact text.
};

}  // namespace

ScorerResult open_text_errors(const ScoringOptions& options) {
  const MetricRequest& request = options.request;
  if (request.alphabet_path.empty()) {
    return invalid_argument("--alphabet: found none, needed is a file with the symbol of each class, line by line");
  }
  QQ_TRY(Texts texts, Texts::read(request.truth_path));
  QQ_TRY(Alphabet alphabet, Alphabet::read(request.alphabet_path));
  return std::unique_ptr<Scorer>(std::make_unique<TextErrors>(std::move(texts), std::move(alphabet), request.output));
}

}  // namespace quarkq::metrics
