// SPDX-License-Identifier: MIT
// Files: whole reads, read-only mappings, and writes that are complete or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq {

/// A read-only memory mapping of a whole file. Empty files have size 0 and a null pointer.
class MappedFile {
 public:
  /// kRefused: fails if `path` itself is a symbolic link, for folders in which others may have put one.
  enum class Links { kFollowed, kRefused };
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, Links links = Links::kFollowed);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  size_t size_;
};

/// Names this process among all that may write to a shared folder: its number, which repeats on every machine and in
/// every container, and 16 random digits. Fit for file names.
const std::string& process_token();

/// Content of a text file. Fails when it is larger than `limit` bytes.
Result<std::string> read_text_file(const std::string& path, size_t limit = size_t{64} << 20);

/// open(2) that goes on after a signal; the descriptor is closed in programs that are started. -1 and errno on failure.
int open_file(const std::string& path, int flags, unsigned mode = 0);

/// A file without a name in `folder`, for reading and writing, that is removed with the process however that ends. -1
/// and errno on failure.
int open_nameless_file(const std::string& folder);

/// pwrite(2) and pread(2) of all bytes, which go on after a signal. False and errno on failure; a file that ends before
/// is EIO.
bool write_all_at(int fd, const void* data, size_t bytes, uint64_t offset);
bool read_all_at(int fd, void* data, size_t bytes, uint64_t offset);

/// Whether `path`, itself and not what it links to, is the file that `fd` has open.
bool is_same_file(int fd, const std::string& path);

/// A file under a temporary name beside its target; commit() renames it into place, the destructor removes it
/// otherwise. Every temporary is also removed when the process is interrupted (remove_unfinished_files()), and what a
/// killed one left is removed by the next that writes the same target: a temporary is locked as long as its process
/// lives. A target that is a device or a pipe is written as it is.
class AtomicFile {
 public:
  /// kOneOfMany: of thousands, such as the results of `quarkq run`. They are not forced to the disk one by one, and
  /// nobody looks for what killed runs left of each (remove_dead_temporaries() does for all).
  enum class Kind { kAlone, kOneOfMany };
  static Result<AtomicFile> create(const std::string& target, Kind kind = Kind::kAlone);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(const void* data, size_t bytes);
  uint64_t written() const { return written_; }

  /// Flushes to disk, so that a machine that fails leaves the old or the new file, and renames. A full disk shows here
  /// at the latest, as kIo naming the target.
  Status commit();
  const std::string& target() const { return target_; }

 private:
  AtomicFile(int fd, std::string temporary, std::string target, Kind kind)
      : fd_(fd), temporary_(std::move(temporary)), target_(std::move(target)), kind_(kind) {}
  Status write_through(const char* data, size_t bytes);
  Status flush_buffer();
  Status put_in_place();
  void drop();
  int fd_ = -1;
  std::string temporary_, target_;  ///< no temporary: a device
  Kind kind_ = Kind::kAlone;
  std::vector<char> buffer_;
  uint64_t written_ = 0;
};

/// Writes `text`; the file is complete or absent.
Status write_file(const std::string& target, const std::string& text);

/// Removes temporaries of processes that have ended: those of the target `path` and of files whose names begin with
/// its name, such as that of its weights. "FOLDER/" means all in the folder. Those that cannot be judged stay.
void remove_dead_temporaries(const std::string& path);

/// Removes the temporaries of all AtomicFiles alive. Async-signal-safe: for signal handlers.
void remove_unfinished_files();

/// Regular files directly in `folder` whose name ends in `suffix`, sorted by name (digit runs compare as numbers).
Result<std::vector<std::string>> list_files(const std::string& folder, const std::string& suffix);
/// Folders directly in `folder`, sorted like list_files().
Result<std::vector<std::string>> list_folders(const std::string& folder);
/// Regular files at any depth, relative to `folder`, sorted like list_files(). Links to folders are not followed.
Result<std::vector<std::string>> list_files_below(const std::string& folder);

/// The order of list_files(): "img10" after "img9".
bool natural_less(const std::string& a, const std::string& b);

bool file_exists(const std::string& path);
bool is_folder(const std::string& path);

// For signal handlers: is there something that must not be called unwritten?

/// Whether an AtomicFile of this process has its name, or is about to get it. Async-signal-safe.
bool has_finished_files();

}  // namespace quarkq
