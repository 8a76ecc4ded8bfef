// SPDX-License-Identifier: MIT
// Node's plain mechanics and the core-schema rules that give a plain scalar its type (YAML 1.2.2, section 10.3.2).
#include "config/node.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/strings.h"

namespace quarkq::config {

namespace {

bool all_digits(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

constexpr std::string_view kDecimal = "0123456789";

/// Digits of `text` in `base` as an integer; nothing when it does not fit into 64 bits.
std::optional<int64_t> digits_to_int(std::string_view text, int base) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> plain_int(std::string_view text) {
  if (text.starts_with("0o") && all_digits(text.substr(2), "01234567")) return digits_to_int(text.substr(2), 8);
  if (text.starts_with("0x") && all_digits(text.substr(2), "0123456789abcdefABCDEF"))
    return digits_to_int(text.substr(2), 16);
  if (text.starts_with('+') && all_digits(text.substr(1), kDecimal)) return digits_to_int(text.substr(1), 10);
  const std::string_view unsigned_part = text.starts_with('-') ? text.substr(1) : text;
  return all_digits(unsigned_part, kDecimal) ? digits_to_int(text, 10) : std::nullopt;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (text == name) return true;
  return false;
}

/// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool looks_real(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
    if (!all_digits(exponent, kDecimal)) return false;
    text = text.substr(0, e);
  }
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view fraction = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  if (!whole.empty() && !all_digits(whole, kDecimal)) return false;
  if (!fraction.empty() && !all_digits(fraction, kDecimal)) return false;
  return !whole.empty() || !fraction.empty();
}

std::optional<double> plain_real(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (one_of(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) return kInfinity;
  if (one_of(text, {"-.inf", "-.Inf", "-.INF"})) return -kInfinity;
  if (one_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  if (!looks_real(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return text.find("e-") != text.npos ? 0.0 : kInfinity;
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool same_map(const Node& a, const Node& b) {
  if (a.entries().size() != b.entries().size()) return false;
  for (const Node::Entry& entry : a.entries()) {
    const Node* other = b.find(entry.key);
    if (other == nullptr || *other != entry.value) return false;
  }
  return true;
}

bool is_number(const Node& node) { return node.kind() == Node::Kind::kInt || node.kind() == Node::Kind::kReal; }

}  // namespace

std::string Mark::prefix() const {
  if (source == nullptr) return "";
  return line > 0 ? cat(*source, ":", line, ": ") : cat(*source, ": ");
}

Node::Node(List items) : value_(std::make_shared<const List>(std::move(items))) {}
Node::Node(Map entries) : value_(std::make_shared<const Map>(std::move(entries))) {}

Node Node::from_plain_scalar(const std::string& text) {
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return Node();
  if (one_of(text, {"true", "True", "TRUE"})) return Node(true);
  if (one_of(text, {"false", "False", "FALSE"})) return Node(false);
  if (const auto value = plain_int(text)) return Node(*value);
  if (const auto value = plain_real(text)) return Node(*value);
  return Node(text);
}

Node Node::list_of(const std::vector<std::string>& texts) {
  List items;
  for (const std::string& text : texts) items.emplace_back(text);
  return Node(std::move(items));
}

double Node::as_real() const { return kind() == Kind::kInt ? static_cast<double>(as_int()) : std::get<double>(value_); }

const Node::List& Node::items() const {
  static const List empty;
  return is_list() ? *std::get<std::shared_ptr<const List>>(value_) : empty;
}

const Node::Map& Node::entries() const {
  static const Map empty;
  return is_map() ? *std::get<std::shared_ptr<const Map>>(value_) : empty;
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries())
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Node Node::with(const std::string& key, Node value, Mark key_mark) const {
  Map copy = entries();
  for (Entry& entry : copy)
    if (entry.key == key) {
      entry = {key, std::move(value), std::move(key_mark)};
      return Node(std::move(copy)).at(mark_);
    }
  copy.push_back({key, std::move(value), std::move(key_mark)});
  return Node(std::move(copy)).at(mark_);
}

Node Node::without(std::string_view key) const {
  Map copy;
  for (const Entry& entry : entries())
    if (entry.key != key) copy.push_back(entry);
  return Node(std::move(copy)).at(mark_);
}

Node Node::at(Mark mark) const {
  Node copy = *this;
  copy.mark_ = std::move(mark);
  return copy;
}

bool operator==(const Node& a, const Node& b) {
  if (is_number(a) && is_number(b)) {
    return a.kind() == Node::Kind::kInt && b.kind() == Node::Kind::kInt ? a.as_int() == b.as_int()
                                                                        : a.as_real() == b.as_real();
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_list()) return a.items() == b.items();
  if (a.is_map()) return same_map(a, b);
  if (a.is_text()) return a.as_text() == b.as_text();
  return a.value_ == b.value_;
}

std::string describe(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kText: return cat('"', node.as_text().substr(0, 80), '"');
    case Node::Kind::kList: return cat("a list of ", node.items().size());
    case Node::Kind::kMap: return "a map";
    default: return to_flow(node);
  }
}

// Node to text: block YAML, flow YAML and JSON. Each form reads back through load.h as an equal node.

namespace {

std::string json_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += cat("\\u00", kHex[byte >> 4], kHex[byte & 15]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// True when `text` can stand unquoted in flow style and still reads as this text.
bool is_plain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.front() == '-') return false;
  for (const char c : text) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!word && std::string_view("_./-+ ").find(c) == std::string_view::npos) return false;
  }
  return Node::from_plain_scalar(text).is_text();
}

std::string yaml_text(const std::string& text) { return is_plain(text) ? text : json_quoted(text); }

/// A key up to and with its colon. YAML reads no more than 1024 characters as a key unless it is marked as one;
/// `before_colon` then parts the two.
std::string yaml_key(const std::string& key, const std::string& before_colon) {
  constexpr size_t kLongestUnmarked = 1000;
  const std::string text = yaml_text(key);
  return text.size() <= kLongestUnmarked ? text + ":" : cat("? ", text, before_colon, ":");
}

void write_block(const Node& map, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  for (const Node::Entry& entry : map.entries()) {
    out += margin;
    out += yaml_key(entry.key, cat('\n', margin));
    if (entry.value.is_map() && !entry.value.entries().empty()) {
      out += '\n';
      write_block(entry.value, indent + 2, out);
    } else {
      out += cat(' ', to_flow(entry.value), '\n');
    }
  }
}

bool holds_containers(const Node& node) {
  for (const Node& item : node.items())
    if (item.is_list() || item.is_map()) return true;
  return node.is_map();
}

std::string json_scalar(const Node& node) {
  if (node.is_text()) return json_quoted(node.as_text());
  if (node.kind() == Node::Kind::kReal && !std::isfinite(node.as_real())) return json_quoted(real_text(node.as_real()));
  return to_flow(node);
}

void write_json(const Node& node, size_t indent, std::string& out) {
  const bool is_container = node.is_map() || node.is_list();
  const size_t size = node.is_map() ? node.entries().size() : node.items().size();
  if (!is_container) {
    out += json_scalar(node);
    return;
  }
  const bool lines = size > 0 && holds_containers(node);
  const std::string gap = lines ? cat('\n', std::string(indent + 2, ' ')) : "";
  out += node.is_map() ? '{' : '[';
  for (size_t i = 0; i < size; ++i) {
    if (i > 0) out += lines ? "," : ", ";
    out += gap;
    if (node.is_map()) out += json_quoted(node.entries()[i].key) + ": ";
    write_json(node.is_map() ? node.entries()[i].value : node.items()[i], indent + 2, out);
  }
  if (lines) out += cat('\n', std::string(indent, ' '));
  out += node.is_map() ? '}' : ']';
}

}  // namespace

std::string real_text(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::array<char, 40> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string to_flow(const Node& node) {
  std::vector<std::string> parts;
  switch (node.kind()) {
    case Node::Kind::kNull: return "null";
    case Node::Kind::kBool: return node.as_bool() ? "true" : "false";
    case Node::Kind::kInt: return std::to_string(node.as_int());
    case Node::Kind::kReal: return real_text(node.as_real());
    case Node::Kind::kText: return yaml_text(node.as_text());
    case Node::Kind::kList:
      for (const Node& item : node.items()) parts.push_back(to_flow(item));
      return cat('[', join(parts, ", "), ']');
    case Node::Kind::kMap: break;
  }
  for (const Node::Entry& entry : node.entries())
    parts.push_back(cat(yaml_key(entry.key, " "), " ", to_flow(entry.value)));
  return cat('{', join(parts, ", "), '}');
}

std::string to_yaml(const Node& node) {
  if (!node.is_map() || node.entries().empty()) return to_flow(node) + "\n";
  std::string out;
  write_block(node, 0, out);
  return out;
}

std::string to_json(const Node& node) {
  std::string out;
  write_json(node, 0, out);
  return out + "\n";
}

}  // namespace quarkq::config
