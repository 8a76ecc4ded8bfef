// SPDX-License-Identifier: MIT
#include "metrics/accuracy.h"

#include <algorithm>

#include "metrics/ranks.h"

namespace quarkq::metrics {
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

}  // namespace quarkq::metrics
