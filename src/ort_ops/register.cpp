// SPDX-License-Identifier: MIT
// RegisterCustomOps: what ONNX Runtime calls when the library is named in session options. It gets one OrtCustomOp for
// each row of the table and each combination of types; ONNX Runtime picks one by the types of a node's inputs.
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/platform/library.h"
#include "ort_ops/node_kernel.h"
#include "ort_ops/runtime.h"

namespace quarkq::ort_ops {
namespace {

struct CustomOp : OrtCustomOp {
  const OrtApi* api = nullptr;
  const Operator* op = nullptr;
  Variant variant;
  int threads = 1;
};

const CustomOp& own(const OrtCustomOp* op) { return *static_cast<const CustomOp*>(op); }

ONNXTensorElementDataType ort_type(ElementType type) {
  return static_cast<ONNXTensorElementDataType>(type);  // both are ONNX's numbers
}

OrtStatus* ORT_API_CALL create_kernel(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                      void** kernel) {
  return guarded(*api, [&]() -> Status {
    const CustomOp& self = own(op);
    QQ_TRY(std::unique_ptr<NodeKernel> made, NodeKernel::make(*self.api, *self.op, self.variant, self.threads, *info));
    *kernel = made.release();
    return Status();
  });
}

/// Where ONNX Runtime gives no API along: kernels know theirs.
OrtStatus* ORT_API_CALL compute(void* kernel, OrtKernelContext* context) {
  auto* node = static_cast<NodeKernel*>(kernel);
  return guarded(node->api(), [&] { return node->compute(context); });
}

void ORT_API_CALL destroy(void* kernel) { delete static_cast<NodeKernel*>(kernel); }

size_t ORT_API_CALL count_inputs(const OrtCustomOp* op) { return input_count(own(op).op->signature); }

ONNXTensorElementDataType ORT_API_CALL type_of_input(const OrtCustomOp* op, size_t i) {
  return ort_type(input_type(own(op).op->signature, own(op).variant, i));
}

ONNXTensorElementDataType ORT_API_CALL type_of_output(const OrtCustomOp* op, size_t) {
  return ort_type(output_type(own(op).op->signature, own(op).variant));
}

/// Sets the shape of input 0. ONNX Runtime calls the first variant of a name for all of them, so the type is read as
/// well. A shape without dims may be a scalar or unknown: it is left open, because a scalar before a Conv would prevent
/// the model from loading. A shape with a dim that has neither a size nor a name is left open too: ONNX Runtime would
/// interpret it as size -1.
OrtStatus* ORT_API_CALL infer_shape(const OrtCustomOp* op, OrtShapeInferContext* context) {
  const OrtApi& api = *own(op).api;
  return guarded(api, [&]() -> Status {
    OrtTensorTypeAndShapeInfo *shape = nullptr, *typed = nullptr;
    QQ_ORT(api.ShapeInferContext_GetInputTypeShape(context, 0, &shape));
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    if (const auto input = input_with_output_type(own(op).op->signature)) {
      QQ_ORT(api.ShapeInferContext_GetInputTypeShape(context, *input, &typed));
      QQ_ORT(api.GetTensorElementType(typed, &type));
    }
    QQ_TRY(const ir::Shape dims, read_dims(api, *shape));
    if (dims.empty()) return Status();
    QQ_TRY(const std::optional<TypeAndShape> output, with_type(api, *shape, type));
    if (output) QQ_ORT(api.ShapeInferContext_SetOutputTypeShape(context, 0, output->get()));
    return Status();
  });
}

/// Only a zero point of DequantizeLinear may be absent.
OrtCustomOpInputOutputCharacteristic ORT_API_CALL input_character(const OrtCustomOp* op, size_t i) {
  return own(op).op->signature == Signature::kDequantize && i == 2 ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

std::unique_ptr<CustomOp> make_custom_op(const OrtApi& api, const Operator& op, const Variant& variant) {
  auto made = std::make_unique<CustomOp>();
  made->version = kApiVersion;
  made->api = &api;
  made->op = &op;
  made->variant = variant;
  made->CreateKernelV2 = create_kernel;
  made->KernelComputeV2 = compute;
  made->KernelDestroy = destroy;
  made->GetName = [](const OrtCustomOp* self) { return own(self).op->name; };
  made->GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  made->GetInputTypeCount = count_inputs;
  made->GetInputType = type_of_input;
  made->GetInputCharacteristic = input_character;
  made->GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  made->GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  made->GetOutputType = type_of_output;
  made->GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  made->GetStartVersion = [](const OrtCustomOp*) { return 1; };
  made->GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };
  if (keeps_shape(op.signature)) made->InferOutputShapeFn = infer_shape;
  return made;
}

/// The session setting for more threads. One is the default: ONNX Runtime's own threads wait busily between operators,
/// and a second team of threads on their cores makes both slow.
constexpr const char* kThreadsEntry = "quarkq.threads";
constexpr int kMostThreads = 1024;

Result<int> read_threads(const OrtApi& api, const OrtSessionOptions& options) {
  int has_entry = 0;
  QQ_ORT(api.HasSessionConfigEntry(&options, kThreadsEntry, &has_entry));
  if (has_entry == 0) return 1;
  char text[32] = {};
  size_t size = 0;
  QQ_ORT(api.GetSessionConfigEntry(&options, kThreadsEntry, nullptr, &size));
  if (size <= sizeof text) QQ_ORT(api.GetSessionConfigEntry(&options, kThreadsEntry, text, &size));
  int threads = 0;
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, threads);
  if (read.ec == std::errc() && read.ptr == end && threads >= 1 && threads <= kMostThreads) return threads;
  return invalid_argument("session config entry ", kThreadsEntry, ": found '", text, "', allowed is 1 to ",
                          kMostThreads);
}

/// Objects passed to sessions of one copy of ONNX Runtime. They must outlive it, so they exist until the process ends.
struct Registered {
  std::vector<std::unique_ptr<CustomOp>> ops;
  std::map<std::string, OrtCustomOpDomain*> domains;
};

Result<std::unique_ptr<Registered>> make_registered(const OrtApi& api, int threads) {
  auto made = std::make_unique<Registered>();
  for (const Operator& op : operators()) {
    OrtCustomOpDomain*& domain = made->domains[op.domain];
    if (domain == nullptr) QQ_ORT(api.CreateCustomOpDomain(op.domain, &domain));
    for (const Variant& variant : variants(op.signature)) {
      made->ops.push_back(make_custom_op(api, op, variant));
      made->ops.back()->threads = threads;
      QQ_ORT(api.CustomOpDomain_Add(domain, made->ops.back().get()));
    }
  }
  return made;
}

/// A process may hold several copies of ONNX Runtime, each with an API and objects of its own.
Status add_operators(const OrtApi& api, OrtSessionOptions* options) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::pair<const OrtApi*, int>, std::unique_ptr<Registered>>;
  QQ_TRY(const int threads, read_threads(api, *options));
  const std::lock_guard lock(mutex);
  std::unique_ptr<Registered>& registered = (*known)[{&api, threads}];
  if (registered == nullptr) {
    QQ_TRY(registered, make_registered(api, threads));
  }
  for (const auto& [name, domain] : registered->domains) QQ_ORT(api.AddCustomOpDomain(options, domain));
  return Status();
}

}  // namespace
}  // namespace quarkq::ort_ops

extern "C" __attribute__((visibility("default"))) OrtStatus* ORT_API_CALL RegisterCustomOps(OrtSessionOptions* options,
                                                                                            const OrtApiBase* base);

OrtStatus* ORT_API_CALL RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  quarkq::platform::stay_loaded();  // the session unloads the library, but sleeping threads of OpenMP need its code
  using namespace quarkq::ort_ops;
  const OrtApi* api = base->GetApi(kApiVersion);
  if (api == nullptr) {
    const std::string message =
        quarkq::cat("quarkq operators: ONNX Runtime is ", base->GetVersionString(), ", needed is 1.17 or newer");
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, message.c_str());  // every version has that one
  }
  return guarded(*api, [&] { return add_operators(*api, options); });
}
