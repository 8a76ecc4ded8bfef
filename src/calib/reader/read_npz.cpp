// SPDX-License-Identifier: MIT
// NumPy's .npz: a zip archive with one .npy file per array, named after it.
#include <algorithm>
#include <memory>

#include "base/suggest.h"
#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "calib/reader/zip_file.h"

namespace quarkq::calib {
namespace {

constexpr std::string_view kSuffix = ".npy";

/// The array's name, or "" when the entry is no array.
std::string key_of(const ZipEntry& entry) {
  if (!entry.name.ends_with(kSuffix)) return {};
  return entry.name.substr(0, entry.name.size() - kSuffix.size());
}

Result<const ZipEntry*> find_entry(const ZipFile& zip, const FileRequest& request) {
  std::vector<const ZipEntry*> arrays;
  std::vector<std::string> keys;
  for (const ZipEntry& entry : zip.entries()) {
    if (key_of(entry).empty()) continue;
    arrays.push_back(&entry);
    keys.push_back(key_of(entry));
  }
  for (const std::string& wanted : spellings_of(request.input)) {
    const auto found = std::find(keys.begin(), keys.end(), wanted);
    if (found != keys.end()) return arrays[static_cast<size_t>(found - keys.begin())];
  }
  if (request.is_only_input && arrays.size() == 1) return arrays[0];
  return bad_data(request.path, ": holds no array for input ", request.input.name,
                  did_you_mean(request.input.name, keys), " (found: ", keys.empty() ? "none" : join(keys, ", "), ")");
}

}  // namespace

Result<ir::Tensor> read_npz_file(const FileRequest& request) {
  QQ_TRY(const ZipFile zip, ZipFile::parse(request.bytes.data, request.bytes.size, request.path));
  QQ_TRY(const ZipEntry* entry, find_entry(zip, request));
  const std::string name = cat(request.path, ": entry ", entry->name);
  // The header says how much there should be, before the rest is unpacked.
  QQ_TRY(const std::vector<std::byte> start, zip.read_start(*entry, kMaxNpyHeader));
  QQ_TRY(const NpyHeader header, read_npy_header(start.data(), start.size(), name));
  if (header.total_bytes != entry->bytes) {
    return bad_data(name, ": ", entry->bytes, " bytes, its header ", quarkq::name(header.type), shape_text(header.dims),
                    " needs ", header.total_bytes);
  }
  QQ_RETURN_IF_ERROR(check_array(request, header.type, header.dims));
  QQ_TRY(std::vector<std::byte> unpacked, zip.read(*entry));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(unpacked));
  return adopt_npy(bytes, *bytes, name);
}

}  // namespace quarkq::calib
