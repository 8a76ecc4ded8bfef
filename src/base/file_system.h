// SPDX-License-Identifier: MIT
// Files: whole reads, read-only mappings, and writes that are complete or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/platform/files.h"

namespace quarkq {

/// A read-only memory mapping of a whole file. Empty files have size 0 and a null pointer.
class MappedFile {
 public:
  /// kRefused: fails if `path` itself is a symbolic link. For folders in which other users may have placed links.
  using Links = platform::Links;
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, Links links = Links::kFollowed);
  /// Maps the open file `fd`, which messages call `path`. The mapping outlives the descriptor.
  static Result<std::shared_ptr<const MappedFile>> of(int fd, const std::string& path);
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

/// Returns a name of this process that is unique among all processes that may write to a shared folder: its number,
/// which repeats on other machines and in containers, and 16 random digits. Usable in file names.
const std::string& process_token();

/// Returns the content of a text file. Fails if it is larger than `limit` bytes.
Result<std::string> read_text_file(const std::string& path, size_t limit = size_t{64} << 20);

/// Creates an anonymous file in `folder` for reading and writing. It disappears with the process, even if the process
/// is killed. Returns -1 and sets errno on failure.
int open_nameless_file(const std::string& folder);

/// Transfer `bytes` bytes at `offset` until all are transferred, and repeat them after a signal. Return false and set
/// errno on failure; a file that ends early is EIO.
bool write_all_at(int fd, const void* data, size_t bytes, uint64_t offset);
bool read_all_at(int fd, void* data, size_t bytes, uint64_t offset);

/// Returns whether `path` itself, not the target of a link, is the file that `fd` refers to.
bool is_same_file(int fd, const std::string& path);

/// A file under a temporary name next to its target. commit() renames it; otherwise the destructor removes it.
/// Temporary files are also removed if the process is interrupted (remove_unfinished_files()). A temporary file is
/// locked while its process lives, so the next process that writes the same target removes the files of killed
/// processes. A target that is a device or a pipe is written directly.
class AtomicFile {
 public:
  /// kOneOfMany: one of thousands of files, such as the results of `quarkq run`. These files are not flushed to the
  /// disk one by one, and temporary files of killed runs are removed only by remove_dead_temporaries().
  enum class Kind { kAlone, kOneOfMany };
  static Result<AtomicFile> create(const std::string& target, Kind kind = Kind::kAlone);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(const void* data, size_t bytes);
  uint64_t written() const { return written_; }

  /// Flushes to disk, so that after a crash of the machine either the old or the new file exists, and renames. A full
  /// disk is reported here at the latest, as kIo with the name of the target.
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
  std::string temporary_, target_;  ///< Empty for a device, which has no temporary file.
  Kind kind_ = Kind::kAlone;
  std::vector<char> buffer_;
  uint64_t written_ = 0;
};

/// Writes `text` to `target`. The file is complete or absent afterwards.
Status write_file(const std::string& target, const std::string& text);

/// Removes temporary files of dead processes for the target `path` and for files whose names begin with its name, such
/// as its weights. "FOLDER/" selects all files in the folder. Files whose owner cannot be determined are kept.
void remove_dead_temporaries(const std::string& path);

/// Removes the temporary files of all AtomicFiles that exist. Async-signal-safe: for signal handlers.
void remove_unfinished_files();

/// Returns the regular files directly in `folder` whose names end in `suffix`, sorted by name (digit runs compare as
/// numbers).
Result<std::vector<std::string>> list_files(const std::string& folder, const std::string& suffix);
/// Returns the folders directly in `folder`, sorted as by list_files().
Result<std::vector<std::string>> list_folders(const std::string& folder);
/// Returns the regular files at any depth, relative to `folder`, sorted as by list_files(). Links to folders are not
/// followed.
Result<std::vector<std::string>> list_files_below(const std::string& folder);

/// Compares names in the order of list_files(): "img10" after "img9".
bool natural_less(const std::string& a, const std::string& b);

bool file_exists(const std::string& path);
bool is_folder(const std::string& path);

/// Returns whether an AtomicFile of this process has its final name or is being renamed. Async-signal-safe.
bool has_finished_files();

}  // namespace quarkq
