// SPDX-License-Identifier: MIT
#include "ort_runtime/open_backend.h"

#include "ort_runtime/missing_header.h"

#if __has_include(<onnxruntime_c_api.h>)

#include <algorithm>

#include "ort_runtime/api.h"

namespace quarkq::ort_runtime {
namespace {

constexpr std::string_view kSuffix = "ExecutionProvider";

/// Returns the names for ort:NAME, which are ONNX Runtime's names without the common suffix: "CUDA" for
/// "CUDAExecutionProvider".
Result<std::vector<std::string>> available_providers(const OrtApi& api) {
  char** names = nullptr;
  int count = 0;
  QQ_ORT_CALL(api, GetAvailableProviders(&names, &count));
  std::vector<std::string> providers(names, names + count);
  QQ_RETURN_IF_ERROR(from_ort(api, api.ReleaseAvailableProviders(names, count)));
  for (std::string& provider : providers) {
    if (provider.ends_with(kSuffix)) provider.resize(provider.size() - kSuffix.size());
  }
  return providers;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

Status append_cuda(const OrtApi& api, OrtSessionOptions* options) {
  OrtCUDAProviderOptionsV2* made = nullptr;
  QQ_ORT_CALL(api, CreateCUDAProviderOptions(&made));
  const Owned<OrtCUDAProviderOptionsV2> own(made, api.ReleaseCUDAProviderOptions);
  return from_ort(api, api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, made));
}

Status append_tensorrt(const OrtApi& api, OrtSessionOptions* options) {
  OrtTensorRTProviderOptionsV2* made = nullptr;
  QQ_ORT_CALL(api, CreateTensorRTProviderOptions(&made));
  const Owned<OrtTensorRTProviderOptionsV2> own(made, api.ReleaseTensorRTProviderOptions);
  return from_ort(api, api.SessionOptionsAppendExecutionProvider_TensorRT_V2(options, made));
}

Status append_nothing(const OrtApi&, OrtSessionOptions*) { return Status(); }

/// Providers that are not appended by name: CPU is always there, the others have functions of their own.
constexpr struct {
  std::string_view provider;
  Status (*append)(const OrtApi& api, OrtSessionOptions* options);
} kOwnFunctions[] = {{"CPU", append_nothing}, {"CUDA", append_cuda}, {"Tensorrt", append_tensorrt}};

Status append_provider(const OrtApi& api, const std::string& provider, OrtSessionOptions* options) {
  for (const auto& row : kOwnFunctions) {
    if (row.provider == provider) return row.append(api, options);
  }
  // The listed name appends the provider, except for some that are appended in capitals.
  Status found =
      from_ort(api, api.SessionOptionsAppendExecutionProvider(options, provider.c_str(), nullptr, nullptr, 0));
  if (found.ok()) return found;
  Status in_capitals =
      from_ort(api, api.SessionOptionsAppendExecutionProvider(options, upper(provider).c_str(), nullptr, nullptr, 0));
  return in_capitals.ok() ? in_capitals : found;
}

class Backend : public exec::Backend {
 public:
  Backend(const Runtime& runtime, std::string provider, Owned<OrtSessionOptions> options)
      : runtime_(runtime), provider_(std::move(provider)), options_(std::move(options)) {}

  std::string name() const override { return cat("onnxruntime ", runtime_.version, " (", provider_, kSuffix, ")"); }

  Result<std::unique_ptr<exec::BackendSession>> open(const ir::Model& model,
                                                     const std::vector<ir::ValueId>& wanted) const override {
    return open_session(runtime_, *options_, model, wanted);
  }

 private:
  const Runtime& runtime_;
  std::string provider_;
  Owned<OrtSessionOptions> options_;
};

}  // namespace

Result<std::shared_ptr<const exec::Backend>> open_backend(const BackendOptions& asked) {
  QQ_TRY(const Runtime* const runtime, load_runtime());
  const OrtApi& api = runtime->api;
  QQ_TRY(const std::vector<std::string> providers, available_providers(api));
  const auto provider = std::ranges::find(providers, asked.provider, [](const auto& name) { return lower_case(name); });
  if (provider == providers.end()) {
    return invalid_argument("quarkq.backend: found ort:", asked.provider, ", ONNX Runtime ", runtime->version,
                            " has the execution providers ", join(providers, ", "));
  }
  QQ_TRY(Owned<OrtSessionOptions> options, session_options(api, asked.threads, asked.libraries));
  // Threads that spin would take the cores from what is done with the results.
  QQ_ORT_CALL(api, AddSessionConfigEntry(options.get(), "session.intra_op.allow_spinning", "0"));
  QQ_RETURN_IF_ERROR(
      append_provider(api, *provider, options.get()).context(cat("quarkq.backend: ort:", asked.provider)));
  return std::shared_ptr<const exec::Backend>(std::make_shared<Backend>(*runtime, *provider, std::move(options)));
}

}  // namespace quarkq::ort_runtime

#else

namespace quarkq::ort_runtime {

Result<std::shared_ptr<const exec::Backend>> open_backend(const BackendOptions&) { return missing_header(); }

}  // namespace quarkq::ort_runtime

#endif
