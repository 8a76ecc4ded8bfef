// SPDX-License-Identifier: MIT
#include <algorithm>

#include "config/format_settings.h"
#include "config/low_bit_weights.h"
#include "onnx_io/infer.h"
#include "pass/output_guard.h"
#include "plan/runtime_kernels.h"
#include "plan/stage.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

/// A conversion that only the target of the preset requests fails silently.
Result<Changed> convert(pass::FloatContext& context, int64_t wanted, const char* setting) {
  const int64_t found = context.model.opset();
  if (wanted == found) return Changed::kNo;
  Result<ir::Model> converted = pass::convert_opset(context.model, context.environment, wanted);
  if (!converted.ok()) {
    if (context.settings.is_of_default_target(setting)) return Changed::kNo;
    context.diagnostics.add("opset-not-converted", setting,
                            cat(converted.status().message(), "; the model stays at opset ", found));
    return Changed::kNo;
  }
  // Node ids are new ones, but every node carries the loaded nodes it stands for, which the selection uses.
  context.model = std::move(converted).value();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  context.diagnostics.add("opset-converted", "", cat("opset ", found, " becomes ", wanted));
  return Changed::kYes;
}

}  // namespace

Result<Changed> convert_opset_version(pass::FloatContext& context) {
  const std::optional<int64_t> wanted = context.settings.preprocessing.convert_opset_version;
  return wanted ? convert(context, *wanted, "ConvertOpsetVersion") : Changed::kNo;
}

/// ConvertOpsetVersion is the user's own word, so nothing is converted after it.
Result<Changed> legalize_opset(pass::FloatContext& context) {
  const config::LegalizeBlock& legalize = context.settings.legalize;
  if (context.settings.preprocessing.convert_opset_version) return Changed::kNo;
  if (legalize.opset) return convert(context, *legalize.opset, "legalize.opset");
  if (!legalize.most_opset || context.model.opset() <= *legalize.most_opset) return Changed::kNo;
  return convert(context, *legalize.most_opset, "legalize.most_opset");
}

// Q/DQ nodes exist from opset 10 on, per-channel ones and Casts to bfloat16 from 13 on, float16 ones from 19 on, 4-bit
// ones from 21 on. The reference writes them into older models, which then do not load: standard ones at once,
// com.microsoft ones when ONNX Runtime fuses them into operators of opset 10. Operators on integers need opset 12.

namespace {

constexpr int64_t kIrWith4Bits = 10, kOpsetWithPairs = 10, kOpsetWithFloat16 = 19;
/// Clip and MaxPool take 8-bit integers from here on.
constexpr int64_t kOpsetWithBytes = 12;

bool has_4_bits(config::DataType type) { return bits(plan::element_type(type)) == 4; }

/// Single tensors, from the sources that find_overrides reads. Names that the model lacks store nothing.
class OwnTypes {
 public:
  explicit OwnTypes(const pass::FloatContext& context) : context_(context) {}

  bool store_4_bits() const { return in_layers() || in_tensors(); }

 private:
  bool in_layers() const {
    return std::ranges::any_of(context_.selection.layers, [](const plan::LayerChoice& layer) {
      const auto stores = [](const std::optional<config::TensorSpec>& spec) { return spec && has_4_bits(spec->type); };
      return !layer.nodes.empty() && (stores(layer.spec.weight) || stores(layer.spec.bias));
    });
  }

  bool in_tensors() const {
    return std::ranges::any_of(config::types_of_tensors(context_.settings), [&](const config::TensorType& own) {
      return has_4_bits(own.type) && context_.model.graph.find(own.tensor).valid();
    });
  }

  const pass::FloatContext& context_;
};

/// Q and DQ of ai.onnx between float16 tensors.
bool writes_float16_pairs(const pass::FloatContext& context) {
  const config::Settings& settings = context.settings;
  const bool is_kept = settings.inserts_qdq() && !settings.formats.use_fp32_scale &&
                       !settings.formats.use_qdq_contrib_ops &&
                       settings.traits().domains != config::DomainPolicy::kContrib;
  const ir::Graph& graph = context.graph();
  for (size_t i = 0; is_kept && i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (graph.is_alive(id) && graph.value(id).type.element == ElementType::kFloat16) return true;
  }
  return false;
}

/// The opset that the operators around which Q/DQ nodes are written need.
int64_t opset_with_kernels(const pass::FloatContext& context) {
  int64_t needed = kOpsetWithPairs;
  if (!context.settings.fits_runtime()) return needed;
  for (const ir::NodeId id : context.graph().order())
    needed = std::max(needed, plan::byte_kernel_since(context.graph().node(id)));
  return needed;
}

/// Matrices of DequantizeLinear with blocks.
bool writes_blocks(const config::Settings& settings) {
  return settings.packs_matrices() && settings.tool.nbits_form.value_or("") == "qdq";
}

int64_t needed_opset(const pass::FloatContext& context) {
  const config::Settings& settings = context.settings;
  if (writes_blocks(settings)) return config::kOpsetWith4Bits;
  if (settings.inserts_qdq() && (has_4_bits(settings.formats.weight_type) || OwnTypes(context).store_4_bits()))
    return config::kOpsetWith4Bits;
  if (writes_float16_pairs(context)) return kOpsetWithFloat16;
  // The pass standard-mx converts the quantized model to opset 28, which is safe from 13 on.
  if (settings.formats.per_channel || settings.blocks.bf16_qdq_to_cast || settings.writes_standard_mx()) return 13;
  return std::max(opset_with_kernels(context), settings.writes_integer_operators() ? kOpsetWithBytes : kOpsetWithPairs);
}

}  // namespace

namespace {

/// Newest opset whose QuantizeLinear and DequantizeLinear ONNX Runtime (1.32) computes.
constexpr int64_t kNewestOpsetWithPairs = 27;

/// Converts a model of a newer opset, so that ONNX Runtime runs the result. A model whose operators need that opset is
/// left as it is.
Result<Changed> lower_opset(pass::FloatContext& context) {
  const int64_t found = context.model.opset();
  Result<ir::Model> lowered = pass::convert_opset(context.model, context.environment, kNewestOpsetWithPairs);
  if (!lowered.ok()) {
    context.diagnostics.add(
        "opset-not-converted", "",
        cat("ONNX Runtime 1.32 has no Q/DQ operators of opset ", found, ", and the model cannot be ", "converted to ",
            kNewestOpsetWithPairs, ": ", lowered.status().message()));
    return Changed::kNo;
  }
  lowered.value().path = context.model.path;
  context.model = std::move(lowered).value();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  context.diagnostics.add("opset-converted", "",
                          cat("opset ", found, " becomes ", kNewestOpsetWithPairs,
                              ": ONNX Runtime 1.32 has no Q/DQ operators of opset ", found));
  return Changed::kYes;
}

/// Whether ONNX Runtime has to know the Q/DQ operators that are written.
bool needs_known_pairs(const config::Settings& settings) {
  const auto is_newer = [](const std::optional<int64_t>& opset) { return opset && *opset > kNewestOpsetWithPairs; };
  const bool is_asked_for = is_newer(settings.preprocessing.convert_opset_version) || is_newer(settings.legalize.opset);
  return !is_asked_for && !settings.writes_standard_mx() && settings.quirk(config::Quirk::kFitOnnxRuntime) &&
         (settings.inserts_qdq() || settings.writes_integer_operators());
}

}  // namespace

Result<Changed> raise_opset(pass::FloatContext& context) {
  const int64_t found = context.model.opset();
  if (found > kNewestOpsetWithPairs && needs_known_pairs(context.settings)) return lower_opset(context);
  const int64_t needed = needed_opset(context);
  const bool is_for_4_bits = needed == config::kOpsetWith4Bits;
  if (is_for_4_bits) context.model.ir_version = std::max(context.model.ir_version, kIrWith4Bits);
  if (found >= needed) return Changed::kNo;
  QQ_TRY(
      ir::Model raised,
      pass::convert_opset(context.model, context.environment, needed).context(cat("raising the opset from ", found)));
  raised.path = context.model.path;
  context.model = std::move(raised);
  const std::string why = writes_blocks(context.settings) ? cat("weights in blocks (quarkq.nbits_form qdq) need opset ",
                                                                needed, ", raised from ", found)
                          : is_for_4_bits ? cat("4-bit weights need opset ", needed, ", raised from ", found)
                          : needed > kOpsetWithPairs && needed == opset_with_kernels(context)
                              ? cat("opset ", found, " lacks operators on 8-bit integers, raised to ", needed)
                              : cat("opset ", found, " lacks the Q/DQ operators needed, raised to ", needed);
  context.diagnostics.add("opset-raised", "", why);
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
