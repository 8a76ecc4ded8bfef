// SPDX-License-Identifier: MIT
// The task of an output: what users read of it, which a cosine over all values hides. A classifier is read by its
// largest value, a detector by a few large scores, a mask by its area. Each task has one figure and limits for the
// grades of docs/report.md. tests/accuracy compares the grades with labelled scores.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/tensor.h"
#include "quarkq/quantize_report.h"

namespace quarkq::compare {

/// The float output on all samples, by which its task is recognized.
struct FloatOutput {
  bool makes_choices = false;                      ///< makes_choices() of compare/output_kinds.h.
  int64_t input_pixels = 0;                        ///< Width times height of the largest picture among the inputs.
  const std::vector<ir::Shape>& dims;              ///< Dimensions of each sample.
  const std::vector<std::vector<double>>& values;  ///< Values of each sample.
};

/// Sums over samples. Their number depends only on the task.
using TaskSums = std::vector<double>;

class Task {
 public:
  virtual ~Task() = default;
  virtual size_t sum_count() const = 0;
  /// Adds one sample. REQUIRES: `expected` and `found` both have dimensions `dims`.
  virtual void add(const ir::Shape& dims, const std::vector<double>& expected, const std::vector<double>& found,
                   TaskSums& sums) const = 0;
  /// Returns nullopt if the samples are too few for a figure.
  virtual std::optional<TaskAgreement> agreement(const TaskSums& sums) const = 0;
};

using TaskPtr = std::shared_ptr<const Task>;

/// Returns null if no task is recognized; the cosine judges such outputs.
TaskPtr find_task(const FloatOutput& output);

// The tasks, in the order in which they are tried.

TaskPtr find_classes(const FloatOutput& output);  ///< One class of each sample.
TaskPtr find_rows(const FloatOutput& output);     ///< One class of each row: a text recognizer.
TaskPtr find_mask(const FloatOutput& output);     ///< A probability of each pixel.
TaskPtr find_pixels(const FloatOutput& output);   ///< One class of each pixel.
TaskPtr find_picture(const FloatOutput& output);  ///< A picture.
TaskPtr find_boxes(const FloatOutput& output);    ///< Scores of many places, of which few are large.

/// Below this mean cosine a task is not done, with any figure.
inline constexpr double kLeastCosineOfTask = 0.9;

/// Limits of a figure. Larger is better.
struct TaskLimits {
  double good, fair;
};

inline Grade grade_of(double value, const TaskLimits& limits) {
  if (value >= limits.good) return Grade::kGood;
  return value >= limits.fair ? Grade::kFair : Grade::kPoor;
}

/// Returns the limit that the value misses. REQUIRES: its grade is not good.
inline double missed_limit(double value, const TaskLimits& limits) {
  return value >= limits.fair ? limits.good : limits.fair;
}

/// Returns the agreement of a figure that is a share of 1. `text` precedes the percentage.
TaskAgreement share_agreement(const char* task, const char* text, double value, const TaskLimits& limits);

}  // namespace quarkq::compare
