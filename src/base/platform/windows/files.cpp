// SPDX-License-Identifier: MIT
// Files are opened such that others may read, rename and remove them, as on POSIX systems.
#include "base/platform/files.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>
#include <winioctl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>

#include "base/platform/native_path.h"
#include "base/platform/process.h"
#include "base/platform/windows/wide.h"
#include "base/strings.h"
#include "base/windows_names.h"

namespace quarkq::platform {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
/// Locks are mandatory here, so they cover a byte that no file has.
constexpr DWORD kLockPlace = 0x40000000;
constexpr const char kLockName[] = "/.quarkq-lock";

HANDLE handle_of(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

/// How CreateFileW() opens.
struct Opening {
  DWORD access = GENERIC_READ;
  DWORD create = OPEN_EXISTING;
  DWORD flags = 0;
};

HANDLE open_handle(const std::string& path, const Opening& how) {
  return CreateFileW(wide_path(path).c_str(), how.access, kShareAll, nullptr, how.create,
                     how.flags | FILE_FLAG_BACKUP_SEMANTICS, nullptr);
}

int descriptor_of(HANDLE handle, int flags) {
  if (handle == INVALID_HANDLE_VALUE) return fail_with_errno();
  const int fd = _open_osfhandle(reinterpret_cast<intptr_t>(handle), flags | _O_BINARY | _O_NOINHERIT);
  if (fd < 0) CloseHandle(handle);
  return fd;
}

bool is_link(HANDLE handle) {
  FILE_ATTRIBUTE_TAG_INFO info{};
  return GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &info, sizeof info) != 0 &&
         (info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
         (info.ReparseTag == IO_REPARSE_TAG_SYMLINK || info.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

int open_existing(const std::string& path, DWORD access, int flags, Links links) {
  const bool refused = links == Links::kRefused;
  const HANDLE handle =
      open_handle(path, {.access = access, .flags = refused ? DWORD{FILE_FLAG_OPEN_REPARSE_POINT} : 0});
  if (refused && handle != INVALID_HANDLE_VALUE && is_link(handle)) {
    CloseHandle(handle);
    errno = ELOOP;
    return -1;
  }
  return descriptor_of(handle, flags);
}

std::optional<FileInfo> describe(HANDLE handle) {
  const DWORD type = GetFileType(handle);
  if (type == FILE_TYPE_CHAR || type == FILE_TYPE_PIPE) return FileInfo{.id = {}, .kind = FileKind::kStream};
  BY_HANDLE_FILE_INFORMATION info{};
  FILE_STANDARD_INFO standard{};
  if (GetFileInformationByHandle(handle, &info) == 0) return std::nullopt;
  const bool is_removed = GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard) != 0 &&
                          standard.DeletePending != 0;
  const auto both = [](DWORD high, DWORD low) { return (uint64_t{high} << 32) | low; };
  constexpr uint64_t kTicks = 10'000'000, kUnixStart = 11'644'473'600;  // per second; seconds since 1601
  const uint64_t time = both(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime);
  const bool is_folder = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  return FileInfo{.id = {info.dwVolumeSerialNumber, both(info.nFileIndexHigh, info.nFileIndexLow)},
                  .kind = is_folder         ? FileKind::kFolder
                          : is_link(handle) ? FileKind::kOther
                                            : FileKind::kFile,
                  .bytes = both(info.nFileSizeHigh, info.nFileSizeLow),
                  .links = is_removed ? 0 : info.nNumberOfLinks,
                  .seconds = static_cast<int64_t>(time / kTicks) - static_cast<int64_t>(kUnixStart),
                  .nanoseconds = static_cast<int64_t>(time % kTicks * 100)};
}

OVERLAPPED at_offset(uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

DWORD bounded(size_t bytes) { return static_cast<DWORD>(std::min<size_t>(bytes, size_t{1} << 30)); }

/// A lock replaces an earlier one of the same open file, as flock(2) does.
bool lock(int fd, DWORD flags) {
  OVERLAPPED place{};
  place.OffsetHigh = kLockPlace;
  UnlockFileEx(handle_of(fd), 0, 1, 0, &place);
  if (LockFileEx(handle_of(fd), flags, 0, 1, 0, &place) != 0) return true;
  fail_with_errno();
  return false;
}

bool succeeded(BOOL done) {
  if (done == 0) fail_with_errno();
  return done != 0;
}

}  // namespace

std::optional<FileInfo> describe(const std::string& path, Links links) {
  const DWORD flags = links == Links::kRefused ? DWORD{FILE_FLAG_OPEN_REPARSE_POINT} : 0;
  const HANDLE handle = open_handle(path, {.access = FILE_READ_ATTRIBUTES, .flags = flags});
  if (handle == INVALID_HANDLE_VALUE) {
    fail_with_errno();
    return std::nullopt;
  }
  const std::optional<FileInfo> info = describe(handle);
  CloseHandle(handle);
  return info;
}

std::optional<FileInfo> describe(int fd) { return describe(handle_of(fd)); }

int open_to_read(const std::string& path, Links links) { return open_existing(path, GENERIC_READ, _O_RDONLY, links); }
int open_to_write(const std::string& path, Links links) { return open_existing(path, GENERIC_WRITE, 0, links); }
int open_stream(const std::string& path) { return open_existing(path, GENERIC_WRITE, 0, Links::kFollowed); }

int create_file(const std::string& path) {
  return descriptor_of(
      open_handle(path, {.access = GENERIC_WRITE | FILE_READ_ATTRIBUTES | DELETE, .create = CREATE_NEW}), 0);
}

int create_nameless(const std::string& folder, const std::string& name) {
  static std::atomic<int> count{0};
  constexpr DWORD kFlags = FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE;
  const std::string path = cat(folder, "/", name, "-", count.fetch_add(1));
  const HANDLE handle =
      open_handle(path, {.access = GENERIC_READ | GENERIC_WRITE | DELETE, .create = CREATE_NEW, .flags = kFlags});
  DWORD bytes = 0;
  if (handle != INVALID_HANDLE_VALUE)  // so that release_space() returns space
    DeviceIoControl(handle, FSCTL_SET_SPARSE, nullptr, 0, nullptr, 0, &bytes, nullptr);
  return descriptor_of(handle, 0);
}

/// Folders cannot be locked, so a file in the folder is.
int open_folder(const std::string& path) {
  const Opening how = {.access = GENERIC_READ | GENERIC_WRITE, .create = OPEN_ALWAYS, .flags = FILE_ATTRIBUTE_HIDDEN};
  return descriptor_of(open_handle(path + kLockName, how), 0);
}

bool is_open_folder(int fd, const std::string& path) {
  const auto own = describe(fd), found = describe(path + kLockName, Links::kRefused);
  return own && found && own->links > 0 && own->id == found->id;
}

int duplicate(int fd) {
  HANDLE copy = INVALID_HANDLE_VALUE;
  const HANDLE self = GetCurrentProcess();
  if (DuplicateHandle(self, handle_of(fd), self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS) == 0) return fail_with_errno();
  return descriptor_of(copy, 0);
}

bool close_file(int fd) { return _close(fd) == 0; }

int64_t read_some(int fd, void* data, size_t bytes) {
  DWORD done = 0;
  if (ReadFile(handle_of(fd), data, bounded(bytes), &done, nullptr) != 0) return done;
  return GetLastError() == ERROR_BROKEN_PIPE ? 0 : fail_with_errno();
}

int64_t write_some(int fd, const void* data, size_t bytes) {
  DWORD done = 0;
  return WriteFile(handle_of(fd), data, bounded(bytes), &done, nullptr) != 0 ? int64_t{done} : fail_with_errno();
}

int64_t read_at(int fd, void* data, size_t bytes, uint64_t offset) {
  DWORD done = 0;
  OVERLAPPED place = at_offset(offset);
  if (ReadFile(handle_of(fd), data, bounded(bytes), &done, &place) != 0) return done;
  return GetLastError() == ERROR_HANDLE_EOF ? 0 : fail_with_errno();
}

int64_t write_at(int fd, const void* data, size_t bytes, uint64_t offset) {
  DWORD done = 0;
  OVERLAPPED place = at_offset(offset);
  return WriteFile(handle_of(fd), data, bounded(bytes), &done, &place) != 0 ? int64_t{done} : fail_with_errno();
}

bool lock_alone(int fd) { return lock(fd, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY); }
bool lock_shared(int fd) { return lock(fd, 0); }

bool flush(int fd) {
  if (FlushFileBuffers(handle_of(fd)) != 0) return true;
  fail_with_errno();
  return errno == EINVAL || errno == EROFS;
}

/// A rename by replace_file() is written through, and folders cannot be flushed.
void flush_folder(const std::string&) {}

bool touch(int fd) {
  FILETIME now{};
  GetSystemTimePreciseAsFileTime(&now);
  return succeeded(SetFileTime(handle_of(fd), nullptr, nullptr, &now));
}

/// Scanners of viruses hold new files for a moment.
bool replace_file(const std::string& from, const std::string& to) {
  constexpr int kTries = 20;
  constexpr DWORD kWait = 10;  // milliseconds
  const std::wstring source = wide_path(from), target = wide_path(to);
  for (int i = 0; i < kTries; ++i) {
    if (MoveFileExW(source.c_str(), target.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0)
      return true;
    const DWORD reason = GetLastError(), found = GetFileAttributesW(target.c_str());
    SetLastError(reason);
    const bool is_busy = reason == ERROR_SHARING_VIOLATION || reason == ERROR_ACCESS_DENIED;
    const bool is_final =
        found != INVALID_FILE_ATTRIBUTES && (found & (FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_DIRECTORY)) != 0;
    if (!is_busy || is_final) break;
    Sleep(kWait);
  }
  fail_with_errno();
  return false;
}

bool link_file(const std::string& from, const std::string& to) {
  return succeeded(CreateHardLinkW(wide_path(to).c_str(), wide_path(from).c_str(), nullptr));
}

bool remove_file(const char* path) { return succeeded(DeleteFileW(wide_path(path).c_str())); }

bool make_folder(const std::string& path) { return succeeded(CreateDirectoryW(wide_path(path).c_str(), nullptr)); }

bool remove_folder(const std::string& path) { return succeeded(RemoveDirectoryW(wide_path(path).c_str())); }

void remove_lock(int fd, const std::string& path) {
  _close(fd);
  remove_file((path + kLockName).c_str());  // fails while another process has the lock
  remove_folder(path);
}

namespace {

/// Returns the absolute path if no part of it is a link. Some file systems, and wine for long paths, do not know the
/// name of an open file.
std::optional<std::string> full_path_without_links(const std::string& path) {
  const std::wstring given = wide(path);
  std::wstring full(GetFullPathNameW(given.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(GetFullPathNameW(given.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  while (full.size() > 3 && full.ends_with(L'\\')) full.pop_back();
  for (size_t end = full.find(L'\\'); !full.empty(); end = full.find(L'\\', end + 1)) {
    const std::string part = narrow(full.substr(0, end));
    const auto found = describe(part, Links::kRefused);
    if (found && found->kind == FileKind::kOther) return std::nullopt;
    if (end == std::wstring::npos) return found ? std::optional(part) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> real_path(const std::string& path) {
  const HANDLE handle = open_handle(path, {.access = FILE_READ_ATTRIBUTES});
  if (handle == INVALID_HANDLE_VALUE) {
    fail_with_errno();
    return std::nullopt;
  }
  std::wstring found(GetFinalPathNameByHandleW(handle, nullptr, 0, VOLUME_NAME_DOS), L'\0');
  found.resize(GetFinalPathNameByHandleW(handle, found.data(), static_cast<DWORD>(found.size()), VOLUME_NAME_DOS));
  CloseHandle(handle);
  constexpr std::wstring_view kPrefix = L"\\\\?\\", kShare = L"\\\\?\\UNC\\";
  if (found.empty()) return full_path_without_links(path);
  if (found.starts_with(kShare)) return narrow(L"\\\\" + found.substr(kShare.size()));
  return narrow(found.starts_with(kPrefix) ? found.substr(kPrefix.size()) : found);
}

bool make_temporary_folder(std::string& path) {
  std::error_code error;
  uint64_t number = 0;
  fill_random(&number, sizeof number);
  path = cat(text_of(std::filesystem::temp_directory_path(error)), "quarkq-", number);
  return !error && make_folder(path);
}

bool list_folder(const std::string& folder, const Wanted& wanted, std::vector<std::string>& names) {
  WIN32_FIND_DATAW entry{};
  const HANDLE found = FindFirstFileW(wide_path(folder + "/*").c_str(), &entry);
  if (found == INVALID_HANDLE_VALUE) return succeeded(0);
  do {
    std::string name = narrow(entry.cFileName);
    if (name == "." || name == ".." || !name.ends_with(wanted.suffix)) continue;
    const bool is_plain = (entry.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0;
    FileKind kind = (entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileKind::kFolder : FileKind::kFile;
    if (wanted.kind && !is_plain) {
      const std::optional<FileInfo> info = describe(folder + "/" + name, wanted.links);
      kind = info ? info->kind : FileKind::kOther;
    }
    if (!wanted.kind || kind == *wanted.kind) names.push_back(std::move(name));
  } while (FindNextFileW(found, &entry) != 0);
  const DWORD reason = GetLastError();
  FindClose(found);
  SetLastError(reason);
  return reason == ERROR_NO_MORE_FILES || succeeded(0);
}

bool backslash_separates() { return true; }
size_t last_separator(std::string_view path) { return path.find_last_of("/\\:"); }
std::filesystem::path path_of(const std::string& text) { return wide(text); }
std::string text_of(const std::filesystem::path& path) { return narrow(path.native()); }
std::filesystem::path native(const std::string& path) { return wide_path(path); }
bool is_device_name(const std::string& path) { return is_windows_device(path); }
std::string fault_of_name(const std::string& path) { return windows_name_fault(path); }

std::string other_spelling(const std::string& path) {
  WIN32_FIND_DATAW entry{};
  const HANDLE found = FindFirstFileW(wide_path(path).c_str(), &entry);
  if (found == INVALID_HANDLE_VALUE) return "";
  FindClose(found);
  std::string name = narrow(entry.cFileName);
  return name == path.substr(last_separator(path) + 1) ? "" : name;
}

std::vector<std::string> files_like(const std::string& pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return describe(pattern) ? std::vector{pattern} : std::vector<std::string>();
  const size_t end = std::min(pattern.find_first_of("/\\", star), pattern.size());
  const size_t begin = pattern.find_last_of("/\\", star) + 1;
  std::vector<std::string> files;
  WIN32_FIND_DATAW entry{};
  const HANDLE found = FindFirstFileW(wide_path(pattern.substr(0, end)).c_str(), &entry);
  if (found == INVALID_HANDLE_VALUE) return files;
  do {
    const std::vector<std::string> below =
        files_like(cat(pattern.substr(0, begin), narrow(entry.cFileName), pattern.substr(end)));
    files.insert(files.end(), below.begin(), below.end());
  } while (FindNextFileW(found, &entry) != 0);
  FindClose(found);
  std::ranges::sort(files);
  return files;
}

}  // namespace quarkq::platform
