// SPDX-License-Identifier: MIT
#include "base/file_system.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <string_view>

#include "base/hash.h"
#include "base/platform/memory.h"
#include "base/platform/native_path.h"
#include "base/platform/process.h"
#include "base/residency.h"

namespace quarkq {
namespace {

using platform::FileKind;

std::string system_reason() { return std::strerror(errno); }

/// Out of memory is not a fault of the file and ends the run as usual (exit code 7).
Status cannot_open(const std::string& path) {
  if (errno == ENOMEM) throw std::bad_alloc();
  return io_error(path, ": cannot open, ", system_reason());
}

Result<std::vector<std::string>> list_entries(const std::string& folder, const platform::Wanted& wanted) {
  std::vector<std::string> names;
  if (!platform::list_folder(folder, wanted, names))
    return bad_data(folder, ": cannot list this folder, ", system_reason());
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

}  // namespace

int open_nameless_file(const std::string& folder) {
  return platform::create_nameless(folder, cat(".quarkq-spill-", process_token()));
}

namespace {

/// `move(done)` moves the bytes from there on, at most to the end, and tells how many, as pwrite(2) does.
template <typename Move>
bool move_all(size_t bytes, Move move) {
  for (size_t done = 0; done < bytes;) {
    const int64_t part = move(done);
    if (part < 0 && errno == EINTR) continue;
    if (part == 0) errno = EIO;
    if (part <= 0) return false;
    done += static_cast<size_t>(part);
  }
  return true;
}

}  // namespace

bool write_all_at(int fd, const void* data, size_t bytes, uint64_t offset) {
  return move_all(bytes, [&](size_t done) {
    return platform::write_at(fd, static_cast<const char*>(data) + done, bytes - done, offset + done);
  });
}

bool read_all_at(int fd, void* data, size_t bytes, uint64_t offset) {
  return move_all(bytes, [&](size_t done) {
    return platform::read_at(fd, static_cast<char*>(data) + done, bytes - done, offset + done);
  });
}

bool is_same_file(int fd, const std::string& path) {
  const auto own = platform::describe(fd), found = platform::describe(path, platform::Links::kRefused);
  return own && found && own->id == found->id;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, Links links) {
  const int fd = platform::open_to_read(path, links);
  if (fd < 0) return cannot_open(path);
  Result<std::shared_ptr<const MappedFile>> mapped = of(fd, path);
  platform::close_file(fd);
  return mapped;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::of(int fd, const std::string& path) {
  const std::optional<platform::FileInfo> info = platform::describe(fd);
  if (!info || info->kind != platform::FileKind::kFile) return io_error(path, ": not a regular file");
  const auto size = static_cast<size_t>(info->bytes);
  const std::byte* data = nullptr;
  if (size > 0) {
    data = platform::map_file(fd, 0, size, platform::View::kOwnView);
    if (data == nullptr) return io_error(path, ": cannot map ", size, " bytes, ", system_reason());
    announce_mapping(data, size);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  withdraw_mapping(data_);
  platform::unmap(data_, size_);
}

namespace {

/// Recognizes UTF-16 by its byte order mark, or by a zero byte in one half of the first two characters.
bool is_utf_16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  if (text.size() < 4 || text.size() % 2 != 0) return false;
  const auto is_zero = [&](size_t i) { return text[i] == '\0'; };
  return (is_zero(1) && is_zero(3) && !is_zero(0) && !is_zero(2)) ||
         (is_zero(0) && is_zero(2) && !is_zero(1) && !is_zero(3));
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  if (!file_exists(path)) return io_error(path, ": no such file");
  std::ifstream in(platform::native(path), std::ios::binary);
  if (!in) return cannot_open(path);
  std::string text;
  char block[65536];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    text.append(block, static_cast<size_t>(in.gcount()));
    if (text.size() > limit) return resource_error(path, ": larger than ", bytes_text(static_cast<double>(limit)));
  }
  if (in.bad()) return io_error(path, ": reading failed after ", text.size(), " bytes");
  if (is_utf_16(text)) return bad_data(path, ": is UTF-16, allowed is UTF-8; save the file as UTF-8");
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors write it before UTF-8
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

const std::string& process_token() {
  static const std::string token = [] {
    uint64_t number = 0;
    platform::fill_random(&number, sizeof number);
    ContentHash hash;
    hash.add(platform::host_name());  // tells most apart, too
    hash.add(&number, sizeof number);
    constexpr size_t kDigits = 16;
    return cat(platform::process_number(), "-", hash.text().substr(0, kDigits));
  }();
  return token;
}

// Runs of digits compare by value, everything else byte by byte.
bool natural_less(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    size_t end_a = i, end_b = j;
    while (end_a < a.size() && digit(a[end_a])) ++end_a;
    while (end_b < b.size() && digit(b[end_b])) ++end_b;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    const int order = a.compare(i, end_a - i, b, j, end_b - j);
    if (order != 0) return order < 0;
    i = end_a, j = end_b;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

Result<std::vector<std::string>> list_files(const std::string& folder, const std::string& suffix) {
  return list_entries(folder, {.kind = FileKind::kFile, .suffix = suffix});
}

Result<std::vector<std::string>> list_folders(const std::string& folder) {
  return list_entries(folder, {.kind = FileKind::kFolder});
}

Result<std::vector<std::string>> list_files_below(const std::string& folder) {
  std::vector<std::string> found, waiting = {""};  // relative to `folder`, with a slash at the end
  while (!waiting.empty()) {
    const std::string below = std::move(waiting.back());
    waiting.pop_back();
    QQ_TRY(const std::vector<std::string> files, list_entries(cat(folder, "/", below), {.kind = FileKind::kFile}));
    for (const std::string& name : files) found.push_back(below + name);
    QQ_TRY(const std::vector<std::string> folders,
           list_entries(cat(folder, "/", below), {.kind = FileKind::kFolder, .links = platform::Links::kRefused}));
    for (const std::string& name : folders) waiting.push_back(cat(below, name, "/"));
  }
  std::sort(found.begin(), found.end(), natural_less);
  return found;
}

bool file_exists(const std::string& path) {
  const std::optional<platform::FileInfo> info = platform::describe(path);
  return info && info->kind == FileKind::kFile;
}

bool is_folder(const std::string& path) {
  const std::optional<platform::FileInfo> info = platform::describe(path);
  return info && info->kind == FileKind::kFolder;
}

}  // namespace quarkq
