// SPDX-License-Identifier: MIT
#include "base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string_view>

#include "base/hash.h"
#include "base/residency.h"

namespace quarkq {
namespace {

std::string system_reason() { return std::strerror(errno); }

/// Out of memory is not a fault of the file and ends the run as usual (exit code 7).
Status cannot_open(const std::string& path) {
  if (errno == ENOMEM) throw std::bad_alloc();
  return io_error(path, ": cannot open, ", system_reason());
}

/// Selects the listed entries: of a kind of stat(2) (S_IFREG, S_IFDIR), with names that have this suffix.
struct Wanted {
  mode_t kind = S_IFREG;
  std::string_view suffix = {};
  bool follows_links = true;  ///< which then count as what they lead to
};

/// Not by std::filesystem's iterator, which ends the process when memory runs out.
Result<std::vector<std::string>> list_entries(const std::string& folder, const Wanted& wanted) {
  const int fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  const auto failed = [&] { return bad_data(folder, ": cannot list this folder, ", system_reason()); };
  if (fd < 0) return failed();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), ::closedir);
  if (entries == nullptr) {
    const int reason = errno;
    ::close(fd);
    if (reason == ENOMEM) throw std::bad_alloc();
    errno = reason;
    return failed();
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(entries.get())) {
    struct stat info {};
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name.ends_with(wanted.suffix) &&
        ::fstatat(fd, entry->d_name, &info, wanted.follows_links ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
        (info.st_mode & S_IFMT) == wanted.kind)
      names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return failed();
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

}  // namespace

int open_file(const std::string& path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

int open_nameless_file(const std::string& folder) {
  const int fd = open_file(folder, O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0) return fd;
  // Not every file system has files without names; this one has its name for a moment.
  const std::string name = cat(folder, "/.quarkq-spill-", process_token());
  const int named = open_file(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

namespace {

/// `move(done)` moves the bytes from there on, at most to the end, and tells how many, as pwrite(2) does.
template <typename Move>
bool move_all(size_t bytes, Move move) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t part = move(done);
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
    return ::pwrite(fd, static_cast<const char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
  });
}

bool read_all_at(int fd, void* data, size_t bytes, uint64_t offset) {
  return move_all(bytes, [&](size_t done) {
    return ::pread(fd, static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
  });
}

bool is_same_file(int fd, const std::string& path) {
  struct stat own {
  }, found{};
  return ::fstat(fd, &own) == 0 && ::lstat(path.c_str(), &found) == 0 && own.st_dev == found.st_dev &&
         own.st_ino == found.st_ino;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, Links links) {
  // O_NONBLOCK: a pipe instead of a file is rejected below without waiting for it.
  const int fd = open_file(path, O_RDONLY | O_NONBLOCK | (links == Links::kRefused ? O_NOFOLLOW : 0));
  if (fd < 0) return cannot_open(path);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return io_error(path, ": not a regular file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const std::string reason = system_reason();
      ::close(fd);
      return io_error(path, ": cannot map ", size, " bytes, ", reason);
    }
  }
  ::close(fd);
  if (size > 0) announce_mapping(static_cast<const std::byte*>(data), size);
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  withdraw_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
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
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return io_error(path, ": no such file");
  std::ifstream in(path, std::ios::binary);
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
    std::array<char, 256> host{};
    uint64_t number = 0;
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    static_cast<void>(!::getrandom(&number, sizeof number, GRND_NONBLOCK));  // the host tells most apart, too
    ContentHash hash;
    hash.add(std::string_view(host.data()));
    hash.add(&number, sizeof number);
    constexpr size_t kDigits = 16;
    return cat(::getpid(), "-", hash.text().substr(0, kDigits));
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
  return list_entries(folder, {.suffix = suffix});
}

Result<std::vector<std::string>> list_folders(const std::string& folder) {
  return list_entries(folder, {.kind = S_IFDIR});
}

Result<std::vector<std::string>> list_files_below(const std::string& folder) {
  std::vector<std::string> found, waiting = {""};  // relative to `folder`, with a slash at the end
  while (!waiting.empty()) {
    const std::string below = std::move(waiting.back());
    waiting.pop_back();
    QQ_TRY(const std::vector<std::string> files, list_entries(cat(folder, "/", below), {}));
    for (const std::string& name : files) found.push_back(below + name);
    QQ_TRY(const std::vector<std::string> folders,
           list_entries(cat(folder, "/", below), {.kind = S_IFDIR, .follows_links = false}));
    for (const std::string& name : folders) waiting.push_back(cat(below, name, "/"));
  }
  std::sort(found.begin(), found.end(), natural_less);
  return found;
}

bool file_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace quarkq
