// SPDX-License-Identifier: MIT
// Node to text: block YAML, flow YAML and JSON. Each form reads back through load.h as an equal node.
#include <array>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "config/node.h"

namespace quarkq::config {
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
