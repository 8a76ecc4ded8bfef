// SPDX-License-Identifier: MIT
// Q/DQ nodes exist from opset 10 on, per-channel ones and Casts to bfloat16 from 13 on, 4-bit ones from 21 on. The
// reference writes them into older models, which then do not load: standard ones at once, com.microsoft ones when ONNX
// Runtime fuses them into operators of opset 10.
#include <algorithm>

#include "config/convert.h"
#include "config/four_bits.h"
#include "onnx_io/opset_convert.h"
#include "plan/flavors.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kIrWith4Bits = 10;

bool has_4_bits(config::DataType type) { return bits(plan::element_type(type)) == 4; }

/// What does not read as a type is refused where overrides are read.
bool names_4_bits(const config::Node& type) {
  const auto read = config::read<config::DataType>(type, "");
  return read.ok() && has_4_bits(read.value());
}

/// Single tensors, from the sources that find_overrides reads. Names that the model lacks store nothing.
class OwnTypes {
 public:
  explicit OwnTypes(const pass::FloatContext& context) : context_(context), settings_(context.settings) {}

  bool store_4_bits() const { return in_mixed_precision() || in_layers() || in_tensors(); }

 private:
  bool exists(const std::string& name) const { return context_.model.graph.find(name).valid(); }

  bool in_mixed_precision() const {
    if (!settings_.specific_tensor_precision) return false;
    const auto& entries = settings_.mixed_precision_tensor.node.entries();
    return std::ranges::any_of(entries, [&](const config::Node::Entry& entry) {
      const auto names = config::read<std::vector<std::string>>(entry.value, "");
      return names_4_bits(config::Node(entry.key)) && names.ok() &&
             std::ranges::any_of(names.value(), [&](const std::string& name) { return exists(name); });
    });
  }

  bool in_layers() const {
    return std::ranges::any_of(context_.selection.layers, [](const plan::LayerChoice& layer) {
      const auto stores = [](const std::optional<config::TensorSpec>& spec) { return spec && has_4_bits(spec->type); };
      return !layer.nodes.empty() && (stores(layer.spec.weight) || stores(layer.spec.bias));
    });
  }

  bool in_tensors() const {
    const auto& entries = settings_.tensor_quant_overrides.node.entries();
    return std::ranges::any_of(entries, [&](const config::Node::Entry& entry) {
      return exists(entry.key) && std::ranges::any_of(entry.value.items(), [](const config::Node& item) {
               const config::Node* type = item.find("quant_type");
               return type != nullptr && names_4_bits(*type);
             });
    });
  }

  const pass::FloatContext& context_;
  const config::Settings& settings_;
};

int64_t needed_opset(const pass::FloatContext& context) {
  const config::Settings& settings = context.settings;
  if (settings.inserts_qdq() && (has_4_bits(settings.weight_type) || OwnTypes(context).store_4_bits()))
    return config::kOpsetWith4Bits;
  return settings.per_channel || settings.bf16_qdq_to_cast ? 13 : 10;
}

}  // namespace

Result<Changed> raise_opset(pass::FloatContext& context) {
  const int64_t found = context.model.opset();
  const int64_t needed = needed_opset(context);
  const bool is_for_4_bits = needed == config::kOpsetWith4Bits;
  if (is_for_4_bits) context.model.ir_version = std::max(context.model.ir_version, kIrWith4Bits);
  if (found >= needed) return Changed::kNo;
  QQ_TRY(ir::Model raised,
         onnx_io::convert_opset(context.model, needed).context(cat("raising the opset from ", found)));
  raised.path = context.model.path;
  context.model = std::move(raised);
  const std::string why = is_for_4_bits ? cat("4-bit weights need opset ", needed, ", raised from ", found)
                                        : cat("opset ", found, " has no Q/DQ operators as needed, raised to ", needed);
  context.diagnostics.notice("opset-raised", "", why);
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
