// SPDX-License-Identifier: MIT
// Heads with two outputs, a row per box: where it is as shares of the input, and what each class scores.
#include <algorithm>
#include <cmath>

#include "metrics/detect/heads.h"
#include "numeric/real_numbers.h"

namespace quarkq::metrics {
namespace {

struct ScoredBoxes {
  std::vector<double> boxes = {}, scores = {};
  size_t rows = 0, columns = 0;  ///< of the scores
  double width = 0, height = 0;  ///< of the model's input

  std::span<double> scores_of(size_t row) { return {scores.data() + row * columns, columns}; }
  const double* box_of(size_t row) const { return boxes.data() + 4 * row; }
};

bool is_rows(const ir::Tensor& tensor) {
  const ir::Shape& dims = tensor.dims();
  return dims.size() == 3 && dims[0] == 1 && dims[1] > 0 && dims[2] > 0;
}

/// The boxes are the output with four numbers a row; of two such the one that is called so.
Result<ScoredBoxes> read_scored(const HeadInput& input) {
  QQ_RETURN_IF_ERROR(need_input_size(input));
  const ir::Tensor *boxes = nullptr, *scores = nullptr;
  std::vector<std::string> shapes;
  size_t candidates = 0;
  for (size_t i = 0; i < input.values.size(); ++i) {
    const ir::Tensor& tensor = input.values[i];
    const std::string& name = input.outputs[i];
    shapes.push_back(cat(name, " ", shape_text(tensor.dims())));
    if (!is_rows(tensor)) continue;
    ++candidates;
    const bool is_box = tensor.dims()[2] == 4 && (boxes == nullptr || name.find("box") != std::string::npos);
    if (is_box && boxes != nullptr) scores = boxes;
    (is_box ? boxes : scores) = &tensor;
  }
  if (candidates != 2 || boxes == nullptr || scores == nullptr || boxes->dims()[1] != scores->dims()[1]) {
    return bad_data("outputs are ", join(shapes, ", "), "; needed are boxes [1, N, 4] and scores [1, N, classes]");
  }
  ScoredBoxes read{.rows = static_cast<size_t>(boxes->dims()[1]), .columns = static_cast<size_t>(scores->dims()[2])};
  QQ_TRY(read.boxes, ir::to_double(*boxes));
  QQ_TRY(read.scores, ir::to_double(*scores));
  read.width = static_cast<double>(input.input.width), read.height = static_cast<double>(input.input.height);
  return read;
}

/// Where the scores of the truth's categories are: one after the other, or at the places of their ids.
struct Columns {
  size_t first = 0;
  bool are_ids = false;
  size_t end = 0;  ///< of those that compete for a box, of which the highest counts alone; 0: each counts

  size_t of(const BoxTruth& truth, size_t category) const {
    return first + (are_ids ? static_cast<size_t>(truth.categories[category]) : category);
  }
};

/// So many columns hold the ids from 0 to the largest, which the truth has.
bool holds_ids(const BoxTruth& truth, size_t columns) {
  return truth.has_ids && truth.categories.front() >= 0 &&
         static_cast<double>(truth.categories.back()) + 1 == static_cast<double>(columns);
}

Status wrong_columns(const ScoredBoxes& read, const HeadInput& input, std::string_view allowed) {
  return bad_data("scores have ", read.columns, " columns, allowed for the ", input.classes(),
                  " classes of the truth are ", allowed);
}

using BoxFromShares = Box (*)(const double* shares);

std::vector<Detection> detections(ScoredBoxes& read, const HeadInput& input, const Columns& columns,
                                  BoxFromShares box_of) {
  std::vector<Detection> found;
  for (size_t row = 0; row < read.rows; ++row) {
    const double* shares = read.box_of(row);
    if (!numeric::all_finite(std::span(shares, 4))) continue;
    Box box = box_of(shares);
    box.left *= read.width, box.right *= read.width, box.top *= read.height, box.bottom *= read.height;
    const std::span<double> scores = read.scores_of(row);
    const auto best = std::ranges::max_element(scores.first(columns.end)) - scores.begin();
    for (size_t category = 0; category < input.classes(); ++category) {
      const size_t column = columns.of(input.truth, category);
      const double score = scores[column];
      const bool counts = columns.end == 0 || column == static_cast<size_t>(best);
      if (counts && score > input.min_score) found.push_back({box, score, category});
    }
  }
  return found;
}

void softmax(std::span<double> logits) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (double& one : logits) sum += one = std::exp(one - highest);
  for (double& one : logits) one /= sum;
}

}  // namespace

Result<std::vector<Detection>> decode_ssd(const HeadInput& input) {
  QQ_TRY(ScoredBoxes scored, read_scored(input));
  Columns columns{.first = 1};
  if (scored.columns != input.classes() + 1) {
    if (!holds_ids(input.truth, scored.columns))
      return wrong_columns(scored, input, "1 + classes, or the largest id + 1");
    columns = {.first = 0, .are_ids = true};
  }
  return detections(scored, input, columns, [](const double* at) { return Box{at[0], at[1], at[2], at[3]}; });
}

/// With a last column for "no object" a query is the class with the highest share of the softmax over all columns
/// (DETR, arXiv:2005.12872); else each class has a sigmoid of its own (Deformable DETR, RT-DETR).
Result<std::vector<Detection>> decode_detr(const HeadInput& input) {
  QQ_TRY(ScoredBoxes scored, read_scored(input));
  const size_t count = scored.columns;
  const bool has_none = count == input.classes() + 1 || holds_ids(input.truth, count - 1);
  const bool are_ids = count != input.classes() + 1 && count != input.classes();
  if (are_ids && !has_none && !holds_ids(input.truth, count))
    return wrong_columns(scored, input, "classes and classes + 1, or the largest id + 1 and + 2");
  for (size_t row = 0; row < scored.rows; ++row) {
    const std::span<double> logits = scored.scores_of(row);
    if (has_none) {
      softmax(logits);
    } else {
      std::ranges::transform(logits, logits.begin(), [](double one) { return 1 / (1 + std::exp(-one)); });
    }
  }
  const Columns columns{.first = 0, .are_ids = are_ids, .end = has_none ? count - 1 : 0};
  std::vector<Detection> found = detections(scored, input, columns, [](const double* at) {
    return Box{at[0] - at[2] / 2, at[1] - at[3] / 2, at[0] + at[2] / 2, at[1] + at[3] / 2};
  });
  std::ranges::stable_sort(found, std::ranges::greater{}, &Detection::score);
  return found;
}

}  // namespace quarkq::metrics
