// SPDX-License-Identifier: MIT
#include "tuning/trial_store.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/isa.h"
#include "base/parse_number.h"
#include "quarkq/version.h"

namespace quarkq::tuning {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrialFile = "trial.json";
constexpr const char* kFloatFile = "float.txt";

Status add_file(const std::string& path, FileHashes& hashes, ContentHash& hash) {
  QQ_TRY(const std::string content, hashes.of(path));
  hash.add(content);
  return Status();
}

/// Regular files below `folder` at any depth, sorted; `folder` itself when it is a file.
Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::vector<std::string>{folder};
  std::vector<std::string> files;
  do {  // from the start when a signal interrupts the opening of a folder
    files.clear();
    for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
      if (it->is_regular_file(error)) files.push_back(it->path().string());
    }
  } while (error == std::errc::interrupted);
  if (error) return bad_data(folder, ": cannot be read: ", error.message());
  std::ranges::sort(files, natural_less);
  return files;
}

Status add_folder(const std::string& folder, FileHashes& hashes, ContentHash& hash) {
  hash.add(folder.empty() ? "none" : "files");  // the same labels as classes are something else
  if (folder.empty()) return Status();
  QQ_TRY(const std::vector<std::string> files, files_below(folder));
  for (const std::string& file : files) {
    hash.add(file.substr(std::min(file.size(), folder.size())));
    QQ_RETURN_IF_ERROR(add_file(file, hashes, hash));
  }
  return Status();
}

Status copy_file(const std::string& from, const std::string& to) {
  QQ_TRY(const auto file, MappedFile::open(from));
  QQ_TRY(AtomicFile copy, AtomicFile::create(to));
  QQ_RETURN_IF_ERROR(copy.write(file->data(), file->size()));
  return copy.commit();
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
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
  hash.add(isa_name(isa()));
  hash.add(settings_text);
  QQ_RETURN_IF_ERROR(add_file(request.model_path, hashes, hash));
  // Weights outside of the model: they are named after it.
  for (const char* suffix : {".data", "_data"}) {
    if (file_exists(request.model_path + suffix))
      QQ_RETURN_IF_ERROR(add_file(request.model_path + suffix, hashes, hash));
  }
  const MetricRequest& metric = request.metric;
  for (const std::string& folder :
       {request.calib_folder, request.eval_folder, metric.truth_path, metric.classes_path, metric.alphabet_path}) {
    QQ_RETURN_IF_ERROR(add_folder(folder, hashes, hash));
  }
  hash.add(join(metric.names, ","));
  for (const std::string& text : {metric.output, metric.detector.head, metric.command}) hash.add(text);
  hash.add(cat(metric.detector.min_score, " ", metric.detector.nms_iou, " ", request.limit));
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

Status TrialStore::make_folder() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  return error ? io_error(folder_, ": cannot make this folder: ", error.message()) : Status();
}

void TrialStore::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove(root_, ignored);  // only when it is empty
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
  return place(settings) + ".claim";
}

Result<std::string> TrialStore::make_model_path(const std::vector<std::string>& settings) const {
  std::error_code error;
  fs::create_directories(place(settings), error);
  if (error) return io_error(place(settings), ": cannot make this folder: ", error.message());
  return model_path(settings);
}

std::optional<Trial> TrialStore::load(const std::vector<std::string>& settings) const {
  const std::string path = cat(place(settings), "/", kTrialFile);
  if (!file_exists(path)) return std::nullopt;
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return std::nullopt;
  std::optional<Trial> trial = parse_trial(text.value());
  const bool is_whole = trial && (!trial->why_not.empty() || file_exists(model_path(settings)));
  if (!is_whole || trial->settings != settings) return std::nullopt;
  trial->is_reused = true;
  return trial;
}

Status TrialStore::save(const Trial& trial) const {
  return write_file(cat(place(trial.settings), "/", kTrialFile), encode_trial(trial));
}

Status TrialStore::copy_model(const std::vector<std::string>& settings, const std::string& output) const {
  const std::string model = model_path(settings), data = model + ".data";
  if (file_exists(data)) QQ_RETURN_IF_ERROR(copy_file(data, cat(folder_of(output), "/", model_name_, ".data")));
  return copy_file(model, output);
}

std::optional<double> TrialStore::load_float_value() const {
  const std::string path = cat(folder_, "/", kFloatFile);
  if (!file_exists(path)) return std::nullopt;
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return std::nullopt;
  return parse_finite(text.value());
}

Status TrialStore::save_float_value(double value) const {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return write_file(cat(folder_, "/", kFloatFile), text);
}

}  // namespace quarkq::tuning
