// SPDX-License-Identifier: MIT
#include "base/platform/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <new>

#include "base/platform/native_path.h"

namespace quarkq::platform {
namespace {

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kFolder;
  return S_ISCHR(mode) || S_ISFIFO(mode) ? FileKind::kStream : FileKind::kOther;
}

FileInfo info_from(const struct stat& found) {
  return {.id = {found.st_dev, found.st_ino},
          .kind = kind_of(found.st_mode),
          .bytes = static_cast<uint64_t>(found.st_size),
          .links = found.st_nlink,
          .seconds = found.st_mtim.tv_sec,
          .nanoseconds = found.st_mtim.tv_nsec};
}

/// Calls open(2) and repeats it after a signal.
int open_file(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

int no_follow(Links links) { return links == Links::kRefused ? O_NOFOLLOW : 0; }

}  // namespace

std::optional<FileInfo> describe(const std::string& path, Links links) {
  struct stat found {};
  const int failed = links == Links::kFollowed ? ::stat(path.c_str(), &found) : ::lstat(path.c_str(), &found);
  return failed == 0 ? std::optional(info_from(found)) : std::nullopt;
}

std::optional<FileInfo> describe(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 ? std::optional(info_from(found)) : std::nullopt;
}

int open_to_read(const std::string& path, Links links) {
  return open_file(path, O_RDONLY | O_NONBLOCK | no_follow(links));
}

int open_to_write(const std::string& path, Links links) {
  return open_file(path, O_WRONLY | O_NONBLOCK | no_follow(links));
}

int open_stream(const std::string& path) { return open_file(path, O_WRONLY); }

int create_file(const std::string& path) { return open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666); }

int create_nameless(const std::string& folder, const std::string& name) {
  const int fd = open_file(folder, O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0) return fd;
  // Not every file system has files without names; this one has its name for a moment.
  const std::string path = folder + "/" + name;
  const int named = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

int open_folder(const std::string& path) { return open_file(path, O_RDONLY | O_DIRECTORY); }
bool is_open_folder(int fd, const std::string& path) {
  const auto own = describe(fd), found = describe(path, Links::kRefused);
  return own && found && own->id == found->id;
}

int duplicate(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); }
bool close_file(int fd) { return ::close(fd) == 0 || errno == EINTR; }

int64_t read_some(int fd, void* data, size_t bytes) { return ::read(fd, data, bytes); }
int64_t write_some(int fd, const void* data, size_t bytes) { return ::write(fd, data, bytes); }
int64_t read_at(int fd, void* data, size_t bytes, uint64_t offset) {
  return ::pread(fd, data, bytes, static_cast<off_t>(offset));
}
int64_t write_at(int fd, const void* data, size_t bytes, uint64_t offset) {
  return ::pwrite(fd, data, bytes, static_cast<off_t>(offset));
}

bool lock_alone(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }
bool lock_shared(int fd) { return ::flock(fd, LOCK_SH) == 0; }

bool flush(int fd) {
  int failed = 0;
  do {
    failed = ::fsync(fd);
  } while (failed != 0 && errno == EINTR);
  return failed == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

void flush_folder(const std::string& folder) {
  const int fd = open_folder(folder);
  if (fd < 0) return;
  static_cast<void>(flush(fd));
  ::close(fd);
}

bool touch(int fd) { return ::futimens(fd, nullptr) == 0; }

bool replace_file(const std::string& from, const std::string& to) { return ::rename(from.c_str(), to.c_str()) == 0; }
bool link_file(const std::string& from, const std::string& to) { return ::link(from.c_str(), to.c_str()) == 0; }
bool remove_file(const char* path) { return ::unlink(path) == 0; }

bool make_folder(const std::string& path) { return ::mkdir(path.c_str(), 0777) == 0; }
bool remove_folder(const std::string& path) { return ::rmdir(path.c_str()) == 0; }

void remove_lock(int fd, const std::string&) { ::close(fd); }

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> found(::realpath(path.c_str(), nullptr), ::free);
  if (found == nullptr) return std::nullopt;
  return found.get();
}

bool make_temporary_folder(std::string& path) {
  std::error_code error;
  path = (std::filesystem::temp_directory_path(error) / "quarkq-XXXXXX").string();
  return !error && ::mkdtemp(path.data()) != nullptr;
}

/// Not by std::filesystem's iterator, which ends the process when memory runs out.
bool list_folder(const std::string& folder, const Wanted& wanted, std::vector<std::string>& names) {
  const int fd = open_folder(folder);
  if (fd < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), ::closedir);
  if (entries == nullptr) {
    const int reason = errno;
    ::close(fd);
    if (reason == ENOMEM) throw std::bad_alloc();
    errno = reason;
    return false;
  }
  const int flags = wanted.links == Links::kFollowed ? 0 : AT_SYMLINK_NOFOLLOW;
  errno = 0;
  while (const dirent* const entry = ::readdir(entries.get())) {
    struct stat info {};
    const std::string_view name = entry->d_name;
    const bool is_wanted = name != "." && name != ".." && name.ends_with(wanted.suffix);
    const bool is_kind = !wanted.kind || (is_wanted && ::fstatat(fd, entry->d_name, &info, flags) == 0 &&
                                          kind_of(info.st_mode) == *wanted.kind);
    if (is_wanted && is_kind) names.emplace_back(name);
    errno = 0;
  }
  return errno == 0;
}

bool backslash_separates() { return false; }
size_t last_separator(std::string_view path) { return path.rfind('/'); }
std::filesystem::path path_of(const std::string& text) { return text; }
std::string text_of(const std::filesystem::path& path) { return path.native(); }
std::filesystem::path native(const std::string& path) { return path; }

bool is_device_name(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

std::string fault_of_name(const std::string&) { return ""; }
std::string other_spelling(const std::string&) { return ""; }

std::vector<std::string> files_like(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

}  // namespace quarkq::platform
