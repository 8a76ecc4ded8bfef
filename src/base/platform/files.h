// SPDX-License-Identifier: MIT
// Files of the operating system. Two implementations: posix/ and windows/ (ADR 0024). Paths are UTF-8. Functions that
// can fail set errno on both systems, so std::strerror() describes the failure. Descriptors are numbers of the C
// library, and started programs do not inherit them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarkq::platform {

/// kRefused: a symbolic link is not followed. For folders in which other users may have placed links.
enum class Links : uint8_t { kFollowed, kRefused };

/// Identity of a file on this machine, whatever path or link names it.
struct FileId {
  uint64_t volume = 0, number = 0;
  auto operator<=>(const FileId&) const = default;
};

/// kStream: a character device or a pipe.
enum class FileKind : uint8_t { kFile, kFolder, kStream, kOther };

struct FileInfo {
  FileId id;
  FileKind kind = FileKind::kOther;
  uint64_t bytes = 0, links = 0;         ///< `links`: number of names; 0 after the last one was removed.
  int64_t seconds = 0, nanoseconds = 0;  ///< Time of the last change.
};

/// Returns nullopt if there is no such file.
std::optional<FileInfo> describe(const std::string& path, Links links = Links::kFollowed);
std::optional<FileInfo> describe(int fd);

// Opening. Return -1 and set errno on failure. A pipe instead of a file is opened without waiting for its other end.

int open_to_read(const std::string& path, Links links = Links::kFollowed);
/// Opens an existing file.
int open_to_write(const std::string& path, Links links = Links::kFollowed);
/// Opens an existing device, or the output of another program.
int open_stream(const std::string& path);
/// Fails with EEXIST if there is such a file.
int create_file(const std::string& path);
/// Creates an anonymous file in `folder` for reading and writing. It disappears with the process, even if the process
/// is killed. `name` is used where the system has no files without names.
int create_nameless(const std::string& folder, const std::string& name);
/// Opens a folder as the place of a lock.
int open_folder(const std::string& path);
/// Returns whether `fd` is from open_folder() of the folder that is at `path` now.
bool is_open_folder(int fd, const std::string& path);
/// Returns another descriptor of the same open file.
int duplicate(int fd);
/// A network file system may report a full disk here.
bool close_file(int fd);

// Transfers. Return the number of bytes, or -1.

int64_t read_some(int fd, void* data, size_t bytes);
int64_t write_some(int fd, const void* data, size_t bytes);
int64_t read_at(int fd, void* data, size_t bytes, uint64_t offset);
int64_t write_at(int fd, const void* data, size_t bytes, uint64_t offset);

// Locks belong to the open file and end with it, also if the process is killed.

/// Locks without waiting. Fails with EWOULDBLOCK if another process has the file locked.
bool lock_alone(int fd);
/// Waits for an exclusive lock to end.
bool lock_shared(int fd);

/// Returns whether all written data is on the disk. Files that do not support flushing are not a failure.
bool flush(int fd);
/// Makes a new name in `folder` survive a failure of the machine, if the system can.
void flush_folder(const std::string& folder);
/// Sets the time of the last change to now.
bool touch(int fd);

// Names.

/// Renames; replaces the file at `to` in the same moment.
bool replace_file(const std::string& from, const std::string& to);
/// Gives a file a second name. Fails if `to` exists.
bool link_file(const std::string& from, const std::string& to);
/// Async-signal-safe.
bool remove_file(const char* path);
/// Creates a new folder in the folder of temporary files.
bool make_temporary_folder(std::string& path);

/// Selects entries of a folder.
struct Wanted {
  std::optional<FileKind> kind;  ///< Any kind if absent.
  std::string_view suffix = {};
  Links links = Links::kFollowed;  ///< kFollowed: a link counts as the file that it leads to.
};
/// Appends the names of the wanted entries to `names`, in any order. Throws std::bad_alloc if memory runs out.
bool list_folder(const std::string& folder, const Wanted& wanted, std::vector<std::string>& names);

/// Returns whether a backslash separates folders, so that it cannot escape the next character of a command.
bool backslash_separates();
/// Returns the place of the last separator of folders in `path`, or npos.
size_t last_separator(std::string_view path);
/// Returns whether `path` names a stream of this process or another device, which a finished file cannot replace.
bool is_device_name(const std::string& path);
/// Returns why a file with the name of `path` cannot be created or would be another file ("..., allowed is ..."), and
/// an empty string if it can.
std::string fault_of_name(const std::string& path);
/// Returns the name of the existing file at `path` if the system ignores the case in which it differs from `path`, and
/// an empty string otherwise.
std::string other_spelling(const std::string& path);

/// A pattern with one '*' per part. Returns the files that match, sorted.
std::vector<std::string> files_like(const std::string& pattern);

// Folders, and where paths lead.

/// Creates one folder. Fails with EEXIST if there is such a file or folder.
bool make_folder(const std::string& path);
/// Removes an empty folder.
bool remove_folder(const std::string& path);
/// Closes `fd` from open_folder() of the folder at `path`, and removes the file that stands for its lock, if the system
/// has one, with the folder if nothing else is in it.
void remove_lock(int fd, const std::string& path);
/// Returns the absolute path without links. Returns nullopt if there is no such file or folder.
std::optional<std::string> real_path(const std::string& path);

}  // namespace quarkq::platform
