// SPDX-License-Identifier: MIT
// Q/DQ nodes exist from opset 10 on, per-channel ones and Casts to bfloat16 from 13 on, 4-bit ones from 21 on. The
// reference writes them into
// older models, which then do not load: standard ones at once, com.microsoft ones when ONNX Runtime fuses them into
// operators of opset 10.
#include <algorithm>

#include "config/convert.h"
#include "onnx_io/opset_convert.h"
#include "passes/passes.h"
#include "plan/flavors.h"

namespace quarkq::passes {
namespace {

constexpr int64_t kOpsetWith4Bits = 21;
constexpr int64_t kIrWith4Bits = 10;

/// What does not read as a type is refused where overrides are read.
bool names_4_bits(const config::Node& type) {
  const auto read = config::read<config::DataType>(type, "");
  return read.ok() && bits(plan::element_type(read.value())) == 4;
}

bool stores_4_bits(const config::Settings& settings) {
  if (bits(plan::element_type(settings.weight_type)) == 4) return true;
  for (const config::Node::Entry& entry : settings.mixed_precision_tensor.node.entries()) {
    if (names_4_bits(config::Node(entry.key))) return true;
  }
  for (const config::Node::Entry& entry : settings.tensor_quant_overrides.node.entries()) {
    for (const config::Node& item : entry.value.items()) {
      const config::Node* type = item.find("quant_type");
      if (type != nullptr && names_4_bits(*type)) return true;
    }
  }
  return false;
}

int64_t needed_opset(const config::Settings& settings) {
  if (settings.inserts_qdq() && stores_4_bits(settings)) return kOpsetWith4Bits;
  return settings.per_channel || settings.bf16_qdq_to_cast ? 13 : 10;
}

}  // namespace

Result<Changed> raise_opset(PassContext& context) {
  const int64_t found = context.model.opset();
  const int64_t needed = needed_opset(context.settings);
  if (needed == kOpsetWith4Bits) context.model.ir_version = std::max(context.model.ir_version, kIrWith4Bits);
  if (found >= needed) return Changed::kNo;
  QQ_TRY(ir::Model raised,
         onnx_io::convert_opset(context.model, needed).context(cat("raising the opset from ", found)));
  raised.path = context.model.path;
  context.model = std::move(raised);
  context.diagnostics.notice("opset-raised", "",
                             cat("opset ", found, " has no Q/DQ operators as needed, raised to ", needed));
  return Changed::kYes;
}

}  // namespace quarkq::passes
