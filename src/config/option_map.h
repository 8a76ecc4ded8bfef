// SPDX-License-Identifier: MIT
// Single keys of an option that is a map of an algorithm's own parameters, read by the file of that subject.
#pragma once

#include <string>
#include <vector>

#include "config/convert.h"

namespace quarkq::config {

class OptionMap {
 public:
  /// `option` names the map in messages ("FastFinetune") and must outlive the reader, as must `node`.
  OptionMap(const Node& node, const char* option) : node_(node), option_(option) {}

  std::string name_of(const char* key) const { return cat(option_, ".", key); }
  Status check_keys(const std::vector<std::string>& allowed) const {
    return config::check_keys(node_, option_, allowed);
  }

  /// What is given for `key`; null when it is absent, and when it is null.
  const Node* find(const char* key) const {
    const Node* given = node_.find(key);
    return given == nullptr || given->is_null() ? nullptr : given;
  }
  /// Reads `key` into `member` where it is given and not null.
  template <typename T>
  Status take(const char* key, T& member) const {
    return take_from(find(key), key, member);
  }
  /// Reads `key` into `member` where it is given; null is refused as a value of another kind.
  template <typename T>
  Status take_given(const char* key, T& member) const {
    return take_from(node_.find(key), key, member);
  }

 private:
  template <typename T>
  Status take_from(const Node* given, const char* key, T& member) const {
    if (given == nullptr) return Status();
    QQ_TRY(member, read<T>(*given, name_of(key)));
    return Status();
  }

  const Node& node_;
  const char* option_;
};

}  // namespace quarkq::config
