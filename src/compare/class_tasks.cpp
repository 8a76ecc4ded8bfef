// SPDX-License-Identifier: MIT
// Outputs that are read by their largest value.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/strings.h"
#include "compare/output_kinds.h"
#include "compare/tasks.h"

namespace quarkq::compare {
namespace {

using Values = std::vector<double>;

/// Values of `axis` at one place.
struct Row {
  const double* first;
  size_t count, stride;

  double operator[](size_t i) const { return first[i * stride]; }
  size_t largest() const {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i)
      if ((*this)[i] > (*this)[best]) best = i;
    return best;
  }
};

bool is_distribution(const Row& row) {
  double sum = 0;
  for (size_t i = 0; i < row.count; ++i) {
    if (!(row[i] >= -1e-6)) return false;
    sum += row[i];
  }
  return std::abs(sum - 1) < 0.01;
}

/// Returns the probabilities of a row of probabilities or of their logits.
Values probabilities(const Row& row) {
  Values found(row.count);
  for (size_t i = 0; i < row.count; ++i) found[i] = row[i];
  if (is_distribution(row)) return found;
  const double largest = row[row.largest()];
  double sum = 0;
  for (double& value : found) sum += value = std::exp(value - largest);
  for (double& value : found) value /= sum;
  return found;
}

constexpr double kLikely = 0.5;  ///< Probability of the largest value from which a row makes a choice.

// Classifiers: within a point of top-1 is good, within three fair.

constexpr TaskLimits kClassLimits = {0.99, 0.97};
constexpr size_t kLeastSamples = 16;
constexpr double kLeastSure = 0.25;     ///< Share of the samples; other outputs than logits have flat distributions.
constexpr double kLeastDistance = 2.0;  ///< Distance of the largest logit from the mean, in standard deviations.

/// Takes the probabilities of the float model as true. The loss is the mean probability of its class without
/// that of the class that is found: another class costs little where the float model hesitates.
class ClassTask final : public Task {
 public:
  size_t sum_count() const override { return 2; }
  void add(const ir::Shape&, const Values& expected, const Values& found, TaskSums& sums) const override {
    const Values truth = probabilities({expected.data(), expected.size(), 1});
    const Row rows[] = {{expected.data(), expected.size(), 1}, {found.data(), found.size(), 1}};
    sums[0] += 1;
    sums[1] += truth[rows[0].largest()] - truth[rows[1].largest()];
  }
  std::optional<TaskAgreement> agreement(const TaskSums& sums) const override {
    if (sums[0] < kLeastSamples) return {};
    const double loss = sums[1] / sums[0], kept = 1 - loss;
    const double points = std::round(1000 * loss) / 10;
    TaskAgreement agreement{"classes", kept, grade_of(kept, kClassLimits),
                            points > 0 ? cat("expected top-1 ", points, " points below the float model")
                                       : "expected top-1 as high as with the float model"};
    if (agreement.grade != Grade::kGood)
      agreement.text += cat(", more than ", std::round(100 * (1 - missed_limit(kept, kClassLimits))));
    return agreement;
  }
};

double distance_from_mean(const Row& row) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < row.count; ++i) sum += row[i], squares += row[i] * row[i];
  const double mean = sum / static_cast<double>(row.count);
  const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(row.count) - mean * mean));
  return deviation > 0 ? (row[row.largest()] - mean) / deviation : 0;
}

/// Returns the logits of one sample, or nullopt if they are not one row.
std::optional<Row> only_row(const ir::Shape& dims, const Values& values) {
  constexpr size_t kMostClasses = 100000;
  const auto wide = std::ranges::count_if(dims, [](int64_t dim) { return dim > 1; });
  if (wide != 1 || values.size() < 2 || values.size() > kMostClasses) return {};
  return Row{values.data(), values.size(), 1};
}

}  // namespace

TaskPtr find_classes(const FloatOutput& output) {
  std::set<size_t> classes;
  size_t sure = 0;
  double distance = 0;
  bool are_distributions = true;
  const size_t samples = output.values.size();
  for (size_t sample = 0; sample < samples; ++sample) {
    const std::optional<Row> row = only_row(output.dims[sample], output.values[sample]);
    if (!row || row->count != output.values[0].size()) return nullptr;
    const size_t largest = row->largest();
    classes.insert(largest);
    sure += probabilities(*row)[largest] >= kLikely ? 1 : 0;
    distance += distance_from_mean(*row) / static_cast<double>(samples);
    are_distributions &= is_distribution(*row);
  }
  const bool stands_out = are_distributions || distance >= kLeastDistance;
  if (!stands_out || classes.size() < 2 || static_cast<double>(sure) < kLeastSure * static_cast<double>(samples))
    return nullptr;
  return std::make_shared<ClassTask>();
}

namespace {

// Text recognizers and other rows of probabilities or logits: one wrong row of 50 makes a line wrong.

constexpr TaskLimits kRowLimits = {0.998, 0.98};
constexpr double kLeastChoices = 32;  ///< Fewer rows are not sufficient for a share.

/// Returns the rows of the last axis as probabilities.
Values rows_of_probabilities(const Values& values, size_t width) {
  Values found;
  found.reserve(values.size());
  for (size_t first = 0; width > 0 && first + width <= values.size(); first += width) {
    const Values row = probabilities({values.data() + first, width, 1});
    found.insert(found.end(), row.begin(), row.end());
  }
  return found;
}

class RowTask final : public Task {
 public:
  explicit RowTask(bool has_logits) : has_logits_(has_logits) {}
  size_t sum_count() const override { return 2; }
  void add(const ir::Shape& dims, const Values& expected, const Values& found, TaskSums& sums) const override {
    const int64_t width = dims.empty() ? 0 : dims.back();
    const Choices choices =
        has_logits_ ? count_choices(rows_of_probabilities(expected, static_cast<size_t>(width)), found, width)
                    : count_choices(expected, found, width);
    sums[0] += static_cast<double>(choices.sure);
    sums[1] += static_cast<double>(choices.same);
  }
  std::optional<TaskAgreement> agreement(const TaskSums& sums) const override {
    if (sums[0] < kLeastChoices) return {};
    return share_agreement("rows", "the same class in", sums[1] / sums[0], kRowLimits);
  }

 private:
  bool has_logits_;
};

/// Whether rows of the last axis are logits of a text recognizer, which need no Softmax to be read: few rows, most of
/// them sure of one class, and of many classes in all. The largest of other features is one of few, or hardly larger.
bool are_logits_of_rows(const FloatOutput& output) {
  constexpr size_t kLeastRows = 4, kMostRows = 512, kLeastClasses = 8;
  std::set<size_t> classes;
  size_t rows = 0, sure = 0;
  double distance = 0;
  for (size_t sample = 0; sample < output.values.size(); ++sample) {
    const Values& values = output.values[sample];
    const size_t width = output.dims[sample].size() == 3 ? static_cast<size_t>(output.dims[sample].back()) : 0;
    if (width < kLeastClasses || values.size() < kLeastRows * width || values.size() > kMostRows * width) return false;
    for (size_t first = 0; first + width <= values.size(); first += width, ++rows) {
      const Row row{values.data() + first, width, 1};
      const size_t largest = row.largest();
      classes.insert(largest);
      sure += probabilities(row)[largest] >= kLikely ? 1 : 0;
      distance += distance_from_mean(row);
    }
  }
  return classes.size() >= kLeastClasses && 2 * sure >= rows && distance >= kLeastDistance * static_cast<double>(rows);
}

/// Whether the rows are places of a detector, nearly all without an object: their share hides the others.
bool has_background(const FloatOutput& output) {
  constexpr double kMostAlike = 0.9;
  constexpr size_t kRowsOfText = 512;  // lines of text are shorter
  std::vector<size_t> counts;
  size_t rows = 0;
  for (size_t sample = 0; sample < output.values.size(); ++sample) {
    const Values& values = output.values[sample];
    const auto width = static_cast<size_t>(output.dims[sample].back());
    counts.resize(std::max(counts.size(), width));
    for (size_t first = 0; width > 0 && first + width <= values.size(); first += width, ++rows)
      ++counts[Row{values.data() + first, width, 1}.largest()];
  }
  if (rows <= kRowsOfText * output.values.size()) return false;
  return static_cast<double>(std::ranges::max(counts)) > kMostAlike * static_cast<double>(rows);
}

// Segmentation: the overlap of each class that is not rare.

constexpr TaskLimits kPixelLimits = {0.95, 0.85};
constexpr double kRarePixels = 0.002;

class PixelTask final : public Task {
 public:
  PixelTask(size_t axis, size_t classes) : axis_(axis), classes_(classes) {}
  size_t sum_count() const override { return classes_ * classes_; }
  void add(const ir::Shape& dims, const Values& expected, const Values& found, TaskSums& sums) const override {
    const ChannelLayout layout(dims, static_cast<int64_t>(axis_));
    for (size_t i = 0; i < layout.outer; ++i) {
      for (size_t j = 0; j < layout.inner; ++j) {
        const size_t first = i * layout.channels * layout.inner + j;
        const Row truth{expected.data() + first, layout.channels, layout.inner};
        const Row row{found.data() + first, layout.channels, layout.inner};
        sums[truth.largest() * classes_ + row.largest()] += 1;
      }
    }
  }
  std::optional<TaskAgreement> agreement(const TaskSums& sums) const override {
    const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
    double overlaps = 0, seen = 0;
    for (size_t c = 0; c < classes_; ++c) {
      double truth = 0, found = 0;
      for (size_t other = 0; other < classes_; ++other) {
        truth += sums[c * classes_ + other];
        found += sums[other * classes_ + c];
      }
      if (truth <= kRarePixels * all) continue;
      const double both = sums[c * classes_ + c];
      overlaps += both / (truth + found - both);
      ++seen;
    }
    if (seen == 0) return {};
    return share_agreement("pixels", "mean overlap of the classes", overlaps / seen, kPixelLimits);
  }

 private:
  size_t axis_, classes_;
};

/// Whether the largest channel of most pixels has a probability of kLikely: maps of other meanings are flat.
bool makes_sure_pixels(const ir::Shape& dims, const Values& values, size_t axis) {
  const ChannelLayout layout(dims, static_cast<int64_t>(axis));
  size_t sure = 0;
  for (size_t i = 0; i < layout.outer; ++i) {
    for (size_t j = 0; j < layout.inner; ++j) {
      const Row row{values.data() + i * layout.channels * layout.inner + j, layout.channels, layout.inner};
      sure += probabilities(row)[row.largest()] >= kLikely ? 1 : 0;
    }
  }
  return 2 * sure >= layout.outer * layout.inner;
}

}  // namespace

TaskPtr find_rows(const FloatOutput& output) {
  if (!output.makes_choices) return are_logits_of_rows(output) ? std::make_shared<RowTask>(true) : nullptr;
  if (output.dims[0].size() < 3 || has_background(output)) return nullptr;
  return std::make_shared<RowTask>(false);
}

TaskPtr find_pixels(const FloatOutput& output) {
  constexpr int64_t kMostClasses = 256, kLeastSide = 32;
  const ir::Shape& dims = output.dims[0];
  if (dims.size() != 4) return nullptr;
  for (const size_t axis : {size_t{1}, size_t{3}}) {
    const int64_t classes = dims[axis], height = dims[axis == 1 ? 2 : 1], width = dims[axis == 1 ? 3 : 2];
    const bool has_classes = classes == 2 || (classes > 4 && classes <= kMostClasses);  // 3 and 4: a picture
    if (!has_classes || std::min(height, width) < kLeastSide || 4 * height * width < output.input_pixels) continue;
    const bool are_alike = std::ranges::all_of(
        output.dims, [&](const ir::Shape& other) { return other.size() == 4 && other[axis] == classes; });
    if (are_alike && makes_sure_pixels(dims, output.values[0], axis))
      return std::make_shared<PixelTask>(axis, static_cast<size_t>(classes));
  }
  return nullptr;
}

}  // namespace quarkq::compare
