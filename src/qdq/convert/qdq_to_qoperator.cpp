// SPDX-License-Identifier: MIT
// Q/DQ around an operator become the operator on integers that ONNX Runtime has. Nodes without one, or with types that
// it does not take, stay between Q and DQ.
#include <algorithm>
#include <array>
#include <cmath>

#include "ir/constants.h"
#include "numeric/linear_quant.h"
#include "pass/output_guard.h"
#include "qdq/convert/conversions.h"
#include "qdq/convert/integer_operands.h"
#include "qdq/pairs.h"
#include "qdq/passes.h"

namespace quarkq::qdq {

namespace {

/// In which order an operator on integers reads its operands (codes, scale, zero point of each) and its output's scale.
enum class Form : uint8_t {
  kEach,       ///< inputs, output
  kWeights,    ///< input and weights, output, bias where there is one
  kGemm,       ///< input and weights, bias or nothing, output
  kConcat,     ///< output, inputs
  kUnchanged,  ///< Only moves codes; the output has the parameters of the input.
};

constexpr struct IntegerForm {
  std::string_view op, integer_op, domain;
  Form form;
} kForms[] = {
    {"Conv", "QLinearConv", "", Form::kWeights},
    {"MatMul", "QLinearMatMul", "", Form::kWeights},
    {"Gemm", "QGemm", ir::kMicrosoftDomain, Form::kGemm},
    {"Add", "QLinearAdd", ir::kMicrosoftDomain, Form::kEach},
    {"Mul", "QLinearMul", ir::kMicrosoftDomain, Form::kEach},
    {"Sigmoid", "QLinearSigmoid", ir::kMicrosoftDomain, Form::kEach},
    {"LeakyRelu", "QLinearLeakyRelu", ir::kMicrosoftDomain, Form::kEach},
    {"AveragePool", "QLinearAveragePool", ir::kMicrosoftDomain, Form::kEach},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", ir::kMicrosoftDomain, Form::kEach},
    {"Softmax", "QLinearSoftmax", ir::kMicrosoftDomain, Form::kEach},
    {"Concat", "QLinearConcat", ir::kMicrosoftDomain, Form::kConcat},
    {"MaxPool", "MaxPool", "", Form::kUnchanged},
    {"Reshape", "Reshape", "", Form::kUnchanged},
    {"Flatten", "Flatten", "", Form::kUnchanged},
    {"Transpose", "Transpose", "", Form::kUnchanged},
    {"Squeeze", "Squeeze", "", Form::kUnchanged},
    {"Unsqueeze", "Unsqueeze", "", Form::kUnchanged},
    {"Slice", "Slice", "", Form::kUnchanged},
};

constexpr int64_t kOpsetOfByteClip = 12;  // Clip and MaxPool take bytes from there on
constexpr int64_t kHalfRange = 128;       // between int8 and uint8
constexpr int64_t kOpsetOfLastAxis = 13;  // Softmax's axis is -1 by default

bool has_weights(const IntegerForm& row) { return row.form == Form::kWeights || row.form == Form::kGemm; }

bool is_byte(ElementType type) { return type == ElementType::kInt8 || type == ElementType::kUInt8; }

/// The result of a node as it is quantized: at once, or after a Relu or Clip, whose limits become codes.
struct QuantizedResult {
  ir::NodeId quantizer, clamp;
  double low = -INFINITY, high = INFINITY;
  Operand operand;
};

/// int8 codes as uint8 ones and back, 128 apart.
ir::Tensor other_sign(const ir::Tensor& codes) {
  const ElementType type = codes.type() == ElementType::kInt8 ? ElementType::kUInt8 : ElementType::kInt8;
  ir::Tensor moved = ir::Tensor::allocate(type, codes.dims());
  std::ranges::transform(codes.data<uint8_t>(), moved.mutable_data<uint8_t>().begin(),
                         [](uint8_t code) { return static_cast<uint8_t>(code ^ 0x80); });
  return moved;
}

class Converter {
 public:
  explicit Converter(pass::ConvertContext& context) : context_(context), graph_(context.graph()), edit_(graph_) {}

  Result<size_t> run() {
    size_t converted = 0;
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph_.order())) {
      if (!graph_.is_alive(id) || !reads_dequantized(graph_.node(id))) continue;
      reason_.clear();
      QQ_TRY(const bool is_done, convert(id));
      if (is_done) ++converted;
      if (!is_done && !reason_.empty()) context_.leave(id, reason_);
    }
    edit_.remove_dead();
    if (converted > 0 && context_.model.opset(ir::kMicrosoftDomain) == 0)
      context_.model.set_opset(ir::kMicrosoftDomain, 1);
    return converted;
  }

 private:
  bool no(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool reads_dequantized(const ir::Node& node) const {
    if (quantizes(node) || dequantizes(node)) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::Node* source = ir::source_of(graph_, node, i);
      if (source != nullptr && dequantizes(*source)) return true;
    }
    return false;
  }

  Result<bool> convert(ir::NodeId id) {
    const ir::Node node = graph_.node(id);
    const auto* row = std::ranges::find_if(kForms, [&](const IntegerForm& form) { return node.is(form.op); });
    if (row == std::end(kForms)) return no("ONNX Runtime has no operator on integers for it");
    std::optional<QuantizedResult> result = result_of(node);
    if (!result) return false;
    std::optional<std::vector<Operand>> operands = operands_of(node, *row);
    if (operands) unify_types(*operands, *row, result->operand.type);
    if (!operands || !fits(node, *row, *operands, result->operand)) return false;
    ir::NodeSpec spec{std::string(row->integer_op), std::string(row->domain), node.name, {}, {}};
    spec.attributes = node.attributes;
    spec.origins = node.origins;
    QQ_TRY(const bool has_bias, add_inputs(node, *row, *operands, result->operand, spec));
    if (!has_bias) return false;
    complete(*row, spec);
    replace(id, std::move(spec), *result);
    return true;
  }

  /// Where the result is quantized; nothing, with the reason, where it is not.
  std::optional<QuantizedResult> result_of(const ir::Node& node) {
    QuantizedResult result;
    const ir::Node* reader = only_reader(node.output(0));
    if (reader != nullptr && (reader->is("Relu") || reader->is("Clip"))) {
      result.clamp = reader->id;
      if (!read_limits(*reader, result)) return no("the limits of the Clip after it are computed"), std::nullopt;
      reader = only_reader(reader->output(0));
    }
    if (reader == nullptr || !quantizes(*reader) || !reader->output(0).valid())
      return no("its result is not quantized at once"), std::nullopt;
    result.quantizer = reader->id;
    const auto operand = operand_of(graph_, reader->id);
    if (!operand || operand->scales.size() != 1) return no("its result has no one stored scale"), std::nullopt;
    result.operand = *operand;
    if (is_byte(operand->type) && context_.model.opset() < kOpsetOfByteClip && clamped_codes(result))
      return no("it needs a Clip on integers, which opset 12 has (convert-opset-version before)"), std::nullopt;
    return result;
  }

  const ir::Node* only_reader(ir::ValueId value) const {
    const auto use = value.valid() ? graph_.sole_use(value) : std::nullopt;
    return use && use->input == 0 ? &graph_.node(use->node) : nullptr;
  }

  bool read_limits(const ir::Node& clamp, QuantizedResult& result) const {
    if (clamp.is("Relu")) {
      result.low = 0;
      return true;
    }
    const auto low = ir::number_of(graph_, clamp, 1, "min", -INFINITY);
    const auto high = ir::number_of(graph_, clamp, 2, "max", INFINITY);
    if (!low || !high || *low > *high) return false;
    result.low = *low;
    result.high = *high;
    return true;
  }

  /// The quantized inputs: all of them, the first two where the third is a bias, the first where the others are shapes.
  std::optional<std::vector<Operand>> operands_of(const ir::Node& node, const IntegerForm& row) {
    size_t count = node.inputs.size();
    if (has_weights(row)) count = std::min<size_t>(count, 2);
    if (row.form == Form::kUnchanged) count = 1;
    std::vector<Operand> operands;
    for (size_t i = 0; i < count; ++i) {
      const ir::Node* dq = ir::source_of(graph_, node, i);
      if (dq == nullptr || !dequantizes(*dq)) return no(cat("its input ", i, " is not quantized")), std::nullopt;
      const auto operand = operand_of(graph_, dq->id);
      if (!operand) return no(cat("its input ", i, " has no stored scale and zero point")), std::nullopt;
      operands.push_back(*operand);
    }
    return operands;
  }

  /// Stored operands of elementwise operators take the type of the others: codes and zero point move together.
  void unify_types(std::vector<Operand>& operands, const IntegerForm& row, ElementType type) {
    if (row.form != Form::kEach && row.form != Form::kConcat) return;
    for (Operand& operand : operands) {
      const ir::Tensor* codes = graph_.constant(operand.codes);
      if (codes == nullptr || operand.type == type || !is_byte(operand.type) || !is_byte(type)) continue;
      const auto moved = [&](ir::ValueId value) {
        const std::string wanted = graph_.value(value).name + (type == ElementType::kInt8 ? "_int8" : "_uint8");
        return edit_.add_initializer(wanted, other_sign(*graph_.constant(value)));
      };
      operand.codes = moved(operand.codes);
      operand.zero_point = moved(operand.zero_point);
      operand.type = type;
      for (int64_t& zero : operand.zero_points) zero += type == ElementType::kInt8 ? -kHalfRange : kHalfRange;
    }
  }

  /// The types that ONNX Runtime's CPU kernels are registered for.
  bool fits(const ir::Node& node, const IntegerForm& row, const std::vector<Operand>& operands, const Operand& result) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool is_weight = i == 1 && has_weights(row);
      if (!is_byte(operands[i].type))
        return no(cat("its input ", i, " is ", name(operands[i].type), ", allowed are INT8 and UINT8"));
      const bool may_differ = is_weight && operands[0].type == ElementType::kUInt8;
      if (operands[i].type != operands[0].type && !may_differ)
        return no(cat("its inputs are ", name(operands[0].type), " and ", name(operands[i].type)));
      if (operands[i].scales.size() > 1 && !(is_weight && has_output_axis(node, row, operands[i])))
        return no(cat("its input ", i, " has a scale for each index of an axis"));
    }
    if (result.type != operands[0].type)
      return no(cat("its result is ", name(result.type), ", its input ", name(operands[0].type)));
    return fits_attributes(node, row, operands[0], result);
  }

  /// A scale for each output channel, and one zero point for all.
  bool has_output_axis(const ir::Node& node, const IntegerForm& row, const Operand& weight) const {
    const ir::ValueType& type = graph_.value(weight.codes).type;
    const ir::Tensor* stored = graph_.constant(weight.codes);
    const int64_t rank = stored != nullptr ? stored->rank() : static_cast<int64_t>(type.dims.size());
    const Result<int64_t> axis = ir::normalize_axis(weight.axis, rank);
    const bool is_first = row.op == "Conv" || (row.form == Form::kGemm && node.int_or("transB", 0) != 0);
    const bool has_one_zero =
        std::ranges::all_of(weight.zero_points, [&](int64_t z) { return z == weight.zero_points[0]; });
    return axis.ok() && has_one_zero && axis.value() == (is_first ? 0 : rank - 1);
  }

  bool fits_attributes(const ir::Node& node, const IntegerForm& row, const Operand& input, const Operand& result) {
    if (row.form == Form::kUnchanged && !agrees(input, result))
      return no("its result has another scale or zero point than its input");
    if (node.is("MaxPool") && (context_.model.opset() < kOpsetOfByteClip || node.outputs.size() > 1))
      return no("MaxPool on integers needs opset 12 and one output");
    const std::vector<int64_t> dilations = node.ints_or("dilations", {});
    if (node.is("AveragePool") && std::ranges::any_of(dilations, [](int64_t d) { return d != 1; }))
      return no("it has dilations");
    return true;
  }

  /// False, with the reason, where the bias cannot be stored in int32.
  Result<bool> add_inputs(const ir::Node& node, const IntegerForm& row, const std::vector<Operand>& operands,
                          const Operand& result, ir::NodeSpec& spec) {
    const auto add_result = [&] { spec.inputs.insert(spec.inputs.end(), {result.scale, result.zero_point}); };
    if (row.form == Form::kUnchanged) {
      spec.inputs = node.inputs;
      spec.inputs[0] = operands[0].codes;
      return true;
    }
    if (row.form == Form::kConcat) add_result();
    for (const Operand& operand : operands)
      spec.inputs.insert(spec.inputs.end(), {operand.codes, operand.scale, operand.zero_point});
    ir::ValueId bias;
    if (has_weights(row) && node.input(2).valid()) {
      QQ_TRY(bias, stored_bias(node, operands));
      if (!bias.valid()) return false;
    }
    if (row.form == Form::kGemm) spec.inputs.push_back(bias);
    if (row.form != Form::kConcat) add_result();
    if (row.form == Form::kWeights && bias.valid()) spec.inputs.push_back(bias);
    return true;
  }

  /// The bias in steps of the product of scales; alpha and beta of a Gemm are in it.
  Result<ir::ValueId> stored_bias(const ir::Node& node, const std::vector<Operand>& operands) {
    const auto values = bias_values(context_.model, node.input(2));
    const double factor =
        static_cast<double>(node.float_or("alpha", 1)) / static_cast<double>(node.float_or("beta", 1));
    std::vector<double> scales;
    for (const float scale : operands[1].scales)
      scales.push_back(factor * static_cast<double>(operands[0].scales[0]) * static_cast<double>(scale));
    const bool is_known =
        values && std::isfinite(factor) && factor != 0 && (scales.size() == 1 || scales.size() == values->size());
    if (!is_known) {
      no("its bias is not stored with a value for each channel");
      return ir::ValueId{};
    }
    Result<ir::Tensor> codes = encode_bias(*values, scales);
    if (!codes.ok()) {
      no(codes.status().message());
      return ir::ValueId{};
    }
    const std::string label = graph_.value(node.input(2)).name;
    return edit_.add_initializer(label + "_int32", std::move(codes).value());
  }

  void complete(const IntegerForm& row, ir::NodeSpec& spec) const {
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(spec.attributes, [&](const ir::Attribute& one) { return one.name == name; });
    };
    const auto erase = [&](std::string_view name) {
      std::erase_if(spec.attributes, [&](const ir::Attribute& one) { return one.name == name; });
    };
    if (row.op == "AveragePool" || row.op == "GlobalAveragePool")
      spec.attributes.push_back({"channels_last", int64_t{0}, {}, {}});
    if (row.op == "AveragePool") erase("dilations");
    if (row.form == Form::kGemm) erase("beta");
    if (row.op != "Softmax") return;
    const int64_t opset = context_.model.opset();
    if (!has("axis")) spec.attributes.push_back({"axis", int64_t{opset < kOpsetOfLastAxis ? 1 : -1}, {}, {}});
    spec.attributes.push_back({"opset", opset, {}, {}});
  }

  void replace(ir::NodeId id, ir::NodeSpec spec, const QuantizedResult& result) {
    const ir::ValueId codes = graph_.node(result.quantizer).output(0);
    const ir::NodeId made = edit_.add_node(std::move(spec), id);
    edit_.remove_node(result.quantizer);
    if (result.clamp.valid()) edit_.remove_node(result.clamp);
    edit_.remove_node(id);
    edit_.mutable_value(codes).type.element = result.operand.type;
    const ir::ValueId written = add_clamp(result, codes);
    edit_.set_output(made, 0, written);
  }

  /// The codes of the clamp's limits, or nothing where the codes end there anyway.
  static std::optional<numeric::IntegerRange> clamped_codes(const QuantizedResult& result) {
    const numeric::IntegerRange range = numeric::integer_range(result.operand.type, numeric::RangeKind::kFull);
    const numeric::LinearParams params{result.operand.scales[0], result.operand.zero_points[0], range,
                                       numeric::Overflow::kSaturate};
    const int64_t low = numeric::quantize(static_cast<float>(result.low), params);
    const int64_t high = numeric::quantize(static_cast<float>(result.high), params);
    if (low == range.min && high == range.max) return std::nullopt;
    return numeric::IntegerRange{low, high};
  }

  /// Quantizing is monotone: what is clamped before may be clamped after, to the codes of the limits. Returns what the
  /// operator writes: `codes` where the codes end at these limits anyway.
  ir::ValueId add_clamp(const QuantizedResult& result, ir::ValueId codes) {
    const std::optional<numeric::IntegerRange> clamped = clamped_codes(result);
    if (!clamped) return codes;
    const ir::ValueId unclamped = edit_.add_value(graph_.value(codes).name + "_unclamped", graph_.value(codes).type);
    const auto limit = [&](const char* what, int64_t value) {
      ir::Tensor tensor = ir::Tensor::allocate(result.operand.type, {});
      tensor.mutable_data<uint8_t>()[0] = static_cast<uint8_t>(value);
      return edit_.add_initializer(graph_.value(codes).name + what, std::move(tensor));
    };
    const ir::ValueId least = limit("_min", clamped->min), most = limit("_max", clamped->max);
    edit_.add_node({"Clip", "", graph_.value(codes).name + "_clamp", {unclamped, least, most}, {codes}});
    return unclamped;
  }

  pass::ConvertContext& context_;
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  std::string reason_;
};

}  // namespace

Result<size_t> qdq_to_qoperator(pass::ConvertContext& context) { return Converter(context).run(); }

// quant_format QOperator: what the conversion qdq-to-qoperator does, at the end of a run.

Result<Changed> write_integer_operators(pass::QdqContext& context) {
  std::vector<pass::LeftNode> left;
  std::vector<pass::SideFile> none;
  const pass::ConversionOptions options;
  pass::ConvertContext conversion{context.model, options, context.diagnostics, context.environment, left, none};
  QQ_TRY(const size_t converted, qdq_to_qoperator(conversion));
  for (const pass::LeftNode& node : left) context.diagnostics.add("left-between-pairs", node.node, node.reason);
  return pass::tidy_up(context.graph(), converted > 0 ? Changed::kYes : Changed::kNo);
}

}  // namespace quarkq::qdq
