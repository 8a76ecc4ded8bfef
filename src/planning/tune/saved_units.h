// SPDX-License-Identifier: MIT
// Finished units, stored in a folder: next to the output, so that a killed run can be resumed, or in a folder shared by
// several processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::planning::finetune {

/// Replacements of a layer's stored constants; an undefined tensor means no replacement.
struct LearnedConstants {
  ir::Tensor weight, bias;
};

struct SavedUnit {
  bool kept = false;
  double error_before = 0, error_after = 0, seconds = 0;
  std::vector<LearnedConstants> layers;  ///< One per layer if the result is kept, otherwise empty.
  std::string failure = {};              ///< Why the unit cannot be trained; empty if it was trained.
};

/// A training between two steps.
struct SavedTraining {
  int64_t step = 0;          ///< Number of finished steps.
  int64_t begun = 0;         ///< Step at which the variables were at their start.
  double rate_share = 1;     ///< Factor of the learning rate.
  SavedUnit best;            ///< The best state so far; kept = false: the start.
  std::vector<float> state;  ///< All numbers that steps change.
};

/// Returns the bytes of a file: a hash of the rest, then the rest.
std::string encode_saved_unit(const std::string& key, const SavedUnit& unit);
/// Returns nullopt if the bytes are damaged or belong to another `key`. The number of layers and the types and shapes
/// of tensors are not checked.
std::optional<SavedUnit> parse_saved_unit(std::string_view bytes, const std::string& key);

std::string encode_saved_training(const std::string& key, const SavedTraining& training);
/// Returns nullopt if the bytes are damaged or belong to another `key`. The number of floats is not checked.
std::optional<SavedTraining> parse_saved_training(std::string_view bytes, const std::string& key);

class SavedUnits {
 public:
  /// With an empty folder name nothing is stored.
  explicit SavedUnits(std::string folder) : folder_(std::move(folder)) {}

  bool is_on() const { return !folder_.empty(); }

  /// Returns nullopt if the unit does not exist, belongs to another run (`key`) or is damaged.
  std::optional<SavedUnit> load(size_t index, const std::string& key) const;
  /// Removes the saved training of the unit.
  Status save(size_t index, const std::string& key, const SavedUnit& unit) const;
  std::optional<SavedTraining> load_training(size_t index, const std::string& key) const;
  Status save_training(size_t index, const std::string& key, const SavedTraining& training) const;
  /// Removes the first `count` units and unfinished files, and the folder if it is empty then.
  void remove(size_t count) const;

  /// Returns the path of a claim on this unit (base/claim.h).
  std::string claim_path(size_t index) const { return cat(folder_, "/layer", index, ".claim"); }
  /// Fails if the folder cannot be created. REQUIRES: is_on().
  Status make_folder() const;

 private:
  std::string path(size_t index) const { return cat(folder_, "/layer", index, ".bin"); }
  std::string training_path(size_t index) const { return cat(folder_, "/layer", index, ".training.bin"); }
  std::string folder_;
};

}  // namespace quarkq::planning::finetune
