// SPDX-License-Identifier: MIT
// Trials that are done, in a folder that processes may share. What a trial is made of is in its name: model, samples,
// settings, metric, release and instruction set. So none is repeated, and none is mistaken for another.
#pragma once

#include <map>
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

  Status make_folder() const;
  /// Removes what this run wrote, and the folder when nothing else is in it.
  void remove() const;

  /// Nothing when it is not done, or its file is damaged.
  std::optional<Trial> load(const std::vector<std::string>& settings) const;
  /// REQUIRES: model_path(settings) was written when the trial has a result.
  Status save(const Trial& trial) const;
  /// Makes the trial's folder. Where its model is to be.
  Result<std::string> make_model_path(const std::vector<std::string>& settings) const;
  std::string model_path(const std::vector<std::string>& settings) const;
  std::string claim_path(const std::vector<std::string>& settings) const;
  /// The model and its external data; the output is complete or as it was.
  Status copy_model(const std::vector<std::string>& settings, const std::string& output) const;

  std::optional<double> load_float_value() const;
  Status save_float_value(double value) const;

 private:
  std::string place(const std::vector<std::string>& settings) const;

  std::string root_, folder_, model_name_;
};

std::string encode_trial(const Trial& trial);
/// Nothing when the text is no trial.
std::optional<Trial> parse_trial(const std::string& text);

}  // namespace quarkq::tuning
