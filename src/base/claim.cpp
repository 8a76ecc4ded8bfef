// SPDX-License-Identifier: MIT
// Exclusive creation and rename are also atomic on network file systems. Opening a file reads its times from the
// server, while stat() alone may use a cache of up to a minute.
#include "base/claim.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/platform/process.h"

namespace quarkq {
namespace {

constexpr double kBeatsPerLife = 8;  // a claim is touched so often before it would count as dead
constexpr size_t kMostRead = 256;    // Upper bound on the bytes read of another process' claim.

}  // namespace

std::string claim_mark(const std::string& path) {
  std::optional<platform::FileInfo> info;
  std::string text;
  const int fd = platform::open_to_read(path, platform::Links::kRefused);
  if (fd >= 0) {
    info = platform::describe(fd);
    std::array<char, kMostRead> bytes;
    const int64_t count = platform::read_some(fd, bytes.data(), bytes.size());
    if (count > 0) text.assign(bytes.data(), static_cast<size_t>(count));
    platform::close_file(fd);
  } else {
    info = platform::describe(path, platform::Links::kRefused);
  }
  if (!info) return "";
  return cat(info->id.number, " ", info->seconds, " ", info->nanoseconds, " ", info->bytes, " ", text);
}

Status remove_dead_claim(const std::string& path, const std::string& mark, const std::string& aside) {
  if (!platform::replace_file(path, aside)) {
    if (errno == ENOENT) return Status();
    return io_error(path, ": cannot take this over from a process that ended, ", std::strerror(errno));
  }
  if (claim_mark(aside) != mark) static_cast<void>(platform::link_file(aside, path));
  paths::remove(aside);  // a folder that is not empty stays there
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
  if (is_same_file(fd_, path_)) platform::remove_file(path_.c_str());
  platform::close_file(fd_);
}

/// Uses the open file: a claim that was taken over is no longer at its path.
void Claim::beat() {
  const double now = clock_();
  if (now - last_ < interval_) return;
  last_ = now;
  static_cast<void>(platform::touch(fd_));  // where this fails, the work may be done twice
}

Claims::Claims(double stale_seconds, Clock clock)
    : stale_(stale_seconds), clock_(std::move(clock)), owner_(process_token()) {}

Result<std::optional<Claim>> Claims::create(const std::string& path) const {
  const int fd = platform::create_file(path);
  if (fd < 0 && errno == EEXIST) return std::optional<Claim>();
  if (fd < 0) return io_error(path, ": cannot make this file, ", std::strerror(errno));
  Claim claim(fd, path, stale_ / kBeatsPerLife, clock_);
  // For people who look into the folder.
  const std::string text = cat(owner_, " on ", platform::host_name(), "\n");
  if (platform::write_some(fd, text.data(), text.size()) != static_cast<int64_t>(text.size()))
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
