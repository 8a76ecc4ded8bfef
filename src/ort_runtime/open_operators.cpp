// SPDX-License-Identifier: MIT
// A node runs as a model of its own: one session for each node and types of its inputs, which the executor keeps.
#include "ort_runtime/open_operators.h"

#if __has_include(<onnxruntime_c_api.h>)

#include <algorithm>
#include <cstring>

#include "ir/edit.h"
#include "onnx_io/save.h"
#include "ort_runtime/api.h"

namespace quarkq::ort_runtime {
namespace {

/// What the sessions of all nodes share.
struct Runtime {
  const OrtApi& api;
  Owned<OrtEnv> env;
  Owned<OrtSessionOptions> options;
  Owned<OrtMemoryInfo> memory;
};

/// The node between graph inputs and outputs. Absent inputs and outputs stay absent.
ir::Model model_around(const ir::Node& node, const std::map<std::string, int64_t>& opsets,
                       const std::vector<ir::ValueType>& types) {
  ir::Model model;
  for (const auto& [domain, version] : opsets) model.set_opset(domain, version);
  ir::GraphEdit edit(model.graph);
  ir::NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes, {}};
  std::vector<ir::ValueId> outputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    spec.inputs.push_back(node.inputs[i].valid() ? edit.add_value(cat("in", i), types[i]) : ir::ValueId());
    if (spec.inputs.back().valid()) edit.add_graph_input(spec.inputs.back());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    spec.outputs.push_back(node.outputs[i].valid() ? edit.add_value(cat("out", i)) : ir::ValueId());
    if (spec.outputs.back().valid()) outputs.push_back(spec.outputs.back());
  }
  edit.add_node(std::move(spec));
  for (const ir::ValueId output : outputs) edit.add_graph_output(output);
  return model;
}

ONNXTensorElementDataType to_ort(ElementType type) { return static_cast<ONNXTensorElementDataType>(type); }

Result<ir::ValueType> type_of(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info) {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  QQ_ORT_CALL(api, GetTensorElementType(&info, &element));
  QQ_ORT_CALL(api, GetDimensionsCount(&info, &rank));
  std::vector<int64_t> dims(rank);
  QQ_ORT_CALL(api, GetDimensions(&info, dims.data(), rank));
  ir::ValueType type;
  type.element = element_type_from_wire(static_cast<int32_t>(element)).value_or(ElementType::kUndefined);
  type.has_shape = rank > 0;  // none: a scalar, or nothing known
  for (const int64_t dim : dims) type.dims.push_back(ir::Dim{std::max<int64_t>(dim, -1), ""});
  return type;
}

class Node : public exec::ForeignNode {
 public:
  Node(std::shared_ptr<const Runtime> runtime, Owned<OrtSession> session)
      : runtime_(std::move(runtime)), session_(std::move(session)) {}

  Status describe(const ir::Node& node) {
    size_t next = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid()) input_names_.push_back(cat("in", i));
    }
    types_.resize(node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      output_names_.push_back(cat("out", i));
      QQ_TRY(types_[i], output_type(next++));
    }
    return Status();
  }

  std::vector<ir::ValueType> output_types() const override { return types_; }

  Result<std::vector<ir::Tensor>> run(const std::vector<const ir::Tensor*>& inputs) override {
    const OrtApi& api = runtime_->api;
    std::vector<Owned<OrtValue>> held;
    std::vector<const OrtValue*> given;
    for (const ir::Tensor* input : inputs) {
      if (input == nullptr) continue;
      OrtValue* value = nullptr;
      // The runtime does not write to inputs.
      QQ_ORT_CALL(api, CreateTensorWithDataAsOrtValue(runtime_->memory.get(), const_cast<std::byte*>(input->raw()),
                                                      static_cast<size_t>(input->bytes()), input->dims().data(),
                                                      input->dims().size(), to_ort(input->type()), &value));
      held.emplace_back(value, api.ReleaseValue);
      given.push_back(value);
    }
    std::vector<const char*> names, results;
    for (const std::string& name : input_names_) names.push_back(name.c_str());
    for (const std::string& name : output_names_) results.push_back(name.c_str());
    std::vector<OrtValue*> made(results.size(), nullptr);
    OrtStatus* const status = api.Run(session_.get(), nullptr, names.data(), given.data(), given.size(), results.data(),
                                      results.size(), made.data());
    std::vector<Owned<OrtValue>> owned;
    for (OrtValue* value : made) owned.emplace_back(value, api.ReleaseValue);
    QQ_RETURN_IF_ERROR(from_ort(api, status));
    return copied(owned);
  }

 private:
  Result<ir::ValueType> output_type(size_t index) const {
    const OrtApi& api = runtime_->api;
    OrtTypeInfo* made = nullptr;
    QQ_ORT_CALL(api, SessionGetOutputTypeInfo(session_.get(), index, &made));
    const Owned<OrtTypeInfo> type(made, api.ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    QQ_ORT_CALL(api, CastTypeInfoToTensorInfo(type.get(), &tensor));
    if (tensor == nullptr) return unsupported("output ", index, " is no tensor");
    return type_of(api, *tensor);
  }

  Result<std::vector<ir::Tensor>> copied(const std::vector<Owned<OrtValue>>& values) const {
    const OrtApi& api = runtime_->api;
    std::vector<ir::Tensor> tensors(types_.size());
    size_t next = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (next == values.size() || output_names_[next] != cat("out", i)) continue;
      OrtValue* const value = values[next++].get();
      OrtTensorTypeAndShapeInfo* made = nullptr;
      QQ_ORT_CALL(api, GetTensorTypeAndShape(value, &made));
      const Owned<OrtTensorTypeAndShapeInfo> info(made, api.ReleaseTensorTypeAndShapeInfo);
      QQ_TRY(const ir::ValueType type, type_of(api, *info));
      if (type.element == ElementType::kUndefined || type.element == ElementType::kString)
        return unsupported("output ", i, " has a type that quarkq cannot take from ONNX Runtime");
      ir::Shape dims;
      for (const ir::Dim& dim : type.dims) dims.push_back(dim.size);
      tensors[i] = ir::Tensor::allocate(type.element, dims);
      void* data = nullptr;
      QQ_ORT_CALL(api, GetTensorMutableData(value, &data));
      std::memcpy(tensors[i].mutable_raw(), data, static_cast<size_t>(tensors[i].bytes()));
    }
    return tensors;
  }

  std::shared_ptr<const Runtime> runtime_;
  Owned<OrtSession> session_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<ir::ValueType> types_;
};

class Operators : public exec::ForeignOperators {
 public:
  explicit Operators(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}

  Result<std::unique_ptr<exec::ForeignNode>> prepare(const ir::Node& node, const std::map<std::string, int64_t>& opsets,
                                                     const std::vector<ir::ValueType>& types) override {
    const OrtApi& api = runtime_->api;
    const std::string bytes = onnx_io::to_bytes(model_around(node, opsets, types));
    OrtSession* made = nullptr;
    QQ_ORT_CALL(
        api, CreateSessionFromArray(runtime_->env.get(), bytes.data(), bytes.size(), runtime_->options.get(), &made));
    auto ready = std::make_unique<Node>(runtime_, Owned<OrtSession>(made, api.ReleaseSession));
    QQ_RETURN_IF_ERROR(ready->describe(node));
    return std::unique_ptr<exec::ForeignNode>(std::move(ready));
  }

 private:
  std::shared_ptr<const Runtime> runtime_;
};

Status register_libraries(const OrtApi& api, OrtSessionOptions* options, const std::vector<std::string>& libraries) {
  for (const std::string& path : libraries) {
    const Status status = from_ort(api, api.RegisterCustomOpsLibrary_V2(options, path.c_str()));
    if (!status.ok()) return invalid_argument("UserCustomOpLibPath: ", path, ": ", status.message());
  }
  return Status();
}

}  // namespace

Result<std::shared_ptr<exec::ForeignOperators>> open_operators(const std::vector<std::string>& libraries) {
  QQ_TRY(const OrtApi* const found, load_api());
  const OrtApi& api = *found;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtMemoryInfo* memory = nullptr;
  QQ_ORT_CALL(api, CreateEnv(ORT_LOGGING_LEVEL_ERROR, "quarkq", &env));
  Owned<OrtEnv> own_env(env, api.ReleaseEnv);
  QQ_ORT_CALL(api, CreateSessionOptions(&options));
  Owned<OrtSessionOptions> own_options(options, api.ReleaseSessionOptions);
  // One thread, and the graph as it stands: the same bits on every machine with the same library.
  QQ_ORT_CALL(api, SetIntraOpNumThreads(options, 1));
  QQ_ORT_CALL(api, SetInterOpNumThreads(options, 1));
  QQ_ORT_CALL(api, SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL));
  QQ_RETURN_IF_ERROR(register_libraries(api, options, libraries));
  QQ_ORT_CALL(api, CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  auto runtime = std::make_shared<const Runtime>(
      Runtime{api, std::move(own_env), std::move(own_options), Owned<OrtMemoryInfo>(memory, api.ReleaseMemoryInfo)});
  return std::shared_ptr<exec::ForeignOperators>(std::make_shared<Operators>(std::move(runtime)));
}

}  // namespace quarkq::ort_runtime

#else

namespace quarkq::ort_runtime {

Result<std::shared_ptr<exec::ForeignOperators>> open_operators(const std::vector<std::string>&) {
  return unsupported(
      "this quarkq was built without ONNX Runtime's C header, so it cannot load it; build it again with "
      "ONNXRUNTIME_ROOT=DIR");
}

}  // namespace quarkq::ort_runtime

#endif
