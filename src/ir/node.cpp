// SPDX-License-Identifier: MIT
#include "ir/node.h"

#include <algorithm>

#include "base/strings.h"

namespace quarkq::ir {

Node::Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

int64_t Node::int_or(std::string_view attribute, int64_t fallback) const {
  const auto* value = get<int64_t>(attribute);
  return value == nullptr ? fallback : *value;
}

float Node::float_or(std::string_view attribute, float fallback) const {
  const auto* value = get<float>(attribute);
  return value == nullptr ? fallback : *value;
}

std::string Node::string_or(std::string_view attribute, std::string_view fallback) const {
  const auto* value = get<std::string>(attribute);
  return value == nullptr ? std::string(fallback) : *value;
}

std::vector<int64_t> Node::ints_or(std::string_view attribute, std::vector<int64_t> fallback) const {
  const auto* value = get<std::vector<int64_t>>(attribute);
  return value == nullptr ? std::move(fallback) : *value;
}

void Node::set(std::string_view attribute, AttributeValue value) {
  for (Attribute& candidate : attributes) {
    if (candidate.name != attribute) continue;
    candidate.value = std::move(value);
    return;
  }
  attributes.push_back({std::string(attribute), std::move(value), {}, {}});
}

void Node::erase(std::string_view attribute) {
  std::erase_if(attributes, [&](const Attribute& candidate) { return candidate.name == attribute; });
}

std::string Node::label(std::string_view output_name) const {
  return cat("node ", name.empty() ? output_name : std::string_view(name), " (", op, ")");
}

}  // namespace quarkq::ir
