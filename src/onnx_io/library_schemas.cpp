// SPDX-License-Identifier: MIT
#include "onnx_io/library_schemas.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

namespace quarkq::onnx_io {

namespace {

constexpr size_t kNone = ~size_t{0};

/// Assumptions of an operator's inference.
struct Guard {
  std::string_view op;
  std::pair<size_t, size_t> same_rank = {kNone, kNone};       ///< two inputs
  std::array<size_t, 3> one_element = {kNone, kNone, kNone};  ///< stored inputs of which it reads the first element
  size_t divisor = kNone;                                     ///< stored input that it divides by
  int rank = 0;                                               ///< least number of dimensions of input 0
};

/// A form of an operator that ONNX Runtime runs and the library's schemas lack or call deprecated: `op` of opsets
/// `first` to `last` has the inputs, outputs and attributes of `like_op` of opset `like`.
struct Form {
  std::string_view op;
  int first, last;
  const char* like_op;
  int like;
};

constexpr Form kForms[] = {
    // ONNX Runtime's optimizer writes these into models of any opset.
    {"LayerNormalization", 1, 16, "LayerNormalization", 17},
    {"SimplifiedLayerNormalization", 1, 1000, "RMSNormalization", 23},
    // Exporters write integers into models of old opsets, too: the shape of a Reshape.
    {"Constant", 1, 8, "Constant", 9},
    // Deprecated: scale and bias have an element per group, not per channel.
    {"GroupNormalization", 18, 20, "GroupNormalization", 21},
};

/// Operators whose output is like their input, and which the library infers from a body that reads an attribute without
/// its default.
constexpr std::string_view kLikeInput[] = {"MeanVarianceNormalization"};

/// Operators whose output has an element type of its own: it is inferred without the types of their inputs.
constexpr std::string_view kOwnType[] = {
    "And",           "ArgMax",
    "ArgMin",        "Bernoulli",
    "Cast",          "ConstantOfShape",
    "Equal",         "Greater",
    "IsInf",         "GreaterOrEqual",
    "IsNaN",         "DynamicQuantizeLinear",
    "Less",          "LessOrEqual",
    "Multinomial",   "DequantizeLinear",
    "NonZero",       "NonMaxSuppression",
    "Not",           "Or",
    "Shape",         "QuantizeLinear",
    "Size",          "OptionalHasElement",
    "SequenceEmpty", "SequenceLength",
    "Xor",
};

constexpr Guard kGuards[] = {
    {.op = "Conv", .same_rank = {0, 1}},
    {.op = "ConvInteger", .same_rank = {0, 1}},
    {.op = "ConvTranspose", .same_rank = {0, 1}},
    {.op = "DeformConv", .same_rank = {0, 1}},
    {.op = "QLinearConv", .same_rank = {0, 3}},
    {.op = "MaxUnpool", .same_rank = {0, 1}},
    {.op = "OneHot", .one_element = {1, kNone, kNone}},
    {.op = "Range", .one_element = {0, 1, 2}},
    {.op = "TopK", .one_element = {1, kNone, kNone}},
    {.op = "RNN", .rank = 2},
    {.op = "GRU", .rank = 2},
    {.op = "LSTM", .rank = 2},
    {.op = "MaxRoiPool", .rank = 3},
    {.op = "SplitToSequence", .divisor = 1},
};

/// -1: not known.
int rank_of(onnx::InferenceContext& context, size_t input) {
  if (!onnx::hasInputShape(context, input)) return -1;
  return onnx::getInputShape(context, input).dim_size();
}

bool has_one_element(const onnx::TensorProto& tensor) {
  return std::all_of(tensor.dims().begin(), tensor.dims().end(), [](int64_t dim) { return dim == 1; });
}

/// Whether a stored list of integers has one below 1.
bool has_small_number(onnx::InferenceContext& context, size_t input) {
  const onnx::TensorProto* data = input < context.getNumInputs() ? context.getInputData(input) : nullptr;
  if (data == nullptr) return false;
  const auto is_small = [](int64_t number) { return number < 1; };
  if (data->data_type() == onnx::TensorProto::INT32) {
    const std::vector<int32_t> numbers = onnx::ParseData<int32_t>(data);
    return std::any_of(numbers.begin(), numbers.end(), is_small);
  }
  if (data->data_type() != onnx::TensorProto::INT64) return false;
  const std::vector<int64_t> numbers = onnx::ParseData<int64_t>(data);
  return std::any_of(numbers.begin(), numbers.end(), is_small);
}

/// Checks the preconditions of every inference function: a load infers types before the checker has seen the node.
void check_presence(size_t inputs, const std::vector<std::string>& required, onnx::InferenceContext& context) {
  if (context.getNumInputs() < inputs)
    fail_type_inference(context.getNumInputs(), " inputs, at least ", inputs, " are required");
  for (const std::string& name : required) {
    if (context.getAttribute(name) == nullptr) fail_type_inference("the required attribute ", name, " is missing");
  }
}

bool lacks_type(const std::vector<size_t>& inputs, const onnx::InferenceContext& context) {
  return std::ranges::any_of(inputs, [&](size_t input) { return context.getInputType(input) == nullptr; });
}

/// The library counts a Scan's state variables as the inputs that are not scanned, without a look at the sign.
void check_scan(int64_t lengths, onnx::InferenceContext& context) {
  const int64_t scanned = context.getAttribute("num_scan_inputs")->i();
  const int64_t inputs = static_cast<int64_t>(context.getNumInputs()) - lengths;
  if (scanned < 1 || scanned > inputs)
    fail_shape_inference("num_scan_inputs is ", scanned, ", from 1 to ", inputs, " (the inputs) are allowed");
  if (inputs - scanned > static_cast<int64_t>(context.getNumOutputs()))
    fail_shape_inference("Scan has ", context.getNumOutputs(), " outputs, but ", inputs - scanned, " state variables");
}

/// The library never gets past a character before the arrow that is not a letter, a comma, a space or part of the first
/// ellipsis of an input.
void check_einsum(onnx::InferenceContext& context) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const std::string& equation = context.getAttribute("equation")->s();
  std::istringstream inputs(equation.substr(0, equation.find("->")));
  for (std::string labels; std::getline(inputs, labels, ',');) {
    std::erase(labels, ' ');
    if (const size_t ellipsis = labels.find("..."); ellipsis != std::string::npos) labels.erase(ellipsis, 3);
    if (!std::ranges::all_of(labels, is_letter))
      fail_shape_inference("equation is ", equation, "; letters and one ... are allowed for each input");
  }
}

void check(const Guard& guard, onnx::InferenceContext& context) {
  const int rank = guard.rank == 0 ? -1 : rank_of(context, 0);
  if (rank >= 0 && rank < guard.rank) {
    fail_shape_inference("input 0 has ", rank, " dimensions, at least ", guard.rank, " are required");
  }
  const auto [a, b] = guard.same_rank;
  if (a != kNone) {
    const int first = rank_of(context, a), second = rank_of(context, b);
    if (first >= 0 && second >= 0 && first != second) {
      fail_shape_inference("input ", a, " has ", first, " dimensions, input ", b, " has ", second);
    }
  }
  if (has_small_number(context, guard.divisor)) {
    fail_shape_inference("input ", guard.divisor, " must have numbers from 1 on");
  }
  for (const size_t input : guard.one_element) {
    const onnx::TensorProto* data = input < context.getNumInputs() ? context.getInputData(input) : nullptr;
    if (data != nullptr && !has_one_element(*data)) fail_shape_inference("input ", input, " must have one element");
  }
}

bool is_set(onnx::InferenceContext& context, const char* attribute) {
  const onnx::AttributeProto* found = context.getAttribute(attribute);
  return found != nullptr && found->i() != 0;
}

/// Infers the output from the outer dimensions only. The library rejects inner dimensions that differ, also in graphs
/// that may never run; check_model() rejects them elsewhere.
void infer_gemm(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasNInputShapes(context, 2)) return;
  const onnx::TensorShapeProto &a = onnx::getInputShape(context, 0), &b = onnx::getInputShape(context, 1);
  if (a.dim_size() != 2) fail_shape_inference("input 0 has ", a.dim_size(), " dimensions, allowed: 2");
  if (b.dim_size() != 2) fail_shape_inference("input 1 has ", b.dim_size(), " dimensions, allowed: 2");
  onnx::updateOutputShape(context, 0,
                          {a.dim(is_set(context, "transA") ? 1 : 0), b.dim(is_set(context, "transB") ? 0 : 1)});
}

/// Whether the groups of a ConvTranspose do not divide its channels. The library rejects that, also in graphs that may
/// never run; check_model() rejects it elsewhere.
bool has_other_groups(onnx::InferenceContext& context) {
  if (!onnx::hasInputShape(context, 0)) return false;
  const onnx::TensorShapeProto& x = onnx::getInputShape(context, 0);
  const int64_t groups = onnx::getAttribute(context, "group", 1);
  return groups > 1 && x.dim_size() > 1 && x.dim(1).has_dim_value() && x.dim(1).dim_value() % groups != 0;
}

void infer_conv_transpose(const onnx::InferenceFunction& inner, onnx::InferenceContext& context) {
  if (has_other_groups(context)) return onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  inner(context);
}

/// Where an input is a list of numbers that is not stored, the library propagates one unknown dimension for each of
/// them.
bool has_endless_input(onnx::DataPropagationContext& context) {
  constexpr int64_t kMostNumbers = 4096;  // shapes have few
  int64_t numbers = 0;
  for (size_t input = 0; input < context.getNumInputs(); ++input) {
    const onnx::TypeProto* type = context.getInputType(input);
    if (type == nullptr || !type->has_tensor_type() || type->tensor_type().shape().dim_size() != 1) continue;
    const onnx::TensorShapeProto::Dimension& dim = type->tensor_type().shape().dim(0);
    if (!dim.has_dim_value()) continue;
    if (dim.dim_value() > kMostNumbers - numbers) return true;
    numbers += std::max<int64_t>(dim.dim_value(), 0);
  }
  return false;
}

/// The library counts the places of a Slice in an int, where a step of 2^32 is one of 0.
bool has_endless_step(onnx::DataPropagationContext& context) {
  constexpr int64_t kLargestStep = int64_t{1} << 30;
  const onnx::TensorShapeProto* steps = context.getNumInputs() > 4 ? context.getInputData(4) : nullptr;
  return steps != nullptr &&
         std::any_of(steps->dim().begin(), steps->dim().end(), [](const onnx::TensorShapeProto::Dimension& step) {
           return step.dim_value() > kLargestStep || step.dim_value() < -kLargestStep;
         });
}

void bound_propagation(const onnx::OpSchema& original, onnx::OpSchema& made) {
  const bool is_slice = original.Name() == "Slice";
  made.PartialDataPropagationFunction(
      [is_slice, inner = original.GetDataPropagationFunction()](onnx::DataPropagationContext& context) {
        if (!has_endless_input(context) && !(is_slice && has_endless_step(context))) inner(context);
      });
}

/// Replaces inference that rejects more than the operator does where it is not run.
void replace_inference(onnx::OpSchema& schema) {
  if (schema.Name() == "Gemm") schema.TypeAndShapeInferenceFunction(infer_gemm);
  if (schema.Name() != "ConvTranspose") return;
  schema.TypeAndShapeInferenceFunction([inner = schema.GetTypeAndShapeInferenceFunction()](
                                           onnx::InferenceContext& context) { infer_conv_transpose(inner, context); });
}

void guard_inference(onnx::OpSchema& schema) {
  if (!schema.has_type_and_shape_inference_function()) return;
  const bool is_scan = schema.Name() == "Scan", is_einsum = schema.Name() == "Einsum";
  const int64_t lengths = schema.SinceVersion() == 8 ? 1 : 0;  // the first input of Scan was that of each sequence
  std::vector<std::string> required;
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required) required.push_back(name);
  }
  std::vector<size_t> typed;  // inputs whose types the library reads without looking for them
  for (size_t i = 0; i < schema.inputs().size(); ++i) {
    if (schema.inputs()[i].GetOption() == onnx::OpSchema::Single) typed.push_back(i);
  }
  if (std::ranges::find(kOwnType, schema.Name()) != std::end(kOwnType)) typed.clear();
  std::vector<Guard> guards;
  std::ranges::copy_if(kGuards, std::back_inserter(guards), [&](const Guard& row) { return row.op == schema.Name(); });
  const auto inputs = static_cast<size_t>(schema.min_input());
  schema.TypeAndShapeInferenceFunction([=, inner = schema.GetTypeAndShapeInferenceFunction(),
                                        required = std::move(required), typed = std::move(typed),
                                        guards = std::move(guards)](onnx::InferenceContext& context) {
    check_presence(inputs, required, context);
    if (lacks_type(typed, context)) return;
    if (is_scan) check_scan(lengths, context);
    if (is_einsum) check_einsum(context);
    for (const Guard& guard : guards) check(guard, context);
    inner(context);
  });
}

class GuardedRegistry : public onnx::ISchemaRegistry {
 public:
  const onnx::OpSchema* GetSchema(const std::string& op, int version, const std::string& domain) const override {
    const auto* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& row) {
      return domain.empty() && row.op == op && version >= row.first && version <= row.last;
    });
    const auto* registry = onnx::OpSchemaRegistry::Instance();
    const onnx::OpSchema* schema = form == std::end(kForms) ? registry->GetSchema(op, version, domain)
                                                            : registry->GetSchema(form->like_op, form->like, domain);
    if (schema == nullptr) return schema;
    const std::lock_guard lock(mutex_);
    std::unique_ptr<onnx::OpSchema>& made = made_[schema];
    if (made == nullptr) {
      made = std::make_unique<onnx::OpSchema>(*schema);
      bound_propagation(*schema, *made);
      if (std::find(std::begin(kLikeInput), std::end(kLikeInput), op) != std::end(kLikeInput))
        made->TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
      replace_inference(*made);
      guard_inference(*made);
    }
    return made.get();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<const onnx::OpSchema*, std::unique_ptr<onnx::OpSchema>> made_;
};

}  // namespace

const onnx::ISchemaRegistry& guarded_schemas() {
  static const GuardedRegistry registry;
  return registry;
}

}  // namespace quarkq::onnx_io
