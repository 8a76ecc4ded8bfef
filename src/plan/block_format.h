// SPDX-License-Identifier: MIT
// Block formats (BFP, MX): one node does what Q and DQ do, and its attributes say how (ref:writing#block-axes).
#pragma once

#include <string>
#include <vector>

#include "config/block_attributes.h"
#include "ir/attribute.h"

namespace quarkq::plan {

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

}  // namespace quarkq::plan
