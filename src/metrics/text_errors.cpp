// SPDX-License-Identifier: MIT
// Text recognition: how far what is read is from the truth, in characters and words, and how often it is the same.
#include <cmath>

#include "metrics/ctc.h"
#include "metrics/edit_distance.h"
#include "metrics/scorer.h"
#include "metrics/truth/texts.h"

namespace quarkq::metrics {
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
    characters_.add(edits_between(characters, read_characters), characters.size());
    words_.add(edits_between(words, words_of(read)), words.size());
    exact_ += read == text;
    ++samples_;
    return Status();
  }

  Result<double> value(int variant) const override {
    if (variant == 2) return static_cast<double>(exact_) / static_cast<double>(samples_);
    return (variant == 0 ? characters_ : words_).rate();
  }

 private:
  struct Edits {
    size_t edits = 0, parts = 0;

    void add(size_t more_edits, size_t more_parts) { edits += more_edits, parts += more_parts; }
    double rate() const { return static_cast<double>(edits) / static_cast<double>(parts); }
  };
  Texts texts_;
  Alphabet alphabet_;
  std::string output_;
  Edits characters_, words_;
  size_t exact_ = 0, samples_ = 0;
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
