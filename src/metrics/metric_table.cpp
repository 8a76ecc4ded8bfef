// SPDX-License-Identifier: MIT
#include "metrics/metric_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace quarkq::metrics {
namespace {

constexpr int kMostTop = 1000000;

constexpr Better kHigher = Better::kHigher, kLower = Better::kLower;
constexpr TruthKind kBaseline = TruthKind::kBaseline, kLabels = TruthKind::kLabels, kBoxes = TruthKind::kBoxes,
                    kMasks = TruthKind::kMasks, kTexts = TruthKind::kTexts, kIds = TruthKind::kIds;

constexpr MetricInfo kMetrics[] = {
    {"topK", kHigher, "share", kLabels, "labels among the K classes that score highest (top1, top5, ...)", open_top_k,
     1, nullptr},
    {"f1", kHigher, "share", kLabels, "F1 of the class that scores highest, mean over the classes", open_f1, 0,
     nullptr},
    {"perplexity", kLower, "", kLabels, "exp of the mean surprise at the labels, by the softmax of logits",
     open_likelihood, 0, nullptr},
    {"bits", kLower, "bits", kLabels, "the same as bits per label: mean of -log2 of their probability", open_likelihood,
     1, nullptr},
    {"text_perplexity", kLower, "", kIds, "perplexity of a language model on the ids of the samples", open_next_tokens,
     0, nullptr},
    {"next_token", kHigher, "share", kIds, "ids of the samples that are the most likely ones of a language model",
     open_next_tokens, 1, nullptr},
    {"map", kHigher, "share", kBoxes, "COCO's mAP: overlaps 0.5 to 0.95, 101 recalls; needs --head", open_map, 0,
     nullptr},
    {"map50", kHigher, "share", kBoxes, "the same at an overlap of 0.5", open_map, 50, nullptr},
    {"map75", kHigher, "share", kBoxes, "the same at an overlap of 0.75", open_map, 75, nullptr},
    {"miou", kHigher, "share", kMasks, "intersection over union of segments, mean over the classes", open_miou, 0,
     nullptr},
    {"cer", kLower, "share", kTexts, "edits by character of texts read by CTC; needs --alphabet", open_text_errors, 0,
     nullptr},
    {"wer", kLower, "share", kTexts, "the same by word", open_text_errors, 1, nullptr},
    {"exact", kHigher, "share", kTexts, "texts read without a fault; needs --alphabet", open_text_errors, 2, nullptr},
    {"cosine", kHigher, "", kBaseline, "cosine similarity, mean over the pairs", nullptr, 0, &PairMetrics::cosine},
    {"sqnr", kHigher, "dB", kBaseline, "signal to quantization noise, mean over the pairs", nullptr, 0,
     &PairMetrics::sqnr_db},
    {"psnr", kHigher, "dB", kBaseline, "peak signal to noise, mean over the pairs", nullptr, 0, &PairMetrics::psnr},
    {"ssim", kHigher, "", kBaseline, "structural similarity, mean over the pairs", nullptr, 0, &PairMetrics::ssim},
    {"l2", kLower, "", kBaseline, "euclidean distance, mean over the pairs", nullptr, 0, &PairMetrics::l2},
};

/// The number at the end of `name`, when the rest is the row's name up to its K.
std::optional<int> number_of(const std::string& name, const MetricInfo& row) {
  if (!row.name.ends_with('K')) return std::nullopt;
  const std::string_view stem = row.name.substr(0, row.name.size() - 1);
  if (!name.starts_with(stem)) return std::nullopt;
  int number = 0;
  const char *begin = name.data() + stem.size(), *end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(begin, end, number);
  const bool fits = error == std::errc() && stopped == end && number >= 1 && number <= kMostTop && *begin != '0';
  return fits ? std::optional(number) : std::nullopt;
}

std::optional<ChosenMetric> find_metric(const std::string& name) {
  for (const MetricInfo& row : kMetrics) {
    const std::optional<int> number = number_of(name, row);
    if (number) return ChosenMetric{name, &row, *number};
    if (row.name == name && !row.name.ends_with('K')) return ChosenMetric{name, &row, row.variant};
  }
  return std::nullopt;
}

Status unknown_metric(const std::string& name) {
  std::vector<std::string> names = {"top1", "top5"};
  for (const MetricInfo& row : kMetrics) names.emplace_back(row.name);
  const std::string hint = did_you_mean(name, names);
  names.erase(names.begin(), names.begin() + 2);
  return invalid_argument("--metric: found ", name, ", allowed are ", join(names, ", "), " with a number for K", hint);
}

}  // namespace

size_t sample_count(const EvaluateReport& report) {
  return report.pairs.size() / std::max<size_t>(1, report.outputs.size());
}

/// The order of the highest scores, which TopK gives as indices, changes with any noise.
compare::SampledScore mean_of(const EvaluateReport& report, double PairMetrics::*figure) {
  const bool has_signals = !std::ranges::all_of(report.pairs, &PairMetrics::is_choice);
  const size_t outputs = std::max<size_t>(1, report.outputs.size());
  std::vector<compare::Parts> samples(sample_count(report));
  for (size_t i = 0; i < samples.size() * outputs; ++i) {
    const PairMetrics& pair = report.pairs[i];
    if (has_signals && pair.is_choice) continue;
    samples[i / outputs].top += pair.*figure;
    samples[i / outputs].bottom += 1;
  }
  compare::SampledScore score = compare::ratio_of(std::move(samples));
  score.hits.clear();  // agreements, even if all are 1
  return score;
}

std::span<const MetricInfo> metric_table() { return kMetrics; }

std::string_view better_name(Better better) { return better == Better::kHigher ? "higher" : "lower"; }

std::string_view truth_name(TruthKind truth) {
  static constexpr std::string_view kNames[] = {"the other side", "labels", "boxes",
                                                "masks",          "texts",  "ids of the samples"};
  return kNames[static_cast<size_t>(truth)];
}

Result<std::vector<ChosenMetric>> choose_metrics(const std::vector<std::string>& names) {
  std::vector<ChosenMetric> chosen;
  chosen.reserve(names.size());
  for (const std::string& name : names) {
    const std::optional<ChosenMetric> metric = find_metric(name);
    if (!metric) return unknown_metric(name);
    const auto same = std::ranges::find(chosen, name, &ChosenMetric::name);
    if (same != chosen.end()) return invalid_argument("--metric: ", name, " was requested twice");
    chosen.push_back(*metric);
  }
  return chosen;
}

Result<MetricRun> MetricRun::open(const std::vector<ChosenMetric>& metrics, const ScoringOptions& options) {
  MetricRun run;
  run.rows_.reserve(metrics.size());
  for (const ChosenMetric& metric : metrics) {
    Row row{.variant = metric.variant, .is_scored = metric.info->open != nullptr, .name = metric.name};
    if (row.is_scored) {
      if (options.request.truth_path.empty() && metric.info->truth != kIds) {
        return invalid_argument("--metric ", metric.name, ": needs --labels, ", truth_name(metric.info->truth));
      }
      const auto kind = std::ranges::find(run.kinds_, metric.info->open);
      row.scorer = static_cast<size_t>(kind - run.kinds_.begin());
      if (kind == run.kinds_.end()) {
        QQ_TRY(std::unique_ptr<Scorer> scorer, metric.info->open(options));
        run.kinds_.push_back(metric.info->open);
        run.scorers_.push_back(std::move(scorer));
      }
    }
    run.rows_.push_back(std::move(row));
  }
  return run;
}

Status MetricRun::add(const SampleResults& results) {
  ++added_;
  for (const std::unique_ptr<Scorer>& scorer : scorers_) {
    QQ_RETURN_IF_ERROR(scorer->add(results).context(cat("sample ", results.name)));
  }
  return Status();
}

Result<std::vector<std::optional<ScoredValue>>> MetricRun::values() const {
  if (added_ == 0) return bad_data("there are no results to score");
  std::vector<compare::SampledScore> scores;
  for (const Row& row : rows_) {
    if (!row.is_scored) continue;
    Result<compare::SampledScore> score = scorers_[row.scorer]->score(row.variant);
    if (!score.ok()) return score.status().context(cat("--metric ", row.name));
    scores.push_back(std::move(score).value());
  }
  std::vector<Resamples> drawn = compare::resample(scores, added_);
  std::vector<std::optional<ScoredValue>> values(rows_.size());
  size_t next = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].is_scored) continue;
    values[i] = ScoredValue{scores[next].once(added_), std::move(drawn[next])};
    ++next;
  }
  return values;
}

}  // namespace quarkq::metrics
