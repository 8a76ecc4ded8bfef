// SPDX-License-Identifier: MIT
#if __has_include(<onnxruntime_c_api.h>)

#include "ort_runtime/api.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "base/paths.h"
#include "base/platform/files.h"
#include "base/platform/library.h"
#include "base/platform/native_path.h"
#include "base/platform/process.h"

namespace quarkq::ort_runtime {
namespace {

/// The folder of packages that quarkq's own wheel was installed in, where pip installs onnxruntime as well. Empty when
/// this code is not in site-packages/quarkq/lib or site-packages/quarkq/bin.
std::string own_packages() {
  const std::string package = paths::folder_of(paths::folder_of(platform::own_file()));
  return paths::name_of(package) != "quarkq" ? "" : paths::folder_of(package);
}

/// Names and patterns, in the order in which they are tried.
std::vector<std::string> places() {
  if (const std::string file = platform::environment("QUARKQ_ONNXRUNTIME"); !file.empty()) return {file};
  return platform::places_of_library("onnxruntime/capi", "onnxruntime", own_packages());
}

std::vector<std::string> expanded(const std::string& place) {
  return place.find('*') == std::string::npos ? std::vector{place} : platform::files_like(place);
}

/// `why` of the result is the error of the last existing file that does not load.
platform::OpenedLibrary open_library() {
  std::string why;
  for (const std::string& place : places()) {
    for (const std::string& file : expanded(place)) {
      platform::OpenedLibrary opened = platform::open_library(file);
      if (opened.handle != nullptr) return opened;
      if (platform::last_separator(file) != std::string::npos) why = opened.why;
    }
  }
  return {nullptr, why};
}

Result<Runtime> open_runtime() {
  const platform::OpenedLibrary opened = open_library();
  if (opened.handle == nullptr) {
    return unsupported(
        "ONNX Runtime was not found; install it (pip install onnxruntime, in the active environment) or ",
        "name its library in QUARKQ_ONNXRUNTIME=/path/to/", platform::library_file("onnxruntime"),
        opened.why.empty() ? "" : cat(" (", opened.why, ")"));
  }
  using GetBase = const OrtApiBase*(ORT_API_CALL*)();
  void* const symbol = platform::symbol_of(opened.handle, "OrtGetApiBase");
  if (symbol == nullptr) return unsupported("ONNX Runtime: the library found has no OrtGetApiBase");
  const OrtApiBase* base = reinterpret_cast<GetBase>(symbol)();
  const OrtApi* api = base == nullptr ? nullptr : base->GetApi(kApiVersion);
  const char* const version = base == nullptr ? "?" : base->GetVersionString();
  if (api == nullptr) return unsupported("ONNX Runtime ", version, " was found, 1.17 or newer is needed");
  OrtEnv* env = nullptr;
  OrtMemoryInfo* memory = nullptr;
  QQ_ORT_CALL(*api, CreateEnv(ORT_LOGGING_LEVEL_FATAL, "quarkq", &env));
  QQ_ORT_CALL(*api, CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  return Runtime{*api, env, memory, version};
}

/// Returns whether an error message reports lack of memory, in the wording of the libraries.
bool is_exhausted(std::string_view message) {
  constexpr std::string_view kWords[] = {"bad_alloc", "bad allocation", "Failed to allocate memory"};
  return std::ranges::any_of(kWords, [&](std::string_view words) { return message.find(words) != message.npos; });
}

}  // namespace

Result<const Runtime*> load_runtime() {
  static const Result<Runtime> runtime = open_runtime();
  if (!runtime.ok()) return runtime.status();
  return &runtime.value();
}

Status from_ort(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return Status();
  const Owned<OrtStatus> released(status, api.ReleaseStatus);
  const std::string message = api.GetErrorMessage(status);
  if (is_exhausted(message)) throw std::bad_alloc();
  return unsupported("ONNX Runtime: ", message);
}

Result<Owned<OrtSessionOptions>> session_options(const OrtApi& api, int threads,
                                                 const std::vector<std::string>& libraries) {
  OrtSessionOptions* made = nullptr;
  QQ_ORT_CALL(api, CreateSessionOptions(&made));
  Owned<OrtSessionOptions> options(made, api.ReleaseSessionOptions);
  QQ_ORT_CALL(api, SetIntraOpNumThreads(made, threads));
  QQ_ORT_CALL(api, SetInterOpNumThreads(made, 1));
  for (const std::string& path : libraries) {
    const Status status = from_ort(api, api.RegisterCustomOpsLibrary_V2(made, platform::native(path).c_str()));
    if (!status.ok()) return invalid_argument("UserCustomOpLibPath: ", path, ": ", status.message());
  }
  return options;
}

}  // namespace quarkq::ort_runtime

#endif

#if __has_include(<onnxruntime_c_api.h>)

#include <algorithm>

namespace quarkq::ort_runtime {
namespace {

ONNXTensorElementDataType wire_type(ElementType type) { return static_cast<ONNXTensorElementDataType>(type); }

/// Keeps `value` for as long as its memory is used.
Result<ir::Tensor> to_tensor(const OrtApi& api, Owned<OrtValue> value) {
  int is_there = 0, is_tensor = 0;
  QQ_ORT_CALL(api, HasValue(value.get(), &is_there));
  if (is_there != 0) QQ_ORT_CALL(api, IsTensor(value.get(), &is_tensor));
  if (is_tensor == 0) return unsupported("is a sequence or an empty optional, not a tensor");
  OrtTensorTypeAndShapeInfo* made = nullptr;
  QQ_ORT_CALL(api, GetTensorTypeAndShape(value.get(), &made));
  const Owned<OrtTensorTypeAndShapeInfo> info(made, api.ReleaseTensorTypeAndShapeInfo);
  QQ_TRY(const ir::ValueType type, to_type(api, *info));
  if (type.element == ElementType::kUndefined || type.element == ElementType::kString)
    return unsupported("has a type that quarkq cannot read from ONNX Runtime");
  ir::Shape dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.size);
  QQ_TRY(const int64_t count, ir::element_count(dims));
  if (count == 0) return ir::Tensor::zeros(type.element, dims);
  void* data = nullptr;
  QQ_ORT_CALL(api, GetTensorMutableData(value.get(), &data));
  if (data == nullptr) return unsupported("has no data");
  const std::shared_ptr<OrtValue> owner(value.release(), api.ReleaseValue);
  return ir::Tensor::adopt(type.element, dims, owner, static_cast<const std::byte*>(data));
}

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back(name.c_str());
  return all;
}

}  // namespace

Result<Owned<OrtValue>> to_value(const Runtime& runtime, const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kString) return unsupported("texts cannot be given to ONNX Runtime");
  OrtValue* value = nullptr;
  // The runtime does not write to inputs and initializers.
  QQ_ORT_CALL(runtime.api, CreateTensorWithDataAsOrtValue(runtime.memory, const_cast<std::byte*>(tensor.raw()),
                                                          static_cast<size_t>(tensor.bytes()), tensor.dims().data(),
                                                          tensor.dims().size(), wire_type(tensor.type()), &value));
  return Owned<OrtValue>(value, runtime.api.ReleaseValue);
}

Result<ir::ValueType> to_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info) {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  QQ_ORT_CALL(api, GetTensorElementType(&info, &element));
  QQ_ORT_CALL(api, GetDimensionsCount(&info, &rank));
  std::vector<int64_t> dims(rank);
  QQ_ORT_CALL(api, GetDimensions(&info, dims.data(), rank));
  ir::ValueType type;
  type.element = element_type_from_wire(static_cast<int32_t>(element)).value_or(ElementType::kUndefined);
  type.has_shape = rank > 0;
  for (const int64_t dim : dims) type.dims.push_back(ir::Dim{std::max<int64_t>(dim, -1), ""});
  return type;
}

Result<std::vector<ir::Tensor>> run(const Runtime& runtime, OrtSession& session, const Ports& ports,
                                    const std::vector<const ir::Tensor*>& inputs) {
  std::vector<Owned<OrtValue>> held, owned;
  std::vector<const OrtValue*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Owned<OrtValue>> value = to_value(runtime, *inputs[i]);
    if (!value.ok()) return std::move(value).status().context(cat("input ", ports.inputs[i]));
    held.push_back(std::move(value).value());
    given.push_back(held.back().get());
  }
  const std::vector<const char*> names = pointers(ports.inputs), results = pointers(ports.outputs);
  std::vector<OrtValue*> made(results.size(), nullptr);
  OrtStatus* const status = runtime.api.Run(&session, nullptr, names.data(), given.data(), given.size(), results.data(),
                                            results.size(), made.data());
  for (OrtValue* value : made) owned.emplace_back(value, runtime.api.ReleaseValue);
  QQ_RETURN_IF_ERROR(from_ort(runtime.api, status));
  std::vector<ir::Tensor> tensors;
  for (size_t i = 0; i < owned.size(); ++i) {
    if (owned[i] == nullptr) return unsupported("output ", ports.outputs[i], " was not computed by ONNX Runtime");
    QQ_TRY(ir::Tensor tensor, to_tensor(runtime.api, std::move(owned[i])).context(cat("output ", ports.outputs[i])));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace quarkq::ort_runtime

#endif

#if __has_include(<onnxruntime_c_api.h>)

#include <algorithm>
#include <utility>

#include "ir/edit.h"
#include "onnx_io/save.h"

namespace quarkq::ort_runtime {
namespace {

using SessionHandle = Owned<OrtSession>;

/// Source of a requested value.
struct Source {
  enum class Kind : uint8_t { kInput, kConstant, kOutput };
  Kind kind = Kind::kOutput;
  size_t index = 0;  ///< Index of the input or output.
};

size_t place_of(const std::vector<ir::ValueId>& values, ir::ValueId value) {
  return static_cast<size_t>(std::ranges::find(values, value) - values.begin());
}

class Session : public exec::BackendSession {
 public:
  Session(const Runtime& runtime, const ir::Model& model, const std::vector<ir::ValueId>& wanted)
      : runtime_(runtime), model_(model), wanted_(wanted), session_(nullptr, runtime.api.ReleaseSession) {
    const std::vector<ir::ValueId> inputs = model_.graph.required_inputs();
    for (const ir::ValueId input : inputs) ports_.inputs.push_back(model_.graph.value(input).name);
    std::vector<ir::ValueId> outputs;
    for (const ir::ValueId value : wanted_) {
      Source source{Source::Kind::kInput, place_of(inputs, value)};
      if (source.index == inputs.size() && model_.graph.value(value).is_initializer())
        source.kind = Source::Kind::kConstant;
      if (source.index == inputs.size() && source.kind == Source::Kind::kInput) {
        source = {Source::Kind::kOutput, place_of(outputs, value)};
        if (source.index == outputs.size()) outputs.push_back(value);
      }
      sources_.push_back(source);
    }
    for (const ir::ValueId output : outputs) {
      ports_.outputs.push_back(model_.graph.value(output).name);
      if (!model_.graph.value(output).is_output) ir::GraphEdit(model_.graph).add_graph_output(output);
    }
  }

  Status open(const OrtSessionOptions& options) {
    const OrtApi& api = runtime_.api;
    OrtSessionOptions* copy = nullptr;
    QQ_ORT_CALL(api, CloneSessionOptions(&options, &copy));
    const Owned<OrtSessionOptions> own(copy, api.ReleaseSessionOptions);
    QQ_TRY(const onnx_io::Unweighted file, onnx_io::to_bytes_without_weights(model_));
    QQ_RETURN_IF_ERROR(hand_over(file.weights, copy));
    OrtSession* made = nullptr;
    QQ_ORT_CALL(api, CreateSessionFromArray(runtime_.env, file.bytes.data(), file.bytes.size(), copy, &made));
    session_.reset(made);
    return Status();
  }

  Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs) override {
    if (inputs.size() != ports_.inputs.size())
      return bad_data("the model takes ", ports_.inputs.size(), " inputs, ", inputs.size(), " were given");
    std::vector<ir::Tensor> outputs;
    if (!ports_.outputs.empty()) {
      std::vector<const ir::Tensor*> given;
      for (const ir::Tensor& input : inputs) given.push_back(&input);
      QQ_TRY(outputs, ort_runtime::run(runtime_, *session_, ports_, given));
    }
    results_.clear();
    for (size_t i = 0; i < wanted_.size(); ++i) {
      QQ_TRY(const ir::Tensor* const tensor, result(i, inputs, outputs));
      results_.push_back(*tensor);
    }
    return &results_;
  }

 private:
  /// The runtime reads them where they are, so they stay as long as the session.
  Status hand_over(const std::vector<ir::ValueId>& weights, OrtSessionOptions* options) {
    std::vector<const char*> names;
    std::vector<const OrtValue*> values;
    for (const ir::ValueId weight : weights) {
      const ir::Value& value = model_.graph.value(weight);
      QQ_TRY(Owned<OrtValue> handle, to_value(runtime_, *value.constant));
      weights_.push_back(std::move(handle));
      names.push_back(value.name.c_str());
      values.push_back(weights_.back().get());
    }
    if (names.empty()) return Status();
    return from_ort(runtime_.api,
                    runtime_.api.AddExternalInitializers(options, names.data(), values.data(), names.size()));
  }

  /// Returns the result if it has the type specified in the graph; any type if none is specified.
  Result<const ir::Tensor*> result(size_t i, std::span<const ir::Tensor> inputs,
                                   const std::vector<ir::Tensor>& outputs) const {
    const ir::Value& value = model_.graph.value(wanted_[i]);
    const Source source = sources_[i];
    if (source.kind == Source::Kind::kInput) return &inputs[source.index];
    if (source.kind == Source::Kind::kConstant) return &*value.constant;
    const ir::Tensor& found = outputs[source.index];
    if (value.type.element != ElementType::kUndefined && found.type() != value.type.element) {
      return unsupported("output ", value.name, ": ONNX Runtime computed ", name(found.type()),
                         ", the model specifies ", name(value.type.element));
    }
    return &found;
  }

  const Runtime& runtime_;
  ir::Model model_;  ///< shares its weights with the caller's
  std::vector<ir::ValueId> wanted_;
  std::vector<Source> sources_;  ///< Sources of the requested values.
  Ports ports_;
  std::vector<Owned<OrtValue>> weights_;
  SessionHandle session_;  ///< ends before the weights that it reads
  std::vector<ir::Tensor> results_;
};

}  // namespace

Result<std::unique_ptr<exec::BackendSession>> open_session(const Runtime& runtime, const OrtSessionOptions& options,
                                                           const ir::Model& model,
                                                           const std::vector<ir::ValueId>& wanted) {
  auto session = std::make_unique<Session>(runtime, model, wanted);
  QQ_RETURN_IF_ERROR(session->open(options));
  return std::unique_ptr<exec::BackendSession>(std::move(session));
}

}  // namespace quarkq::ort_runtime

#endif
