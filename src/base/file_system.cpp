// SPDX-License-Identifier: MIT
#include "base/file_system.h"

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

#include "base/hash.h"
#include "base/residency.h"

namespace quarkq {
namespace {

std::string system_reason() { return std::strerror(errno); }

template <typename Keep>
Result<std::vector<std::string>> list_entries(const std::string& folder, Keep keep) {
  std::error_code error;
  std::filesystem::directory_iterator entry, end;
  do {
    entry = std::filesystem::directory_iterator(folder, error);
  } while (error == std::errc::interrupted);
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

int open_file(const std::string& path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

bool is_same_file(int fd, const std::string& path) {
  struct stat own {
  }, found{};
  return ::fstat(fd, &own) == 0 && ::lstat(path.c_str(), &found) == 0 && own.st_dev == found.st_dev &&
         own.st_ino == found.st_ino;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = open_file(path, O_RDONLY);
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
  if (in.bad()) return io_error(path, ": reading failed after ", text.size(), " bytes");
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

Status check_not_input(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (output == input || std::filesystem::equivalent(output, input, error))
      return invalid_argument(output, ": is an input, which is never overwritten; give another name");
  }
  return Status();
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
