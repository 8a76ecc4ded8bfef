// SPDX-License-Identifier: MIT
// Node to C++ value and back, one Convert<T> per type that fields.def names. read<T>() is the way in: its message names
// the setting, what was found and what is allowed. Values are not converted: the text "true" is not a bool, and 1.5 is
// not an integer.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/enums.h"
#include "config/node.h"

namespace quarkq::config {

/// A map or a list kept unchanged: options whose inner keys belong to one algorithm.
struct MapValue {
  Node node{Node::Map{}};
};
struct ListValue {
  Node node{Node::List{}};
};

/// A bool that on and off name, too, as in YAML 1.1.
struct Switch {
  bool is_on = false;
  explicit operator bool() const { return is_on; }
};

template <typename T>
struct Convert;  // Has from(node): value or error; to(value): node; type(): for listings.

/// Returns the error for a node of the wrong kind.
Status wrong_kind(const Node& node, const std::string& allowed);

template <>
struct Convert<bool> {
  static std::string type() { return "bool"; }
  static Result<bool> from(const Node& node) {
    if (node.kind() != Node::Kind::kBool) return wrong_kind(node, "true or false");
    return node.as_bool();
  }
  static Node to(bool value) { return Node(value); }
};

template <>
struct Convert<Switch> {
  static std::string type() { return "on or off"; }
  static Result<Switch> from(const Node& node) {
    if (node.kind() == Node::Kind::kBool) return Switch{node.as_bool()};
    if (node.is_text() && (node.as_text() == "on" || node.as_text() == "off")) return Switch{node.as_text() == "on"};
    return wrong_kind(node, "on or off");
  }
  static Node to(Switch value) { return Node(value.is_on); }
};

template <>
struct Convert<int64_t> {
  static std::string type() { return "integer"; }
  static Result<int64_t> from(const Node& node) {
    if (node.kind() != Node::Kind::kInt) return wrong_kind(node, "an integer");
    return node.as_int();
  }
  static Node to(int64_t value) { return Node(value); }
};

template <>
struct Convert<double> {
  static std::string type() { return "number"; }
  static Result<double> from(const Node& node) {
    const bool is_number = node.kind() == Node::Kind::kInt || node.kind() == Node::Kind::kReal;
    if (!is_number || !std::isfinite(node.as_real())) return wrong_kind(node, "a finite number");
    return node.as_real();
  }
  static Node to(double value) { return Node(value); }
};

template <>
struct Convert<std::string> {
  static std::string type() { return "text"; }
  static Result<std::string> from(const Node& node) {
    if (!node.is_text()) return wrong_kind(node, "a text");
    return node.as_text();
  }
  static Node to(const std::string& value) { return Node(value); }
};

template <>
struct Convert<std::vector<std::string>> {
  static std::string type() { return "list of texts"; }
  static Result<std::vector<std::string>> from(const Node& node);
  static Node to(const std::vector<std::string>& value) { return Node::list_of(value); }
};

template <>
struct Convert<std::vector<int64_t>> {
  static std::string type() { return "list of whole numbers"; }
  static Result<std::vector<int64_t>> from(const Node& node);
  static Node to(const std::vector<int64_t>& value);
};

template <>
struct Convert<std::vector<double>> {
  static std::string type() { return "list of numbers"; }
  static Result<std::vector<double>> from(const Node& node);
  static Node to(const std::vector<double>& value);
};

template <>
struct Convert<std::map<std::string, std::vector<int64_t>>> {
  static std::string type() { return "map of shapes"; }
  static Result<std::map<std::string, std::vector<int64_t>>> from(const Node& node);
  static Node to(const std::map<std::string, std::vector<int64_t>>& value);
};

template <>
struct Convert<MapValue> {
  static std::string type() { return "map"; }
  static Result<MapValue> from(const Node& node) {
    if (!node.is_map()) return wrong_kind(node, "a map");
    return MapValue{node};
  }
  static Node to(const MapValue& value) { return value.node; }
};

template <>
struct Convert<ListValue> {
  static std::string type() { return "list"; }
  static Result<ListValue> from(const Node& node) {
    if (!node.is_list()) return wrong_kind(node, "a list");
    return ListValue{node};
  }
  static Node to(const ListValue& value) { return value.node; }
};

template <>
struct Convert<Node> {
  static std::string type() { return "any"; }
  static Result<Node> from(const Node& node) { return node; }
  static Node to(const Node& value) { return value; }
};

template <typename T>
struct Convert<std::optional<T>> {
  static std::string type() { return Convert<T>::type() + " or null"; }
  static Result<std::optional<T>> from(const Node& node) {
    if (node.is_null()) return std::optional<T>();
    QQ_TRY(T value, Convert<T>::from(node));
    return std::optional<T>(std::move(value));
  }
  static Node to(const std::optional<T>& value) { return value ? Convert<T>::to(*value) : Node(); }
};

template <typename E>
struct ConvertEnum {
  static std::string type() { return "name"; }
  static Result<E> from(const Node& node) {
    if (!node.is_text()) return wrong_kind(node, std::string("a name such as ") + enum_names<E>().front().text);
    QQ_TRY(const EnumName<E> row, parse_enum<E>(node.as_text()));
    return row.value;
  }
  static Node to(E value) { return Node(enum_text(value)); }
};
template <>
struct Convert<CalibrateMethod> : ConvertEnum<CalibrateMethod> {};
template <>
struct Convert<QuantFormat> : ConvertEnum<QuantFormat> {};
template <>
struct Convert<DataType> : ConvertEnum<DataType> {};
template <>
struct Convert<ScaleType> : ConvertEnum<ScaleType> {};
template <>
struct Convert<CalibMethod> : ConvertEnum<CalibMethod> {};
template <>
struct Convert<QuantGranularity> : ConvertEnum<QuantGranularity> {};

/// Returns the value of `node`. An error starts with its location and `path` ("extra_options.Percentile").
template <typename T>
Result<T> read(const Node& node, const std::string& path) {
  return Convert<T>::from(node).context(node.mark().prefix() + path);
}

/// Reads each item of a list with `reader`, which gets the item's path.
template <typename T, typename Reader>
Result<std::vector<T>> read_list(const Node& node, const std::string& path, Reader reader) {
  std::vector<T> all;
  if (node.is_null()) return all;
  if (!node.is_list()) return wrong_kind(node, "a list").context(node.mark().prefix() + path);
  for (size_t i = 0; i < node.items().size(); ++i) {
    QQ_TRY(T one, reader(node.items()[i], cat(path, "[", i, "]")));
    all.push_back(std::move(one));
  }
  return all;
}

/// Fails unless `node` is a map whose keys are all in `allowed`. For an unknown key, the message suggests the nearest
/// key.
Status check_keys(const Node& node, const std::string& path, const std::vector<std::string>& allowed);

/// Fails unless `value` is absent or in `allowed`.
Status check_one_of(const std::optional<std::string>& value, const std::string& path,
                    const std::vector<std::string>& allowed);

/// Reads single keys of an option that is a map of an algorithm's own parameters.
class OptionMap {
 public:
  /// `option` names the map in messages ("FastFinetune") and must outlive the reader, as must `node`.
  OptionMap(const Node& node, const char* option) : node_(node), option_(option) {}

  std::string name_of(const char* key) const { return cat(option_, ".", key); }
  Status check_keys(const std::vector<std::string>& allowed) const {
    return config::check_keys(node_, option_, allowed);
  }

  /// Returns the value of `key`, or null if it is absent or null.
  const Node* find(const char* key) const {
    const Node* given = node_.find(key);
    return given == nullptr || given->is_null() ? nullptr : given;
  }
  /// Reads `key` into `member` if it is present and not null.
  template <typename T>
  Status take(const char* key, T& member) const {
    return take_from(find(key), key, member);
  }
  /// Reads `key` into `member` if it is present. Null is rejected as a value of another kind.
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
