// SPDX-License-Identifier: MIT
#include "metrics/detect/heads.h"

#include <algorithm>

#include "base/strings.h"
#include "numeric/real_numbers.h"

namespace quarkq::metrics {

namespace {

constexpr HeadInfo kHeads[] = {
    {"yolov5", "[1, boxes, 5 + classes]: centre and size in pixels, objectness, classes (YOLOv5, v7)", false, false,
     decode_yolov5},
    {"yolov8", "[1, 4 + classes, boxes] or its transpose: centre and size in pixels, classes (YOLOv8, 11)", false,
     false, decode_yolov8},
    {"yolox", "[1, cells, 5 + classes]: offsets and logarithms on grids of 8, 16, 32 (and 64) pixels", false, false,
     decode_yolox},
    {"ssd", "boxes [1, boxes, 4] by corners as shares of the input, scores [1, boxes, 1 + classes], background first",
     true, false, decode_ssd},
    {"detr", "boxes [1, queries, 4] by centre and size as shares, logits [1, queries, classes (+ 1)] (DETR, RT-DETR)",
     true, true, decode_detr},
    {"torchvision", "boxes [boxes, 4] by corners in pixels, labels [boxes] and scores [boxes]", true, true,
     decode_torchvision},
    {"tf-ssd", "detection_boxes [1, boxes, 4] (top, left, bottom, right as shares), _classes and _scores [1, boxes]",
     true, true, decode_tf_ssd},
};

}  // namespace

std::span<const HeadInfo> head_table() { return kHeads; }

Result<const HeadInfo*> find_head(const std::string& name) {
  std::vector<std::string> names;
  names.reserve(head_table().size());
  for (const HeadInfo& head : head_table()) {
    if (head.name == name) return &head;
    names.emplace_back(head.name);
  }
  return invalid_argument("--head: found ", name.empty() ? "none" : name, ", allowed are ", join(names, ", "),
                          did_you_mean(name, names));
}

Status need_input_size(const HeadInput& input) {
  if (input.input.height >= 1 && input.input.width >= 1) return Status();
  return bad_data(
      "the head needs the size of the model's input, which is unknown; pass the model, or a size in "
      "`preprocess: resize`");
}

// Heads that list boxes, classes and scores: detectors that end with a suppression of their own.

namespace {

/// Three outputs with an entry per box.
struct BoxList {
  std::vector<double> boxes = {};  ///< four numbers each
  std::vector<double> classes = {}, scores = {};

  size_t size() const { return scores.size(); }
};

enum class Part : uint8_t { kBoxes, kClasses, kScores, kOther };

bool says(const std::string& name, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

/// Four numbers in a row are boxes, integers are classes; names tell float classes from scores.
Part part_of(const std::string& name, const ir::Tensor& tensor) {
  const bool are_classes = is_integer(tensor.type()) || says(name, {"class", "label"});
  const bool are_scores = says(name, {"score"});
  ir::Shape dims = tensor.dims();
  const bool is_batch = dims.size() > 1 && dims[0] == 1;
  if (dims.size() == 3 && is_batch) dims.erase(dims.begin());
  // [1, 4] is one box, unless its name says otherwise.
  if (dims.size() == 2 && dims[1] == 4 && !are_classes && !are_scores) return Part::kBoxes;
  if (dims.size() == 2 && is_batch) dims.erase(dims.begin());
  if (dims.size() != 1) return Part::kOther;
  if (are_classes) return Part::kClasses;
  return says(name, {"num"}) ? Part::kOther : Part::kScores;
}

Result<BoxList> read_list(const HeadInput& input) {
  BoxList list;
  std::vector<double>* parts[] = {&list.boxes, &list.classes, &list.scores};
  size_t counts[] = {0, 0, 0};
  std::vector<std::string> shapes;
  for (size_t i = 0; i < input.values.size(); ++i) {
    const ir::Tensor& tensor = input.values[i];
    shapes.push_back(cat(input.outputs[i], " ", shape_text(tensor.dims())));
    const auto part = static_cast<size_t>(part_of(input.outputs[i], tensor));
    if (part == static_cast<size_t>(Part::kOther)) continue;
    ++counts[part];
    QQ_TRY(*parts[part], ir::to_double(tensor));
  }
  const bool is_whole = std::ranges::all_of(counts, [](size_t count) { return count == 1; });
  const bool fits = list.classes.size() == list.size() && list.boxes.size() == 4 * list.size();
  if (is_whole && fits) return list;
  return bad_data("outputs are ", join(shapes, ", "),
                  "; needed are one [boxes, 4], and one of classes and one of scores, ", "[boxes] each");
}

/// Classes are ids of categories; those of a folder count from 1, after the background. None: the truth lacks it.
std::optional<size_t> category_of(double number, const BoxTruth& truth) {
  const double id = truth.has_ids ? number : number - 1;
  const auto found =
      std::ranges::find_if(truth.categories, [&](int64_t one) { return static_cast<double>(one) == id; });
  if (found == truth.categories.end()) return std::nullopt;
  return static_cast<size_t>(found - truth.categories.begin());
}

using BoxOf = Box (*)(const double* numbers, const HeadInput& input);

Result<std::vector<Detection>> decode_list(const HeadInput& input, BoxOf box_of) {
  QQ_TRY(const BoxList list, read_list(input));
  std::vector<Detection> found;
  for (size_t i = 0; i < list.size(); ++i) {
    const double* numbers = list.boxes.data() + 4 * i;
    const std::optional<size_t> category = category_of(list.classes[i], input.truth);
    if (category && numeric::all_finite(std::span(numbers, 4)) && list.scores[i] > input.min_score)
      found.push_back({box_of(numbers, input), list.scores[i], *category});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Detection::score);
  return found;
}

}  // namespace

Result<std::vector<Detection>> decode_torchvision(const HeadInput& input) {
  return decode_list(input, [](const double* at, const HeadInput&) { return Box{at[0], at[1], at[2], at[3]}; });
}

Result<std::vector<Detection>> decode_tf_ssd(const HeadInput& input) {
  QQ_RETURN_IF_ERROR(need_input_size(input));
  return decode_list(input, [](const double* at, const HeadInput& head) {
    const auto width = static_cast<double>(head.input.width), height = static_cast<double>(head.input.height);
    return Box{at[1] * width, at[0] * height, at[3] * width, at[2] * height};
  });
}

}  // namespace quarkq::metrics
