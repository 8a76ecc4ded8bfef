// SPDX-License-Identifier: MIT
#include "metrics/array_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "metrics/label_metrics.h"
#include "metrics/ssim_loops.h"

namespace quarkq::metrics {

namespace {

constexpr double kC1 = 6.5025, kC2 = 58.5225;  // (0.01 * 255)^2, (0.03 * 255)^2
constexpr double kGuard = 1e-10;               // the reference adds it to the denominator
constexpr int64_t kTileWidth = 1024;           // 11 rows of 5 moments stay within a second-level cache

/// By distance from the middle.
std::array<double, kWindowRadius + 1> gaussian() {
  constexpr double kSigma = 1.5;
  std::array<double, kWindowRadius + 1> weights{};
  double sum = 0;
  for (int64_t d = 0; d <= kWindowRadius; ++d) {
    double& weight = weights[static_cast<size_t>(d)];
    weight = std::exp(static_cast<double>(-d * d) / (2 * kSigma * kSigma));
    sum += d == 0 ? weight : 2 * weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Index inside [0, size) after reflection at the ends, which are not repeated: -1 -> 1.
int64_t reflect(int64_t index, int64_t size) {
  if (size == 1) return 0;
  while (index < 0 || index >= size) index = index < 0 ? -index : 2 * (size - 1) - index;
  return index;
}

/// A row of an array, and where its pixels lie.
struct Row {
  const double* begin;
  int64_t stride, width;

  double at(int64_t x) const { return begin[reflect(x, width) * stride]; }
};

/// Pixels [first - 5, last + 5) of a row, less `offset`.
void copy_padded(const Row& row, int64_t first, int64_t last, double offset, double* out) {
  const int64_t inner_begin = std::max(first - kWindowRadius, int64_t{0});
  const int64_t inner_end = std::min(last + kWindowRadius, row.width);
  for (int64_t x = first - kWindowRadius; x < inner_begin; ++x) *out++ = row.at(x) - offset;
  const double* from = row.begin + inner_begin * row.stride;
  for (int64_t x = inner_begin; x < inner_end; ++x, from += row.stride) *out++ = *from - offset;
  for (int64_t x = inner_end; x < last + kWindowRadius; ++x) *out++ = row.at(x) - offset;
}

double mean(const double* image, const ImageSplit& split) {
  double sum = 0;
  for (int64_t y = 0; y < split.height; ++y) {
    const double* row = image + y * split.row_stride;
    for (int64_t x = 0; x < split.width; ++x) sum += row[x * split.column_stride];
  }
  return sum / static_cast<double>(split.height * split.width);
}

/// A stretch of columns of one image of both arrays, walked from top to bottom. Windows of a row need the moments of
/// the 11 rows around it: they are kept in a ring. (Rows that reflection names lie among them, or there are fewer.)
class Tile {
 public:
  Tile(const ImageSplit& split, const SimilarityTerms& terms)
      : split_(split), terms_(terms), widest_(std::min(split.width, kTileWidth)) {
    const auto width = static_cast<size_t>(widest_), padded = width + 2 * kWindowRadius;
    scratch_.resize(padded * kMoments);
    ring_.resize(width * kMoments * static_cast<size_t>(std::min(split.height, kWindowSize)));
    moments_.resize(width * kMoments);
  }

  double sum(const double* a, const double* b, int64_t first, int64_t last) {
    a_ = a, b_ = b, first_ = first, last_ = last;
    const int64_t width = last - first, height = split_.height;
    double total = 0;
    for (int64_t y = 0, known = 0; y < height; ++y) {
      for (; known < std::min(y + kWindowRadius + 1, height); ++known) blur_row(known);
      if (height == 1) {  // reflection gives the row itself 11 times
        total += QQ_DISPATCH(metrics, similarity_sum)(ring_row(0), width, terms_);
        continue;
      }
      const double* rows[kWindowSize];
      for (int64_t k = 0; k < kWindowSize; ++k) rows[k] = ring_row(reflect(y + k - kWindowRadius, height));
      QQ_DISPATCH(metrics, blur_down)(rows, width * kMoments, weights_.data(), moments_.data());
      total += QQ_DISPATCH(metrics, similarity_sum)(moments_.data(), width, terms_);
    }
    return total;
  }

 private:
  double* ring_row(int64_t y) { return ring_.data() + (y % kWindowSize) * widest_ * kMoments; }

  void blur_row(int64_t y) {
    const int64_t padded = last_ - first_ + 2 * kWindowRadius;
    double *a = scratch_.data(), *b = a + padded, *products = b + padded;
    copy_padded({a_ + y * split_.row_stride, split_.column_stride, split_.width}, first_, last_, terms_.offset_a, a);
    copy_padded({b_ + y * split_.row_stride, split_.column_stride, split_.width}, first_, last_, terms_.offset_b, b);
    QQ_DISPATCH(metrics, blur_across)({a, b, last_ - first_}, weights_.data(), products, ring_row(y));
  }

  const ImageSplit& split_;
  const SimilarityTerms& terms_;
  int64_t widest_;
  const std::array<double, kWindowRadius + 1> weights_ = gaussian();
  const double *a_ = nullptr, *b_ = nullptr;
  int64_t first_ = 0, last_ = 0;
  std::vector<double> scratch_, ring_, moments_;
};

}  // namespace

ImageSplit split_images(const ir::Shape& dims) {
  const size_t rank = dims.size();
  ImageSplit split;
  if (rank == 3) return {dims[2], dims[0], dims[1], 1, dims[1] * dims[2], dims[2]};
  if (rank >= 1) split.width = dims[rank - 1];
  if (rank >= 2) split.height = dims[rank - 2];
  for (size_t i = 0; i + 2 < rank; ++i) split.images *= dims[i];
  split.row_stride = split.width;
  split.image_stride = split.width * split.height;
  return split;
}

double ssim(std::span<const double> a, std::span<const double> b, const ImageSplit& split, WindowMoments moments) {
  const bool is_central = moments == WindowMoments::kCentral;
  SimilarityTerms terms{kC1, kC2, is_central ? 0 : kGuard, is_central};
  Tile tile(split, terms);
  double sum = 0;
  for (int64_t image = 0; image < split.images; ++image) {
    const int64_t offset = image * split.image_stride;
    if (is_central) {  // E[xx] - E[x]^2 of values far from 0 would lose all digits
      terms.offset_a = mean(a.data() + offset, split);
      terms.offset_b = mean(b.data() + offset, split);
    }
    for (int64_t x = 0; x < split.width; x += kTileWidth) {
      sum += tile.sum(a.data() + offset, b.data() + offset, x, std::min(x + kTileWidth, split.width));
    }
  }
  return sum / static_cast<double>(a.size());
}

namespace {

/// Narrower integers may be pixels or sound.
bool is_choice(ElementType type) { return type == ElementType::kBool || (is_integer(type) && bits(type) >= 32); }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double to_float32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// The reference's figures: float32 arrays and results, except that psnr widens to double when it meets its floor.
void round_as_reference(const numeric::PairSums& sums, PairMetrics& metrics) {
  const bool no_angle = sums.norm_a == 0 || sums.norm_b == 0;
  metrics.cosine = no_angle ? kNaN : to_float32(metrics.cosine);
  metrics.l2 = to_float32(metrics.l2);
  if (sums.max_a > 0 && metrics.l2 > 0) metrics.psnr = to_float32(metrics.psnr);
  metrics.ssim = to_float32(metrics.ssim);
}

/// Mean, smallest and largest of one metric over all pairs. A NaN makes all three NaN.
struct Summary {
  double mean = 0, min = 0, max = 0;
};

Summary summarize(const std::vector<PairMetrics>& pairs, double PairMetrics::*metric, bool compat) {
  Summary summary;
  summary.min = summary.max = pairs[0].*metric;
  bool all_float32 = true;
  for (const PairMetrics& pair : pairs) {
    const double value = pair.*metric;
    if (std::isnan(value)) return {value, value, value};
    summary.mean += value;
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    all_float32 = all_float32 && value == to_float32(value);
  }
  summary.mean /= static_cast<double>(pairs.size());
  if (compat && all_float32) summary.mean = to_float32(summary.mean);
  return summary;
}

}  // namespace

Result<ArrayPair> pair_arrays(const ir::Tensor& baseline, const std::string& baseline_name, const ir::Tensor& quantized,
                              const std::string& quantized_name) {
  if (baseline.dims() != quantized.dims()) {
    return bad_data(quantized_name, ": shape ", shape_text(quantized.dims()), ", ", baseline_name, " has ",
                    shape_text(baseline.dims()));
  }
  if (baseline.size() == 0) return bad_data(baseline_name, ": contains no values, shape ", shape_text(baseline.dims()));
  ArrayPair arrays;
  arrays.dims = baseline.dims();
  arrays.is_choice = is_choice(baseline.type());
  QQ_TRY(arrays.baseline, ir::to_double(baseline));
  QQ_TRY(arrays.quantized, ir::to_double(quantized));
  return arrays;
}

Comparison compare_arrays(ArrayPair& arrays, bool compat) {
  if (compat) {
    std::ranges::transform(arrays.baseline, arrays.baseline.begin(), to_float32);
    std::ranges::transform(arrays.quantized, arrays.quantized.begin(), to_float32);
  }
  Comparison found;
  found.sums = compat ? numeric::pair_sums_of_all(arrays.baseline, arrays.quantized)
                      : numeric::pair_sums(arrays.baseline, arrays.quantized);
  PairMetrics& metrics = found.metrics;
  metrics.cosine = numeric::cosine(found.sums);
  metrics.l2 = numeric::l2_distance(found.sums);
  metrics.psnr = numeric::psnr_db(found.sums, compat ? numeric::Peak::kSigned : numeric::Peak::kMagnitude);
  const bool is_partial = found.sums.same + found.sums.differing > 0;
  const auto part = is_partial ? numeric::finite_part(arrays.baseline, arrays.quantized) : std::nullopt;
  metrics.ssim = ssim(part ? part->a : arrays.baseline, part ? part->b : arrays.quantized, split_images(arrays.dims),
                      compat ? WindowMoments::kRaw : WindowMoments::kCentral);
  metrics.sqnr_db = numeric::sqnr_db(found.sums);
  metrics.max_abs = found.sums.max_distance;
  metrics.same_not_finite = found.sums.same;
  metrics.different_not_finite = found.sums.differing;
  if (found.sums.differing > 0)
    metrics.l2 = metrics.psnr = metrics.ssim = metrics.sqnr_db = metrics.max_abs = kNaN;  // gates fail
  if (compat) round_as_reference(found.sums, metrics);
  metrics.is_choice = arrays.is_choice;
  return found;
}

void aggregate(EvaluateReport& report, bool compat) {
  const Summary cosine = summarize(report.pairs, &PairMetrics::cosine, compat);
  const Summary l2 = summarize(report.pairs, &PairMetrics::l2, compat);
  const Summary psnr = summarize(report.pairs, &PairMetrics::psnr, compat);
  const Summary ssim = summarize(report.pairs, &PairMetrics::ssim, compat);
  report.mean_cosine = cosine.mean, report.min_cosine = cosine.min;
  report.mean_l2 = l2.mean, report.max_l2 = l2.max;
  report.mean_psnr = psnr.mean, report.min_psnr = psnr.min;
  report.mean_ssim = ssim.mean, report.min_ssim = ssim.min;
  if (compat) return;
  const std::pair<double PairMetrics::*, std::optional<Interval>*> means[] = {
      {&PairMetrics::cosine, &report.cosine_interval},
      {&PairMetrics::l2, &report.l2_interval},
      {&PairMetrics::psnr, &report.psnr_interval},
      {&PairMetrics::ssim, &report.ssim_interval}};
  const size_t outputs = std::max<size_t>(1, report.outputs.size()), samples = report.pairs.size() / outputs;
  std::vector<compare::SampledScore> scores;
  for (const auto& [figure, interval] : means) {
    std::vector<compare::Parts> parts(samples, {0, static_cast<double>(outputs)});
    for (size_t i = 0; i < samples * outputs; ++i) parts[i / outputs].top += report.pairs[i].*figure;
    scores.push_back(compare::ratio_of(std::move(parts)));
    scores.back().hits.clear();  // agreements, even if all are 1
  }
  const std::vector<Resamples> drawn = compare::resample(scores, samples);
  for (size_t i = 0; i < drawn.size(); ++i)
    *means[i].second = compare::interval_of(drawn[i], scores[i].once(samples), report.confidence);
}

namespace {

constexpr int kDefaultTop[] = {1, 5};
constexpr size_t kClassesForTop5 = 6;

size_t highest(std::span<const double> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace

Result<AccuracyCount> AccuracyCount::open(const AccuracyRequest& request, const std::vector<bool>& is_scored,
                                          bool is_part) {
  AccuracyCount count;
  size_t scored = 0;
  for (const bool one : is_scored) count.place_.push_back(one ? std::optional(scored++) : std::nullopt);
  if (scored == 0) return invalid_argument("--labels-output ", request.output, ": there are no results of this output");
  count.top_by_default_ = request.top.empty(), count.confidence_ = request.confidence;
  count.top_ = count.top_by_default_ ? std::vector<int>(std::begin(kDefaultTop), std::end(kDefaultTop)) : request.top;
  std::ranges::sort(count.top_);
  count.top_.erase(std::unique(count.top_.begin(), count.top_.end()), count.top_.end());
  if (count.top_[0] < 1) return invalid_argument("--top: found ", count.top_[0], ", allowed is 1 or more");
  QQ_TRY(count.labels_, Labels::read(request.labels_path));
  QQ_RETURN_IF_ERROR(count.labels_.share_out(scored, is_part));
  return count;
}

Result<std::optional<Accuracy>> AccuracyCount::score(size_t result, const std::string& name,
                                                     const ArrayPair& arrays) const {
  if (!place_[result]) return std::optional<Accuracy>();
  QQ_TRY(const std::span<const int64_t> labels, labels_.of(*place_[result], name));
  QQ_TRY(const size_t classes, classes_for(arrays.dims, labels));
  Accuracy found;
  found.decisions = labels.size();
  found.classes = classes;
  for (const int k : top_) found.top.push_back({k});
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<size_t>(labels[i]);
    const std::span baseline(arrays.baseline.data() + i * classes, classes);
    const std::span quantized(arrays.quantized.data() + i * classes, classes);
    const size_t rank_baseline = rank_of(baseline, label), rank_quantized = rank_of(quantized, label);
    for (TopHits& hits : found.top) {
      hits.baseline += rank_baseline < static_cast<size_t>(hits.k);
      hits.quantized += rank_quantized < static_cast<size_t>(hits.k);
    }
    found.agreements +=
        rank_baseline != kNowhere && rank_quantized != kNowhere && highest(baseline) == highest(quantized);
  }
  return std::optional(std::move(found));
}

Status AccuracyCount::add(const Accuracy& one, const std::string& name) {
  added_.push_back(one);
  if (counted_.decisions == 0) {
    counted_ = one;
    if (top_by_default_ && one.classes < kClassesForTop5) counted_.top.resize(1);
    return Status();
  }
  if (one.classes != counted_.classes) {
    return bad_data(name, ": holds scores of ", one.classes, " classes, earlier results of ", counted_.classes,
                    "; --labels-output chooses one of several outputs");
  }
  counted_.decisions += one.decisions;
  counted_.agreements += one.agreements;
  for (size_t i = 0; i < counted_.top.size(); ++i) {
    counted_.top[i].baseline += one.top[i].baseline;
    counted_.top[i].quantized += one.top[i].quantized;
  }
  return Status();
}

Accuracy AccuracyCount::counted() const {
  Accuracy all = counted_;
  all.confidence = confidence_;
  std::vector<compare::SampledScore> scores;
  const auto add_score = [&](const auto& hits_of) {
    std::vector<compare::Parts> parts;
    parts.reserve(added_.size());
    for (const Accuracy& one : added_)
      parts.push_back({static_cast<double>(hits_of(one)), static_cast<double>(one.decisions)});
    scores.push_back(compare::ratio_of(std::move(parts)));
  };
  for (size_t i = 0; i < all.top.size(); ++i) {
    add_score([&](const Accuracy& one) { return one.top[i].baseline; });
    add_score([&](const Accuracy& one) { return one.top[i].quantized; });
  }
  add_score([](const Accuracy& one) { return one.agreements; });
  const std::vector<Resamples> drawn = compare::resample(scores, added_.size());
  const auto share = [&](size_t hits) { return static_cast<double>(hits) / static_cast<double>(all.decisions); };
  for (size_t i = 0; i < all.top.size(); ++i) {
    TopHits& top = all.top[i];
    const compare::Measured baseline{share(top.baseline), drawn[2 * i]};
    const compare::Measured quantized{share(top.quantized), drawn[2 * i + 1]};
    top.baseline_interval = compare::interval_of(baseline.samples, baseline.value, confidence_);
    top.quantized_interval = compare::interval_of(quantized.samples, quantized.value, confidence_);
    top.difference = compare::difference_of(baseline, quantized, confidence_);
    if (top.k == 1) all.quantized_top1 = quantized.samples;
  }
  all.agreement_interval = compare::interval_of(drawn.back(), share(all.agreements), confidence_);
  return all;
}

}  // namespace quarkq::metrics
