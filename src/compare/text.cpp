// SPDX-License-Identifier: MIT
#include "compare/text.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/strings.h"
#include "compare/expected_outputs.h"
#include "compare/language_model.h"

namespace quarkq::compare {
namespace {

constexpr size_t kMostPrompts = 16;
constexpr size_t kLeastIds = 128;        ///< Predictions below which a perplexity is chance.
constexpr double kMostPerplexity = 0.5;  ///< Share of the vocabulary above which ids are not text for the model.
constexpr double kMostMacs = 1e11;       ///< Multiply-accumulates of all continuations.

/// Passages and where they come from.
struct Texts {
  LanguageModel model;
  const ChosenSamples& samples;
  std::vector<size_t> numbers;  ///< Samples of the data.
  std::vector<Passage> passages;

  Result<Tensors> inputs(size_t place, const std::vector<int64_t>& ids) const {
    QQ_TRY(calib::Sample sample, samples.data.read(numbers[place]));
    return with_ids(std::move(sample.inputs), model, ids);
  }
};

/// One of the two models.
class Reader {
 public:
  Reader(ir::Model model, const Texts& texts)
      : texts_(texts), model_(std::move(model)), runner_(model_, texts.samples.environment, texts.numbers.size()) {}

  static Result<std::unique_ptr<Reader>> make(const ir::Model& model, Prepare prepare, const Texts& texts) {
    ir::Model copy = model;  // shares the weights
    Diagnostics ignored;
    if (prepare != nullptr) QQ_RETURN_IF_ERROR(prepare(copy, ignored));
    return std::make_unique<Reader>(std::move(copy), texts);
  }

  /// Calls `use(i, found)` for each of `places` with the judgement of `ids[i]`, from several threads. Returns
  /// whether all logits have the expected dimensions.
  template <typename Use>
  Result<bool> read(const std::vector<size_t>& places, const std::vector<const std::vector<int64_t>*>& ids,
                    const Use& use) {
    std::vector<char> fits(places.size(), 1);
    const auto inputs = [&](size_t i) { return texts_.inputs(places[i], *ids[i]); };
    const auto results = [&](size_t i, const Tensors& found) -> Status {
      QQ_TRY(const std::optional<NextIds> next,
             next_ids(found[texts_.model.logits], texts_.passages[places[i]], *ids[i], texts_.model.vocabulary));
      fits[i] = next ? 1 : 0;
      if (next) use(i, *next);
      return Status();
    };
    const auto label = [&](size_t i) { return cat("sample ", texts_.passages[places[i]].name); };
    QQ_RETURN_IF_ERROR(runner_.run(0, places.size(), inputs, results, label));
    return std::ranges::find(fits, 0) == fits.end();
  }

 private:
  const Texts& texts_;
  ir::Model model_;
  ModelRunner runner_;
};

/// Ids of a passage whose second halves a model fills in.
struct Draft {
  size_t place = 0;
  std::vector<int64_t> ids;
  std::vector<int64_t> known;  ///< First position of each row that may still change.

  bool is_done(const Passage& passage) const {
    for (size_t row = 0; row < known.size(); ++row)
      if (known[row] < passage.spans[row].end) return false;
    return true;
  }
};

Draft draft_of(const Passage& passage, size_t place, const std::vector<int64_t>& guess) {
  Draft draft{place, guess, {}};
  for (const TextSpan& span : passage.spans) draft.known.push_back(span.middle());
  return draft;
}

/// Takes the most likely ids. The one at `known` follows from ids that no longer change; each one after it too, as long
/// as the guess before it was right. The others are the next guesses.
void advance(const Passage& passage, const NextIds& next, Draft& draft) {
  for (size_t row = 0; row < draft.known.size(); ++row) {
    const size_t first = row * static_cast<size_t>(passage.length);
    bool is_final = true;
    for (int64_t i = draft.known[row]; i < passage.spans[row].end; ++i) {
      const size_t at = first + static_cast<size_t>(i);
      const int64_t likeliest = std::max<int64_t>(next.likeliest[at], 0);
      if (is_final) draft.known[row] = i + 1;
      is_final = is_final && draft.ids[at] == likeliest;
      draft.ids[at] = likeliest;
    }
  }
}

/// Fills in the drafts. All positions are guessed at once, and guessed again until they agree with the logits: the
/// result is that of a greedy continuation token by token, in fewer runs.
Result<bool> continue_texts(Reader& reader, const Texts& texts, size_t rounds, std::vector<Draft>& drafts) {
  for (size_t round = 0; round < rounds; ++round) {
    std::vector<Draft*> open;
    for (Draft& draft : drafts)
      if (!draft.is_done(texts.passages[draft.place])) open.push_back(&draft);
    if (open.empty()) break;
    std::vector<size_t> places;
    std::vector<const std::vector<int64_t>*> ids;
    for (const Draft* draft : open) {
      places.push_back(draft->place);
      ids.push_back(&draft->ids);
    }
    const auto use = [&](size_t i, const NextIds& next) { advance(texts.passages[places[i]], next, *open[i]); };
    QQ_TRY(const bool fits, reader.read(places, ids, use));
    if (!fits) return false;
  }
  return true;
}

void add_continuations(const Passage& passage, const Draft& expected, const Draft& found,
                       std::vector<Continuation>& all) {
  for (size_t row = 0; row < passage.spans.size() && all.size() < kMostPrompts; ++row) {
    const TextSpan& span = passage.spans[row];
    const int64_t end = std::min(expected.known[row], found.known[row]);
    if (end <= span.middle()) continue;
    Continuation one{passage.spans.size() == 1 ? passage.name : cat(passage.name, " row ", row)};
    one.prompt = static_cast<size_t>(span.middle() - span.begin);
    one.length = static_cast<size_t>(end - span.middle());
    for (size_t i = 0; i < one.length; ++i) {
      const size_t at = row * static_cast<size_t>(passage.length) + static_cast<size_t>(span.middle()) + i;
      if (expected.ids[at] == found.ids[at]) {
        ++one.same;
      } else if (!one.first_difference) {
        one.first_difference = i;
      }
    }
    all.push_back(std::move(one));
  }
}

/// How many samples are continued, in how many runs of each, so that large models do not take long.
struct Effort {
  size_t prompts, rounds;
};

Effort effort_for(const ir::Graph& graph, const Texts& texts) {
  constexpr double kUsualRounds = 16, kLeastRounds = 4;
  double weights = 0;
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor& tensor = *graph.value(id).constant;
    if (tensor.rank() >= 2) weights += static_cast<double>(tensor.size());
  }
  const Passage& passage = texts.passages[0];
  const double macs = std::max(1.0, weights * static_cast<double>(passage.ids.size()));
  const double runs = kMostMacs / macs / 2;
  const double prompts = std::clamp(runs / kUsualRounds, 1.0, static_cast<double>(kMostPrompts));
  const double rounds = std::clamp(runs / prompts, kLeastRounds, 1e6);
  return {static_cast<size_t>(prompts), static_cast<size_t>(rounds)};
}

Result<std::vector<Continuation>> compare_continuations(Reader& reference, Reader& quantized, const Texts& texts,
                                                        const Effort& effort) {
  std::vector<Continuation> found;
  std::vector<Draft> expected, other;
  for (const size_t place : spread_samples(texts.passages.size(), effort.prompts))
    expected.push_back(draft_of(texts.passages[place], place, texts.passages[place].ids));
  QQ_TRY(const bool fits, continue_texts(reference, texts, effort.rounds, expected));
  if (!fits) return found;
  for (const Draft& draft : expected) other.push_back(draft_of(texts.passages[draft.place], draft.place, draft.ids));
  QQ_TRY(const bool fits_too, continue_texts(quantized, texts, effort.rounds, other));
  if (!fits_too) return found;
  for (size_t i = 0; i < expected.size(); ++i)
    add_continuations(texts.passages[expected[i].place], expected[i], other[i], found);
  return found;
}

/// Whether the logits of the first half do not depend on the ids of the second.
Result<bool> is_causal(Reader& reader, const Texts& texts) {
  constexpr double kTolerance = 1e-3;
  const Passage& passage = texts.passages[0];
  std::vector<int64_t> changed = passage.ids;
  const auto length = static_cast<size_t>(passage.length);
  for (size_t row = 0; row < passage.spans.size(); ++row)
    for (int64_t i = passage.spans[row].middle(); i < passage.spans[row].end; ++i) {
      int64_t& id = changed[row * length + static_cast<size_t>(i)];
      id = (id + 1) % texts.model.vocabulary;
    }
  std::optional<NextIds> found[2];
  const std::vector<int64_t>* const ids[] = {&passage.ids, &changed};
  for (size_t i = 0; i < 2; ++i) {
    QQ_TRY(const bool fits, reader.read({0}, {ids[i]}, [&](size_t, const NextIds& next) { found[i] = next; }));
    if (!fits) return false;
  }
  for (size_t row = 0; row < passage.spans.size(); ++row) {
    for (int64_t i = passage.spans[row].begin + 1; i < passage.spans[row].middle(); ++i) {
      const size_t at = row * length + static_cast<size_t>(i);
      const double difference = std::abs(found[0]->surprise[at] - found[1]->surprise[at]);
      if (!(difference <= kTolerance * (1 + std::abs(found[0]->surprise[at])))) return false;
    }
  }
  return true;
}

/// Returns the sums of each sample; an empty list if logits do not fit.
Result<std::vector<TextSums>> compare_next(Reader& reference, Reader& quantized, const Texts& texts) {
  const size_t count = texts.passages.size();
  std::vector<TextSums> sums(count);
  std::vector<std::vector<int64_t>> likeliest(count);
  std::vector<size_t> places(count);
  std::vector<const std::vector<int64_t>*> ids(count);
  for (size_t i = 0; i < count; ++i) places[i] = i, ids[i] = &texts.passages[i].ids;
  const auto add_expected = [&](size_t i, const NextIds& next) {
    texts.passages[i].for_each_predicted([&](size_t at) { sums[i].expected += next.surprise[at], ++sums[i].ids; });
    likeliest[i] = next.likeliest;
  };
  const auto add_found = [&](size_t i, const NextIds& next) {
    texts.passages[i].for_each_predicted([&](size_t at) {
      sums[i].found += next.surprise[at];
      sums[i].same += next.likeliest[at] >= 0 && next.likeliest[at] == likeliest[i][at] ? 1 : 0;
    });
  };
  QQ_TRY(const bool fits, reference.read(places, ids, add_expected));
  if (!fits) return std::vector<TextSums>();
  QQ_TRY(const bool fits_too, quantized.read(places, ids, add_found));
  if (!fits_too) return std::vector<TextSums>();
  return sums;
}

/// Reads the samples that are text; returns why one is not, otherwise an empty text.
Result<std::string> read_texts(Texts& texts) {
  size_t ids = 0;
  for (const size_t number : texts.samples.numbers) {
    QQ_TRY(const calib::Sample sample, texts.samples.data.read(number));
    QQ_TRY(std::optional<Passage> passage, read_passage(texts.model, sample));
    if (!passage) return cat("sample ", sample.name, " is not [batch, length] ids below ", texts.model.vocabulary);
    for (const TextSpan& span : passage->spans) ids += static_cast<size_t>(std::max<int64_t>(span.length() - 1, 0));
    texts.numbers.push_back(number);
    texts.passages.push_back(std::move(*passage));
  }
  if (ids < kLeastIds) return cat("the samples predict ", ids, " tokens, at least ", kLeastIds, " are needed");
  return std::string();
}

}  // namespace

Result<ComparedText> compare_text(const ir::Model& reference, const ir::Model& quantized, Prepare prepare,
                                  const ChosenSamples& samples) {
  const std::optional<LanguageModel> model = find_language_model(reference.graph);
  if (!model) return ComparedText{};
  Texts texts{*model, samples, {}, {}};
  QQ_TRY(const std::string why_not, read_texts(texts));
  if (!why_not.empty()) return ComparedText{{}, why_not};
  QQ_TRY(const std::unique_ptr<Reader> first, Reader::make(reference, prepare, texts));
  QQ_TRY(const bool is_language_model, is_causal(*first, texts));
  if (!is_language_model) return ComparedText{};
  QQ_TRY(const std::unique_ptr<Reader> second, Reader::make(quantized, prepare, texts));
  QQ_TRY(const std::vector<TextSums> sums, compare_next(*first, *second, texts));
  if (sums.empty()) return ComparedText{{}, "logits of a sample are not [batch, length, vocabulary]"};
  TextAgreement text = summarize_text(sums);
  text.output = reference.graph.value(reference.graph.outputs()[model->logits]).name;
  if (!(text.expected.value <= kMostPerplexity * static_cast<double>(model->vocabulary))) {
    return ComparedText{{},
                        cat("the samples are not text for the float model: its perplexity is ",
                            std::round(text.expected.value), " with ", model->vocabulary, " tokens")};
  }
  QQ_TRY(text.continuations, compare_continuations(*first, *second, texts, effort_for(reference.graph, texts)));
  return ComparedText{std::move(text)};
}

}  // namespace quarkq::compare
