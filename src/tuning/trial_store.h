// SPDX-License-Identifier: MIT
// Trials that are done, in a folder that processes may share. What a trial is made of is in its name: model, samples,
// settings, metric, release and instruction set. So none is repeated, and none is mistaken for another.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "quarkq/tune.h"

namespace quarkq::tuning {

/// Hashes of files' bytes: each file is read once.
class FileHashes {
 public:
  Result<std::string> of(const std::string& path);

 private:
  std::map<std::string, std::string> known_;
};

/// What all trials of a run have in common, as 32 digits. Fails when a file cannot be read.
Result<std::string> run_key(const TuneRequest& request, const std::string& settings_text, FileHashes& hashes);

/// Samples of `folder` whose bytes another folder has, too.
Result<size_t> count_shared_files(const std::string& folder, const std::string& other, FileHashes& hashes);

class TrialStore {
 public:
  /// `key`: of run_key(). `model_name`: what models are called, so that their external data fits the output's name.
  TrialStore(std::string folder, const std::string& key, std::string model_name);

  ~TrialStore();
  TrialStore(const TrialStore&) = delete;
  TrialStore& operator=(const TrialStore&) = delete;

  Status make_folder() const;
  /// Makes the folder and keeps other runs from removing it. For a folder that is removed at the end.
  Status share();
  /// Removes what this run wrote, and the folder when nothing else is in it, unless another run shares it. REQUIRES:
  /// share().
  void remove() const;

  /// Returns nullopt if the trial is not done, or its model is not the one that was made: whoever may write the folder
  /// can put anything there.
  std::optional<Trial> load(const std::vector<std::string>& settings) const;
  /// Fills in `trial.model_hash`. REQUIRES: model_path(settings) was written when the trial has a result.
  Status save(Trial& trial) const;
  /// Makes the trial's folder and removes a model that is there. Returns where the new one goes.
  Result<std::string> make_model_path(const std::vector<std::string>& settings) const;
  std::string model_path(const std::vector<std::string>& settings) const;
  std::string claim_path(const std::vector<std::string>& settings) const;
  /// Copies the model and its external data; the output is complete or as it was. Fails with kIo if the model is no
  /// longer that of the trial.
  Status copy_model(const Trial& trial, const std::string& output) const;

  std::optional<double> load_float_value() const;
  Status save_float_value(double value) const;

 private:
  std::string place(const std::vector<std::string>& settings) const;

  void remove_claims() const;

  std::string root_, folder_, model_name_;
  int lock_ = -1;  ///< the folder, open and locked
  bool is_locked_ = false;
};

std::string encode_trial(const Trial& trial);
/// Nothing when the text is no trial.
std::optional<Trial> parse_trial(const std::string& text);

nlohmann::ordered_json trial_json(const Trial& trial);

}  // namespace quarkq::tuning
