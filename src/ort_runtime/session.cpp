// SPDX-License-Identifier: MIT
#if __has_include(<onnxruntime_c_api.h>)

#include "ort_runtime/session.h"

#include <algorithm>
#include <utility>

#include "ir/edit.h"
#include "onnx_io/save.h"
#include "ort_runtime/tensors.h"

namespace quarkq::ort_runtime {
namespace {

using SessionHandle = Owned<OrtSession>;

/// Where a value that was asked for comes from.
struct Source {
  enum class Kind : uint8_t { kInput, kConstant, kOutput };
  Kind kind = Kind::kOutput;
  size_t index = 0;  ///< of the input or output
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

  /// Of the type that the graph says; of any when it says none.
  Result<const ir::Tensor*> result(size_t i, std::span<const ir::Tensor> inputs,
                                   const std::vector<ir::Tensor>& outputs) const {
    const ir::Value& value = model_.graph.value(wanted_[i]);
    const Source source = sources_[i];
    if (source.kind == Source::Kind::kInput) return &inputs[source.index];
    if (source.kind == Source::Kind::kConstant) return &*value.constant;
    const ir::Tensor& found = outputs[source.index];
    if (value.type.element != ElementType::kUndefined && found.type() != value.type.element) {
      return unsupported("output ", value.name, ": ONNX Runtime computed ", name(found.type()), ", the model says ",
                         name(value.type.element));
    }
    return &found;
  }

  const Runtime& runtime_;
  ir::Model model_;  ///< shares its weights with the caller's
  std::vector<ir::ValueId> wanted_;
  std::vector<Source> sources_;  ///< of what is wanted
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
