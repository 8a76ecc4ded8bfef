// SPDX-License-Identifier: MIT
// Exclusive creation and rename are also atomic on network file systems. Opening a file reads its times from the
// server, while stat() alone may use a cache of up to a minute.
#include "base/claim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/file_system.h"

namespace quarkq {
namespace {

constexpr double kBeatsPerLife = 8;  // a claim is touched so often before it would count as dead
constexpr size_t kMostRead = 256;    // Upper bound on the bytes read of another process' claim.

}  // namespace

std::string claim_mark(const std::string& path) {
  struct stat info {};
  std::string text;
  const int fd = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0) {
    const bool is_known = ::fstat(fd, &info) == 0;
    std::array<char, kMostRead> bytes;
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count > 0) text.assign(bytes.data(), static_cast<size_t>(count));
    ::close(fd);
    if (!is_known) return "";
  } else if (::lstat(path.c_str(), &info) != 0) {
    return "";
  }
  return cat(info.st_ino, " ", info.st_mtim.tv_sec, " ", info.st_mtim.tv_nsec, " ", info.st_size, " ", text);
}

Status remove_dead_claim(const std::string& path, const std::string& mark, const std::string& aside) {
  if (::rename(path.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return Status();
    return io_error(path, ": cannot take this over from a process that ended, ", std::strerror(errno));
  }
  if (claim_mark(aside) != mark) static_cast<void>(!::link(aside.c_str(), path.c_str()));
  static_cast<void>(std::remove(aside.c_str()));  // a folder that is not empty stays there
  return Status();
}

Clock steady_clock() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

Claim::Claim(int fd, std::string path, double interval, Clock clock)
    : fd_(fd), path_(std::move(path)), interval_(interval), last_(clock()), clock_(std::move(clock)) {}

Claim::Claim(Claim&& other) noexcept
    : fd_(other.fd_),
      path_(std::move(other.path_)),
      interval_(other.interval_),
      last_(other.last_),
      clock_(std::move(other.clock_)) {
  other.fd_ = -1;
}

Claim::~Claim() {
  if (fd_ < 0) return;
  if (is_same_file(fd_, path_)) ::unlink(path_.c_str());
  ::close(fd_);
}

/// Uses the open file: a claim that was taken over is no longer at its path.
void Claim::beat() {
  const double now = clock_();
  if (now - last_ < interval_) return;
  last_ = now;
  static_cast<void>(::futimens(fd_, nullptr));  // where this fails, the work may be done twice
}

Claims::Claims(double stale_seconds, Clock clock)
    : stale_(stale_seconds), clock_(std::move(clock)), owner_(process_token()) {}

Result<std::optional<Claim>> Claims::create(const std::string& path) const {
  const int fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (fd < 0 && errno == EEXIST) return std::optional<Claim>();
  if (fd < 0) return io_error(path, ": cannot make this file, ", std::strerror(errno));
  Claim claim(fd, path, stale_ / kBeatsPerLife, clock_);
  std::array<char, kMostRead> host{};  // for people who look into the folder
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string text = cat(owner_, " on ", host.data(), "\n");
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return io_error(path, ": cannot write this file, ", std::strerror(errno));
  return std::optional<Claim>(std::move(claim));
}

Result<std::optional<Claim>> Claims::take(const std::string& path) {
  QQ_TRY(std::optional<Claim> claim, create(path));
  if (claim) {
    seen_.erase(path);
    return claim;
  }
  const std::string mark = claim_mark(path);
  if (mark.empty()) return claim;  // given up just now: next time
  const double now = clock_();
  Seen& seen = seen_[path];
  if (seen.mark != mark) seen = {mark, now};
  if (now - seen.since < stale_) return claim;
  seen_.erase(path);
  QQ_RETURN_IF_ERROR(remove_dead_claim(path, mark, cat(path, ".", owner_)));
  return create(path);
}

}  // namespace quarkq
