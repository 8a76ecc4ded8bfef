// SPDX-License-Identifier: MIT
// quarkq.mx_form: standard (ADR 0023). OCP microscaling formats as QuantizeLinear and DequantizeLinear of opset 28,
// with one FLOAT8E8M0 scale per block. Constants become stored elements and scales. The scales of activations are
// computed: largest magnitude of each block, divided by the largest value that rounds into the element type, rounded to
// a power of two. The result equals MXQuantizeDequantize for finite values of magnitudes above 2^-100.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/block_formats.h"
#include "numeric/small_floats.h"
#include "pass/output_guard.h"
#include "plan/lowering/lower.h"
#include "qdq/pairs.h"
#include "qdq/passes.h"

namespace quarkq::qdq {

namespace {

constexpr int64_t kMxOpset = 28, kMxIrVersion = 14;   // FLOAT6 exists from these on; one opset for all formats.
constexpr int kPowerBias = 127, kLargestPower = 254;  // FLOAT8E8M0

/// The stored form of an element format.
struct MxForm {
  std::string_view name;
  ElementType type;
  int step_exponent;  ///< The DequantizeLinear scale is 2^step_exponent times the scale of the format.
};
constexpr MxForm kMxForms[] = {
    {"fp8_e5m2", ElementType::kFloat8E5M2, 0}, {"fp8_e4m3", ElementType::kFloat8E4M3Fn, 0},
    {"fp6_e3m2", ElementType::kFloat6E3M2, 0}, {"fp6_e2m3", ElementType::kFloat6E2M3, 0},
    {"fp4_e2m1", ElementType::kFloat4E2M1, 0}, {"int8", ElementType::kInt8, -6},
};

const MxForm* find_mx_form(std::string_view name) {
  const auto* found = std::ranges::find(kMxForms, name, &MxForm::name);
  return found == std::end(kMxForms) ? nullptr : found;
}

/// Computation of one node of MXQuantizeDequantize.
struct MxNode {
  const MxForm* form = nullptr;
  numeric::MxSettings settings;
  std::vector<ir::Dim> dims;
  int64_t axis = 0;
  int64_t block = 0;  ///< At most the length of the axis.
  ElementType real = ElementType::kFloat;

  int64_t length() const { return dims[static_cast<size_t>(axis)].size; }
  int64_t blocks() const { return (length() - 1) / block + 1; }
  /// Exponent of the DequantizeLinear scale relative to the exponent of the largest magnitude.
  int scale_exponent() const { return form->step_exponent - settings.element->largest_exponent; }
};

/// Either a node, or the reason why the standard operators cannot express it.
struct MxReading {
  MxNode node;
  std::string reason;
};

/// Type of the node's input. Constants have their own.
ir::ValueType mx_input_type(const ir::Graph& graph, const ir::Node& node) {
  ir::ValueType type = graph.value(node.input(0)).type;
  const ir::Tensor* constant = ir::stored_floats(graph, node.input(0));
  if (constant == nullptr) return type;
  type.element = constant->type();
  type.has_shape = true;
  type.dims.clear();
  for (const int64_t size : constant->dims()) type.dims.push_back({size, ""});
  return type;
}

/// Reads the attributes, which do not depend on the shape.
MxReading read_mx_attributes(const ir::Node& node, const ir::ValueType& type) {
  MxReading reading;
  const std::string element = node.string_or("element_dtype", "int8");
  reading.node.form = find_mx_form(element);
  reading.node.settings.element = numeric::find_mx_element(element);
  if (reading.node.form == nullptr) return {{}, cat("element_dtype is '", element, "'")};
  reading.node.settings.rounding = numeric::block_rounding(node.int_or("rounding_mode", 0));
  reading.node.settings.round_scale_up = node.int_or(numeric::kRoundScaleUp, 0) != 0;
  reading.node.real = type.element;
  const bool is_real = reading.node.real == ElementType::kFloat || reading.node.real == ElementType::kFloat16;
  if (!is_real) reading.reason = cat("its type is ", name(reading.node.real));
  return reading;
}

MxReading read_mx_node(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueType type = mx_input_type(graph, node);
  MxReading reading = read_mx_attributes(node, type);
  if (!reading.reason.empty()) return reading;
  if (!type.has_shape) return {{}, "its shape is not known"};
  MxNode& mx = reading.node;
  mx.dims = type.dims;
  const auto rank = static_cast<int64_t>(mx.dims.size());
  if (rank == 0) return reading;
  const Result<int64_t> axis = ir::normalize_axis(rank == 1 ? 0 : node.int_or("axis", 1), rank);
  if (!axis.ok()) return {{}, axis.status().message()};
  mx.axis = axis.value();
  const auto later = std::span(mx.dims).subspan(static_cast<size_t>(mx.axis) + 1);
  if (!mx.dims[static_cast<size_t>(mx.axis)].known()) return {{}, cat("the length of axis ", mx.axis, " is not known")};
  if (std::ranges::any_of(mx.dims, [](const ir::Dim& dim) { return dim.size == 0; })) return {{}, "it has no elements"};
  if (std::ranges::count_if(later, [](const ir::Dim& dim) { return !dim.known(); }) > 1)
    return {{}, cat("several dimensions after axis ", mx.axis, " are not known")};
  const int64_t block = node.int_or("block_size", 32);
  if (block < 1) return {{}, cat("block_size is ", block)};
  mx.block = std::min(block, mx.length());
  return reading;
}

/// A single element is not rounded (ref:operators#block-floating-point).
bool is_single_element(const MxNode& mx) {
  return std::ranges::all_of(mx.dims, [](const ir::Dim& dim) { return dim.size == 1; });
}

// ---- constants ------------------------------------------------------------------------------------------------------

/// The code of one value divided by the scale of its block.
uint8_t element_code(float steps, const MxNode& mx) {
  if (mx.form->type != ElementType::kInt8)
    return numeric::small_float_from_float(steps == 0.0f ? 0.0f : steps, {mx.form->type, /*saturate=*/true});
  const float rounded = std::clamp(numeric::round_block_value(steps, mx.settings.rounding), -128.0f, 127.0f);
  return static_cast<uint8_t>(static_cast<int8_t>(rounded));
}

struct MxCodes {
  std::vector<uint8_t> codes, scales;
};

MxCodes encode_mx(std::span<const float> values, const numeric::BlockSplit& split, const MxNode& mx) {
  MxCodes made{std::vector<uint8_t>(values.size()), std::vector<uint8_t>(static_cast<size_t>(split.count()))};
  std::vector<float> block;
  for (int64_t number = 0; number < split.count(); ++number) {
    const int64_t inner = number % split.inner, run = number / split.inner;
    const int64_t first = run % split.blocks() * split.block, outer = run / split.blocks();
    const auto place = [&](int64_t i) {
      return static_cast<size_t>((outer * split.length + first + i) * split.inner + inner);
    };
    block.resize(static_cast<size_t>(std::min(split.block, split.length - first)));
    for (size_t i = 0; i < block.size(); ++i) block[i] = values[place(static_cast<int64_t>(i))];
    const int power = numeric::mx_shared_exponent(block, mx.settings) + mx.scale_exponent();
    made.scales[static_cast<size_t>(number)] = static_cast<uint8_t>(std::clamp(power, 0, kLargestPower));
    const float scale = std::ldexp(1.0f, std::clamp(power, 0, kLargestPower) - kPowerBias);
    for (size_t i = 0; i < block.size(); ++i)
      made.codes[place(static_cast<int64_t>(i))] = element_code(block[i] / scale, mx);
  }
  return made;
}

ir::Tensor stored_codes(ElementType type, const ir::Shape& dims, const std::vector<uint8_t>& codes) {
  ir::Tensor tensor = ir::Tensor::zeros(type, dims);
  auto* bytes = reinterpret_cast<uint8_t*>(tensor.mutable_raw());
  if (numeric::is_packed(type))
    numeric::pack_codes(codes.data(), bytes, static_cast<int64_t>(codes.size()), bits(type));
  else
    std::ranges::copy(codes, bytes);
  return tensor;
}

int64_t count_between(const ir::Shape& dims, int64_t begin, int64_t end) {
  int64_t count = 1;
  for (int64_t i = begin; i < end; ++i) count *= dims[static_cast<size_t>(i)];
  return count;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

class MxWriter {
 public:
  MxWriter(ir::Graph& graph, const ir::Node& node, const MxNode& mx)
      : graph_(graph), edit_(graph), node_(node), mx_(mx), name_(graph.value(node.input(0)).name) {}

  void write_constant(const ir::Tensor& tensor, std::span<const float> values) {
    const ir::Shape& dims = tensor.dims();
    const numeric::BlockSplit split{count_between(dims, 0, mx_.axis), mx_.length(),
                                    count_between(dims, mx_.axis + 1, tensor.rank()), mx_.block};
    const MxCodes made = encode_mx(values, split, mx_);
    ir::Shape scale_dims = dims;
    scale_dims[static_cast<size_t>(mx_.axis)] = mx_.blocks();
    const std::string stored_name = plan::stored_name(name_);
    const ir::ValueId codes = edit_.add_initializer(stored_name, stored_codes(mx_.form->type, dims, made.codes));
    const ir::ValueId scale = edit_.add_initializer(plan::scale_name(stored_name),
                                                    stored_codes(ElementType::kFloat8E8M0, scale_dims, made.scales));
    write_dequantize(codes, scale);
  }

  void write_activation() {
    const ir::ValueId x = node_.input(0);
    const ir::ValueId scale = block_scales(x);
    const ir::ValueId codes =
        append("QuantizeLinear", {x, scale}, plan::QdqNames(name_).quantize_output, mx_.form->type, mx_.form->type);
    write_dequantize(codes, scale);
  }

 private:
  /// One FLOAT8E8M0 per block of `x`, in the shape of `x` but for the axis.
  ir::ValueId block_scales(ir::ValueId x) {
    const ElementType real = mx_.real;
    ir::ValueId magnitudes = append("Abs", {x}, name_ + "_magnitudes", real);
    if (mx_.length() % mx_.block != 0) magnitudes = append("Pad", {magnitudes, pads()}, name_ + "_padded", real);
    magnitudes = append("Reshape", {magnitudes, block_shape()}, name_ + "_blocks", real);
    ir::ValueId largest =
        append("ReduceMax", {magnitudes, integers(name_ + "_block_axis", {mx_.axis + 1})}, name_ + "_largest", real);
    if (real != ElementType::kFloat) largest = append("Cast", {largest}, name_ + "_largest_float", ElementType::kFloat);
    largest = append("Min", {largest, limit()}, name_ + "_limited", ElementType::kFloat);
    const ir::ValueId relative = append("Div", {largest, divisor()}, name_ + "_relative", ElementType::kFloat);
    return append("Cast", {relative}, plan::scale_name(name_), ElementType::kFloat8E8M0);
  }

  ir::ValueId integers(const std::string& name, const std::vector<int64_t>& values) {
    return edit_.add_initializer(name, ir::Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  ir::ValueId pads() {
    const size_t rank = mx_.dims.size();
    std::vector<int64_t> counts(2 * rank);
    counts[rank + static_cast<size_t>(mx_.axis)] = mx_.blocks() * mx_.block - mx_.length();
    return integers(name_ + "_pads", counts);
  }
  /// Dimensions before the axis are copied from the input, one later dimension may be computed.
  ir::ValueId block_shape() {
    std::vector<int64_t> shape(static_cast<size_t>(mx_.axis), 0);
    shape.push_back(mx_.blocks());
    shape.push_back(mx_.block);
    for (size_t i = static_cast<size_t>(mx_.axis) + 1; i < mx_.dims.size(); ++i) shape.push_back(mx_.dims[i].size);
    return integers(name_ + "_block_shape", shape);
  }
  /// The magnitude whose scale is 1. With rounding up, it is the largest magnitude that is not saturated.
  ir::ValueId divisor() {
    double value = std::ldexp(1.0, -mx_.scale_exponent());
    if (rounds_up()) value *= largest_kept();
    return edit_.add_initializer(name_ + "_unit", ir::Tensor::scalar(static_cast<float>(value)));
  }
  /// The largest magnitude whose scale is not rounded up beyond float32 (numeric::mx_shared_exponent). Infinities count
  /// as it.
  ir::ValueId limit() {
    const double value =
        rounds_up() ? std::ldexp(largest_kept(), 127) : static_cast<double>(std::numeric_limits<float>::max());
    return edit_.add_initializer(name_ + "_limit", ir::Tensor::scalar(static_cast<float>(value)));
  }
  /// Largest significand, from 1 to 2, that is not saturated.
  double largest_kept() const { return 1.0 + std::ldexp(mx_.settings.element->highest_fraction, -23); }
  bool rounds_up() const { return mx_.settings.round_scale_up && mx_.settings.element->exponent_bits > 0; }

  std::vector<ir::Attribute> attributes_of(const std::string& op, ElementType to) const {
    const auto type = static_cast<int64_t>(to);
    if (op == "QuantizeLinear" || op == "DequantizeLinear") {
      return {{"axis", mx_.axis, {}, {}}, {"block_size", mx_.block, {}, {}}, {"output_dtype", type, {}, {}}};
    }
    if (op == "ReduceMax") return {{"keepdims", int64_t{0}, {}, {}}};
    if (op != "Cast") return {};
    if (to != ElementType::kFloat8E8M0) return {{"to", type, {}, {}}};
    return {{"to", type, {}, {}}, {"round_mode", rounds_up() ? "up" : "down", {}, {}}};
  }

  ir::ValueId append(const std::string& op, std::vector<ir::ValueId> inputs, const std::string& output,
                     ElementType type, ElementType to = ElementType::kUndefined) {
    ir::ValueType made;
    made.element = type;
    const ir::ValueId value = edit_.add_value(output, made);
    add(op, output + "_" + op, std::move(inputs), value, to == ElementType::kUndefined ? type : to);
    return value;
  }
  void add(const std::string& op, const std::string& node_name, std::vector<ir::ValueId> inputs, ir::ValueId output,
           ElementType to) {
    edit_.add_node({op, "", node_name, std::move(inputs), {output}, attributes_of(op, to), node_.origins}, node_.id);
  }

  /// The node's output gets a DequantizeLinear for its producer.
  void write_dequantize(ir::ValueId codes, ir::ValueId scale) {
    const ir::ValueId output = node_.output(0), freed = edit_.add_value("");
    edit_.set_output(node_.id, 0, freed);
    add("DequantizeLinear", node_.name, {codes, scale}, output, mx_.real);
    edit_.remove_node(node_.id);
    edit_.remove_value(freed);
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
  const ir::Node node_;
  const MxNode mx_;
  const std::string name_;
};

/// Replaces the node. Returns the reason if it stays.
std::string replace_mx_node(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const MxReading reading = read_mx_node(graph, node);
  if (!reading.reason.empty()) return reading.reason;
  if (is_single_element(reading.node)) {
    bypass(graph, id, node.input(0));
    return "";
  }
  const ir::Tensor* constant = ir::stored_floats(graph, node.input(0));
  MxWriter writer(graph, node, reading.node);
  if (constant == nullptr) {
    writer.write_activation();
    return "";
  }
  const Result<std::vector<float>> values = ir::float_values(*constant);
  if (!values.ok()) return values.status().message();
  if (!std::ranges::all_of(values.value(), [](float x) { return std::isfinite(x); })) return "it has infinities or NaN";
  writer.write_constant(ir::Tensor(*constant), values.value());
  return "";
}

bool is_microscaling(const ir::Node& node) {
  return (node.op == "MXQuantizeDequantize" || node.op == "MXFixNeuron") && node.input(0).valid() &&
         node.output(0).valid();
}
bool is_any_block_format(const ir::Node& node) { return ir::quantizing_part(node.op) == ir::QuantizingPart::kBoth; }

/// Raises the opset to the one with the element types. Returns the reason if that is impossible.
Result<std::string> raise_mx_opset(pass::QdqContext& context) {
  if (context.model.opset() < kMxOpset) {
    const std::string path = context.model.path;
    Result<ir::Model> raised = pass::convert_opset(context.model, context.environment, kMxOpset);
    if (!raised.ok()) return raised.status().message();
    context.model = std::move(raised).value();
    context.model.path = path;
  }
  context.model.ir_version = std::max(context.model.ir_version, kMxIrVersion);
  return std::string();
}

}  // namespace

Result<Changed> standard_mx(pass::QdqContext& context) {
  const auto count = [&](const std::function<bool(const ir::Node&)>& test) {
    return std::ranges::count_if(context.graph().order(),
                                 [&](ir::NodeId id) { return test(context.graph().node(id)); });
  };
  const auto add = [&](const std::string& node, const std::string& why) {
    context.diagnostics.add("mx-not-standard", node, why);
  };
  if (count(is_any_block_format) > count(is_microscaling))
    add("", "BFP16, MX4, MX6 and MX9 are not formats of ONNX; allowed are MXFP4, MXFP6, MXFP8 and MXINT8");
  if (count(is_microscaling) == 0) return Changed::kNo;
  QQ_TRY(const std::string not_raised, raise_mx_opset(context));
  if (!not_raised.empty()) {
    add("", cat("the opset cannot be raised to ", kMxOpset, ": ", not_raised));
    return Changed::kNo;
  }
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(context.graph().order())) {
    if (!is_microscaling(context.graph().node(id))) continue;
    const std::string node = context.graph().node(id).name, reason = replace_mx_node(context.graph(), id);
    if (!reason.empty()) add(node, reason);
    if (reason.empty()) changed = Changed::kYes;
  }
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::qdq
