// SPDX-License-Identifier: MIT
// AtomicFile, and clean-up of temporary files of interrupted and killed processes.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/residency.h"
#include "base/run_files.h"

namespace quarkq {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr std::string_view kTemporaryMark = ".part-";
constexpr std::string_view kLinkMark = ".link-";  // Part of second names, which exist only briefly (onnx_io/save.cpp).
constexpr size_t kTokenDigits = 16;               // at the end of process_token()

/// Names of unfinished temporaries, in fixed storage so that a signal handler may walk them.
constexpr int kMaxUnfinished = 64;
enum class Slot : char { kFree, kTaken, kFull };
std::array<std::array<char, 4096>, kMaxUnfinished> unfinished_names;
std::array<std::atomic<Slot>, kMaxUnfinished> unfinished_slots;
std::atomic<bool> any_finished{false};

void remember_unfinished(const std::string& name) {
  if (name.size() >= unfinished_names[0].size()) return;
  for (int i = 0; i < kMaxUnfinished; ++i) {
    Slot free = Slot::kFree;
    if (!unfinished_slots[i].compare_exchange_strong(free, Slot::kTaken)) continue;
    std::memcpy(unfinished_names[i].data(), name.c_str(), name.size() + 1);
    unfinished_slots[i].store(Slot::kFull);
    return;
  }
}

/// Once: a file that is written twice at once is remembered twice.
void forget_unfinished(const std::string& name) {
  for (int i = 0; i < kMaxUnfinished; ++i) {
    if (unfinished_slots[i].load() != Slot::kFull || name != unfinished_names[i].data()) continue;
    unfinished_slots[i].store(Slot::kFree);
    return;
  }
}

/// ".part-" or ".link-" and a process_token(): digits, '-', 16 hexadecimal digits; nothing else is ever removed.
bool is_temporary_name(std::string_view name) {
  size_t mark = name.rfind(kTemporaryMark);
  if (mark == std::string_view::npos) mark = name.rfind(kLinkMark);
  if (mark == std::string_view::npos) return false;
  const std::string_view token = name.substr(mark + kTemporaryMark.size());
  const size_t dash = token.find('-');
  const std::string_view number = token.substr(0, dash);
  return dash != std::string_view::npos && dash > 0 && token.size() == dash + 1 + kTokenDigits &&
         number.find_first_not_of("0123456789") == std::string_view::npos &&
         token.substr(dash + 1).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A live process has it locked from the moment after it made it (lock_own()).
void remove_if_dead(const std::string& path) {
  const int fd = platform::open_to_write(path, platform::Links::kRefused);
  if (fd < 0) return;
  if (platform::lock_alone(fd) && is_same_file(fd, path)) platform::remove_file(path.c_str());
  platform::close_file(fd);
}

enum class Own { kYes, kRemoved };

/// Between the making of a temporary and its lock another process may take it for one of a dead process.
Own lock_own(int fd) {
  const bool is_looked_at = !platform::lock_alone(fd) && errno == EWOULDBLOCK;
  const std::optional<platform::FileInfo> info = platform::describe(fd);
  const bool is_gone = info && info->links == 0;
  return is_looked_at || is_gone ? Own::kRemoved : Own::kYes;  // without locks no process removes files of others
}

/// Returns whether the path is a device or pipe, which a finished file cannot replace.
bool is_device(const std::string& path) {
  if (platform::is_device_name(path)) return true;
  const std::optional<platform::FileInfo> info = platform::describe(path);
  return info && info->kind == platform::FileKind::kStream;
}

std::string folder_of(const std::string& path) {
  const size_t slash = platform::last_separator(path);
  if (slash == std::string::npos) return ".";
  if (path[slash] == ':') return path.substr(0, slash + 1) + ".";  // "C:x" is in the current folder of drive C
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(platform::last_separator(path) + 1); }

/// Returns the first part of the name of a temporary file for the file `name`. File systems allow 255 bytes, of which
/// the mark and the token of the process take up to 35. Longer names are cut, and a hash distinguishes names that begin
/// alike.
std::string shortened(const std::string& name) {
  constexpr size_t kMost = 220, kHashDigits = 16;
  if (name.size() <= kMost) return name;
  ContentHash hash;
  hash.add(name);
  return cat(name.substr(0, kMost - kHashDigits - 1), "~", hash.text().substr(0, kHashDigits));
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& target, Kind kind) {
  QQ_RETURN_IF_ERROR(check_not_input(target));
  if (const std::string fault = platform::fault_of_name(target); !fault.empty() && !platform::is_device_name(target))
    return invalid_argument(target, ": ", fault);
  if (is_device(target)) {
    const int fd = platform::open_stream(target);
    if (fd < 0) return io_error(target, ": cannot write here, ", std::strerror(errno));
    return AtomicFile(fd, "", target, kind);
  }
  if (kind == Kind::kAlone) remove_dead_temporaries(target);
  const std::string temporary =
      cat(folder_of(target), "/", shortened(name_of(target)), kTemporaryMark, process_token());
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    AtomicFile file(-1, temporary, target, kind);  // before there is a file, so that memory that runs out leaves none
    remember_unfinished(temporary);                // a signal may come as soon as there is a file
    file.fd_ = platform::create_file(temporary);
    if (file.fd_ < 0) {
      const int reason = errno;
      forget_unfinished(temporary);
      if (reason == EEXIST) return io_error(target, ": is written twice at once by this process");
      return io_error(target, ": cannot write here, ", std::strerror(reason));
    }
    if (lock_own(file.fd_) == Own::kYes) return file;
  }
  return io_error(target, ": cannot write here, other processes remove written files");
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      temporary_(std::move(other.temporary_)),
      target_(std::move(other.target_)),
      kind_(other.kind_),
      buffer_(std::move(other.buffer_)),
      written_(other.written_) {}

AtomicFile::~AtomicFile() { drop(); }

void AtomicFile::drop() {
  if (fd_ < 0) return;
  if (!temporary_.empty()) platform::remove_file(temporary_.c_str());
  platform::close_file(fd_);
  fd_ = -1;
  forget_unfinished(temporary_);
}

Status AtomicFile::write(const void* data, size_t bytes) {
  const char* begin = static_cast<const char*>(data);
  written_ += bytes;
  if (bytes >= kBufferBytes) {  // weights, which need no copy
    QQ_RETURN_IF_ERROR(flush_buffer());
    return write_through(begin, bytes);
  }
  while (bytes > 0) {
    const size_t room = kBufferBytes - buffer_.size();
    const size_t part = std::min(room, bytes);
    buffer_.insert(buffer_.end(), begin, begin + part);
    begin += part;
    bytes -= part;
    if (buffer_.size() == kBufferBytes) QQ_RETURN_IF_ERROR(flush_buffer());
  }
  return Status();
}

Status AtomicFile::write_through(const char* data, size_t bytes) {
  constexpr size_t kMost = size_t{16} << 20;  // Per call: not all mapped data need to be resident at once.
  while (bytes > 0) {
    const int64_t part = platform::write_some(fd_, data, std::min(bytes, kMost));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return io_error(target_, ": writing failed after ", written_, " bytes, ", std::strerror(errno));
    data += part;
    bytes -= static_cast<size_t>(part);
    if (static_cast<size_t>(part) >= kBufferBytes) trim_mapped_pages();
  }
  return Status();
}

Status AtomicFile::flush_buffer() {
  QQ_RETURN_IF_ERROR(write_through(buffer_.data(), buffer_.size()));
  buffer_.clear();
  return Status();
}

/// Network file systems tell of a full disk when a descriptor is closed. The lock, without which another process takes
/// the temporary for one of a dead process, is kept by a second one until the file has its name.
Status AtomicFile::put_in_place() {
  const int lock = platform::duplicate(fd_);
  const bool is_synced = kind_ == Kind::kOneOfMany || temporary_.empty() || platform::flush(fd_);
  std::string reason = is_synced ? "" : std::strerror(errno);
  if (!platform::close_file(std::exchange(fd_, lock)) && reason.empty()) reason = std::strerror(errno);
  if (!reason.empty()) return io_error(target_, ": writing failed, ", reason);
  any_finished.store(true);
  if (!temporary_.empty() && !platform::replace_file(temporary_, target_))
    return io_error(target_, ": cannot put the finished file in place, ", std::strerror(errno));
  return Status();
}

Status AtomicFile::commit() {
  QQ_RETURN_IF_ERROR(flush_buffer());
  if (!temporary_.empty()) note_product(fd_);
  if (Status status = put_in_place(); !status.ok()) {
    if (fd_ < 0 && !temporary_.empty()) platform::remove_file(temporary_.c_str());  // there was no second descriptor
    forget_unfinished(temporary_);
    drop();
    return status;
  }
  if (kind_ == Kind::kAlone && !temporary_.empty()) platform::flush_folder(folder_of(target_));
  forget_unfinished(temporary_);
  if (fd_ >= 0) platform::close_file(std::exchange(fd_, -1));
  return Status();
}

Status write_file(const std::string& target, const std::string& text) {
  QQ_TRY(AtomicFile file, AtomicFile::create(target));
  QQ_RETURN_IF_ERROR(file.write(text.data(), text.size()));
  return file.commit();
}

void remove_dead_temporaries(const std::string& path) {
  const std::string folder = folder_of(path), prefix = shortened(name_of(path));
  std::vector<std::string> found;
  if (!platform::list_folder(folder, {}, found)) return;
  std::erase_if(found, [&](const std::string& name) {
    return !name.starts_with(prefix) || !is_temporary_name(name) || name.ends_with(process_token());
  });
  for (const std::string& name : found) remove_if_dead(cat(folder, "/", name));
}

bool has_finished_files() { return any_finished.load(); }

void remove_unfinished_files() {
  for (int i = 0; i < kMaxUnfinished; ++i) {
    if (unfinished_slots[i].load() == Slot::kFull) platform::remove_file(unfinished_names[i].data());
  }
}

}  // namespace quarkq
