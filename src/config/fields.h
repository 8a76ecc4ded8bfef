// SPDX-License-Identifier: MIT
// The rows of fields.def and blocks.def as a table to walk over, with functions that reach a row's member in
// QuantConfig and Settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/quant_config.h"
#include "config/settings.h"

namespace quarkq::config {

/// The groups of ref:settings#options, kField for the keys of quant_config, and kBlock for the keys of our own blocks.
enum class Category {
  kField,
  kPreprocessing,
  kSelection,
  kQdqNodes,
  kCalibration,
  kBias,
  kScale,
  kNpu,
  kBlockFormats,
  kMatMulNBits,
  kRuntime,
  kEvaluation,
  kAlgorithms,
  kBlock,
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
constexpr unsigned kAlways = ~0u;  ///< our own blocks, which depend on no quantizer
}  // namespace scope

/// The values that the row of a block accepts.
struct Allowed {
  const char* range = "";    ///< Allowed numbers, for messages: "0 (all) to 1024".
  double low = 0, high = 0;  ///< The ends of `range`, included.
  const char* choices = "";  ///< Allowed texts, separated by spaces.
  /// Null, or the check of a node whose form the type does not describe; its errors name `path`.
  Status (*check)(const Node&, const std::string& path) = nullptr;

  /// Fails if `value`, which has the type of the row, is out of range or not a choice. Of a list each item is checked.
  Status check_value(const Node& value, const std::string& path) const;
  /// For listings: "0 (all) to 1024", "rescue or warn or fail"; empty if the type alone decides.
  std::string text() const;
};

/// One LEGACY, OPTION or KEY row.
struct Field {
  std::string name;  ///< the key in the file; with its block if that is one of our own: "quarkq.threads"
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
  const char* block;  ///< the key at the top of the file that the setting belongs to: "quant_config"
  Allowed allowed = {};
  const char* flag = "";  ///< the option of the command line of the same meaning

  bool is_of_block() const { return category == Category::kBlock; }
  /// The key inside of its block: "threads".
  std::string key() const { return is_of_block() ? name.substr(name.find('.') + 1) : name; }
  bool is_option() const { return !is_of_block() && category != Category::kField; }
  bool depends() const { return std::string_view(by_default) == "depends"; }
};

/// Returns all rows in the order of fields.def, then of blocks.def.
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

/// Return every allowed key of extra_options, every key of quant_config, and every key of one of our own blocks.
std::vector<std::string> option_names();
std::vector<std::string> field_names();
std::vector<std::string> keys_of_block(std::string_view block);
/// Returns the names of our own blocks, in the order of blocks.def.
const std::vector<std::string>& own_blocks();

/// Returns whether `value` is one of the row's off values. An off of "absent" matches only null.
bool is_off_value(const Field& field, const Node& value);

/// Returns the YAML text of a default or off column as a node. REQUIRES: well-formed (a test checks every row).
Node literal(const std::string& text);

}  // namespace quarkq::config
