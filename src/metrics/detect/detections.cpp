// SPDX-License-Identifier: MIT
#include "metrics/detect/detections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include "numeric/real_numbers.h"

namespace quarkq::metrics {

namespace {

constexpr size_t kMostDetections = 100, kRecalls = 101;
constexpr double kMostArea = 1e10;  // "all sizes" of COCO's tool ends there

/// The steps as NumPy's linspace rounds them: ties with them are decided as in COCO's tool.
double step_of(double first, double last, size_t count, size_t i) {
  if (i + 1 == count) return last;
  return static_cast<double>(i) * ((last - first) / static_cast<double>(count - 1)) + first;
}

bool is_ignored(const TrueBox& truth) { return truth.is_crowd || truth.area < 0 || truth.area > kMostArea; }

/// Objects of one category in one image, those that count first.
std::vector<const TrueBox*> objects_of(const std::vector<TrueBox>& truth, size_t category) {
  std::vector<const TrueBox*> objects;
  for (const TrueBox& box : truth) {
    if (box.category == category) objects.push_back(&box);
  }
  std::stable_partition(objects.begin(), objects.end(), [](const TrueBox* box) { return !is_ignored(*box); });
  return objects;
}

/// The best detections of one category in one image, by score.
std::vector<const Detection*> best_of(const std::vector<Detection>& found, size_t category) {
  std::vector<const Detection*> best;
  for (const Detection& detection : found) {
    if (detection.category == category) best.push_back(&detection);
  }
  std::ranges::stable_sort(best, [](const Detection* a, const Detection* b) { return a->score > b->score; });
  if (best.size() > kMostDetections) best.resize(kMostDetections);
  return best;
}

constexpr size_t kNone = std::numeric_limits<size_t>::max();

/// The object that a detection takes: of those left that overlap enough the one that overlaps most, the last of equal
/// ones; one that is ignored only when no other does.
size_t match(const std::vector<double>& overlaps, const std::vector<const TrueBox*>& objects,
             const std::vector<bool>& is_taken, double least) {
  size_t best = kNone;
  for (size_t i = 0; i < objects.size(); ++i) {
    if (is_taken[i] && !objects[i]->is_crowd) continue;
    if (best != kNone && !is_ignored(*objects[best]) && is_ignored(*objects[i])) break;
    if (overlaps[i] < least) continue;
    least = overlaps[i];
    best = i;
  }
  return best;
}

}  // namespace

double overlap(const Box& found, const Box& truth, bool is_crowd) {
  const double width = std::min(found.right, truth.right) - std::max(found.left, truth.left);
  const double height = std::min(found.bottom, truth.bottom) - std::max(found.top, truth.top);
  if (!(width > 0 && height > 0)) return 0;
  const double both = width * height;
  return both / (is_crowd ? found.area() : found.area() + truth.area() - both);
}

void AveragePrecision::add(size_t image, const std::vector<TrueBox>& truth, const std::vector<Detection>& found) {
  for (size_t category = 0; category < categories_.size(); ++category) {
    const std::vector<const TrueBox*> objects = objects_of(truth, category);
    const std::vector<const Detection*> best = best_of(found, category);
    Category& all = categories_[category];
    const auto counted = std::ranges::count_if(objects, [](const TrueBox* object) { return !is_ignored(*object); });
    if (counted > 0) all.objects.push_back({images_, static_cast<size_t>(counted)});
    std::array<std::vector<bool>, kOverlaps> taken;
    taken.fill(std::vector<bool>(objects.size()));
    for (size_t rank = 0; rank < best.size(); ++rank) {
      std::vector<double> overlaps;
      overlaps.reserve(objects.size());
      for (const TrueBox* object : objects) overlaps.push_back(overlap(best[rank]->box, object->box, object->is_crowd));
      Entry entry{best[rank]->score, image, rank, images_};
      const double area = best[rank]->box.area();
      for (size_t at = 0; at < kOverlaps; ++at) {
        const auto bit = static_cast<uint16_t>(1U << at);
        const double least = std::min(step_of(0.5, 0.95, kOverlaps, at), 1 - 1e-10);
        const size_t object = match(overlaps, objects, taken[at], least);
        const bool is_matched = object != kNone;
        if (is_matched) taken[at][object] = true;
        if (is_matched) entry.matched |= bit;
        if (is_matched ? is_ignored(*objects[object]) : area < 0 || area > kMostArea) entry.ignored |= bit;
      }
      all.entries.push_back(entry);
    }
  }
  ++images_;
}

size_t AveragePrecision::Category::count(compare::Weights weights) const {
  size_t sum = 0;
  for (const Objects& one : objects) sum += weights[one.added] * one.count;
  return sum;
}

double AveragePrecision::Category::average(size_t total, size_t at, compare::Weights weights) const {
  std::vector<double> precision, recall;
  precision.reserve(entries.size());
  recall.reserve(entries.size());
  size_t right = 0, wrong = 0;
  for (const Entry& entry : entries) {
    const size_t weight = weights[entry.added];
    if (weight == 0 || ((entry.ignored >> at) & 1U) != 0) continue;
    (((entry.matched >> at) & 1U) != 0 ? right : wrong) += weight;
    const auto hits = static_cast<double>(right);
    precision.push_back(hits / (hits + static_cast<double>(wrong) + std::numeric_limits<double>::epsilon()));
    recall.push_back(hits / static_cast<double>(total));
  }
  for (size_t i = precision.size(); i-- > 1;) precision[i - 1] = std::max(precision[i - 1], precision[i]);
  double sum = 0;
  for (size_t i = 0; i < kRecalls; ++i) {
    const auto first = std::ranges::lower_bound(recall, step_of(0, 1, kRecalls, i));
    if (first != recall.end()) sum += precision[static_cast<size_t>(first - recall.begin())];
  }
  return sum / static_cast<double>(kRecalls);
}

compare::SampledScore AveragePrecision::score(size_t first, size_t last) const {
  const auto sorted = std::make_shared<std::vector<Category>>(categories_);
  size_t cost = images_;
  for (Category& category : *sorted) {
    cost += category.entries.size() * (last - first);
    std::ranges::sort(category.entries, [](const Entry& a, const Entry& b) {
      return std::tuple(-a.score, a.image, a.rank) < std::tuple(-b.score, b.image, b.rank);
    });
  }
  const auto mean = [sorted, first, last](compare::Weights weights) {
    double sum = 0;
    size_t count = 0;
    for (const Category& category : *sorted) {
      const size_t objects = category.count(weights);
      if (objects == 0) continue;
      for (size_t at = first; at < last; ++at) sum += category.average(objects, at, weights);
      count += last - first;
    }
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
  };
  return {mean, cost};
}

namespace {

constexpr size_t kMostFound = 30000, kMostKept = 300;  // as detectors of the YOLO family are evaluated

}  // namespace

std::vector<Detection> suppress(std::vector<Detection> found, double most_overlap) {
  std::ranges::stable_sort(found, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  if (found.size() > kMostFound) found.resize(kMostFound);
  std::vector<Detection> kept;
  kept.reserve(std::min(found.size(), kMostKept));
  std::map<size_t, std::vector<Box>> by_category;
  for (const Detection& detection : found) {
    std::vector<Box>& boxes = by_category[detection.category];
    const auto hides = [&](const Box& box) { return overlap(box, detection.box) > most_overlap; };
    if (std::ranges::any_of(boxes, hides)) continue;
    boxes.push_back(detection.box);
    kept.push_back(detection);
    if (kept.size() == kMostKept) break;
  }
  return kept;
}

namespace {

using calib::ImageSize;
using config::ResizeMode;

/// What is cut out after resizing; unknown sides when nothing is.
ImageSize cut_size(const Geometry& geometry) {
  const config::Preprocess& preprocess = *geometry.preprocess;
  if (preprocess.crop) return {preprocess.crop->first, preprocess.crop->second};
  return preprocess.crop_fraction ? geometry.input : ImageSize{};
}

/// What the image is resized into: a size of its own, what the cut needs, or the input's (as calib/image reads it).
ImageSize target_size(const Geometry& geometry) {
  const config::Preprocess& preprocess = *geometry.preprocess;
  if (preprocess.resize->height && preprocess.resize->width) {
    return {*preprocess.resize->height, *preprocess.resize->width};
  }
  const ImageSize cut = cut_size(geometry);
  if (!preprocess.crop_fraction || cut.height < 1 || cut.width < 1) return geometry.input;
  const auto before = [&](int64_t side) { return std::llround(static_cast<double>(side) / *preprocess.crop_fraction); };
  return {before(cut.height), before(cut.width)};
}

/// Where the middle part of `inner` pixels begins.
double corner(int64_t outer, int64_t inner) { return numeric::round_half_even(static_cast<double>(outer - inner) / 2); }

double ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

Box Unframe::apply(const Box& box) const {
  Box moved{(box.left - offset_x) / scale_x, (box.top - offset_y) / scale_y, (box.right - offset_x) / scale_x,
            (box.bottom - offset_y) / scale_y};
  if (image.width < 1 || image.height < 1) return moved;
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  return {std::clamp(moved.left, 0.0, width), std::clamp(moved.top, 0.0, height), std::clamp(moved.right, 0.0, width),
          std::clamp(moved.bottom, 0.0, height)};
}

Result<Unframe> unframe_for(const Geometry& geometry, const ImageSize& image) {
  Unframe unframe{.image = image};
  if (!geometry.preprocess || !geometry.preprocess->resize) return unframe;
  if (image.width < 1 || image.height < 1) return bad_data("the truth has no width and height of the image");
  const config::Preprocess& preprocess = *geometry.preprocess;
  const ImageSize target = target_size(geometry);
  if (target.width < 1 || target.height < 1) {
    return bad_data("the size of the resized images is unknown; pass the model, or a size in `preprocess: resize`");
  }
  const ResizeMode mode = preprocess.resize->mode;
  const calib::Image empty{image.height, image.width, 0, {}};
  const ImageSize size = calib::resized_size(empty, mode, target);
  unframe.scale_x = ratio(size.width, image.width), unframe.scale_y = ratio(size.height, image.height);
  const bool keeps_ratio = mode == ResizeMode::kLetterbox || mode == ResizeMode::kKeepRatio;
  if (keeps_ratio) {  // as detectors' own tools do it: the ratio before sides are rounded to pixels
    unframe.scale_x = std::min(ratio(target.width, image.width), ratio(target.height, image.height));
    unframe.scale_y = unframe.scale_x;
  }
  const ImageSize cut = cut_size(geometry);
  if (mode == ResizeMode::kLetterbox) {
    const int64_t left = (target.width - size.width) / 2, top = (target.height - size.height) / 2;  // whole pixels
    unframe.offset_x = static_cast<double>(left);
    unframe.offset_y = static_cast<double>(top);
  } else if (cut.width > 0 && cut.height > 0) {
    unframe.offset_x = -corner(size.width, cut.width);
    unframe.offset_y = -corner(size.height, cut.height);
  }
  return unframe;
}

}  // namespace quarkq::metrics
