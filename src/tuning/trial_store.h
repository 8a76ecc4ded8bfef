// SPDX-License-Identifier: MIT
// Finished trials in a folder that processes may share. The name of a trial depends on model, samples, settings,
// metric, release and instruction set, so that no trial is repeated or mistaken for another.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "quarkq/tune.h"
#include "tuning/goal.h"

namespace quarkq::tuning {

/// Content hashes of files; each file is read once.
class FileHashes {
 public:
  Result<std::string> of(const std::string& path);

 private:
  std::map<std::string, std::string> known_;
};

/// Returns the inputs that all trials of a run share, as 32 digits. Fails if a file cannot be read.
Result<std::string> run_key(const TuneRequest& request, const std::string& settings_text, FileHashes& hashes);

/// Returns the number of samples in `folder` whose bytes also exist in another folder.
Result<size_t> count_shared_files(const std::string& folder, const std::string& other, FileHashes& hashes);

class TrialStore {
 public:
  /// `key` is the result of run_key(). `model_name` is the file name of models, so that references to external data
  /// match the output's name.
  TrialStore(std::string folder, const std::string& key, std::string model_name);

  ~TrialStore();
  TrialStore(const TrialStore&) = delete;
  TrialStore& operator=(const TrialStore&) = delete;

  Status make_folder() const;
  /// Creates the folder and prevents other runs from removing it. For a folder that is removed at the end.
  Status share();
  /// Removes the files of this run, and the folder if it is empty then, unless another run shares it. REQUIRES:
  /// share().
  void remove();

  /// Returns nullopt if the trial is not done, or if its model changed since it was written: the folder is untrusted.
  std::optional<Trial> load(const std::vector<std::string>& settings) const;
  /// Sets `trial.model_hash`. REQUIRES: if the trial has a result, model_path(settings) was written.
  Status save(Trial& trial) const;
  /// Creates the trial's folder and removes an existing model. Returns the path for the new model.
  Result<std::string> make_model_path(const std::vector<std::string>& settings) const;
  std::string model_path(const std::vector<std::string>& settings) const;
  std::string claim_path(const std::vector<std::string>& settings) const;
  /// Copies the model, its external data and its tail. The output is complete or unchanged afterwards. Fails with kIo
  /// if the model differs from the trial's.
  Status copy_model(const Trial& trial, const std::string& output) const;

  std::optional<Measure> load_float_value() const;
  Status save_float_value(const Measure& measure) const;

 private:
  std::string place(const std::vector<std::string>& settings) const;

  void remove_claims() const;

  std::string root_, folder_, model_name_;
  int lock_ = -1;  ///< File descriptor of the locked folder.
  bool is_locked_ = false;
};

std::string encode_trial(const Trial& trial);
/// Returns nullopt if the text is not a trial.
std::optional<Trial> parse_trial(const std::string& text);

nlohmann::ordered_json trial_json(const Trial& trial);

}  // namespace quarkq::tuning
