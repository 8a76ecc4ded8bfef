// SPDX-License-Identifier: MIT
// Input and interface of scorers: they receive results sample by sample and return numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/intervals.h"
#include "compare/language_model.h"
#include "ir/tensor.h"
#include "metrics/detect/detections.h"
#include "quarkq/evaluate.h"

namespace quarkq::metrics {

/// Results of a model on one sample.
struct SampleResults {
  size_t number = 0;  ///< Number of the sample, starting at 0.
  std::string name;   ///< Name of the sample: its file name without folder and suffix.
  const std::vector<std::string>& outputs;
  const std::vector<ir::Tensor>& values;            ///< One per output.
  const std::vector<ir::Tensor>* inputs = nullptr;  ///< Inputs of the model; null for results without their model.
};

struct ScoringOptions {
  MetricRequest request;
  size_t samples = 0;
  bool is_part = false;  ///< There may be further samples.
  Geometry geometry = {};
  std::optional<compare::LanguageModel> text = {};  ///< Set if the model is a language model.
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  /// Called for the samples in order. Fails with kBadData if results do not match the truth.
  virtual Status add(const SampleResults& results) = 0;
  /// Returns the score as a function of how often each added sample counts. `variant` selects one of several numbers
  /// (MetricInfo). The scorer must outlive the function. REQUIRES: something was added, and nothing is added later.
  virtual Result<compare::SampledScore> score(int variant) const = 0;
};

using ScorerResult = Result<std::unique_ptr<Scorer>>;
using OpenScorer = ScorerResult (*)(const ScoringOptions& options);

/// Returns the results of the output called `name`, or of the only output if it is empty. Fails with kInvalidArgument.
Result<const ir::Tensor*> results_of(const SampleResults& results, const std::string& name);

// One function per kind of scorer.
ScorerResult open_top_k(const ScoringOptions& options);        ///< variant: k
ScorerResult open_likelihood(const ScoringOptions& options);   ///< variant: 0 perplexity, 1 bits per label
ScorerResult open_next_tokens(const ScoringOptions& options);  ///< variant: 0 perplexity, 1 share of most likely tokens
ScorerResult open_f1(const ScoringOptions& options);
ScorerResult open_map(const ScoringOptions& options);  ///< variant: 0, or the overlap in percent
ScorerResult open_miou(const ScoringOptions& options);
ScorerResult open_text_errors(const ScoringOptions& options);  ///< variant: 0 characters, 1 words, 2 exact texts

}  // namespace quarkq::metrics
