// SPDX-License-Identifier: MIT
// A node runs as a model of its own: one session for each node and types of its inputs, which the executor keeps.
#include "ort_runtime/open_operators.h"

#include "ort_runtime/missing_header.h"

#if __has_include(<onnxruntime_c_api.h>)

#include <algorithm>
#include <iterator>

#include "ir/edit.h"
#include "onnx_io/save.h"
#include "ort_runtime/api.h"

namespace quarkq::ort_runtime {
namespace {

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

class Node : public exec::ForeignNode {
 public:
  Node(const Runtime& runtime, Owned<OrtSession> session) : runtime_(runtime), session_(std::move(session)) {}

  Status describe(const ir::Node& node) {
    size_t next = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid()) ports_.inputs.push_back(cat("in", i));
    }
    types_.resize(node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      ports_.outputs.push_back(cat("out", i));
      places_.push_back(i);
      QQ_TRY(types_[i], output_type(next++));
    }
    return Status();
  }

  std::vector<ir::ValueType> output_types() const override { return types_; }

  Result<std::vector<ir::Tensor>> run(const std::vector<const ir::Tensor*>& inputs) override {
    std::vector<const ir::Tensor*> given;
    std::ranges::copy_if(inputs, std::back_inserter(given), [](const ir::Tensor* input) { return input != nullptr; });
    QQ_TRY(std::vector<ir::Tensor> made, ort_runtime::run(runtime_, *session_, ports_, given));
    std::vector<ir::Tensor> tensors(types_.size());
    for (size_t i = 0; i < made.size(); ++i) tensors[places_[i]] = std::move(made[i]);
    return tensors;
  }

 private:
  Result<ir::ValueType> output_type(size_t index) const {
    const OrtApi& api = runtime_.api;
    OrtTypeInfo* made = nullptr;
    QQ_ORT_CALL(api, SessionGetOutputTypeInfo(session_.get(), index, &made));
    const Owned<OrtTypeInfo> type(made, api.ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    QQ_ORT_CALL(api, CastTypeInfoToTensorInfo(type.get(), &tensor));
    if (tensor == nullptr) return unsupported("output ", index, " is not a tensor");
    return to_type(api, *tensor);
  }

  const Runtime& runtime_;
  Owned<OrtSession> session_;
  Ports ports_;
  std::vector<size_t> places_;  ///< Positions of the outputs that are not omitted.
  std::vector<ir::ValueType> types_;
};

class Operators : public exec::ForeignOperators {
 public:
  Operators(const Runtime& runtime, Owned<OrtSessionOptions> options)
      : runtime_(runtime), options_(std::move(options)) {}

  Result<std::unique_ptr<exec::ForeignNode>> prepare(const ir::Node& node, const std::map<std::string, int64_t>& opsets,
                                                     const std::vector<ir::ValueType>& types) const override {
    const OrtApi& api = runtime_.api;
    const std::string bytes = onnx_io::to_bytes(model_around(node, opsets, types));
    OrtSession* made = nullptr;
    QQ_ORT_CALL(api, CreateSessionFromArray(runtime_.env, bytes.data(), bytes.size(), options_.get(), &made));
    auto ready = std::make_unique<Node>(runtime_, Owned<OrtSession>(made, api.ReleaseSession));
    QQ_RETURN_IF_ERROR(ready->describe(node));
    return std::unique_ptr<exec::ForeignNode>(std::move(ready));
  }

 private:
  const Runtime& runtime_;
  Owned<OrtSessionOptions> options_;
};

}  // namespace

Result<std::shared_ptr<const exec::ForeignOperators>> open_operators(const std::vector<std::string>& libraries) {
  QQ_TRY(const Runtime* const runtime, load_runtime());
  // One thread and the unchanged graph: the same bits on every machine with the same library.
  QQ_TRY(Owned<OrtSessionOptions> options, session_options(runtime->api, /*threads=*/1, libraries));
  QQ_ORT_CALL(runtime->api, SetSessionGraphOptimizationLevel(options.get(), ORT_DISABLE_ALL));
  return std::shared_ptr<const exec::ForeignOperators>(std::make_shared<Operators>(*runtime, std::move(options)));
}

}  // namespace quarkq::ort_runtime

#else

namespace quarkq::ort_runtime {

Result<std::shared_ptr<const exec::ForeignOperators>> open_operators(const std::vector<std::string>&) {
  return missing_header();
}

}  // namespace quarkq::ort_runtime

#endif
