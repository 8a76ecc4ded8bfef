// SPDX-License-Identifier: MIT
// The enums of the settings and their names in the reference's spelling ("PowerOfTwoMethod.MinMSE"). The name tables
// are in enums.cpp; parse_enum() takes "Class.Member", with or without "quark.onnx." before it, and a bare member that
// is unambiguous.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::config {

enum class CalibrateMethod {
  kMinMax,
  kEntropy,
  kPercentile,
  kDistribution,
  kLayerWisePercentile,
  kNonOverflow,  ///< power of two
  kMinMSE,       ///< power of two
  kInt16MinMax,  ///< Never requested: implied by Int16Scale.
  kFloatMinMSE,  ///< float scales; compat mode: for weights only
};

/// Kind of scale implied by a method; determines the quantizer.
enum class Family { kFloat, kPow2, kInt16, kLayerwise };
Family family(CalibrateMethod method);

enum class QuantFormat { kQdq, kExtendedQdq, kQOperator };

enum class DataType {
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kFloat16,
  kBFloat16,
  kBfp,
  kMx,
  kFloat8E4M3Fn,
  kInt4,
  kUInt4,
};
bool is_signed_or_float(DataType type);  ///< Returns true for types whose weights are symmetric by default.
bool is_block(DataType type);            ///< kBfp, kMx
bool is_half(DataType type);             ///< kFloat16, kBFloat16

enum class ScaleType { kFloat32, kPowerOf2, kInt16 };
enum class CalibMethod { kMinMax, kMinMSE, kPercentile, kEntropy, kLayerwisePercentile, kDistribution };
enum class QuantGranularity { kTensor, kChannel, kGroup };

/// Class of the reference that quantizes: the rows of ref:settings#quantizers, and the two flows with their own entry.
enum class Quantizer { kCpu, kExtended, kNpuCnn, kNpuTransformer, kDynamic, kMatMulNBits, kQOperator, kNone };
std::string quantizer_name(Quantizer quantizer);

/// Source of a value. This is the precedence of settings: of two values of one setting, the value of the later origin
/// applies, regardless of the order in which they were given.
enum class Origin {
  kDefault,
  kPreset,
  kTarget,  ///< the file of --target (configs/targets)
  kFile,    ///< the user's settings file
  kFlag,    ///< an option of the command line of its own, such as --target or --shape
  kSet,     ///< --set, and "key=value" of the library
  kRescue,  ///< a change after the result collapsed
  kForced,  ///< another setting or the model leaves no choice
};
std::string origin_name(Origin origin);
/// Returns whether the user wrote a value of this origin.
inline bool is_users(Origin origin) { return origin >= Origin::kFile && origin <= Origin::kSet; }

/// Reads quarkq.backend, which runs the float model. Returns nullopt for quarkq itself ("native", or no setting), else
/// the execution provider of ONNX Runtime in lower case: "cpu" for "ort", "cuda" for "ort:cuda" and
/// "ort:CUDAExecutionProvider". Does not check that the provider is installed.
Result<std::optional<std::string>> asked_provider(const std::optional<std::string>& backend);

/// One spelling of an enum value. The first row of a value is the one printed.
template <typename E>
struct EnumName {
  const char* text;
  E value;
  bool is_deprecated = false;  ///< Accepted with a notice.
  bool is_internal = false;    ///< never meant by its bare member
};

/// Returns the table of names of E, for the six enums that a file can contain.
template <typename E>
const std::vector<EnumName<E>>& enum_names();

/// Returns the value named by `text`. The error lists the allowed names, or both meanings of an ambiguous bare member.
template <typename E>
Result<EnumName<E>> parse_enum(const std::string& text);

/// Returns the reference's spelling of `value`.
template <typename E>
std::string enum_text(E value);

}  // namespace quarkq::config
