// SPDX-License-Identifier: MIT
// Softmax in the DPU's arithmetic (ref:npu#softmax): exp as 2^k times a polynomial in bfloat16, without subtracting the
// maximum. The nodes are a table with the reference's names.
#include <algorithm>
#include <numeric>

#include "numeric/element_type.h"
#include "planning/restructure/simulate_dpu.h"

namespace quarkq::planning {
namespace {

enum class Kind { kConstant, kToBf16, kToFloat, kBf16, kFloat };  ///< Kind of a step, by its output.

/// Row numbers; the value that the Softmax reads.
constexpr int kUnused = -1, kX = -2;

struct Step {
  const char* op;
  const char* name;  ///< after the Softmax's own name
  Kind kind;
  int a = kUnused, b = kUnused;  ///< rows of the inputs
  float constant = 0;
};

constexpr Step kExpSteps[] = {
    {"Cast", "/exp_poly/round/cast", Kind::kToBf16, kX},  // 0
    {"Constant", "/exp_poly/round/rcp_ln2", Kind::kConstant, kUnused, kUnused, 1.4426950408889634f},
    {"Mul", "/exp_poly/round/mul", Kind::kBf16, 0, 1},
    {"Floor", "/exp_poly/round/round", Kind::kBf16, 2},
    {"Constant", "/exp_poly/modulo/ln2", Kind::kConstant, kUnused, kUnused, 0.6931471805599453f},
    {"Mul", "/exp_poly/modulo/mul", Kind::kBf16, 3, 4},  // 5
    {"Sub", "/exp_poly/modulo/sub", Kind::kBf16, 0, 5},
    {"Cast", "/exp_poly/poly_approx/cast_1", Kind::kToFloat, 6},
    {"Constant", "/exp_poly/poly_approx/alpha_3", Kind::kConstant, kUnused, kUnused, 0.21875f},
    {"Cast", "/exp_poly/poly_approx/cast_2", Kind::kToFloat, 8},
    {"Mul", "/exp_poly/poly_approx/mul_2", Kind::kFloat, 7, 9},  // 10
    {"Constant", "/exp_poly/poly_approx/alpha_2", Kind::kConstant, kUnused, kUnused, 0.486328125f},
    {"Cast", "/exp_poly/poly_approx/cast_3", Kind::kToFloat, 11},
    {"Add", "/exp_poly/poly_approx/add", Kind::kFloat, 10, 12},
    {"Cast", "/exp_poly/poly_approx/cast_4", Kind::kToBf16, 13},
    {"Cast", "/exp_poly/poly_approx/cast_5", Kind::kToFloat, 14},  // 15
    {"Mul", "/exp_poly/poly_approx/mul_3", Kind::kFloat, 7, 15},
    {"Constant", "/exp_poly/poly_approx/alpha_1", Kind::kConstant, kUnused, kUnused, 1.0f},
    {"Cast", "/exp_poly/poly_approx/cast_6", Kind::kToFloat, 17},
    {"Add", "/exp_poly/poly_approx/add_1", Kind::kFloat, 16, 18},
    {"Cast", "/exp_poly/poly_approx/cast_7", Kind::kToBf16, 19},  // 20
    {"Cast", "/exp_poly/poly_approx/cast_8", Kind::kToFloat, 20},
    {"Mul", "/exp_poly/poly_approx/mul_4", Kind::kFloat, 7, 21},
    {"Constant", "/exp_poly/poly_approx/alpha_0", Kind::kConstant, kUnused, kUnused, 1.0f},
    {"Cast", "/exp_poly/poly_approx/cast_9", Kind::kToFloat, 23},
    {"Add", "/exp_poly/poly_approx/add_2", Kind::kFloat, 22, 24},  // 25
    {"Cast", "/exp_poly/poly_approx/cast_10", Kind::kToBf16, 25},
    {"Constant", "/exp_poly/pow/pow/x", Kind::kConstant, kUnused, kUnused, 2.0f},
    {"Pow", "/exp_poly/pow/pow", Kind::kBf16, 27, 3},
    {"Mul", "/exp_poly/exp_x", Kind::kBf16, 28, 26},
};

ir::Tensor bf16_scalar(float value) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kBFloat16, {});
  tensor.mutable_data<uint16_t>()[0] = bfloat16_from_float(value);
  return tensor;
}

class SoftmaxWriter {
 public:
  SoftmaxWriter(Simulation& simulation, const ir::Node& softmax)
      : simulation_(simulation),
        graph_(simulation.graph()),
        name_(softmax.name.empty() ? simulation.written_name(softmax.outputs[0]) : softmax.name),
        origins_(softmax.origins),
        shape_(graph_.value(softmax.outputs[0]).type) {}

  struct NewNode {
    const char* op;
    std::string suffix;  ///< Suffix of its name.
    Kind kind;
    std::vector<ir::ValueId> inputs;
    std::vector<ir::Attribute> attributes = {};
    ir::ValueId output = {};  ///< made when invalid
  };

  /// Appends a node; returns its output.
  ir::ValueId add(NewNode made) {
    auto& [op, suffix, kind, inputs, attributes, output] = made;
    const bool is_float = kind == Kind::kToFloat || kind == Kind::kFloat;
    const auto element = is_float ? ElementType::kFloat : ElementType::kBFloat16;
    if (!output.valid()) {
      ir::ValueType type = shape_;
      type.element = element;
      const bool is_scalar = std::ranges::all_of(inputs, [&](ir::ValueId input) {  // constants, and Casts of them
        const ir::ValueType& given = simulation_.graph().value(input).type;
        return given.has_shape && given.dims.empty();
      });
      if (is_scalar) type.dims.clear();
      output = simulation_.edit().add_value(name_ + suffix + "_output", type);
    }
    if (kind == Kind::kToBf16 || kind == Kind::kToFloat) {
      constexpr int64_t kOnnxFloat = 1, kOnnxBFloat16 = 16;
      attributes.push_back({"to", is_float ? kOnnxFloat : kOnnxBFloat16, {}, {}});
    }
    last_ = simulation_.edit().add_node({.op = op,
                                         .domain = "",
                                         .name = name_ + suffix,
                                         .inputs = std::move(inputs),
                                         .outputs = {output},
                                         .attributes = std::move(attributes),
                                         .origins = origins_});
    return output;
  }

  ir::ValueId add_exp(ir::ValueId x, ir::NodeId softmax) {
    std::vector<ir::ValueId> made;
    for (const Step& step : kExpSteps) {
      std::vector<ir::ValueId> inputs;
      for (const int input : {step.a, step.b}) {
        if (input != kUnused) inputs.push_back(input == kX ? x : made[static_cast<size_t>(input)]);
      }
      std::vector<ir::Attribute> attributes;
      if (step.kind == Kind::kConstant) attributes.push_back({"value", bf16_scalar(step.constant), {}, {}});
      made.push_back(add({step.op, step.name, step.kind, inputs, attributes}));
      if (step.a == kX) simulation_.hand_over_read(x, softmax, last_);
    }
    return made.back();
  }

  ir::ValueId add_sum(ir::ValueId exp, int64_t axis) {
    std::vector<ir::Attribute> attributes = {{"keepdims", int64_t{1}, {}, {}}};
    std::vector<ir::ValueId> inputs = {exp};
    constexpr int64_t kAxesAreAnInput = 13;
    if (simulation_.opset() < kAxesAreAnInput) {
      attributes.insert(attributes.begin(), {"axes", std::vector<int64_t>{axis}, {}, {}});
    } else {
      const auto axes = ir::Tensor::from<int64_t>({1}, std::vector<int64_t>{axis});
      inputs.push_back(
          add({"Constant", "/exp_sum/sum/reduction_indices", Kind::kConstant, {}, {{"value", axes, {}, {}}}}));
      ir::ValueType type;
      type.element = ElementType::kInt64;
      type.has_shape = true;
      type.dims = {{1, {}}};
      simulation_.edit().set_type(inputs.back(), type);
    }
    const ir::ValueId sum = add({"ReduceSum", "/exp_sum/sum", Kind::kBf16, inputs, attributes});
    if (const auto place = ir::normalize_axis(axis, static_cast<int64_t>(shape_.dims.size())); place.ok()) {
      ir::ValueType type = graph_.value(sum).type;
      type.dims[static_cast<size_t>(place.value())] = {1, {}};
      simulation_.edit().set_type(sum, type);
      const ir::ValueId cast = add({"Cast", "/exp_sum/cast_reduce_sum_out_16", Kind::kToBf16, {sum}});
      simulation_.edit().set_type(cast, type);
      return cast;
    }
    return add({"Cast", "/exp_sum/cast_reduce_sum_out_16", Kind::kToBf16, {sum}});
  }

 private:
  Simulation& simulation_;
  const ir::Graph& graph_;
  std::string name_;
  std::vector<ir::NodeId> origins_;
  ir::ValueType shape_;
  ir::NodeId last_;
};

/// Below opset 13 a Softmax runs over all axes from `axis` on, 1 by default; the reference takes it for the later kind.
std::optional<int64_t> softmax_axis(const Simulation& simulation, const ir::Node& node) {
  constexpr int64_t kAlongOneAxis = 13;
  if (simulation.is_compat() || simulation.opset() >= kAlongOneAxis) return node.int_or("axis", -1);
  const ir::ValueType& type = simulation.graph().value(node.input(0)).type;
  const auto rank = static_cast<int64_t>(type.dims.size());
  const Result<int64_t> axis = ir::normalize_axis(node.int_or("axis", 1), rank);
  if (!type.has_shape || !axis.ok() || axis.value() != rank - 1) return {};
  return axis.value();
}

}  // namespace

void convert_softmax(Simulation& simulation, ir::NodeId id) {
  constexpr int64_t kFirstOpset = 7;
  const ir::Node node = simulation.graph().node(id);
  const std::optional<int64_t> axis = softmax_axis(simulation, node);
  if (simulation.opset() < kFirstOpset || !axis) {
    simulation.leave(
        node, simulation.opset() < kFirstOpset ? "the DPU's form needs opset 7" : "it runs over more than one axis");
    return;
  }
  SoftmaxWriter writer(simulation, node);
  const ir::ValueId exp = writer.add_exp(node.inputs[0], id);
  const ir::ValueId sum = writer.add_sum(exp, *axis);
  const ir::ValueId quotient = writer.add({"Div", "/div", Kind::kBf16, {exp, sum}});
  simulation.edit().remove_node(id);
  writer.add({"Cast", "/output_cast", Kind::kToFloat, {quotient}, {}, node.outputs[0]});
  simulation.changed = true;
}

}  // namespace quarkq::planning
