// SPDX-License-Identifier: MIT
// Files by which processes on several machines divide work through a shared folder. A claim keeps two processes from
// doing the same work. Results must not depend on it, because a slow process may lose its claim to another.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace quarkq {

/// Monotonic time in seconds, from an arbitrary start.
using Clock = std::function<double()>;
Clock steady_clock();

/// A file that exists while this process works on the item that the file names.
class Claim {
 public:
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&&) = delete;
  /// Removes the file, unless another process has taken it over.
  ~Claim();

  /// Signals that the owner is alive. Call it often: the file is touched only at intervals.
  void beat();

 private:
  friend class Claims;
  Claim(int fd, std::string path, double interval, Clock clock);
  int fd_;
  std::string path_;
  double interval_, last_;
  Clock clock_;
};

/// Acquires claims, and takes over claims whose owner has died.
class Claims {
 public:
  /// A claim whose file has not changed for `stale_seconds` on this process' own clock belongs to a dead process.
  /// Clocks of different machines are never compared, so they may differ.
  explicit Claims(double stale_seconds, Clock clock = steady_clock());

  /// Returns the claim, or nullopt while another process owns it. Call it again from time to time to detect the death
  /// of that owner. Any file at `path` counts as a claim. Fails if the folder is not writable.
  Result<std::optional<Claim>> take(const std::string& path);

 private:
  struct Seen {
    std::string mark;
    double since = 0;
  };
  Result<std::optional<Claim>> create(const std::string& path) const;

  double stale_;
  Clock clock_;
  std::string owner_;  ///< Unique among all processes.
  std::map<std::string, Seen> seen_;
};

// The steps of Claims::take(), exposed so that tests can check interleavings of processes.

/// Returns identity, time and first bytes of the file at `path`. Any sign of life changes this text. Returns an empty
/// string if there is no file.
std::string claim_mark(const std::string& path);
/// Removes a dead claim with mark `mark` by renaming it to `aside` first. If several processes try, one succeeds. If
/// the renamed file is a newer claim of a faster process, it is moved back.
Status remove_dead_claim(const std::string& path, const std::string& mark, const std::string& aside);

}  // namespace quarkq
