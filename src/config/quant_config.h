// SPDX-License-Identifier: MIT
// QuantConfig: the request, from preset, file and command line together. Absent values stay absent; resolve.h decides
// them. Only load_config() and read_config() make one; nothing changes it afterwards.
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
  std::optional<bool> allow_non_finite;  ///< NaN and infinities in input files are taken as they are
  std::optional<std::string> stats;      ///< a statistics file, instead of samples
  std::optional<bool> allow_partial;     ///< statistics may lack samples
  std::optional<bool> allow_other_isa;   ///< statistics may come from another instruction set
  Node raw;  ///< of raw binary files: {dtype, shape}, or {<input>: {dtype, shape}}; null when absent
};

/// The block "quarkq:": switches of this tool only.
struct ToolBlock {
  std::optional<int64_t> threads, seed;
  std::optional<std::string> backend;           ///< of float runs: ort, ort:PROVIDER; absent: native (read_tool.h)
  std::optional<std::string> exclude_tracking;  ///< strict or quark
  std::optional<std::string> info_csv;
  std::optional<bool> allow_unknown_options;
  std::optional<std::string> compat;               ///< quark-0.13
  std::optional<bool> guards;                      ///< on or off; absent: on, except in compat mode (docs/guards.md)
  std::optional<std::string> on_collapse;          ///< rescue (the default), warn or fail
  std::optional<std::vector<std::string>> rescue;  ///< the formats that a rescue may change; absent: all
  std::optional<double> max_wide;         ///< share of multiply-accumulates in wider formats than the preset's, 0 to 1
  std::optional<int64_t> max_islands;     ///< connected parts in other formats than the preset's; 0: any number
  std::optional<std::string> rounding;    ///< nearest (the default), compensated_weights, compensated (docs/guards.md)
  std::optional<bool> equalize_clipped;   ///< equalize layers with a Clip between them (docs/guards.md)
  std::optional<double> range_headroom;   ///< factor on measured ranges of activations (docs/guards.md)
  std::optional<double> min_cosine;       ///< an output whose cosine with the float one is below has collapsed
  std::optional<int64_t> verify_samples;  ///< that the result is compared with the float model on
  std::optional<bool> float_result;       ///< the result is the float model, rewritten; nothing is quantized
  std::optional<bool> metadata;           ///< the result says what made it; absent: yes, except in compat mode
};

/// The block "legalize:" (legalize.def).
struct LegalizeBlock {
#define LEGALIZE(member, Type, check, doc) std::optional<Type> member;
#include "config/legalize.def"
  std::map<std::string, std::vector<int64_t>> shapes;  ///< of inputs, by name; every dimension is 1 or more
};

struct QuantConfig {
  // Compiled once and not wherever one is copied or moved.
  QuantConfig();
  QuantConfig(const QuantConfig&);
  QuantConfig(QuantConfig&&) noexcept;
  QuantConfig& operator=(const QuantConfig&);
  QuantConfig& operator=(QuantConfig&&) noexcept;
  ~QuantConfig();

  /// kFields: preset and quant_config rule (rows LEGACY of fields.def). kLayers: global_config rules .
  enum class Mode { kFields, kLayers };

  /// Keys of quant_config that were set.
  struct Fields {
#define LEGACY(member, Type, by_default, support, off, doc) std::optional<Type> member;
#include "config/fields.def"
  };
  /// Keys of extra_options that were set. An option that can be null holds two optionals: set at all, and not null.
  struct Options {
#define OPTION(member, Key, Type, by_default, scope, support, off, doc) std::optional<Type> member;
#include "config/fields.def"
  };

  Mode mode = Mode::kFields;
  std::string preset;  ///< upper case; empty: none
  Fields fields;
  Options options;
  std::vector<std::pair<std::string, Node>> field_keys;  ///< keys of extra_options that set a field: OptimizeModel, ...
  std::vector<std::pair<std::string, Node>> unknown_options;  ///< kept only with quarkq.allow_unknown_options
  std::optional<LayerSpec> global_config;
  std::vector<LayerRule> specific_layer_config, layer_type_config;
  std::vector<Selector> exclude;
  std::vector<Algorithm> algo_config;
  CalibrationBlock calibration;
  std::optional<std::string> evaluation_dir;
  ToolBlock tool;
  LegalizeBlock legalize;
  std::optional<std::string> target;  ///< a name or file that load_target() takes
  Node preprocess;                    ///< checked; a map, or null when absent
  std::optional<std::string> input_model_path, output_model_path;

  /// Origin of every value set, by its name: "per_channel", "Percentile", "exclude", "quarkq.seed".
  std::map<std::string, Origin> origins;
  /// What was noticed while reading: deprecated spellings, unknown options let through.
  Diagnostics findings;

  Origin origin_of(const std::string& name) const {
    const auto found = origins.find(name);
    return found == origins.end() ? Origin::kDefault : found->second;
  }
  bool is_compat() const { return tool.compat.has_value(); }
};

/// One source of settings: its values and how strong they are.
struct Layer {
  Node values;  ///< a map of top-level keys, or null
  Origin origin;
};

/// The layers, weakest first, laid over each other by the rules of ref:settings#settings-file and read. A layer may
/// name a preset; its body is then put below all of them. Errors name the place, the key, what was found and what is
/// allowed.
Result<QuantConfig> read_config(std::vector<Layer> layers);

/// `file_or_preset`: a file if it exists, else a preset with or without ".yaml"; empty: neither. `sets`: "key=value"
/// with a YAML value; the key is a dotted path, a bare option ("Percentile") or a bare field ("per_channel").
Result<QuantConfig> load_config(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Whether load_config() would find what is to be quantized, how wrong the rest may be.
bool selects_mode(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Everything asked as one map in the file's form; read_config() of it gives an equal QuantConfig.
Node to_node(const QuantConfig& config);

}  // namespace quarkq::config
