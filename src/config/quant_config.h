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

/// The block "calibration:".
struct CalibrationBlock {
  std::optional<std::string> dir, list, reader;
  std::optional<bool> random;            ///< true: UseRandomData
  std::optional<bool> allow_non_finite;  ///< NaN and infinities in input files are accepted.
  std::optional<std::string> stats;      ///< A statistics file, instead of samples.
  std::optional<bool> allow_partial;     ///< Statistics may lack samples.
  std::optional<bool> allow_other_isa;   ///< Statistics may come from another instruction set.
  Node raw;  ///< Format of raw binary files: {dtype, shape}, or {<input>: {dtype, shape}}; null if absent.
};

/// The block "quarkq:": switches of this tool only.
struct ToolBlock {
  std::optional<int64_t> threads, seed;
  std::optional<std::string> backend;           ///< Runtime of float runs: ort, ort:PROVIDER; absent: native
                                                ///< (read_tool.h).
  std::optional<std::string> exclude_tracking;  ///< strict or quark
  std::optional<std::string> info_csv;
  std::optional<bool> allow_unknown_options;
  std::optional<std::string> compat;               ///< quark-0.13
  std::optional<bool> guards;                      ///< on or off; absent: on, except in compat mode (docs/guards.md)
  std::optional<std::string> on_collapse;          ///< rescue (the default), warn or fail
  std::optional<std::vector<std::string>> rescue;  ///< the formats that a rescue may change; absent: all
  std::optional<double> max_wide;         ///< Upper bound on the share of multiply-accumulates in wider formats than
                                          ///< the preset's, 0 to 1.
  std::optional<int64_t> max_islands;     ///< Upper bound on connected parts in other formats than the preset's; 0: any
                                          ///< number.
  std::optional<std::string> rounding;    ///< nearest (the default), compensated_weights, compensated (docs/guards.md)
  std::optional<bool> equalize_clipped;   ///< equalize layers with a Clip between them (docs/guards.md)
  std::optional<double> range_headroom;   ///< factor on measured ranges of activations (docs/guards.md)
  std::optional<double> min_cosine;       ///< An output with a lower cosine has collapsed.
  std::optional<int64_t> verify_samples;  ///< Number of samples for the comparison with the float model.
  std::optional<bool> float_result;       ///< The result is the rewritten float model; no node is quantized.
  std::optional<bool> metadata;           ///< The result describes how it was made; absent: yes, except in compat mode.
};

/// The block "legalize:" (legalize.def).
struct LegalizeBlock {
#define LEGALIZE(member, Type, check, doc) std::optional<Type> member;
#include "config/legalize.def"
  std::map<std::string, std::vector<int64_t>> shapes;  ///< Shapes of inputs, by name; every dimension is 1 or more.
};

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
  CalibrationBlock calibration;
  std::optional<std::string> evaluation_dir;
  ToolBlock tool;
  LegalizeBlock legalize;
  std::optional<std::string> target;  ///< A name or file for load_target().
  Node preprocess;                    ///< Checked; a map, or null if absent.
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

/// Merges the layers, weakest first, by the rules of ref:settings#settings-file and reads the result. A layer may name
/// a preset, whose body is then placed below all layers. Errors name the location, the key, the found and the allowed
/// value.
Result<QuantConfig> read_config(std::vector<Layer> layers);

/// `file_or_preset` is a file if it exists, otherwise a preset with or without ".yaml"; empty: neither. `sets` are
/// "key=value" with a YAML value; the key is a dotted path, a bare option ("Percentile") or a bare field
/// ("per_channel").
Result<QuantConfig> load_config(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Returns whether the settings specify what to quantize, even if other parts are wrong.
bool selects_mode(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Returns the whole request as one map in the file's form. read_config() of it gives an equal QuantConfig.
Node to_node(const QuantConfig& config);

}  // namespace quarkq::config
