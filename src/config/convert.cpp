// SPDX-License-Identifier: MIT
// The parts of convert.h that need no template: refusals, lists of texts, and the check of a map's keys.
#include "config/convert.h"

#include <algorithm>

#include "base/strings.h"

namespace quarkq::config {

Status wrong_kind(const Node& node, const std::string& allowed) {
  return invalid_argument("found ", describe(node), ", allowed is ", allowed);
}

Result<std::vector<std::string>> Convert<std::vector<std::string>>::from(const Node& node) {
  if (!node.is_list()) return wrong_kind(node, "a list of texts");
  std::vector<std::string> texts;
  for (const Node& item : node.items()) {
    if (!item.is_text()) return invalid_argument("found ", describe(item), " in the list, allowed are texts");
    texts.push_back(item.as_text());
  }
  return texts;
}

Result<std::vector<double>> Convert<std::vector<double>>::from(const Node& node) {
  if (!node.is_list()) return wrong_kind(node, "a list of numbers");
  std::vector<double> numbers;
  for (const Node& item : node.items()) {
    const bool is_number = item.kind() == Node::Kind::kInt || item.kind() == Node::Kind::kReal;
    if (!is_number) return invalid_argument("found ", describe(item), " in the list, allowed are numbers");
    numbers.push_back(item.as_real());
  }
  return numbers;
}

Node Convert<std::vector<double>>::to(const std::vector<double>& value) {
  Node::List items;
  for (const double number : value) items.emplace_back(number);
  return Node(std::move(items));
}

Result<std::vector<int64_t>> Convert<std::vector<int64_t>>::from(const Node& node) {
  if (!node.is_list()) return wrong_kind(node, "a list of whole numbers");
  std::vector<int64_t> numbers;
  for (const Node& item : node.items()) {
    if (item.kind() != Node::Kind::kInt)
      return invalid_argument("found ", describe(item), " in the list, allowed are whole numbers");
    numbers.push_back(item.as_int());
  }
  return numbers;
}

Node Convert<std::vector<int64_t>>::to(const std::vector<int64_t>& value) {
  Node::List items;
  for (const int64_t number : value) items.emplace_back(number);
  return Node(std::move(items));
}

Result<std::map<std::string, std::vector<int64_t>>> Convert<std::map<std::string, std::vector<int64_t>>>::from(
    const Node& node) {
  if (!node.is_map()) return wrong_kind(node, "a map from inputs to shapes");
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Node::Entry& entry : node.entries()) {
    QQ_TRY(shapes[entry.key], Convert<std::vector<int64_t>>::from(entry.value));
  }
  return shapes;
}

Node Convert<std::map<std::string, std::vector<int64_t>>>::to(
    const std::map<std::string, std::vector<int64_t>>& value) {
  Node::Map entries;
  for (const auto& [name, dims] : value) entries.push_back({name, Convert<std::vector<int64_t>>::to(dims), {}});
  return Node(std::move(entries));
}

Status check_one_of(const std::optional<std::string>& value, const std::string& path,
                    const std::vector<std::string>& allowed) {
  if (!value || std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return {};
  return invalid_argument(path, ": found ", *value, ", allowed is ", join(allowed, " or "));
}

Status check_keys(const Node& node, const std::string& path, const std::vector<std::string>& allowed) {
  if (!node.is_map()) return wrong_kind(node, "a map").context(node.mark().prefix() + path);
  for (const Node::Entry& entry : node.entries()) {
    if (std::find(allowed.begin(), allowed.end(), entry.key) != allowed.end()) continue;
    std::string hint = did_you_mean(entry.key, allowed);
    if (hint.empty()) hint = ", allowed are " + join(allowed, ", ");
    const std::string subject = path.empty() ? entry.key : path + "." + entry.key;
    return invalid_argument(entry.key_mark.prefix(), subject, ": unknown key", hint);
  }
  return {};
}

}  // namespace quarkq::config
