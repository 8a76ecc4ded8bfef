// SPDX-License-Identifier: MIT
#include "onnx_io/external_data.h"

#include <algorithm>
#include <cstring>

#include "base/file_system.h"
#include "base/paths.h"
#include "onnx_io/load.h"

namespace quarkq::onnx_io {
namespace {

bool is_inside(const std::string& file, const std::string& folder) {
  const std::vector<std::string> above = paths::parts_of(folder), parts = paths::parts_of(file);
  const auto [above_end, rest] = std::ranges::mismatch(above, parts);
  return !above.empty() && above_end == above.end() && rest != parts.end();
}

std::vector<std::string>& allowed_folders() {
  static std::vector<std::string> folders;
  return folders;
}

/// Returns the canonical folders that may contain the data of the model at `model_path`. The first one is the model's
/// own.
std::vector<std::string> folders_of(const std::string& model_path) {
  const std::string own = paths::folder_of(model_path);
  std::vector<std::string> folders = {paths::real(own.empty() ? "." : own).value_or("")};
  if (const auto real = paths::real(model_path)) folders.push_back(paths::folder_of(*real));
  for (const std::string& folder : allowed_folders()) {
    if (const auto real = paths::real(folder)) folders.push_back(*real);
  }
  return folders;
}

Status check_location(const std::string& location) {
  if (location.empty()) return corrupt_model("external data without a location");
  if (location.find('\0') != std::string::npos) return corrupt_model("external data location contains a zero byte");
  if (paths::has_root(location)) {
    return corrupt_model("external data location '", location, "' is absolute, must be relative to the model's folder");
  }
  for (const std::string& part : paths::parts_of(location)) {
    if (part == "..") return corrupt_model("external data location '", location, "' leaves the model's folder");
  }
  return Status();
}

}  // namespace

ir::Tensor adopt_or_copy(ElementType type, ir::Shape dims, std::shared_ptr<const void> owner, const std::byte* data) {
  const size_t element = std::max<size_t>(1, static_cast<size_t>(bits(type)) / 8);
  // Complex numbers are read as pairs, so half of their size is enough.
  const size_t alignment = std::min<size_t>(element, 8);
  if (reinterpret_cast<uintptr_t>(data) % alignment == 0) {
    return ir::Tensor::adopt(type, std::move(dims), std::move(owner), data);
  }
  ir::Tensor copy = ir::Tensor::allocate(type, std::move(dims));
  std::memcpy(copy.mutable_raw(), data, static_cast<size_t>(copy.bytes()));
  return copy;
}

void allow_external_data_in(std::vector<std::string> folders) { allowed_folders() = std::move(folders); }

ExternalFiles::ExternalFiles(const std::string& model_path) : model_path_(model_path) {}

uint64_t ExternalFiles::bytes() const {
  uint64_t all = 0;
  for (const auto& [location, file] : files_) all += file.ok() ? file.value()->size() : 0;
  return all;
}

std::vector<std::string> ExternalFiles::files() const {
  std::vector<std::string> paths;
  for (const auto& [location, file] : files_) {
    if (file.ok()) paths.push_back(paths::joined(paths::folder_of(model_path_), location));
  }
  return paths;
}

Result<ExternalFiles::File> ExternalFiles::open(const std::string& location) const {
  QQ_RETURN_IF_ERROR(check_location(location));
  const std::vector<std::string> folders = folders_of(model_path_);
  const std::string file = paths::real_so_far(paths::joined(folders.front(), location));
  if (std::ranges::none_of(folders, [&](const std::string& folder) { return is_inside(file, folder); })) {
    return corrupt_model("external data location '", location, "' is a symbolic link to ", file,
                         ", outside of the model's folder; pass --allow-external ", paths::folder_of(file),
                         " if you trust the model, or copy the model with its links followed (cp -rL)");
  }
  if (!paths::exists(file)) {
    return corrupt_model("external data file '", location, "' does not exist in the folder of the model");
  }
  if (!file_exists(file)) return corrupt_model("external data '", location, "' is not a regular file");
  Result<File> mapped = MappedFile::open(file);
  if (!mapped.ok()) return corrupt_model("external data file ", mapped.status().message());
  return mapped;
}

Result<ir::Tensor> ExternalFiles::read(const ExternalRef& ref, ElementType type, ir::Shape dims) {
  if (model_path_.empty()) return unsupported("external data in a model that was not loaded from a file");
  auto found = files_.find(ref.location);
  if (found == files_.end()) found = files_.emplace(ref.location, open(ref.location)).first;
  QQ_TRY(const File file, Result<File>(found->second));

  const int64_t needed = storage_bytes(type, ir::checked_count(dims));
  if (ref.length && *ref.length != needed) {
    return corrupt_model("external data of ", *ref.length, " bytes, its shape and type need ", needed);
  }
  const auto size = static_cast<int64_t>(file->size());
  if (ref.offset < 0 || ref.offset > size || needed > size - ref.offset) {
    return corrupt_model("external data at bytes ", ref.offset, " + ", needed, " of '", ref.location,
                         "', which has only ", size);
  }
  if (needed == 0) return ir::Tensor::zeros(type, std::move(dims));
  return adopt_or_copy(type, std::move(dims), file, file->data() + ref.offset);
}

}  // namespace quarkq::onnx_io
