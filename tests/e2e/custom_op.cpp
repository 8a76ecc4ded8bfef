// SPDX-License-Identifier: MIT
// A library of custom operators for ONNX Runtime, as a user has one: test.ops::ScaledTanh, y = scale * tanh(x), with
// the attribute scale. Only the C header is needed: g++ -shared -fPIC -I FOLDER custom_op.cpp -o libcustom.so
#include <onnxruntime_c_api.h>

#include <cmath>
#include <vector>

namespace {

const OrtApi* api = nullptr;

struct Kernel {
  float scale = 1;
};

OrtStatusPtr ORT_API_CALL create(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
  auto made = new Kernel;
  if (OrtStatus* status = api->KernelInfoGetAttribute_float(info, "scale", &made->scale)) api->ReleaseStatus(status);
  *kernel = made;
  return nullptr;
}

OrtStatusPtr ORT_API_CALL compute(void* kernel, OrtKernelContext* context) {
  const OrtValue* input = nullptr;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t rank = 0, count = 0;
  if (OrtStatus* status = api->KernelContext_GetInput(context, 0, &input)) return status;
  if (OrtStatus* status = api->GetTensorTypeAndShape(input, &info)) return status;
  OrtStatus* status = api->GetDimensionsCount(info, &rank);
  std::vector<int64_t> dims(rank);
  if (status == nullptr) status = api->GetDimensions(info, dims.data(), rank);
  if (status == nullptr) status = api->GetTensorShapeElementCount(info, &count);
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (status != nullptr) return status;
  OrtValue* output = nullptr;
  if ((status = api->KernelContext_GetOutput(context, 0, dims.data(), rank, &output)) != nullptr) return status;
  void *from = nullptr, *to = nullptr;
  if ((status = api->GetTensorMutableData(const_cast<OrtValue*>(input), &from)) != nullptr) return status;
  if ((status = api->GetTensorMutableData(output, &to)) != nullptr) return status;
  const float scale = static_cast<Kernel*>(kernel)->scale;
  for (size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = scale * std::tanh(static_cast<float*>(from)[i]);
  return nullptr;
}

OrtCustomOp scaled_tanh() {
  OrtCustomOp op{};
  op.version = 17;
  op.GetName = [](const OrtCustomOp*) { return "ScaledTanh"; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputTypeCount = op.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  op.GetInputType = op.GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetInputCharacteristic =
      op.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  op.GetVariadicInputMinArity = op.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 0; };
  op.GetVariadicInputHomogeneity = op.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 0; };
  op.CreateKernelV2 = create;
  op.KernelComputeV2 = compute;
  op.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  op.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  op.GetEndVersion = [](const OrtCustomOp*) { return 1000; };
  return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* ORT_API_CALL RegisterCustomOps(OrtSessionOptions* options,
                                                                                            const OrtApiBase* base) {
  static const OrtCustomOp op = scaled_tanh();
  api = base->GetApi(17);
  static OrtCustomOpDomain* domain = nullptr;
  if (domain == nullptr) {
    if (OrtStatus* status = api->CreateCustomOpDomain("test.ops", &domain)) return status;
    if (OrtStatus* status = api->CustomOpDomain_Add(domain, &op)) return status;
  }
  return api->AddCustomOpDomain(options, domain);
}
