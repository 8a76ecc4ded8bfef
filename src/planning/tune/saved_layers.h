// SPDX-License-Identifier: MIT
// Layers that are done, kept in a folder beside the output, so that a killed run can be resumed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::planning::finetune {

struct SavedLayer {
  bool kept = false;
  double error_before = 0, error_after = 0, seconds = 0;
  ir::Tensor weight, bias;  ///< what is stored in the model's place; undefined when it stays
};

/// The bytes of a file: a hash of all that follows, and so on.
std::string encode_saved_layer(const std::string& key, const SavedLayer& layer);
/// Nothing when these bytes are damaged or belong to another `key`. Tensors may still be of any type and shape.
std::optional<SavedLayer> parse_saved_layer(std::string_view bytes, const std::string& key);

class SavedLayers {
 public:
  /// An empty folder name keeps nothing.
  explicit SavedLayers(std::string folder) : folder_(std::move(folder)) {}

  bool is_on() const { return !folder_.empty(); }

  /// Nothing when there is no such layer, when it belongs to another run (`key`) or is damaged.
  std::optional<SavedLayer> load(size_t index, const std::string& key) const;
  Status save(size_t index, const std::string& key, const SavedLayer& layer) const;
  /// Removes the first `count` layers and unfinished files, and the folder when nothing else is in it.
  void remove(size_t count) const;

 private:
  std::string path(size_t index) const { return cat(folder_, "/layer", index, ".bin"); }
  std::string folder_;
};

}  // namespace quarkq::planning::finetune
