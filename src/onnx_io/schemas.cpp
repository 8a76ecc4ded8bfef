// SPDX-License-Identifier: MIT
// One row per operator: which domains it lives in and how its output type follows. Attributes are not checked here; the
// executor's own rows do that.
#include "onnx_io/schemas.h"

#include <mutex>

#include "ir/domains.h"
#include "onnx_io/onnx_headers.h"

namespace quarkq::onnx_io {
namespace {

constexpr int kOptional = 1 << 8;  ///< added to a number of inputs: all but the first two may be absent

/// Where the output's element type comes from.
enum class TypeFrom { kInput0, kScale, kZeroPoint };

struct SchemaRow {
  const char* domain;
  const char* op;
  int inputs;
  TypeFrom type;
};

constexpr SchemaRow kRows[] = {
    {ir::kMicrosoftDomain, "QuantizeLinear", 3 | kOptional, TypeFrom::kZeroPoint},
    {ir::kMicrosoftDomain, "DequantizeLinear", 3 | kOptional, TypeFrom::kScale},
    {ir::kQuarkDomain, "ExtendedQuantizeLinear", 3 | kOptional, TypeFrom::kZeroPoint},
    {ir::kQuarkDomain, "ExtendedDequantizeLinear", 3 | kOptional, TypeFrom::kScale},
    {ir::kQuarkDomain, "ExtendedInstanceNormalization", 3, TypeFrom::kInput0},
    {ir::kQuarkDomain, "BFPQuantizeDequantize", 1, TypeFrom::kInput0},
    {ir::kQuarkDomain, "MXQuantizeDequantize", 1, TypeFrom::kInput0},
    {ir::kVitisDomain, "VitisQuantizeLinear", 3 | kOptional, TypeFrom::kZeroPoint},
    {ir::kVitisDomain, "VitisDequantizeLinear", 3 | kOptional, TypeFrom::kScale},
    {ir::kVitisDomain, "VitisInstanceNormalization", 3, TypeFrom::kInput0},
    {ir::kVitisDomain, "BFPFixNeuron", 1, TypeFrom::kInput0},
    {ir::kVitisDomain, "MXFixNeuron", 1, TypeFrom::kInput0},
};

void infer_type(onnx::InferenceContext& context, TypeFrom from) {
  const bool has_zero_point = context.getNumInputs() > 2 && context.getInputType(2) != nullptr;
  if (from == TypeFrom::kInput0) {
    onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  } else if (from == TypeFrom::kScale) {
    onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
  } else if (has_zero_point) {
    onnx::propagateElemTypeFromInputToOutput(context, 2, 0);
  } else {
    onnx::updateOutputElemType(context, 0, onnx::TensorProto::UINT8);  // as for ai.onnx QuantizeLinear
  }
  if (onnx::hasInputShape(context, 0)) onnx::propagateShapeFromInputToOutput(context, 0, 0);
}

void register_row(const SchemaRow& row) {
  onnx::OpSchema schema(row.op, __FILE__, __LINE__);
  schema.SetDomain(row.domain).SinceVersion(1).AllowUncheckedAttributes();
  const int count = row.inputs & ~kOptional;
  for (int i = 0; i < count; ++i) {
    const bool optional = (row.inputs & kOptional) != 0 && i >= 2;
    const std::string number = std::to_string(i);
    schema.Input(i, "input" + number, "", "T" + number, optional ? onnx::OpSchema::Optional : onnx::OpSchema::Single);
    schema.TypeConstraint("T" + number, onnx::OpSchema::all_tensor_types_ir10(), "");
  }
  schema.Output(0, "output", "", "Y");
  schema.TypeConstraint("Y", onnx::OpSchema::all_tensor_types_ir10(), "");
  const TypeFrom type = row.type;
  schema.TypeAndShapeInferenceFunction([type](onnx::InferenceContext& context) { infer_type(context, type); });
  onnx::RegisterSchema(std::move(schema));
}

}  // namespace

void register_custom_schemas() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
    for (const char* domain : {ir::kMicrosoftDomain, ir::kQuarkDomain, ir::kVitisDomain}) {
      if (!domains.Map().contains(domain)) domains.AddDomainToVersion(domain, 1, 1);
    }
    for (const SchemaRow& row : kRows) register_row(row);
  });
}

}  // namespace quarkq::onnx_io
