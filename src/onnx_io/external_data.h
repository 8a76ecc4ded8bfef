// SPDX-License-Identifier: MIT
// Tensor data in files next to the model. Locations come from the model file, so they are hostile until checked: only
// files in the folder of the model, in the folder of the file that a linked model really is, and in folders that the
// user allowed are opened, and every range is checked against the size of the file.
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

/// Where a tensor says its data is.
struct ExternalRef {
  std::string location;
  int64_t offset = 0;             ///< bytes
  std::optional<int64_t> length;  ///< bytes; when absent, as many as the tensor needs
};

/// The external files of one model, each mapped once and shared by all its tensors.
class ExternalFiles {
 public:
  /// `model_path` "" stands for a model in memory: it has no folder, so external data is refused. If the path is a
  /// symbolic link, as in the cache of a model hub, data may also lie in the folder of the link's target.
  explicit ExternalFiles(const std::string& model_path);

  /// The tensor at `ref`, read in place where its offset is aligned for the type.
  /// REQUIRES: element_count(dims) succeeds.
  Result<ir::Tensor> read(const ExternalRef& ref, ElementType type, ir::Shape dims);

  /// The sum of the sizes of all files that were read, and their paths.
  uint64_t bytes() const;
  std::vector<std::string> files() const;

 private:
  using File = std::shared_ptr<const MappedFile>;
  Result<File> open(const std::string& location) const;
  std::string model_path_;
  std::map<std::string, Result<File>> files_;
};

/// `data` as a tensor: in place, or copied when it is not aligned for elements of `type`.
ir::Tensor adopt_or_copy(ElementType type, ir::Shape dims, std::shared_ptr<const void> owner, const std::byte* data);

}  // namespace quarkq::onnx_io
