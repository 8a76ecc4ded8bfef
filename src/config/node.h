// SPDX-License-Identifier: MIT
// Node: an immutable value tree (null, bool, integer, real, text, list, ordered map), the form of settings between a
// file and the typed structs. Only load.cpp includes the YAML library. Scalars follow the YAML 1.2 core schema.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quarkq::config {

/// Location of a value: a file with a line, or a source without lines such as "--set A=1". Empty for generated values.
struct Mark {
  std::shared_ptr<const std::string> source;
  int line = 0;  ///< counted from 1; 0: unknown

  /// "file.yaml:3: ", "--set A=1: " or "": what an error message starts with.
  std::string prefix() const;
};

class Node {
 public:
  enum class Kind { kNull, kBool, kInt, kReal, kText, kList, kMap };
  struct Entry;
  using List = std::vector<Node>;
  using Map = std::vector<Entry>;  ///< in the order written; keys are unique

  Node() = default;
  explicit Node(bool value) : value_(value) {}
  explicit Node(int64_t value) : value_(value) {}
  explicit Node(double value) : value_(value) {}
  explicit Node(std::string value) : value_(std::make_shared<const std::string>(std::move(value))) {}
  explicit Node(const char* value) : Node(std::string(value)) {}
  explicit Node(List items);
  explicit Node(Map entries);

  /// The node that the plain scalar `text` means: "1e-5" is a real, "true" a bool, "on" a text, "" null.
  static Node from_plain_scalar(const std::string& text);
  static Node list_of(const std::vector<std::string>& texts);

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_map() const { return kind() == Kind::kMap; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_text() const { return kind() == Kind::kText; }

  /// REQUIRES for each: the kind it names. as_real() also takes an integer.
  bool as_bool() const { return std::get<bool>(value_); }
  int64_t as_int() const { return std::get<int64_t>(value_); }
  double as_real() const;
  const std::string& as_text() const { return *std::get<std::shared_ptr<const std::string>>(value_); }
  /// The items or entries; an empty one for every other kind.
  const List& items() const;
  const Map& entries() const;

  /// Returns the value of `key`, or null if this is not a map or does not have the key.
  const Node* find(std::string_view key) const;
  /// Returns this map with `key` set to `value` (at its old position, otherwise at the end), or without `key`.
  /// REQUIRES: a map or null.
  Node with(const std::string& key, Node value, Mark key_mark = {}) const;
  Node without(std::string_view key) const;

  const Mark& mark() const { return mark_; }
  Node at(Mark mark) const;

  /// Compares values, ignoring marks and the order of map keys; 1 equals 1.0.
  friend bool operator==(const Node& a, const Node& b);
  friend bool operator!=(const Node& a, const Node& b) { return !(a == b); }

 private:
  // Shared, so that copying a node cannot run out of memory (tests/lint/variants.py) and aliases of a text share it.
  std::variant<std::monostate, bool, int64_t, double, std::shared_ptr<const std::string>, std::shared_ptr<const List>,
               std::shared_ptr<const Map>>
      value_;
  Mark mark_;
};

struct Node::Entry {
  std::string key;
  Node value;
  Mark key_mark;
};

/// For messages: "true", "1000", "\"text\"", "a list of 3", "a map", "nothing".
std::string describe(const Node& node);

/// The shortest decimal text that reads back as the same double and is not taken for an integer.
std::string real_text(double value);

/// Block-style YAML (lists and maps inside lists in flow style), ending in a newline. Reads back as an equal node.
std::string to_yaml(const Node& node);
/// One-line flow YAML: "[a, b]", "{x: 1}", "true".
std::string to_flow(const Node& node);
/// JSON, indented by two, keys in the node's order. Non-finite reals become texts.
std::string to_json(const Node& node);

}  // namespace quarkq::config
