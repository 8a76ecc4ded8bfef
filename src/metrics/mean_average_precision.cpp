// SPDX-License-Identifier: MIT
// mAP of a detector: its head is decoded, boxes are suppressed, brought back to the photo and matched with the truth.
#include <set>

#include "metrics/detect/detections.h"
#include "metrics/detect/heads.h"
#include "metrics/scorer.h"

namespace quarkq::metrics {
namespace {

/// With boxes in pixels. Where the photo's size is not known but the whole photo is stretched to the input, its pixels
/// are those of the input: overlaps are the same.
Result<TrueImage> sized(TrueImage image, const Geometry& geometry) {
  if (!image.is_relative) return image;
  const auto& preprocess = geometry.preprocess;
  const bool is_cut = preprocess && (preprocess->crop || preprocess->crop_fraction);
  const bool is_whole = !preprocess || !preprocess->resize || preprocess->resize->mode == config::ResizeMode::kStretch;
  const auto [height, width] = geometry.input;
  if (!is_whole || is_cut || height < 1 || width < 1) {
    return bad_data(image.name,
                    ": contains coordinates relative to a photo of unknown size; needed is the photo next to it, or in "
                    "a folder \"images\" next to its folder \"labels\"");
  }
  image.scale_boxes(static_cast<double>(width), static_cast<double>(height));
  image.width = width, image.height = height;
  return image;
}

class MeanAveragePrecision : public Scorer {
 public:
  MeanAveragePrecision(const ScoringOptions& options, const HeadInfo& head, BoxTruth truth)
      : options_(options), head_(head), truth_(std::move(truth)), precision_(truth_.categories.size()) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const size_t number, truth_.find(results.name));
    QQ_TRY(const TrueImage image, sized(truth_.images[number], options_.geometry));
    if (!seen_.insert(number).second) return bad_data(truth_.path, ": image ", image.name, " was scored already");
    const DetectorRequest& detector = options_.request.detector;
    HeadInput input{results.outputs, results.values, options_.geometry.input, truth_, detector.min_score};
    if (!head_.takes_all_outputs) {
      QQ_TRY(const ir::Tensor* output, results_of(results, options_.request.output));
      input.values = {output, 1};
    }
    QQ_TRY(std::vector<Detection> found, head_.decode(input));
    if (!head_.is_final) found = suppress(std::move(found), detector.nms_iou);
    QQ_TRY(const Unframe unframe, unframe_for(options_.geometry, {image.height, image.width}));
    for (Detection& detection : found) detection.box = unframe.apply(detection.box);
    precision_.add(number, image.boxes, found);
    return Status();
  }

  Result<compare::SampledScore> score(int variant) const override {
    constexpr int kOneStep = 5, kFirst = 50;
    if (variant == 0) return precision_.score();
    const auto at = static_cast<size_t>((variant - kFirst) / kOneStep);
    return precision_.score(at, at + 1);
  }

 private:
  const ScoringOptions options_;
  const HeadInfo& head_;
  const BoxTruth truth_;
  std::set<size_t> seen_;
  AveragePrecision precision_;
};

}  // namespace

ScorerResult open_map(const ScoringOptions& options) {
  QQ_TRY(const HeadInfo* head, find_head(options.request.detector.head));
  QQ_TRY(BoxTruth truth, read_boxes(options.request.truth_path, options.request.classes_path));
  return std::unique_ptr<Scorer>(std::make_unique<MeanAveragePrecision>(options, *head, std::move(truth)));
}

}  // namespace quarkq::metrics
