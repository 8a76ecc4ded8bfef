// SPDX-License-Identifier: MIT
// fields.def turned into a table. The only file that expands the rows into code; everything else loops over
// all_fields().
#include "config/fields.h"

#include "base/error.h"
#include "config/load.h"

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
    if (!field.is_option()) names.emplace_back(field.name);
  return names;
}

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
  static constexpr const char* kNames[] = {"field",   "preprocessing", "selection", "qdq nodes",     "calibration",
                                           "bias",    "scale",         "npu",       "bf16, bfp, mx", "matmul n-bits",
                                           "runtime", "evaluation",    "algorithms"};
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
                      off, doc, A::read, A::asked, A::assign, A::value});                                          \
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
                      doc, A::read, A::asked, A::assign, A::value});                                               \
  }
#include "config/fields.def"
  return fields;
}

}  // namespace

const std::vector<Field>& all_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

}  // namespace quarkq::config
