// SPDX-License-Identifier: MIT
#include "pipeline/verbs/score_side.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "base/run_command.h"
#include "calib/image/decode_image.h"
#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "compare/language_model.h"
#include "exec/layout.h"
#include "exec/session.h"
#include "metrics/detect/heads.h"
#include "pipeline/run/facts.h"

namespace quarkq::pipeline {

namespace {

constexpr const char* kImage = "image";
constexpr uint64_t kSmallFile = 256 << 10;
constexpr size_t kMaxDepth = 16;  // bounds the recursion

/// "npy" or "image"; empty for what holds no result.
std::string kind_of(const std::string& name) {
  if (name.starts_with('.')) return "";  // hidden files that some systems create
  const calib::FileFormat* format = calib::format_of(name, "");
  const std::string kind = format == nullptr ? "" : format->kind;
  return kind == "npy" || kind == kImage ? kind : "";
}

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with('/') ? folder + name : folder + "/" + name;
}

/// The results below one of the two folders.
class Walk {
 public:
  /// `other` is the second folder: when it is inside `root`, its files are not results of `root`.
  Walk(const std::string& root, const std::string& other) : root_(root), other_(other) {
    std::string folder = paths::real(root).value_or("");
    for (std::string above = paths::folder_of(folder); above != folder; above = paths::folder_of(folder))
      above_.push_back(folder = above);
    first_ = above_.size();
  }

  /// Adds the results below `root`/`inner` as paths below `root`.
  Status collect(const std::string& inner) {
    const std::string folder = inner.empty() ? root_ : join_path(root_, inner);
    const auto is_this = [&](const std::string& one) { return paths::is_same(folder, one); };
    if (!inner.empty() && is_this(other_)) return Status();
    if (std::any_of(above_.begin(), above_.end(), is_this)) return Status();  // a link that leads back
    if (above_.size() - first_ > kMaxDepth) return bad_data(folder, ": is more than ", kMaxDepth, " folders deep");
    QQ_TRY(const std::vector<std::string> files, list_files(folder, ""));
    for (const std::string& file : files) {
      if (!kind_of(file).empty()) names_.push_back(join_path(inner, file));
    }
    QQ_TRY(const std::vector<std::string> folders, list_folders(folder));
    above_.push_back(folder);
    for (const std::string& one : folders) QQ_RETURN_IF_ERROR(collect(join_path(inner, one)));
    above_.pop_back();
    return Status();
  }

  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  const std::string &root_, &other_;
  std::vector<std::string> above_;  ///< the folders that the walk is in, those around the root included
  size_t first_ = 0;                ///< of the root in above_
  std::vector<std::string> names_;
};

Result<std::vector<std::string>> results_below(const std::string& root, const std::string& other) {
  Walk walk(root, other);
  QQ_RETURN_IF_ERROR(walk.collect(""));
  return walk.take_names();
}

bool is_deeper(const std::string& name) { return name.find('/') != std::string::npos; }

/// Small files are read rather than mapped: mapping costs more than the copy, and threads wait for each other in it.
Result<ir::Tensor> read_npy(const std::string& path) {
  const uint64_t bytes = file_size(path);
  if (bytes == 0 || bytes > kSmallFile) return calib::read_npy(path);
  const Result<std::string> file = read_text_file(path, kSmallFile);
  if (!file.ok()) return bad_data(file.status().message());
  return calib::parse_npy(reinterpret_cast<const std::byte*>(file.value().data()), file.value().size(), path);
}

Result<ir::Tensor> read_array(const std::string& path, bool is_image) {
  if (!is_image) return read_npy(path);
  QQ_TRY(const calib::Image image, calib::decode_image(path, /*channels=*/3));
  return ir::Tensor::from<uint8_t>({image.height, image.width, image.channels}, image.pixels);
}

}  // namespace

Result<ResultPairs> find_result_pairs(const std::string& baseline_folder, const std::string& quantized_folder,
                                      bool only_top) {
  for (const std::string& folder : {baseline_folder, quantized_folder}) {
    if (!is_folder(folder)) return bad_data(folder, ": no such folder");
  }
  QQ_TRY(std::vector<std::string> baseline, results_below(baseline_folder, quantized_folder));
  QQ_TRY(const std::vector<std::string> quantized, results_below(quantized_folder, baseline_folder));
  if (baseline.empty()) {
    return bad_data(baseline_folder,
                    ": no results to compare, .npy, .png, .jpg or .jpeg files are needed in it or deeper");
  }
  if (only_top && !std::all_of(baseline.begin(), baseline.end(), is_deeper)) std::erase_if(baseline, is_deeper);
  ResultPairs found;
  std::set<std::string> others(quantized.begin(), quantized.end());
  for (const std::string& name : baseline) {
    found.pairs.push_back({name, join_path(baseline_folder, name), join_path(quantized_folder, name),
                           others.erase(name) == 0, kind_of(name.substr(name.rfind('/') + 1)) == kImage});
  }
  for (const std::string& name : quantized) {
    if (others.contains(name)) found.extra.push_back(name);
  }
  return found;
}

Result<ResultArrays> read_result_pair(const ResultPair& pair) {
  if (pair.is_missing) {
    return bad_data(pair.quantized_path, ": no such file, it is needed to compare with ", pair.baseline_path);
  }
  QQ_TRY(ir::Tensor baseline, read_array(pair.baseline_path, pair.is_image));
  QQ_TRY(ir::Tensor quantized, read_array(pair.quantized_path, pair.is_image));
  return ResultArrays{std::move(baseline), std::move(quantized)};
}

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
  const auto reads_spans = [](const metrics::ChosenMetric& one) {
    return one.info->truth == metrics::TruthKind::kSpans;
  };
  if (std::ranges::any_of(metrics, reads_spans)) return true;
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
  if (by_output.empty()) return bad_data(folder, ": several outputs are read; needed is a folder for each");
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
  if (results.samples.empty()) return bad_data(folder, "/", own, ": contains no .npy files");
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
  options.text = compare::find_language_model(side.model.graph);
  QQ_TRY(metrics::MetricRun run, metrics::MetricRun::open(metrics, options));
  std::vector<std::string> outputs;
  outputs.reserve(side.model.graph.outputs().size());
  for (const ir::ValueId id : side.model.graph.outputs()) outputs.push_back(side.model.graph.value(id).name);
  exec::Session session(side.model, side.environment, {});
  std::vector<std::string> names;
  for (size_t i = 0; i < side.samples.size(); ++i) {
    QQ_TRY(const calib::Sample sample, side.samples.read(i));
    names.push_back(sample.name);
    QQ_TRY(const auto* found, session.run(sample.inputs).context(cat(side.name, ": sample ", sample.name)));
    std::vector<ir::Tensor> values = *found;
    for (ir::Tensor& value : values) {
      if (side.is_channels_last && value.rank() == 4) value = exec::in_onnx_order(value, exec::Layout::kChannelsLast);
    }
    QQ_RETURN_IF_ERROR(run.add({i, sample.name, outputs, values, &sample.inputs}).context(side.name));
    QQ_RETURN_IF_ERROR(interrupted_unless(request, {"score", i + 1, side.samples.size()}));
  }
  QQ_TRY(MetricValues values, run.values());
  return ScoredSide{std::move(values), side.samples.size(), std::move(names)};
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
  std::vector<std::string> names;
  for (size_t i = 0; i < files.size(); ++i) {
    names.push_back(files[i].name);
    std::vector<ir::Tensor> values;
    for (const std::string& path : files[i].paths) {
      QQ_TRY(ir::Tensor value, calib::read_npy(path));
      values.push_back(std::move(value));
    }
    QQ_RETURN_IF_ERROR(run.add({i, without_npy(files[i].name), found.outputs, values}).context(folder));
    QQ_RETURN_IF_ERROR(interrupted_unless(request, {"score", i + 1, files.size()}));
  }
  QQ_TRY(MetricValues values, run.values());
  return ScoredSide{std::move(values), files.size(), std::move(names)};
}

// --metric-cmd: a program of the caller's that prints one number for a folder of results.

namespace {

constexpr std::string_view kPlace = "{results}";

std::string replaced(std::string word, const std::string& folder) {
  for (size_t at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at + folder.size())) {
    word.replace(at, kPlace.size(), folder);
  }
  return word;
}

std::string trimmed_output(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

Result<double> run_metric_command(const MetricRequest& metric, const std::string& folder,
                                  const std::function<bool()>& keep_going) {
  constexpr const char* kOption = "--metric-cmd";
  QQ_TRY(std::vector<std::string> words, command_words(metric.command).context(kOption));
  for (std::string& word : words) word = replaced(std::move(word), folder);
  CommandOptions options;
  options.seconds = metric.command_seconds;
  options.keep_going = keep_going;
  Result<CommandResult> ran = run_command(words, options);
  if (!ran.ok()) return ran.status().code() == Code::kInterrupted ? ran.status() : ran.status().context(kOption);
  const CommandResult& result = ran.value();
  const std::string end = result.last_lines.empty() ? "" : "; it printed: " + result.last_lines;
  if (result.exit_code != 0) return bad_data(kOption, ": ", words[0], ": ended with exit code ", result.exit_code, end);
  const std::string text = trimmed_output(result.output);
  const std::optional<double> value = parse_finite(text);
  if (value) return *value;
  return bad_data(kOption, ": ", words[0], ": printed \"", excerpt(text),
                  "\", allowed is one finite number and nothing else", end);
}

}  // namespace quarkq::pipeline
