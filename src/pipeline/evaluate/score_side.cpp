// SPDX-License-Identifier: MIT
#include "pipeline/evaluate/score_side.h"

#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "exec/layout_convert.h"
#include "exec/session.h"
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

/// The samples of a folder: the part of the path that names the sample, and the file.
using SampleFiles = std::vector<std::pair<std::string, std::string>>;

Result<SampleFiles> find_results(const std::string& folder, const std::string& output) {
  QQ_TRY(const ResultPairs found, find_result_pairs(folder, folder, /*only_top=*/false));
  const std::string own = output.empty() ? "" : calib::file_spelling(output) + "/";
  SampleFiles files;
  files.reserve(found.pairs.size());
  for (const ResultPair& pair : found.pairs) {
    const bool is_scored = !pair.is_image && pair.name.starts_with(own);
    if (is_scored) files.emplace_back(pair.name.substr(own.size()), pair.baseline_path);
  }
  if (files.empty()) return bad_data(folder, "/", own, ": holds no .npy files");
  return files;
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
  QQ_TRY(SampleFiles files, find_results(folder, request.metric.output));
  const size_t all = files.size();
  if (request.limit > 0 && request.limit < all) files.resize(request.limit);
  metrics::ScoringOptions options{request.metric, files.size(), files.size() < all};
  options.geometry = {preprocess, framed_size(preprocess)};
  QQ_TRY(metrics::MetricRun run, metrics::MetricRun::open(metrics, options));
  const std::vector<std::string> outputs = {request.metric.output};
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [name, path] = files[i];
    QQ_TRY(ir::Tensor value, calib::read_npy(path));
    const std::vector<ir::Tensor> values = {std::move(value)};
    QQ_RETURN_IF_ERROR(run.add({i, without_npy(name), outputs, values}).context(folder));
    QQ_RETURN_IF_ERROR(interrupted_unless(request, {"score", i + 1, files.size()}));
  }
  QQ_TRY(MetricValues values, run.values());
  return ScoredSide{std::move(values), files.size()};
}

}  // namespace quarkq::pipeline
