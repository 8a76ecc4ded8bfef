// SPDX-License-Identifier: MIT
// fields.def and blocks.def turned into a table. The only file that expands the rows into code; everything else loops
// over all_fields().
#include "config/fields.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/strings.h"
#include "config/load.h"
#include "config/low_bit_weights.h"
#include "config/sample_settings.h"

namespace quarkq::config {
namespace {

/// The type of a member of Settings, from the pointer to it.
template <typename Values>
Values held_by(Values Settings::*);

/// A GROUP row: its category, and the member of Settings that holds its values.
template <Category category, auto member>
struct GroupOf {
  using Held = decltype(held_by(member));
  static constexpr Category kCategory = category;
  static constexpr auto kMember = member;
};

/// Reads, shows and assigns one value; the pointers say which: in QuantConfig (group and member) and in Settings.
template <typename T, auto asked_group, auto asked_member, auto group, auto member>
struct Access {
  static Status read(const Node& node, const std::string& path, QuantConfig& config) {
    QQ_TRY(T value, config::read<T>(node, path));
    (config.*asked_group).*asked_member = std::move(value);
    return {};
  }
  static std::optional<Node> asked(const QuantConfig& config) {
    const std::optional<T>& value = (config.*asked_group).*asked_member;
    if (!value) return std::nullopt;
    return Convert<T>::to(*value);
  }
  static Status assign(const Node& node, Settings& settings) {
    QQ_TRY(T value, Convert<T>::from(node));
    (settings.*group).*member = std::move(value);
    return {};
  }
  static Node value(const Settings& settings) { return Convert<T>::to((settings.*group).*member); }
};

// The column `allowed` of blocks.def.

constexpr Allowed anything() { return {}; }
constexpr Allowed one_of(const char* choices) { return {.choices = choices}; }
constexpr Allowed between(double low, double high, const char* range) {
  return {.range = range, .low = low, .high = high};
}
constexpr Allowed at_least(double low, const char* range) {
  return between(low, std::numeric_limits<double>::infinity(), range);
}
constexpr Allowed checked_by(Status (*check)(const Node&, const std::string& path)) { return {.check = check}; }

Status check_backend(const Node& node, const std::string&) {
  return node.is_text() ? asked_provider(node.as_text()).status() : Status();
}

Status check_weight_size(const Node& node, const std::string& path) {
  return node.is_null() ? Status() : read_size(node, path).status();
}

Status check_raw_formats(const Node& node, const std::string&) { return read_raw_formats(node).status(); }

Status check_shapes(const Node& node, const std::string& path) {
  for (const Node::Entry& entry : node.entries()) {
    const std::string name = path + "." + entry.key;
    QQ_TRY(const std::vector<int64_t> dims, config::read<std::vector<int64_t>>(entry.value, name));
    for (const int64_t dim : dims) {
      if (dim < 1)
        return invalid_argument(entry.value.mark().prefix(), name, ": found ", dim, ", allowed is 1 or more");
    }
  }
  return {};
}

/// As Access, for the members of a block, which has the same type in QuantConfig and Settings.
template <typename T, auto asked_block, auto block, auto member>
struct BlockAccess {
  using Held = typename MemberOf<T>::Type;

  static Status read(const Node& node, const std::string& path, QuantConfig& config) {
    QQ_TRY(T value, config::read<T>(node, path));
    (config.*asked_block).*member = std::move(value);
    return {};
  }
  static std::optional<Node> asked(const QuantConfig& config) {
    const Node value = Convert<Held>::to((config.*asked_block).*member);
    const bool is_absent = value.is_null() || (value.is_map() && value.entries().empty());
    return is_absent ? std::nullopt : std::optional<Node>(value);
  }
  static Status assign(const Node& node, Settings& settings) {
    QQ_TRY(Held value, Convert<Held>::from(node));
    (settings.*block).*member = std::move(value);
    return {};
  }
  static Node value(const Settings& settings) { return Convert<Held>::to((settings.*block).*member); }
};

std::vector<FieldKey> make_field_keys() {
  return {
#define FIELD_KEY(Key, member, category, doc) {#Key, #member, Category::category, doc},
#include "config/fields.def"
  };
}

}  // namespace

const Field* find_field(std::string_view name) {
  for (const Field& field : all_fields())
    if (field.name == name) return &field;
  return nullptr;
}

const std::vector<FieldKey>& field_keys() {
  static const std::vector<FieldKey> keys = make_field_keys();
  return keys;
}

const FieldKey* find_field_key(std::string_view name) {
  for (const FieldKey& key : field_keys())
    if (key.name == name) return &key;
  return nullptr;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Field& field : all_fields())
    if (field.is_option()) names.emplace_back(field.name);
  for (const FieldKey& key : field_keys()) names.emplace_back(key.name);
  return names;
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const Field& field : all_fields())
    if (field.category == Category::kField) names.emplace_back(field.name);
  return names;
}

std::vector<std::string> keys_of_block(std::string_view block) {
  std::vector<std::string> keys;
  for (const Field& field : all_fields())
    if (field.is_of_block() && field.block == block) keys.push_back(field.key());
  return keys;
}

const std::vector<std::string>& own_blocks() {
  static const std::vector<std::string> names = {
#define BLOCK(key, Type, member) #key,
#define END_BLOCK(member)
#include "config/blocks.def"
  };
  return names;
}

Status Allowed::check_value(const Node& value, const std::string& path) const {
  const std::vector<std::string> known = split(choices, ' ');
  const bool is_range = *range != '\0', has_choices = *choices != '\0';
  if (!is_range && !has_choices) return {};
  for (const Node& one : value.is_list() ? value.items() : Node::List{value}) {
    const std::string found = is_range ? to_flow(one) : one.as_text();
    const bool fits =
        is_range ? one.as_real() >= low && one.as_real() <= high : std::ranges::find(known, found) != known.end();
    if (!fits) return invalid_argument(value.mark().prefix(), path, ": found ", found, ", allowed is ", text());
  }
  return {};
}

std::string Allowed::text() const { return *range != '\0' ? range : join(split(choices, ' '), " or "); }

Node literal(const std::string& text) {
  if (text.find_first_of("[{") == std::string::npos) return Node::from_plain_scalar(text);
  const Result<Node> node = parse_text(text, "fields.def");
  QQ_CHECK(node.ok());
  return node.value();
}

bool is_off_value(const Field& field, const Node& value) {
  std::string rest = field.off;
  while (!rest.empty()) {
    const size_t bar = rest.find(" | ");
    const std::string text = rest.substr(0, bar);
    if (text == "absent" ? value.is_null() : literal(text) == value) return true;
    rest = bar == std::string::npos ? "" : rest.substr(bar + 3);
  }
  return false;
}

std::string category_name(Category category) {
  static constexpr const char* kNames[] = {"field",   "preprocessing", "selection",  "qdq nodes",     "calibration",
                                           "bias",    "scale",         "npu",        "bf16, bfp, mx", "matmul n-bits",
                                           "runtime", "evaluation",    "algorithms", "own blocks"};
  return kNames[static_cast<size_t>(category)];
}

std::string support_name(Support support) {
  static constexpr const char* kNames[] = {"built", "no effect", "not supported yet"};
  return kNames[static_cast<size_t>(support)];
}

namespace {

/// In the order of the file, those of quant_config first.
std::vector<Field> make_fields() {
  std::vector<Field> fields;
#define GROUP(category, Type, member) \
  {                                   \
    using G [[maybe_unused]] = GroupOf<Category::category, &Settings::member>;
#define END_GROUP(member) }
#define LEGACY(member, Type, by_default, support, off, doc)                                                        \
  {                                                                                                                \
    using A = Access<Type, &QuantConfig::fields, &QuantConfig::Fields::member, G::kMember, &G::Held::member>;      \
    fields.push_back({#member, Convert<Type>::type(), by_default, Category::kField, scope::kAny, Support::support, \
                      off, doc, A::read, A::asked, A::assign, A::value, "quant_config"});                          \
  }
#include "config/fields.def"
#define GROUP(category, Type, member) \
  {                                   \
    using G [[maybe_unused]] = GroupOf<Category::category, &Settings::member>;
#define END_GROUP(member) }
#define OPTION(member, Key, Type, by_default, scope_, support, off, doc)                                           \
  {                                                                                                                \
    using A = Access<Type, &QuantConfig::options, &QuantConfig::Options::member, G::kMember, &G::Held::member>;    \
    fields.push_back({#Key, Convert<Type>::type(), by_default, G::kCategory, scope::scope_, Support::support, off, \
                      doc, A::read, A::asked, A::assign, A::value, "extra_options"});                              \
  }
#include "config/fields.def"
#define BLOCK(key, Type, member)                  \
  {                                               \
    constexpr auto kAsked = &QuantConfig::member; \
    constexpr auto kHeld = &Settings::member;     \
    using B [[maybe_unused]] = Type;              \
    constexpr const char* kBlock = #key;
#define END_BLOCK(member) }
#define KEY(member, T, allowed, by_default, flag, doc)                                                             \
  {                                                                                                                \
    using A = BlockAccess<T, kAsked, kHeld, &B::member>;                                                           \
    fields.push_back({cat(kBlock, ".", #member), Convert<T>::type(), by_default, Category::kBlock, scope::kAlways, \
                      Support::kBuilt, "-", doc, A::read, A::asked, A::assign, A::value, kBlock, allowed, flag});  \
  }
#include "config/blocks.def"
  return fields;
}

}  // namespace

const std::vector<Field>& all_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

}  // namespace quarkq::config
