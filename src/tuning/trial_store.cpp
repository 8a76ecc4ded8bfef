// SPDX-License-Identifier: MIT
#include "tuning/trial_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/isa.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "base/platform/files.h"
#include "config/named_files.h"
#include "onnx_io/load.h"
#include "pipeline/report/json.h"
#include "pipeline/run/tail.h"
#include "quarkq/status.h"

namespace quarkq::tuning {

namespace {

constexpr const char* kTrialFile = "trial.json";
constexpr const char* kFloatFile = "float.json";
constexpr const char *kDataSuffix = ".data", *kClaimSuffix = ".claim";

Status add_file(const std::string& path, FileHashes& hashes, ContentHash& hash) {
  QQ_TRY(const std::string content, hashes.of(path));
  hash.add(content);
  return Status();
}

/// Files at any depth; `folder` itself when it is a file.
Result<std::vector<std::string>> files_below(const std::string& folder) {
  if (!is_folder(folder)) return std::vector<std::string>{folder};
  QQ_TRY(std::vector<std::string> files, list_files_below(folder));
  for (std::string& file : files) file = paths::joined(folder, file);
  return files;
}

/// Returns the files that a run reads in addition to the model file and the folders of the request: external data under
/// any name, the search file, and files named in the settings. A model or settings that cannot be read have none; the
/// first trial reports the error.
std::vector<std::string> further_files(const TuneRequest& request) {
  std::vector<std::string> paths;
  onnx_io::LoadReport external;
  if (onnx_io::load(request.model_path, &external).ok()) paths = external.external_files;
  if (!request.search_path.empty()) paths.push_back(request.search_path);
  const config::NamedFiles named = config::files_named_by(request.config, request.settings);
  paths.insert(paths.end(), named.read.begin(), named.read.end());
  std::ranges::copy_if(named.written, std::back_inserter(paths), file_exists);  // ranges of an earlier run are read
  return paths;
}

Status add_folder(const std::string& folder, FileHashes& hashes, ContentHash& hash) {
  hash.add(folder.empty() ? "none" : "files");  // the same labels as classes have another meaning
  if (folder.empty()) return Status();
  QQ_TRY(const std::vector<std::string> files, files_below(folder));
  for (const std::string& file : files) {
    hash.add(file.substr(std::min(file.size(), folder.size())));
    QQ_RETURN_IF_ERROR(add_file(file, hashes, hash));
  }
  return Status();
}

using File = std::shared_ptr<const MappedFile>;

Status write_copy(const MappedFile& file, const std::string& to) {
  QQ_TRY(AtomicFile copy, AtomicFile::create(to));
  QQ_RETURN_IF_ERROR(copy.write(file.data(), file.size()));
  return copy.commit();
}

/// A model in the folder of trials, and its weights if they are in a file of their own. Others may have put anything
/// there, so links are not followed.
struct StoredModel {
  File model, data, tail;

  static Result<StoredModel> open(const std::string& path) {
    StoredModel stored;
    QQ_TRY(stored.model, MappedFile::open(path, MappedFile::Links::kRefused));
    if (paths::is_taken(path + kDataSuffix)) {
      QQ_TRY(stored.data, MappedFile::open(path + kDataSuffix, MappedFile::Links::kRefused));
    }
    if (paths::is_taken(pipeline::tail_path(path))) {
      QQ_TRY(stored.tail, MappedFile::open(pipeline::tail_path(path), MappedFile::Links::kRefused));
    }
    return stored;
  }

  std::string hash() const {
    ContentHash hash;
    for (const File& file : {model, data, tail}) {
      hash.add(cat(file == nullptr ? 0 : file->size()));
      if (file != nullptr) hash.add(file->data(), file->size());
    }
    return hash.text();
  }
};

/// Returns the text of a small file of the store, or nullopt for links and for paths that are not files.
std::optional<std::string> stored_text(const std::string& path) {
  constexpr size_t kMostBytes = size_t{64} << 20;
  const Result<File> file = MappedFile::open(path, MappedFile::Links::kRefused);
  if (!file.ok() || file.value()->size() > kMostBytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(file.value()->data()), file.value()->size());
}

}  // namespace

Result<std::string> FileHashes::of(const std::string& path) {
  const auto found = known_.find(path);
  if (found != known_.end()) return found->second;
  QQ_TRY(const auto file, MappedFile::open(path));
  ContentHash hash;
  hash.add(file->data(), file->size());
  return known_.emplace(path, hash.text()).first->second;
}

Result<std::string> run_key(const TuneRequest& request, const std::string& settings_text, FileHashes& hashes) {
  ContentHash hash;
  hash.add(version());
  hash.add(full_isa_name());
  hash.add(settings_text);
  QQ_RETURN_IF_ERROR(add_file(request.model_path, hashes, hash));
  for (const std::string& path : further_files(request)) QQ_RETURN_IF_ERROR(add_folder(path, hashes, hash));
  const MetricRequest& metric = request.metric;
  for (const std::string& folder :
       {request.calib_folder, request.eval_folder, metric.truth_path, metric.classes_path, metric.alphabet_path}) {
    QQ_RETURN_IF_ERROR(add_folder(folder, hashes, hash));
  }
  hash.add(join(metric.names, ","));
  for (const std::string& text : {metric.output, metric.detector.head, metric.command}) hash.add(text);
  hash.add(cat(metric.detector.min_score, " ", metric.detector.nms_iou, " ", request.limit));
  if (metric.function) hash.add(process_token());  // another function may judge in another process
  return hash.text();
}

Result<size_t> count_shared_files(const std::string& folder, const std::string& other, FileHashes& hashes) {
  QQ_TRY(const std::vector<std::string> files, files_below(folder));
  QQ_TRY(const std::vector<std::string> others, files_below(other));
  std::set<std::string> known;
  for (const std::string& file : others) {
    QQ_TRY(std::string hash, hashes.of(file));
    known.insert(std::move(hash));
  }
  size_t shared = 0;
  for (const std::string& file : files) {
    QQ_TRY(const std::string hash, hashes.of(file));
    shared += known.contains(hash) ? 1 : 0;
  }
  return shared;
}

TrialStore::TrialStore(std::string folder, const std::string& key, std::string model_name)
    : root_(std::move(folder)), folder_(cat(root_, "/", key)), model_name_(std::move(model_name)) {}

Status TrialStore::make_folder() const { return paths::make_folders(folder_); }

TrialStore::~TrialStore() {
  if (lock_ >= 0) platform::close_file(lock_);
}

/// Shares the folder with other runs; the run that ends last removes it. On file systems without locks, nothing is
/// removed while other runs work.
Status TrialStore::share() {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const Status made = make_folder();
    lock_ = platform::open_folder(folder_);
    if (lock_ < 0 && i + 1 < kTries) continue;  // another run has removed it just now
    if (lock_ < 0) return made.ok() ? io_error(folder_, ": cannot open this folder, ", std::strerror(errno)) : made;
    if (platform::lock_alone(lock_)) remove_claims();
    is_locked_ = platform::lock_shared(lock_);
    if (platform::is_open_folder(lock_, folder_)) return Status();
    platform::close_file(std::exchange(lock_, -1));
  }
  return io_error(folder_, ": other runs keep removing this folder");
}

/// Removes the claims of killed runs. REQUIRES: no other run works in the folder.
void TrialStore::remove_claims() const {
  const Result<std::vector<std::string>> files = list_files(folder_, kClaimSuffix);
  if (!files.ok()) return;
  for (const std::string& file : files.value()) platform::remove_file(cat(folder_, "/", file).c_str());
}

void TrialStore::remove() {
  if (!is_locked_ || !platform::lock_alone(lock_)) return;
  paths::remove_tree(folder_);
  platform::remove_lock(std::exchange(lock_, -1), folder_);
  paths::remove(root_);  // only when it is empty
}

std::string TrialStore::place(const std::vector<std::string>& settings) const {
  ContentHash hash;
  for (const std::string& setting : settings) hash.add(setting);
  return cat(folder_, "/", hash.text());
}

std::string TrialStore::model_path(const std::vector<std::string>& settings) const {
  return cat(place(settings), "/", model_name_);
}

std::string TrialStore::claim_path(const std::vector<std::string>& settings) const {
  return place(settings) + kClaimSuffix;
}

Result<std::string> TrialStore::make_model_path(const std::vector<std::string>& settings) const {
  QQ_RETURN_IF_ERROR(paths::make_folders(place(settings)));
  std::string path = model_path(settings);
  for (const std::string& left : {path, path + kDataSuffix, pipeline::tail_path(path)})
    paths::remove(left);  // it was not what was made
  return path;
}

std::optional<Trial> TrialStore::load(const std::vector<std::string>& settings) const {
  const std::optional<std::string> text = stored_text(cat(place(settings), "/", kTrialFile));
  if (!text) return std::nullopt;
  std::optional<Trial> trial = parse_trial(*text);
  if (!trial || trial->settings != settings) return std::nullopt;
  if (trial->why_not.empty()) {
    const Result<StoredModel> model = StoredModel::open(model_path(settings));
    if (!model.ok() || model.value().hash() != trial->model_hash) return std::nullopt;
  }
  trial->is_reused = true;
  return trial;
}

Status TrialStore::save(Trial& trial) const {
  if (trial.why_not.empty()) {
    QQ_TRY(const StoredModel model, StoredModel::open(model_path(trial.settings)));
    trial.model_hash = model.hash();
  }
  return write_file(cat(place(trial.settings), "/", kTrialFile), encode_trial(trial));
}

Status TrialStore::copy_model(const Trial& trial, const std::string& output) const {
  const std::string path = model_path(trial.settings);
  QQ_TRY(const StoredModel stored, StoredModel::open(path));
  if (stored.hash() != trial.model_hash) return io_error(path, ": was changed by somebody else while it was in use");
  if (stored.data != nullptr)
    QQ_RETURN_IF_ERROR(write_copy(*stored.data, cat(paths::folder_or_here(output), "/", model_name_, kDataSuffix)));
  if (stored.tail != nullptr) QQ_RETURN_IF_ERROR(write_copy(*stored.tail, pipeline::tail_path(output)));
  return write_copy(*stored.model, output);
}

// A trial as JSON: in the report, and in the folder of trials.

namespace {

using pipeline::Json;

std::optional<size_t> count_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? std::optional(found->get<size_t>()) : std::nullopt;
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : std::nan("");
}

/// The inverse of pipeline::deployable_json().
Deployability deployability_of(const Json& json) {
  const auto row = std::ranges::find(kHoldsNames, text_of(json, "holds"));
  Deployability found{text_of(json, "target"), Deployability::Holds::kUnknown, text_of(json, "why"),
                      text_of(json, "remedy")};
  if (row != kHoldsNames.end()) found.holds = static_cast<Deployability::Holds>(row - kHoldsNames.begin());
  found.placed = count_of(json, "nodes").value_or(0), found.total = count_of(json, "of").value_or(0);
  found.regions = count_of(json, "regions").value_or(0);
  return found;
}

Json resamples_json(const Resamples& resamples) {
  Json draws = Json::array();
  for (const double draw : resamples.draws) draws.push_back(pipeline::number(draw));
  Json json = {{"samples", resamples.samples}, {"draws", std::move(draws)}, {"hits", resamples.hits}};
  if (resamples.labelled) json["labelled"] = *resamples.labelled;
  if (resamples.pairs) json["pairs"] = *resamples.pairs;
  return json;
}

/// The inverse of resamples_json(). Returns no draws for anything else.
Resamples resamples_of(const Json& json) {
  const auto found = json.find("resamples");
  if (found == json.end() || !found->is_object() || !found->contains("draws") || !found->at("draws").is_array())
    return {};
  Resamples resamples{count_of(*found, "samples").value_or(0), {}, text_of(*found, "hits"), {}};
  if (found->contains("labelled")) resamples.labelled = count_of(*found, "labelled");
  if (found->contains("pairs")) resamples.pairs = count_of(*found, "pairs");
  if (resamples.samples < 2) return {};
  for (const Json& draw : found->at("draws"))
    resamples.draws.push_back(draw.is_number() ? draw.get<double>() : std::nan(""));
  return resamples;
}

}  // namespace

std::optional<Measure> TrialStore::load_float_value() const {
  const std::optional<std::string> text = stored_text(cat(folder_, "/", kFloatFile));
  const Json json = text ? parse_json<Json>(*text) : Json();
  if (!json.is_object() || !std::isfinite(number_of(json, "value"))) return std::nullopt;
  return Measure{number_of(json, "value"), resamples_of(json)};
}

Status TrialStore::save_float_value(const Measure& measure) const {
  const Json json = {{"value", pipeline::number(measure.value)}, {"resamples", resamples_json(measure.samples)}};
  return write_file(cat(folder_, "/", kFloatFile), pipeline::text(json));
}

Json trial_json(const Trial& trial) {
  return {{"step", trial.step},
          {"name", trial.name},
          {"settings", trial.settings},
          {"why_not", trial.why_not},
          {"value", pipeline::number(trial.value)},
          {"cosine", pipeline::number(trial.cosine)},
          {"excluded_macs", pipeline::number(trial.excluded_macs)},
          {"wide_macs", pipeline::number(trial.wide_macs)},
          {"bytes", trial.bytes},
          {"deployable", pipeline::deployable_json(trial.deployable)},
          {"seconds", pipeline::number(trial.seconds)}};
}

std::string encode_trial(const Trial& trial) {
  Json json = trial_json(trial);
  json["model_hash"] = trial.model_hash;
  json["resamples"] = resamples_json(trial.resamples);
  return pipeline::text(json);
}

std::optional<Trial> parse_trial(const std::string& text) {
  const Json json = parse_json<Json>(text);
  if (!json.is_object() || !json.contains("settings") || !json["settings"].is_array()) return std::nullopt;
  Trial trial;
  for (const Json& setting : json["settings"]) {
    if (!setting.is_string()) return std::nullopt;
    trial.settings.push_back(setting.get<std::string>());
  }
  trial.step = text_of(json, "step"), trial.name = text_of(json, "name"), trial.why_not = text_of(json, "why_not");
  trial.model_hash = text_of(json, "model_hash"), trial.resamples = resamples_of(json);
  trial.value = number_of(json, "value"), trial.cosine = number_of(json, "cosine");
  trial.excluded_macs = number_of(json, "excluded_macs"), trial.wide_macs = number_of(json, "wide_macs"),
  trial.seconds = number_of(json, "seconds");
  trial.bytes = count_of(json, "bytes").value_or(0);
  if (const auto found = json.find("deployable"); found != json.end() && found->is_object())
    trial.deployable = deployability_of(*found);
  return trial.name.empty() ? std::nullopt : std::optional(trial);
}

}  // namespace quarkq::tuning
