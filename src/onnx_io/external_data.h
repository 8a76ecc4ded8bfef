// SPDX-License-Identifier: MIT
// Tensor data in files next to the model. Locations come from the model file and are untrusted. Only files in the
// folder of the model, in the folder of a linked model's target, and in folders that the user allowed are opened. Every
// range is checked against the size of the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "ir/tensor.h"

namespace quarkq::onnx_io {

/// The location of a tensor's data according to the model.
struct ExternalRef {
  std::string location;
  int64_t offset = 0;             ///< In bytes.
  std::optional<int64_t> length;  ///< In bytes; if absent, the size that the tensor needs.
};

/// The external files of one model, each mapped once and shared by all its tensors.
class ExternalFiles {
 public:
  /// An empty `model_path` means a model in memory, which has no folder, so external data is rejected. If the path is a
  /// symbolic link, as in the cache of a model hub, data may also be in the folder of the link's target.
  explicit ExternalFiles(const std::string& model_path);

  /// Returns the tensor at `ref`, in place if its offset is aligned for the type. REQUIRES: element_count(dims)
  /// succeeds.
  Result<ir::Tensor> read(const ExternalRef& ref, ElementType type, ir::Shape dims);

  /// Return the total size and the paths of all files that were read.
  uint64_t bytes() const;
  std::vector<std::string> files() const;

 private:
  using File = std::shared_ptr<const MappedFile>;
  Result<File> open(const std::string& location) const;
  std::string model_path_;
  std::map<std::string, Result<File>> files_;
};

/// Returns `data` as a tensor, copied if it is not aligned for elements of `type`.
ir::Tensor adopt_or_copy(ElementType type, ir::Shape dims, std::shared_ptr<const void> owner, const std::byte* data);

}  // namespace quarkq::onnx_io
