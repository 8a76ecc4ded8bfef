// SPDX-License-Identifier: MIT
// Regular expressions that select nodes by name. They come from settings files, and names from models: neither a
// pattern nor a name may take all of the stack, or time that is more than linear in the name.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

namespace quarkq::planning {

class NamePattern {
 public:
  /// ECMAScript's syntax without references to groups. Fails (kInvalidArgument) on what is malformed or too large.
  static Result<NamePattern> parse(const std::string& text);

  /// Whether a part of `name` matches.
  bool matches(const std::string& name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace quarkq::planning
