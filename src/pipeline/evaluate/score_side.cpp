// SPDX-License-Identifier: MIT
#include "pipeline/evaluate/score_side.h"

#include <algorithm>
#include <map>

#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "exec/layout_convert.h"
#include "exec/session.h"
#include "metrics/detect/heads.h"
#include "pipeline/evaluate/result_pairs.h"

namespace quarkq::pipeline {
namespace {

Status interrupted_unless(const ScoreRequest& request, const Progress& progress) {
  if (!request.progress || request.progress(progress)) return Status();
  return Status(Code::kInterrupted, "interrupted");
}

/// Height and width of the images that a model takes; unknown without an input of rank 4.
calib::ImageSize image_size(const ir::Graph& graph, const std::optional<config::Preprocess>& preprocess) {
  for (const calib::InputSpec& input : calib::input_specs(graph)) {
    const ir::Shape& dims = input.dims;
    if (dims.size() != 4) continue;
    constexpr int64_t kMostChannels = 4;
    const bool is_last = dims[1] > kMostChannels && dims[3] >= 1 && dims[3] <= kMostChannels;
    const auto layout = preprocess ? preprocess->layout : std::nullopt;
    const bool is_nhwc = layout ? *layout == config::ImageLayout::kNhwc : is_last;
    return is_nhwc ? calib::ImageSize{dims[1], dims[2]} : calib::ImageSize{dims[2], dims[3]};
  }
  return {};
}

/// The same of results without their model, as far as `preprocess` says it.
calib::ImageSize framed_size(const std::optional<config::Preprocess>& preprocess) {
  if (!preprocess) return {};
  if (preprocess->crop) return {preprocess->crop->first, preprocess->crop->second};
  if (!preprocess->resize || preprocess->crop_fraction) return {};
  const config::Resize& resize = *preprocess->resize;
  const bool is_exact = resize.mode == config::ResizeMode::kStretch || resize.mode == config::ResizeMode::kLetterbox;
  return is_exact ? calib::ImageSize{resize.height.value_or(-1), resize.width.value_or(-1)} : calib::ImageSize{};
}

/// The files of a sample, one for each output that is scored.
struct SampleFiles {
  std::string name;  ///< the part of the path that names the sample
  std::vector<std::string> paths;
};

struct FolderResults {
  std::vector<std::string> outputs;
  std::vector<SampleFiles> samples;
};

/// Does a metric read all outputs of a model? Then a folder has a folder for each.
bool takes_all_outputs(const MetricRequest& request, const std::vector<metrics::ChosenMetric>& metrics) {
  const auto reads_boxes = [](const metrics::ChosenMetric& one) {
    return one.info->truth == metrics::TruthKind::kBoxes;
  };
  if (!std::ranges::any_of(metrics, reads_boxes)) return false;
  const Result<const metrics::HeadInfo*> head = metrics::find_head(request.detector.head);
  return head.ok() && head.value()->takes_all_outputs;
}

/// `DIR/<output>/<sample>.npy`, as `quarkq run` writes several outputs.
Result<FolderResults> find_all_results(const std::string& folder) {
  QQ_TRY(const ResultPairs found, find_result_pairs(folder, folder, /*only_top=*/false));
  std::map<std::string, std::map<std::string, std::string>> by_output;
  for (const ResultPair& pair : found.pairs) {
    const size_t slash = pair.name.find('/');
    if (!pair.is_image && slash != std::string::npos)
      by_output[pair.name.substr(0, slash)][pair.name.substr(slash + 1)] = pair.baseline_path;
  }
  if (by_output.empty()) return bad_data(folder, ": the head reads several outputs; needed is a folder for each");
  FolderResults results;
  for (const auto& [output, files] : by_output) results.outputs.push_back(output);
  for (const auto& [name, path] : by_output.begin()->second) {
    SampleFiles sample{name, {}};
    for (const auto& [output, files] : by_output) {
      const auto file = files.find(name);
      if (file == files.end()) return bad_data(folder, "/", output, ": has no ", name, ", which another output has");
      sample.paths.push_back(file->second);
    }
    results.samples.push_back(std::move(sample));
  }
  return results;
}

Result<FolderResults> find_results(const std::string& folder, const std::string& output) {
  QQ_TRY(const ResultPairs found, find_result_pairs(folder, folder, /*only_top=*/false));
  const std::string own = output.empty() ? "" : calib::file_spelling(output) + "/";
  FolderResults results{{output}, {}};
  for (const ResultPair& pair : found.pairs) {
    const bool is_scored = !pair.is_image && pair.name.starts_with(own);
    if (is_scored) results.samples.push_back({pair.name.substr(own.size()), {pair.baseline_path}});
  }
  if (results.samples.empty()) return bad_data(folder, "/", own, ": holds no .npy files");
  return results;
}

std::string without_npy(const std::string& name) {
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

Result<ScoredSide> score_model(const ModelSide& side, const ScoreRequest& request,
                               const std::vector<metrics::ChosenMetric>& metrics) {
  metrics::ScoringOptions options{request.metric, side.samples.size(), request.limit > 0};
  options.geometry = {side.preprocess, image_size(side.model.graph, side.preprocess)};
  QQ_TRY(metrics::MetricRun run, metrics::MetricRun::open(metrics, options));
  std::vector<std::string> outputs;
  outputs.reserve(side.model.graph.outputs().size());
  for (const ir::ValueId id : side.model.graph.outputs()) outputs.push_back(side.model.graph.value(id).name);
  exec::Session session(side.model, {});
  for (size_t i = 0; i < side.samples.size(); ++i) {
    QQ_TRY(const calib::Sample sample, side.samples.read(i));
    QQ_TRY(const auto* found, session.run(sample.inputs).context(cat(side.name, ": sample ", sample.name)));
    std::vector<ir::Tensor> values = *found;
    for (ir::Tensor& value : values) {
      if (side.is_channels_last && value.rank() == 4) value = exec::in_onnx_order(value, exec::Layout::kChannelsLast);
    }
    QQ_RETURN_IF_ERROR(run.add({i, sample.name, outputs, values}).context(side.name));
    QQ_RETURN_IF_ERROR(interrupted_unless(request, {"score", i + 1, side.samples.size()}));
  }
  QQ_TRY(MetricValues values, run.values());
  return ScoredSide{std::move(values), side.samples.size()};
}

Result<ScoredSide> score_folder(const std::string& folder, const ScoreRequest& request,
                                const std::vector<metrics::ChosenMetric>& metrics,
                                const std::optional<config::Preprocess>& preprocess) {
  Result<FolderResults> read = takes_all_outputs(request.metric, metrics) ? find_all_results(folder)
                                                                          : find_results(folder, request.metric.output);
  QQ_TRY(FolderResults found, std::move(read));
  std::vector<SampleFiles>& files = found.samples;
  const size_t all = files.size();
  if (request.limit > 0 && request.limit < all) files.resize(request.limit);
  metrics::ScoringOptions options{request.metric, files.size(), files.size() < all};
  options.geometry = {preprocess, framed_size(preprocess)};
  QQ_TRY(metrics::MetricRun run, metrics::MetricRun::open(metrics, options));
  for (size_t i = 0; i < files.size(); ++i) {
    std::vector<ir::Tensor> values;
    for (const std::string& path : files[i].paths) {
      QQ_TRY(ir::Tensor value, calib::read_npy(path));
      values.push_back(std::move(value));
    }
    QQ_RETURN_IF_ERROR(run.add({i, without_npy(files[i].name), found.outputs, values}).context(folder));
    QQ_RETURN_IF_ERROR(interrupted_unless(request, {"score", i + 1, files.size()}));
  }
  QQ_TRY(MetricValues values, run.values());
  return ScoredSide{std::move(values), files.size()};
}

}  // namespace quarkq::pipeline
