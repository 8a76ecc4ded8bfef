// SPDX-License-Identifier: MIT
// QuantConfig: the request, combined from preset, file and command line. Absent values stay absent; resolve.h
// determines them. Only load_config() and read_config() create one; it never changes afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "config/convert.h"
#include "config/layer_config.h"

namespace quarkq::config {

// The type names that the rows of fields.def use.

using Bool = bool;
using Int = int64_t;
using Real = double;
using Text = std::string;
using TextList = std::vector<std::string>;
using RealList = std::vector<double>;
using Map = MapValue;
using List = ListValue;
using Any = Node;
using OptBool = std::optional<bool>;
using OptInt = std::optional<int64_t>;
using OptText = std::optional<std::string>;
using OptTextList = std::optional<TextList>;
using OptMap = std::optional<MapValue>;
using OptMethod = std::optional<CalibrateMethod>;

using InputShapes = std::map<std::string, std::vector<int64_t>>;

/// Type of the member for an optional value of type T. An empty Node or InputShapes is absent.
template <typename T>
struct MemberOf {
  using Type = std::optional<T>;
};
template <>
struct MemberOf<Node> {
  using Type = Node;
};
template <>
struct MemberOf<InputShapes> {
  using Type = InputShapes;
};

// CalibrationBlock, EvaluationBlock, LegalizeBlock, ToolBlock: the blocks of blocks.def.
#define BLOCK(key, Type, member) struct Type {
#define END_BLOCK(member) \
  }                       \
  ;
#define KEY(name, T, allowed, by_default, flag, doc) MemberOf<T>::Type name;
#include "config/blocks.def"

/// Value of --target for a result that no compiler decides about, in spite of the preset.
inline constexpr const char kNoTarget[] = "none";

struct QuantConfig {
  // Defined in the .cpp file, so that it is compiled only once.
  QuantConfig();
  QuantConfig(const QuantConfig&);
  QuantConfig(QuantConfig&&) noexcept;
  QuantConfig& operator=(const QuantConfig&);
  QuantConfig& operator=(QuantConfig&&) noexcept;
  ~QuantConfig();

  /// kFields: preset and quant_config apply (rows LEGACY of fields.def). kLayers: global_config applies.
  enum class Mode { kFields, kLayers };

  /// The given keys of quant_config.
  struct Fields {
#define LEGACY(member, Type, by_default, support, off, doc) std::optional<Type> member;
#include "config/fields.def"
  };
  /// The given keys of extra_options. An option that can be null has two optionals: given at all, and not null.
  struct Options {
#define OPTION(member, Key, Type, by_default, scope, support, off, doc) std::optional<Type> member;
#include "config/fields.def"
  };

  Mode mode = Mode::kFields;
  std::string preset;  ///< In upper case; empty: none.
  Fields fields;
  Options options;
  std::vector<std::pair<std::string, Node>> field_keys;  ///< Keys of extra_options that set a field: OptimizeModel, ...
  std::vector<std::pair<std::string, Node>> unknown_options;  ///< Kept only with quarkq.allow_unknown_options.
  std::optional<LayerSpec> global_config;
  std::vector<LayerRule> specific_layer_config, layer_type_config;
  std::vector<Selector> exclude;
  std::vector<Algorithm> algo_config;
#define BLOCK(key, Type, member) Type member;
#define END_BLOCK(member)
#include "config/blocks.def"
  std::optional<std::string> target;  ///< a name or file that load_target() takes, or kNoTarget
  Node preprocess;                    ///< checked; a map, or null when absent
  std::optional<std::string> input_model_path, output_model_path;

  /// Origin of every given value, by its name: "per_channel", "Percentile", "exclude", "quarkq.seed".
  std::map<std::string, Origin> origins;
  /// Findings while reading: deprecated spellings, accepted unknown options.
  Diagnostics findings;

  Origin origin_of(const std::string& name) const {
    const auto found = origins.find(name);
    return found == origins.end() ? Origin::kDefault : found->second;
  }
  bool is_compat() const { return tool.compat.has_value(); }
};

/// One source of settings: its values and its precedence.
struct Layer {
  Node values;  ///< A map of top-level keys, or null.
  Origin origin;
};

/// Merges the layers by the rules of ref:settings#settings-file and reads the result. A layer of a later origin
/// overrides layers of earlier origins; of two layers of one origin, the later one overrides. A layer may name a target
/// or a preset, whose settings then become layers. Errors name the location, the key, the found and the allowed value.
Result<QuantConfig> read_config(std::vector<Layer> layers);

/// `file_or_preset` is a file if it exists, otherwise a preset with or without ".yaml"; empty: neither. `sets` are
/// "key=value" with a YAML value; the key is a dotted path, a bare option ("Percentile") or a bare field
/// ("per_channel"). Options of the command line are "--flag=value" (config/layers.h).
Result<QuantConfig> load_config(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Returns whether the settings specify what to quantize, even if other parts are wrong.
bool selects_mode(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Returns the whole request as one map in the file's form. read_config() of it gives an equal QuantConfig.
Node to_node(const QuantConfig& config);

}  // namespace quarkq::config
