// SPDX-License-Identifier: MIT
#include "ort_ops/node_kernel.h"

#include <omp.h>
#include <algorithm>
#include <cstring>

#include "exec/environment.h"
#include "exec/kernels/quantized/quant_dequant.h"
#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/recurrent/recurrent.h"
#include "ir/quantizing_ops.h"
#include "numeric/block_formats.h"
#include "ort_ops/runtime.h"

namespace quarkq::ort_ops {

namespace {

constexpr AttributeKind kInt = AttributeKind::kInt, kFloat = AttributeKind::kFloat, kString = AttributeKind::kString;

// Unsupported attributes are listed if the executor rejects them by name, because silently using a default would be
// worse.
constexpr AttributeRow kQuantizeAttributes[] = {
    {"axis", kInt}, {"block_size", kInt}, {"output_dtype", kInt}, {"precision", kInt}};
constexpr AttributeRow kBfpAttributes[] = {{"bfp_method", kString},
                                           {"axis", kInt},
                                           {"bit_width", kInt},
                                           {"block_size", kInt},
                                           {"rounding_mode", kInt},
                                           {"sub_block_size", kInt},
                                           {"sub_block_shift_bits", kInt},
                                           {"convert_to_bfloat_before_bfp", kInt},
                                           {"use_compiler_version_cpu_kernel", kInt}};
constexpr AttributeRow kMxAttributes[] = {{"element_dtype", kString},
                                          {"axis", kInt},
                                          {"block_size", kInt},
                                          {"rounding_mode", kInt},
                                          {numeric::kRoundScaleUp, kInt}};
constexpr AttributeRow kNormAttributes[] = {{"epsilon", kFloat}};
constexpr AttributeRow kLstmAttributes[] = {{"hidden_size", kInt},  {"layout", kInt},       {"input_forget", kInt},
                                            {"x_scale", kFloat},    {"x_zero_point", kInt}, {"w_scale", kFloat},
                                            {"w_zero_point", kInt}, {"r_scale", kFloat},    {"r_zero_point", kInt},
                                            {"b_scale", kFloat},    {"b_zero_point", kInt}, {"y_scale", kFloat},
                                            {"y_zero_point", kInt}};

constexpr Operator kOperators[] = {
    {ir::kQuarkDomain, "BFPQuantizeDequantize", Signature::kConvert, kBfpAttributes, exec::prepare_bfp},
    {ir::kQuarkDomain, "ExtendedDequantizeLinear", Signature::kDequantize, kQuantizeAttributes,
     exec::prepare_dequantize},
    {ir::kQuarkDomain, "ExtendedInstanceNormalization", Signature::kNormalize, kNormAttributes,
     exec::prepare_extended_instance_norm},
    {ir::kQuarkDomain, "ExtendedLSTM", Signature::kLstm, kLstmAttributes, exec::prepare_extended_lstm},
    {ir::kQuarkDomain, "ExtendedQuantizeLinear", Signature::kQuantize, kQuantizeAttributes, exec::prepare_quantize},
    {ir::kQuarkDomain, "MXQuantizeDequantize", Signature::kConvert, kMxAttributes, exec::prepare_mx},
    {ir::kVitisDomain, "BFPFixNeuron", Signature::kConvert, kBfpAttributes, exec::prepare_bfp},
    {ir::kVitisDomain, "MXFixNeuron", Signature::kConvert, kMxAttributes, exec::prepare_mx},
    {ir::kVitisDomain, "VitisDequantizeLinear", Signature::kDequantize, kQuantizeAttributes, exec::prepare_dequantize},
    {ir::kVitisDomain, "VitisInstanceNormalization", Signature::kNormalize, kNormAttributes,
     exec::prepare_extended_instance_norm},
    {ir::kVitisDomain, "VitisQuantizeLinear", Signature::kQuantize, kQuantizeAttributes, exec::prepare_quantize},
};

constexpr ir::QuantizingPart part_of(Signature signature) {
  if (signature == Signature::kQuantize) return ir::QuantizingPart::kQuantize;
  if (signature == Signature::kDequantize) return ir::QuantizingPart::kDequantize;
  return signature == Signature::kConvert ? ir::QuantizingPart::kBoth : ir::QuantizingPart::kNone;
}
static_assert(std::ranges::all_of(kOperators,
                                  [](const Operator& op) {
                                    return ir::quantizing_part(op.name) == part_of(op.signature);
                                  }),
              "an operator is missing in ir/quantizing_ops.h");

constexpr ElementType kReals[] = {ElementType::kFloat, ElementType::kFloat16};
constexpr ElementType kCodes[] = {ElementType::kInt8,    ElementType::kUInt8,   ElementType::kInt16,
                                  ElementType::kUInt16,  ElementType::kInt32,   ElementType::kUInt32,
                                  ElementType::kFloat16, ElementType::kBFloat16};

struct SignatureRow {
  size_t inputs;
  bool has_codes, has_reals, keeps_shape;
};
constexpr SignatureRow kSignatures[] = {
    {3, true, true, true},     // kQuantize
    {3, true, true, true},     // kDequantize
    {1, false, true, true},    // kConvert
    {3, false, false, true},   // kNormalize
    {4, false, false, false},  // kLstm
};

const SignatureRow& row(Signature signature) { return kSignatures[static_cast<size_t>(signature)]; }

}  // namespace

std::span<const Operator> operators() { return kOperators; }

std::vector<Variant> variants(Signature signature) {
  std::vector<Variant> all;
  for (const ElementType real : kReals) {
    if (real != ElementType::kFloat && !row(signature).has_reals) continue;
    if (!row(signature).has_codes) all.push_back({real, real});
    for (const ElementType code : kCodes) {
      if (row(signature).has_codes) all.push_back({real, code});
    }
  }
  return all;
}

size_t input_count(Signature signature) { return row(signature).inputs; }

ElementType input_type(Signature signature, const Variant& variant, size_t input) {
  if (signature == Signature::kQuantize) return input == 2 ? variant.code : variant.real;
  if (signature == Signature::kDequantize) return input == 1 ? variant.real : variant.code;
  return variant.real;
}

std::optional<size_t> input_with_output_type(Signature signature) {
  if (signature == Signature::kDequantize) return std::nullopt;
  return signature == Signature::kQuantize ? 2 : 0;
}

ElementType output_type(Signature signature, const Variant& variant) {
  const auto input = input_with_output_type(signature);
  return input ? input_type(signature, variant, *input) : ElementType::kFloat;
}

bool keeps_shape(Signature signature) { return row(signature).keeps_shape; }

namespace {

constexpr size_t kMaxPrepared = 8;  ///< sets of input shapes that are kept; preparing one again is cheap

/// A text that a call writes: once for its size, once for itself. Empty when the call fails.
template <typename Call>
std::optional<std::string> read_text(const OrtApi& api, const Call& call) {
  size_t size = 0;
  if (!from_ort(api, call(nullptr, &size)).ok()) return std::nullopt;
  std::string text(size, '\0');
  if (!from_ort(api, call(text.data(), &size)).ok()) return std::nullopt;
  text.resize(size == 0 ? 0 : size - 1);  // the size counts the final zero
  return text;
}

/// The attribute, when the node has it in this kind.
std::optional<ir::AttributeValue> read_attribute(const OrtApi& api, const OrtKernelInfo& info,
                                                 const AttributeRow& row) {
  if (row.kind == AttributeKind::kInt) {
    int64_t value = 0;
    if (from_ort(api, api.KernelInfoGetAttribute_int64(&info, row.name, &value)).ok()) return value;
  } else if (row.kind == AttributeKind::kFloat) {
    float value = 0;
    if (from_ort(api, api.KernelInfoGetAttribute_float(&info, row.name, &value)).ok()) return value;
  } else {
    return read_text(
        api, [&](char* text, size_t* size) { return api.KernelInfoGetAttribute_string(&info, row.name, text, size); });
  }
  return std::nullopt;
}

/// OpenMP's threads for one call; the process around it may use OpenMP, too.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) { omp_set_num_threads(threads); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_ = omp_get_max_threads();
};

}  // namespace

Result<std::unique_ptr<NodeKernel>> NodeKernel::make(const OrtApi& api, const Operator& op, const Variant& variant,
                                                     int threads, const OrtKernelInfo& info) {
  std::unique_ptr<NodeKernel> kernel(new NodeKernel(api, op, variant, threads));
  QQ_RETURN_IF_ERROR(kernel->read_node(info));
  QQ_RETURN_IF_ERROR(kernel->prepare_known_shapes(info));
  return kernel;
}

Status NodeKernel::read_node(const OrtKernelInfo& info) {
  const OrtApi& api = api_;
  node_.op = op_.name;
  node_.domain = op_.domain;
  node_.name = read_text(api, [&](char* text, size_t* size) {
                 return api.KernelInfo_GetNodeName(&info, text, size);
               }).value_or("");
  const auto output =
      read_text(api, [&](char* text, size_t* size) { return api.KernelInfo_GetOutputName(&info, 0, text, size); });
  label_ = node_.label(output.value_or(""));
  for (const AttributeRow& row : op_.attributes) {
    if (auto value = read_attribute(api, info, row)) node_.set(row.name, std::move(*value));
  }
  size_t inputs = 0;
  QQ_ORT(api.KernelInfo_GetInputCount(&info, &inputs));
  inputs = std::min(inputs, input_count(op_.signature));
  for (size_t i = 0; i < inputs; ++i) node_.inputs.push_back({static_cast<int32_t>(i)});
  node_.outputs.push_back({static_cast<int32_t>(inputs)});
  return Status();
}

Status NodeKernel::prepare_known_shapes(const OrtKernelInfo& info) {
  Shapes shapes;
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    Result<std::optional<ir::Shape>> shape = stated_shape(api_, info, i);
    if (!shape.ok() || !shape.value()) return Status();  // an absent input, or a shape that a run decides
    shapes.push_back(std::move(shape).value());
  }
  return prepared_for(shapes).status();
}

Result<std::shared_ptr<const NodeKernel::Prepared>> NodeKernel::prepare(const Shapes& shapes) const {
  std::vector<exec::Spec> specs(shapes.size());
  std::vector<bool> present(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i]) continue;
    present[i] = true;
    specs[i].type = input_type(op_.signature, variant_, i);
    specs[i].dims = *shapes[i];
  }
  exec::Prepare prepare(node_, label_, /*opset=*/1, std::move(specs), std::move(present));
  auto made = std::make_shared<Prepared>();
  made->shapes = shapes;
  QQ_TRY(made->kernel, op_.prepare(prepare));
  QQ_RETURN_IF_ERROR(exec::check_memory(prepare, exec::allowed_memory(0)));
  const exec::Prepare::Output& output = prepare.output(0);
  if (output.spec.type != output_type(op_.signature, variant_)) {
    return unsupported(label_, ": makes ", name(output.spec.type),
                       ", allowed in ONNX Runtime: ", name(output_type(op_.signature, variant_)),
                       " (remove output_dtype)");
  }
  made->output = output.spec.dims;
  made->scratch_bytes = prepare.scratch_bytes();
  made->copies_input = output.alias_of == 0;
  return std::shared_ptr<const Prepared>(std::move(made));
}

Result<std::shared_ptr<const NodeKernel::Prepared>> NodeKernel::prepared_for(const Shapes& shapes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(prepared_.begin(), prepared_.end(),
                                  [&](const auto& prepared) { return prepared->shapes == shapes; });
  if (found != prepared_.end()) return *found;
  QQ_TRY(std::shared_ptr<const Prepared> made, prepare(shapes));
  if (prepared_.size() == kMaxPrepared) prepared_.pop_back();
  prepared_.insert(prepared_.begin(), made);
  return made;
}

Result<NodeKernel::Inputs> NodeKernel::read_inputs(OrtKernelContext* context) const {
  const OrtApi& api = api_;
  Inputs inputs{Shapes(node_.inputs.size()), std::vector<const std::byte*>(node_.inputs.size())};
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    const OrtValue* value = nullptr;
    QQ_ORT(api.KernelContext_GetInput(context, i, &value));
    if (value == nullptr) continue;
    QQ_TRY(inputs.shapes[i], read_dims(api, *value));
    QQ_TRY(inputs.data[i], tensor_data(api, value));
  }
  return inputs;
}

Status NodeKernel::compute(OrtKernelContext* context) {
  const OrtApi& api = api_;
  QQ_TRY(const Inputs inputs, read_inputs(context));
  QQ_TRY(const std::shared_ptr<const Prepared> prepared, prepared_for(inputs.shapes));
  OrtValue* value = nullptr;
  QQ_ORT(api.KernelContext_GetOutput(context, 0, prepared->output.data(), prepared->output.size(), &value));
  QQ_TRY(std::byte* const output, tensor_data(api, value));
  const int64_t count = ir::checked_count(prepared->output);
  if (count == 0) return Status();
  if (prepared->copies_input) {
    std::memcpy(output, inputs.data[0], static_cast<size_t>(storage_bytes(variant_.real, count)));
    return Status();
  }
  QQ_TRY(const Scratch scratch, Scratch::of(api, context, prepared->scratch_bytes));
  std::byte* const outputs[] = {output};
  const ThreadCount threads(threads_);
  // Kernels keep what a call changes in its scratch memory, so that sessions may run several at once.
  return prepared->kernel({inputs.data, outputs, scratch.data()}).context(label_);
}

}  // namespace quarkq::ort_ops
