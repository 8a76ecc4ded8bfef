// SPDX-License-Identifier: MIT
// The problems of several files as one message.
#pragma once

#include <string>
#include <vector>

#include "base/strings.h"

namespace quarkq::pipeline {

class ProblemList {
 public:
  void add(std::string problem) {
    ++count_;
    if (shown_.size() < kMaxShown) shown_.push_back(std::move(problem));
  }
  bool empty() const { return count_ == 0; }

  /// The problem itself when there is one; else a line for each of the first 20, and "12 `what`". REQUIRES: not empty.
  std::string text(const std::string& what) const {
    if (count_ == 1) return shown_[0];
    const std::string rest = count_ > shown_.size() ? cat("\n  and ", count_ - shown_.size(), " more") : "";
    return cat(join(shown_, "\n  "), rest, "\n  ", count_, " ", what);
  }

 private:
  static constexpr size_t kMaxShown = 20;
  size_t count_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace quarkq::pipeline
