// SPDX-License-Identifier: MIT
#include "compare/tasks.h"

#include <cmath>

#include "base/strings.h"

namespace quarkq::compare {

TaskPtr find_task(const FloatOutput& output) {
  if (output.values.empty()) return nullptr;
  for (const auto find : {find_classes, find_rows, find_mask, find_pixels, find_picture, find_boxes}) {
    if (TaskPtr task = find(output)) return task;
  }
  return nullptr;
}

TaskAgreement share_agreement(const char* task, const char* text, double value, const TaskLimits& limits) {
  const auto percent = [](double share) { return cat(std::round(10000 * share) / 100, " %"); };
  TaskAgreement agreement{task, value, grade_of(value, limits), cat(text, " ", percent(value))};
  if (agreement.grade != Grade::kGood) agreement.text += cat(", below ", percent(missed_limit(value, limits)));
  return agreement;
}

}  // namespace quarkq::compare
