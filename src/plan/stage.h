// SPDX-License-Identifier: MIT
// Stage: one quantization step of one value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/format_settings.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "ir/node.h"
#include "numeric/quant_params.h"

namespace quarkq::plan {

/// The pool of quantization parameters. Tensors that share a scale have the same ParamId, so a change affects all of
/// them.
struct ParamId {
  int index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ParamId&) const = default;
};

/// Parameters of one tensor: one entry, or one per index of the channel axis.
using ParamList = std::vector<numeric::QuantParams>;

class ParamPool {
 public:
  ParamId add(ParamList params = {}) {
    entries_.push_back(std::move(params));
    return {static_cast<int>(entries_.size()) - 1};
  }
  const ParamList& operator[](ParamId id) const {
    QQ_CHECK(id.valid());
    return entries_[static_cast<size_t>(id.index)];
  }
  void set(ParamId id, ParamList params) { entries_[static_cast<size_t>(id.index)] = std::move(params); }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<ParamList> entries_;
};

// Mapping from types and methods of the settings to element types and kinds of scales.

/// Returns the element type of a data type of the settings, or kUndefined for block formats.
ElementType element_type(config::DataType type);

/// Return the kind of scale implied by the calibration method, for activations and for weights
/// (ref:scales#power-of-two-scales).
numeric::ScaleKind activation_scale_kind(const config::Settings& settings);
numeric::ScaleKind weight_scale_kind(const config::Settings& settings);

/// Block formats (BFP, MX): one node replaces Q and DQ, and its attributes specify the format (ref:writing#block-axes).
struct BlockFormat {
  std::string op;                         ///< "BFPQuantizeDequantize" or "MXQuantizeDequantize" of domain
                                          ///< com.amd.quark.
  std::vector<ir::Attribute> attributes;  ///< In the order of the file.

  /// Sets `axis` and moves it to the end, like the reference's refinement.
  void set_axis(int64_t axis);
  /// Returns the attribute `axis`, or 1 if it is absent.
  int64_t axis() const;
};

/// Returns the operator's default attributes, overridden by `given`. MX formats of small floats round their scales up
/// except in compat mode. REQUIRES: config::is_block(type).
BlockFormat block_format(config::DataType type, const std::vector<config::BlockAttribute>& given,
                         const config::Settings& settings);
/// Returns the format with BFPAttributes or MXAttributes of the settings. Fails for a value that no attribute can
/// represent.
Result<BlockFormat> block_format(config::DataType type, const config::Settings& settings);

/// Returns the format for a constant of rank `rank`: blocks of a vector run along its only axis, and values are not
/// rounded to bfloat16 first.
BlockFormat for_constant(BlockFormat format, int64_t rank);

/// Returns "BFP16", "MX6", "MXINT8" or "MXFP4_E2M1": the name of a node of this operator (a kBoth of
/// ir/quantizing_ops.h) with these attributes. Omitted attributes have the operator's defaults.
std::string block_name(const std::string& op, const std::vector<ir::Attribute>& attributes);

/// The written form of a stage: a Q node with its DQ, a stored constant with its DQ, or one node of a block format.
enum class StageKind { kPair, kStored, kBlock };

struct Stage {
  StageKind kind = StageKind::kPair;
  numeric::QuantSpec spec;
  ParamId params;
  std::optional<BlockFormat> block;  ///< Only for kBlock.
  bool is_mixed = false;             ///< Mixed precision chose the format.
  bool omits_axis = false;           ///< Per channel along the operator's default axis, which the file does not
                                     ///< specify.
};

/// The quantizing operators of the written file (ref:writing#domains). The plan stores them, so that writing and
/// simulating it use the same operators: these overflow differently.
struct OperatorName {
  std::string op, domain;
};

class QdqOperators {
 public:
  /// Uses ai.onnx for every type.
  QdqOperators() = default;
  /// Selects the operators by quantizer, settings and opset. REQUIRES: settings.inserts_qdq().
  QdqOperators(const config::Settings& settings, int64_t opset);

  OperatorName quantize(const Stage& stage) const;
  /// `zero_at_zero`: every zero point is 0.
  OperatorName dequantize(const Stage& stage, bool zero_at_zero) const;
  /// Returns whether both operators are QuantizeLinear and DequantizeLinear of any domain. REQUIRES: not a block stage.
  bool is_standard(const Stage& stage) const;

 private:
  /// Returns ai.onnx if legalize.qdq_in_ai_onnx is set and ai.onnx supports the type, otherwise the domain of the
  /// quantizer.
  std::string domain_of(const Stage& stage) const;

  bool by_type_ = false;  ///< The extended quantizer: com.microsoft for the types that it supports, com.amd.quark for
                          ///< the others.
  std::string domain_;    ///< Domain of all other stages except stored constants.
  std::string stored_domain_;
  bool prefers_standard_ = false;  ///< The setting legalize.qdq_in_ai_onnx.
  bool keeps_valid_ = false;  ///< Keeps single 16-bit tensors among 8-bit tensors valid; the reference writes models
                              ///< that ONNX rejects.
  bool has_16_bits_ = false;  ///< Q/DQ of the opset support 16 bits.
};

}  // namespace quarkq::plan
