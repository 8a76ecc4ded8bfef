// SPDX-License-Identifier: MIT
#include "onnx_io/infer.h"
#include "pass/convert_opset.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

Result<Changed> convert(pass::FloatContext& context, int64_t wanted, const char* setting) {
  const int64_t found = context.model.opset();
  if (wanted == found) return Changed::kNo;
  Result<ir::Model> converted = pass::convert_opset(context.model, wanted);
  if (!converted.ok()) {
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

}  // namespace quarkq::rewrite
