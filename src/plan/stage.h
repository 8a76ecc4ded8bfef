// SPDX-License-Identifier: MIT
// Stage: one step of quantization of one value.
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

/// The pool of quantization parameters. Tensors that share a scale hold the same ParamId, so a change reaches all of
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

// What the types and methods of the settings mean for a tensor: element types and kinds of scales.

/// The element type of a data type of the settings; undefined for block formats.
ElementType element_type(config::DataType type);

/// Kind of scale that the calibration method leads to, for activations and for weights
/// (ref:scales#power-of-two-scales).
numeric::ScaleKind activation_scale_kind(const config::Settings& settings);
numeric::ScaleKind weight_scale_kind(const config::Settings& settings);

/// Block formats (BFP, MX): one node does what Q and DQ do, and its attributes say how (ref:writing#block-axes).
struct BlockFormat {
  std::string op;                         ///< "BFPQuantizeDequantize" or "MXQuantizeDequantize", domain com.amd.quark
  std::vector<ir::Attribute> attributes;  ///< in the order of the file

  /// Sets `axis` and moves it to the end, as the reference's refinement does.
  void set_axis(int64_t axis);
  /// What the node says, or 1.
  int64_t axis() const;
};

/// The operator's defaults with `given` over them. REQUIRES: config::is_block(type).
BlockFormat block_format(config::DataType type, const std::vector<config::BlockAttribute>& given);
/// The same with BFPAttributes / MXAttributes of the settings. Fails for a value that no attribute can hold.
Result<BlockFormat> block_format(config::DataType type, const config::Settings& settings);

/// The same for a constant of rank `rank`: blocks of a vector run along its only axis, and values are not rounded to
/// bfloat16 first.
BlockFormat for_constant(BlockFormat format, int64_t rank);

// What people call a block format.

/// "BFP16", "MX6", "MXINT8", "MXFP4_E2M1": of a node of this operator (a kBoth of ir/quantizing_ops.h) with these
/// attributes. What they leave out is the operator's default.
std::string block_name(const std::string& op, const std::vector<ir::Attribute>& attributes);

/// The written form of a stage: a Q node with its DQ, a stored constant with its DQ, or one node of a block
/// format.
enum class StageKind { kPair, kStored, kBlock };

struct Stage {
  StageKind kind = StageKind::kPair;
  numeric::QuantSpec spec;
  ParamId params;
  std::optional<BlockFormat> block;  ///< kBlock only
  bool is_mixed = false;             ///< mixed precision chose the format
  bool omits_axis = false;           ///< per channel along the operator's default axis, which the file does not name
};

/// The quantizing operators of the written file (ref:writing#domains). A small value that the plan carries, so that
/// writing and simulating the plan use the same operators: they differ in how out-of-range values overflow.
struct OperatorName {
  std::string op, domain;
};

class QdqOperators {
 public:
  /// Those of ai.onnx for every type.
  QdqOperators() = default;
  /// Chosen by quantizer, settings and opset. REQUIRES: settings.inserts_qdq().
  QdqOperators(const config::Settings& settings, int64_t opset);

  OperatorName quantize(const Stage& stage) const;
  /// `zero_at_zero`: every zero point is 0.
  OperatorName dequantize(const Stage& stage, bool zero_at_zero) const;
  /// Both are QuantizeLinear and DequantizeLinear, of whatever domain. REQUIRES: no block stage.
  bool is_standard(const Stage& stage) const;

 private:
  /// Of ai.onnx where it has the type, when legalize.qdq_in_ai_onnx asks, and by quantizer otherwise.
  std::string domain_of(const Stage& stage) const;

  bool by_type_ = false;  ///< the extended quantizer: com.microsoft for what it has, com.amd.quark for the rest
  std::string domain_;    ///< of all others, stored ones aside
  std::string stored_domain_;
  bool prefers_standard_ = false;  ///< legalize.qdq_in_ai_onnx
  bool keeps_valid_ = false;  ///< single 16-bit tensors among others of 8 bits; the reference writes what ONNX refuses
  bool has_16_bits_ = false;  ///< the opset's Q/DQ take 16 bits
};

}  // namespace quarkq::plan
