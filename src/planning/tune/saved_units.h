// SPDX-License-Identifier: MIT
// Units that are done, kept in a folder: beside the output, so that a killed run can be resumed, or in one that several
// processes share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::planning::finetune {

/// What is stored in the place of a layer's constants; undefined: that stays.
struct LearnedConstants {
  ir::Tensor weight, bias;
};

struct SavedUnit {
  bool kept = false;
  double error_before = 0, error_after = 0, seconds = 0;
  std::vector<LearnedConstants> layers;  ///< one per layer when the result is kept, else none
  std::string failure = {};              ///< why it cannot be trained; empty: it was
};

/// The bytes of a file: a hash of all that follows, and so on.
std::string encode_saved_unit(const std::string& key, const SavedUnit& unit);
/// Nothing when these bytes are damaged or belong to another `key`. Layers may still be any number, tensors of any
/// type and shape.
std::optional<SavedUnit> parse_saved_unit(std::string_view bytes, const std::string& key);

class SavedUnits {
 public:
  /// An empty folder name keeps nothing.
  explicit SavedUnits(std::string folder) : folder_(std::move(folder)) {}

  bool is_on() const { return !folder_.empty(); }

  /// Nothing when there is no such unit, when it belongs to another run (`key`) or is damaged.
  std::optional<SavedUnit> load(size_t index, const std::string& key) const;
  Status save(size_t index, const std::string& key, const SavedUnit& unit) const;
  /// Removes the first `count` units and unfinished files, and the folder when nothing else is in it.
  void remove(size_t count) const;

  /// Of a claim on this unit (base/claim.h).
  std::string claim_path(size_t index) const { return cat(folder_, "/layer", index, ".claim"); }
  /// REQUIRES: is_on(). Fails when it cannot be made.
  Status make_folder() const;

 private:
  std::string path(size_t index) const { return cat(folder_, "/layer", index, ".bin"); }
  std::string folder_;
};

}  // namespace quarkq::planning::finetune
