// SPDX-License-Identifier: MIT
// Files by which processes on several machines agree who does what, through a shared folder alone. A claim keeps others
// from doing the same work twice; results must not depend on it, because a process that was only slow may lose its
// claim to another.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace quarkq {

/// Seconds since any moment; never goes back.
using Clock = std::function<double()>;
Clock steady_clock();

/// A file that is there as long as this process works on what it names.
class Claim {
 public:
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&&) = delete;
  /// Removes the file, unless another process has taken it over.
  ~Claim();

  /// Shows that the owner is alive. To be called often: the file is touched only now and then.
  void beat();

 private:
  friend class Claims;
  Claim(int fd, std::string path, double interval, Clock clock);
  int fd_;
  std::string path_;
  double interval_, last_;
  Clock clock_;
};

/// Takes claims, and takes over those whose owner has died.
class Claims {
 public:
  /// A claim whose file has not changed for `stale_seconds` of this process' own clock is of a dead one. Clocks of
  /// machines are not compared, so they may differ.
  explicit Claims(double stale_seconds, Clock clock = steady_clock());

  /// The claim, or nothing while another process has it. Call it again, now and then, to find out when that one died.
  /// Whatever is at `path` counts as a claim. Fails when the folder cannot be written.
  Result<std::optional<Claim>> take(const std::string& path);

 private:
  struct Seen {
    std::string mark;
    double since = 0;
  };
  Result<std::optional<Claim>> create(const std::string& path) const;

  double stale_;
  Clock clock_;
  std::string owner_;  ///< no other process has the same
  std::map<std::string, Seen> seen_;
};

// The steps of Claims::take(), apart for the tests of what may happen between them.

/// Identity, time and first bytes of what is at `path`: any sign of life changes it. Empty: there is nothing.
std::string claim_mark(const std::string& path);
/// Removes a dead claim, whose mark is `mark`, by way of the name `aside`. Of several processes that try, one succeeds;
/// when it got a new claim, of one that was faster, that is put back.
Status remove_dead_claim(const std::string& path, const std::string& mark, const std::string& aside);

}  // namespace quarkq
