// SPDX-License-Identifier: MIT
// Segmentation: intersection over union of what was found and what is true, averaged over the classes that occur.
#include <algorithm>
#include <cmath>

#include "metrics/scorer.h"
#include "metrics/truth/masks.h"

namespace quarkq::metrics {
namespace {

constexpr int64_t kIgnored = 255;        // pixels without a class, by the custom of PASCAL VOC, Cityscapes and others
constexpr int64_t kNoClass = -1;         // nothing was decided
constexpr int64_t kMostClasses = 65536;  // bounds what is counted; no data set comes near

using Classes = std::vector<int64_t>;

/// Where the score of a class at a pixel stands: class * class_stride + pixel * pixel_stride.
struct ScoreLayout {
  size_t classes = 0, class_stride = 0, pixel_stride = 0;
};

Status misfit(const ir::Tensor& output, const Mask& mask) {
  const std::string size = cat(mask.height, ",", mask.width);
  return bad_data("the results are ", name(output.type()), shape_text(output.dims()), ", the mask ", mask.path, " is [",
                  size, "]; allowed are scores of classes [1,C,", size, "] or [1,", size, ",C], or integers [1,", size,
                  "]");
}

Result<ScoreLayout> layout_of(const ir::Tensor& output, const Mask& mask) {
  ir::Shape dims = output.dims();
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() != 3) return misfit(output, mask);
  const auto is_mask = [&](int64_t height, int64_t width) { return height == mask.height && width == mask.width; };
  const bool is_first = dims[0] >= 2 && is_mask(dims[1], dims[2]), is_last = dims[2] >= 2 && is_mask(dims[0], dims[1]);
  if (is_first && is_last) {
    return bad_data("shape ", shape_text(output.dims()), " may be [1,C,H,W] or [1,H,W,C] for the mask ", mask.path,
                    "; give a class map [1,H,W] of integers instead");
  }
  if (!is_first && !is_last) return misfit(output, mask);
  const size_t pixels = mask.classes.size(), classes = static_cast<size_t>(is_first ? dims[0] : dims[2]);
  return is_first ? ScoreLayout{classes, pixels, 1} : ScoreLayout{classes, 1, classes};
}

/// The class with the highest score at each pixel, of equal ones the first; none where a score is NaN.
Result<Classes> highest_classes(const ir::Tensor& output, const ScoreLayout& layout) {
  QQ_TRY(const std::vector<double> scores, ir::to_double(output));
  const size_t pixels = scores.size() / layout.classes;
  Classes found(pixels, 0);
  std::vector<double> highest(pixels, -INFINITY);
  for (size_t c = 0; c < layout.classes; ++c) {
    for (size_t i = 0; i < pixels; ++i) {
      const double score = scores[c * layout.class_stride + i * layout.pixel_stride];
      if (std::isnan(score)) found[i] = kNoClass;
      if (found[i] == kNoClass || !(score > highest[i])) continue;
      highest[i] = score;
      found[i] = static_cast<int64_t>(c);
    }
  }
  return found;
}

/// A class map of the mask's size: integers, with any number of leading ones.
bool is_class_map(const ir::Tensor& output, const Mask& mask) {
  ir::Shape dims = output.dims();
  while (dims.size() > 2 && dims[0] == 1) dims.erase(dims.begin());
  return is_integer(output.type()) && dims == ir::Shape{mask.height, mask.width};
}

class MeanIou : public Scorer {
 public:
  MeanIou(Masks masks, std::string output) : masks_(std::move(masks)), output_(std::move(output)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const ir::Tensor* output, results_of(results, output_));
    QQ_TRY(const Mask mask, masks_.of(results.number, results.name));
    if (is_class_map(*output, mask)) {
      QQ_TRY(Classes found, ir::to_int64(*output));
      std::ranges::replace(found, kIgnored, kNoClass);
      return count(mask, found, kMostClasses);
    }
    QQ_TRY(const ScoreLayout layout, layout_of(*output, mask));
    QQ_TRY(const Classes found, highest_classes(*output, layout));
    return count(mask, found, static_cast<int64_t>(layout.classes));
  }

  Result<compare::SampledScore> score(int /*variant*/) const override {
    return compare::SampledScore{[this](compare::Weights weights) { return mean(weights); }, rows_.size() + classes_};
  }

 private:
  struct Counts {
    size_t is_true = 0, is_found = 0, both = 0;  ///< pixels
  };
  struct Row {
    size_t sample = 0, category = 0;
    Counts counts;
  };

  double mean(compare::Weights weights) const {
    std::vector<Counts> counts(classes_);
    for (const Row& row : rows_) {
      Counts& one = counts[row.category];
      const size_t weight = weights[row.sample];
      one.is_true += weight * row.counts.is_true;
      one.is_found += weight * row.counts.is_found;
      one.both += weight * row.counts.both;
    }
    double sum = 0;
    size_t classes = 0;
    for (const Counts& one : counts) {
      const size_t either = one.is_true + one.is_found - one.both;
      if (either == 0) continue;
      sum += static_cast<double>(one.both) / static_cast<double>(either);
      ++classes;
    }
    return sum / static_cast<double>(classes);
  }

  /// `classes`: how many there may be.
  Status count(const Mask& mask, const Classes& found, int64_t classes) {
    counts_.clear();
    for (size_t i = 0; i < found.size(); ++i) {
      const int64_t is_true = mask.classes[i];
      if (is_true == kIgnored) continue;
      if (is_true >= classes) {
        return bad_data(mask.path, ": holds class ", is_true, ", there are results for ", classes, " classes");
      }
      if (found[i] >= classes || found[i] < kNoClass) {
        return bad_data("the results hold class ", found[i], ", allowed are 0 to ", classes - 1);
      }
      ++of(is_true).is_true;
      if (found[i] == kNoClass) continue;
      ++of(found[i]).is_found;
      if (found[i] == is_true) ++of(is_true).both;
    }
    for (size_t category = 0; category < counts_.size(); ++category) {
      const Counts& one = counts_[category];
      if (one.is_true + one.is_found > 0) rows_.push_back({samples_, category, one});
    }
    classes_ = std::max(classes_, counts_.size());
    ++samples_;
    return Status();
  }

  Counts& of(int64_t category) {
    const auto at = static_cast<size_t>(category);
    if (counts_.size() <= at) counts_.resize(at + 1);
    return counts_[at];
  }

  Masks masks_;
  std::string output_;
  std::vector<Counts> counts_;  ///< Pixels of the newest sample, by class.
  std::vector<Row> rows_;       ///< All samples, without classes that do not occur in them.
  size_t classes_ = 0, samples_ = 0;
};

}  // namespace

ScorerResult open_miou(const ScoringOptions& options) {
  QQ_TRY(Masks masks, Masks::read(options.request.truth_path));
  QQ_RETURN_IF_ERROR(masks.share_out(options.samples, options.is_part));
  return std::unique_ptr<Scorer>(std::make_unique<MeanIou>(std::move(masks), options.request.output));
}

}  // namespace quarkq::metrics
