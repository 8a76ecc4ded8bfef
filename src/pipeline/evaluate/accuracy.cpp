// SPDX-License-Identifier: MIT
#include "pipeline/evaluate/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quarkq::pipeline {
namespace {

constexpr int kDefaultTop[] = {1, 5};
constexpr size_t kClassesForTop5 = 6;
constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

/// How many classes come before `label`; kNowhere when a score is NaN.
size_t rank_of(std::span<const double> scores, size_t label) {
  size_t rank = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return kNowhere;
    if (scores[i] > scores[label] || (scores[i] == scores[label] && i < label)) ++rank;
  }
  return rank;
}

size_t highest(std::span<const double> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

/// Classes lie side by side, in the last dimension that is more than one.
bool has_classes_last(const ir::Shape& dims, size_t classes) {
  const auto last = std::find_if(dims.rbegin(), dims.rend(), [](int64_t dim) { return dim != 1; });
  return last != dims.rend() && static_cast<size_t>(*last) == classes;
}

}  // namespace

Result<AccuracyCount> AccuracyCount::open(const AccuracyRequest& request, const std::vector<bool>& is_scored,
                                          bool is_part) {
  AccuracyCount count;
  size_t scored = 0;
  for (const bool one : is_scored) count.place_.push_back(one ? std::optional(scored++) : std::nullopt);
  if (scored == 0) return invalid_argument("--labels-output ", request.output, ": there are no results of this output");
  count.top_by_default_ = request.top.empty();
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
  const size_t values = arrays.baseline.size(), classes = values / labels.size();
  if (values % labels.size() != 0 || classes < 2 || !has_classes_last(arrays.dims, classes)) {
    return bad_data("shape ", shape_text(arrays.dims), " holds no scores of classes for ", labels.size(),
                    labels.size() == 1 ? " label" : " labels");
  }
  Accuracy found;
  found.decisions = labels.size();
  found.classes = classes;
  for (const int k : top_) found.top.push_back({k});
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || static_cast<size_t>(labels[i]) >= classes) {
      return bad_data("its label is ", labels[i], ", there are scores of ", classes, " classes");
    }
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

}  // namespace quarkq::pipeline
