// SPDX-License-Identifier: MIT
// The rows of fields.def as a table, with functions that access a row's member in QuantConfig and Settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/quant_config.h"
#include "config/settings.h"

namespace quarkq::config {

/// The groups of ref:settings#options, and kField for the keys of quant_config.
enum class Category {
  kField,
  kPreprocessing,
  kSelection,
  kQdqNodes,
  kCalibration,
  kBias,
  kScale,
  kNpu,
  kBlock,
  kMatMulNBits,
  kRuntime,
  kEvaluation,
  kAlgorithms,
};
std::string category_name(Category category);

enum class Support { kBuilt, kInert, kNotYet };
std::string support_name(Support support);

/// Sets of quantizers as bits: the quantizers under which an option has an effect.
namespace scope {
constexpr unsigned bit(Quantizer quantizer) { return 1u << static_cast<unsigned>(quantizer); }
constexpr unsigned kNpuCnn = bit(Quantizer::kNpuCnn);
constexpr unsigned kExt = bit(Quantizer::kExtended);
constexpr unsigned kNpuExt = kNpuCnn | kExt;
constexpr unsigned kCpuExt = bit(Quantizer::kCpu) | kExt;
constexpr unsigned kQOp = bit(Quantizer::kQOperator);
constexpr unsigned kQdq = kNpuExt | bit(Quantizer::kCpu) | bit(Quantizer::kNpuTransformer) | kQOp;
constexpr unsigned kNBits = bit(Quantizer::kMatMulNBits);
constexpr unsigned kStatic = kQdq | kNBits;
constexpr unsigned kQOpDyn = kQOp | bit(Quantizer::kDynamic);
constexpr unsigned kAny = kStatic | kQOpDyn;
}  // namespace scope

/// One LEGACY or OPTION row.
struct Field {
  const char* name;  ///< The key in the file.
  std::string type;
  const char* by_default;
  Category category;
  unsigned scope;
  Support support;
  const char* off;
  const char* doc;
  Status (*read)(const Node&, const std::string& path, QuantConfig&);
  std::optional<Node> (*asked)(const QuantConfig&);  ///< Returns nullopt if it is not given.
  Status (*assign)(const Node&, Settings&);
  Node (*value)(const Settings&);

  bool is_option() const { return category != Category::kField; }
  bool depends() const { return std::string_view(by_default) == "depends"; }
};

/// Returns all rows in the order of fields.def.
const std::vector<Field>& all_fields();
/// Returns the row with this key, or null.
const Field* find_field(std::string_view name);

/// One FIELD_KEY row: a key of extra_options that sets the field `field`.
struct FieldKey {
  const char* name;
  const char* field;
  Category category;
  const char* doc;
};
const std::vector<FieldKey>& field_keys();
const FieldKey* find_field_key(std::string_view name);

/// Return every allowed key of extra_options, and every key of quant_config.
std::vector<std::string> option_names();
std::vector<std::string> field_names();

/// Returns whether `value` is one of the row's off values. An off of "absent" matches only null.
bool is_off_value(const Field& field, const Node& value);

/// Returns the YAML text of a default or off column as a node. REQUIRES: well-formed (a test checks every row).
Node literal(const std::string& text);

}  // namespace quarkq::config
