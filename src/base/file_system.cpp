// SPDX-License-Identifier: MIT
#include "base/file_system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/residency.h"

namespace quarkq {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

/// Names of unfinished temporaries, in fixed storage so that a signal handler may walk them.
constexpr int kMaxUnfinished = 16;
std::array<std::array<char, 4096>, kMaxUnfinished> unfinished_names;
std::array<std::atomic<bool>, kMaxUnfinished> unfinished_used;

void remember_unfinished(const std::string& name) {
  if (name.size() >= unfinished_names[0].size()) return;
  for (int i = 0; i < kMaxUnfinished; ++i) {
    if (unfinished_used[i].load()) continue;
    std::memcpy(unfinished_names[i].data(), name.c_str(), name.size() + 1);
    unfinished_used[i].store(true);
    return;
  }
}

void forget_unfinished(const std::string& name) {
  for (int i = 0; i < kMaxUnfinished; ++i) {
    if (unfinished_used[i].load() && name == unfinished_names[i].data()) unfinished_used[i].store(false);
  }
}

std::string system_reason() { return std::strerror(errno); }

template <typename Keep>
Result<std::vector<std::string>> list_entries(const std::string& folder, Keep keep) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error), end;
  if (error) return bad_data(folder, ": cannot list this folder, ", error.message());
  std::vector<std::string> names;
  for (; entry != end; entry.increment(error)) {
    if (error) return bad_data(folder, ": cannot list this folder, ", error.message());
    if (keep(*entry)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error(path, ": cannot open, ", system_reason());
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

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return io_error(path, ": no such file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return io_error(path, ": cannot open, ", system_reason());
  std::string text;
  char block[65536];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    text.append(block, static_cast<size_t>(in.gcount()));
    if (text.size() > limit) return resource_error(path, ": larger than ", bytes_text(static_cast<double>(limit)));
  }
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

Result<AtomicFile> AtomicFile::create(const std::string& target) {
  const std::string temporary = cat(target, ".part-", process_token());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return io_error(target, ": cannot write here, ", system_reason());
  remember_unfinished(temporary);
  return AtomicFile(fd, temporary, target);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(other.fd_),
      temporary_(std::move(other.temporary_)),
      target_(std::move(other.target_)),
      buffer_(std::move(other.buffer_)),
      written_(other.written_) {
  other.fd_ = -1;
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
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
  constexpr size_t kMost = size_t{16} << 20;  // of one call: what is mapped need not be resident all at once
  while (bytes > 0) {
    const ssize_t part = ::write(fd_, data, std::min(bytes, kMost));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return io_error(target_, ": writing failed after ", written_, " bytes, ", system_reason());
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

Status AtomicFile::commit() {
  QQ_RETURN_IF_ERROR(flush_buffer());
  if (::close(fd_) != 0) {
    fd_ = -1;
    ::unlink(temporary_.c_str());
    return io_error(target_, ": writing failed, ", system_reason());
  }
  fd_ = -1;
  forget_unfinished(temporary_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const std::string reason = system_reason();
    ::unlink(temporary_.c_str());
    return io_error(target_, ": cannot put the finished file in place, ", reason);
  }
  return Status();
}

Status check_not_input(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (output == input || std::filesystem::equivalent(output, input, error))
      return invalid_argument(output, ": is an input, which is never overwritten; give another name");
  }
  return Status();
}

Status write_file(const std::string& target, const std::string& text) {
  QQ_TRY(AtomicFile file, AtomicFile::create(target));
  QQ_RETURN_IF_ERROR(file.write(text.data(), text.size()));
  return file.commit();
}

void remove_unfinished_files() {
  for (int i = 0; i < kMaxUnfinished; ++i) {
    if (unfinished_used[i].load()) ::unlink(unfinished_names[i].data());
  }
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
  return list_entries(folder, [&](const std::filesystem::directory_entry& entry) {
    std::error_code error;
    return entry.is_regular_file(error) && entry.path().filename().string().ends_with(suffix);
  });
}

Result<std::vector<std::string>> list_folders(const std::string& folder) {
  return list_entries(folder, [](const std::filesystem::directory_entry& entry) {
    std::error_code error;
    return entry.is_directory(error);
  });
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
