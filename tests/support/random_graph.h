// SPDX-License-Identifier: MIT
// Random models for tests of properties that hold for every graph: a session computes what its nodes compute alone,
// a rewrite keeps the outputs, a saved model is the one loaded.
#pragma once

#include <map>

#include "support/random_draws.h"
#include "support/run_node.h"

namespace quarkq::test {

/// Nodes over image tensors; the shape of each value is known while it is drawn.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : draws_(seed) {
    model_.set_opset("", 17);
    model_.graph.name = "random";
    input_ = draws_.tensor({draws_.integer(1, 2), draws_.integer(1, 17), draws_.integer(2, 6), draws_.integer(2, 6)});
    ir::ValueType type{ElementType::kFloat, true, {}, {}};
    for (const int64_t size : input_.dims()) type.dims.push_back({size, {}});
    const ir::ValueId x = edit_.add_value("x", type);
    edit_.add_graph_input(x);
    values_.push_back(x);
    results_[x.index] = input_;
  }

  /// False when the node does not run alone, which is a failure of the test itself.
  bool grow() {
    using Member = void (RandomGraph::*)();
    static constexpr Member kMembers[] = {
        &RandomGraph::unary,          &RandomGraph::unary,     &RandomGraph::binary,    &RandomGraph::binary,
        &RandomGraph::variadic,       &RandomGraph::conv,      &RandomGraph::conv,      &RandomGraph::pool,
        &RandomGraph::concat,         &RandomGraph::slice,     &RandomGraph::transpose, &RandomGraph::reshape,
        &RandomGraph::reduce,         &RandomGraph::normalize, &RandomGraph::pad,       &RandomGraph::no_op,
        &RandomGraph::back_and_forth, &RandomGraph::gemm,      &RandomGraph::resize,    &RandomGraph::rearrange,
        &RandomGraph::norm,           &RandomGraph::clip,      &RandomGraph::spread};
    (this->*kMembers[static_cast<size_t>(draws_.integer(0, std::size(kMembers) - 1))])();
    return failure_.empty();
  }
  /// The last value and some others become outputs.
  void close() {
    for (const ir::ValueId id : values_) {
      if (id != values_.back() && (id == values_.front() || draws_.integer(0, 6) != 0)) continue;
      edit_.mutable_value(id).type.element = ElementType::kFloat;
      edit_.add_graph_output(id);
    }
  }

  const ir::Model& model() const { return model_; }
  const ir::Tensor& input() const { return input_; }
  const ir::Tensor& result(ir::ValueId id) const { return results_.at(id.index); }
  const std::string& failure() const { return failure_; }

 private:
  /// Recent values are likelier, so that chains grow.
  ir::ValueId any() {
    const auto last = static_cast<int64_t>(values_.size()) - 1;
    return values_[static_cast<size_t>(draws_.coin() ? last : draws_.integer(0, last))];
  }
  const ir::Shape& dims(ir::ValueId id) const { return results_.at(id.index).dims(); }
  ir::ValueId constant(ir::Tensor tensor) {
    const ir::ValueId id = edit_.add_initializer("c", tensor);
    results_[id.index] = std::move(tensor);
    return id;
  }

  void add(const std::string& op, const std::vector<ir::ValueId>& inputs, std::vector<ir::Attribute> attributes = {}) {
    std::vector<ir::Tensor> tensors;
    tensors.reserve(inputs.size());
    for (const ir::ValueId id : inputs) tensors.push_back(id.valid() ? results_.at(id.index) : ir::Tensor());
    const Result<ir::Tensor> alone = run_node({op, attributes, inputs.size()}, tensors);
    if (!alone.ok()) {
      failure_ = cat(op, ": ", alone.status().message());
      return;
    }
    if (alone.value().size() == 0 || alone.value().size() > 20000) return;  // keeps graphs small
    const ir::ValueId made = edit_.add_value(cat(op, "_", values_.size()));
    edit_.add_node({op, "", "", inputs, {made}, std::move(attributes)});
    results_[made.index] = alone.value();
    values_.push_back(made);
  }

  void unary() {
    static const std::vector<std::string> ops = {"Relu",      "Sigmoid",   "Tanh", "Neg",      "Abs",
                                                 "LeakyRelu", "HardSwish", "Clip", "Identity", "Elu"};
    add(draws_.one_of(ops), {any()});
  }
  /// Partners have the same shape, are channels' vectors, or are the value itself.
  void binary() {
    static const std::vector<std::string> ops = {"Add", "Sub", "Mul", "Max", "PRelu"};
    const std::string op = draws_.one_of(ops);
    const ir::ValueId a = any();
    std::vector<ir::ValueId> partners = {a, constant(draws_.tensor(dims(a)))};
    for (const ir::ValueId id : values_) {
      if (dims(id) == dims(a)) partners.push_back(id);
    }
    if (dims(a).size() == 4) partners.push_back(constant(draws_.tensor({dims(a)[1], 1, 1})));
    const ir::ValueId b = draws_.one_of(partners);
    if (op == "PRelu" || draws_.coin()) return add(op, {a, b});
    add(op, {b, a});
  }
  void variadic() {
    static const std::vector<std::string> ops = {"Sum", "Min", "Mean"};
    const ir::ValueId a = any();
    std::vector<ir::ValueId> same;
    for (const ir::ValueId id : values_) {
      if (dims(id) == dims(a)) same.push_back(id);
    }
    std::vector<ir::ValueId> inputs;
    for (int64_t i = draws_.integer(2, 4); i > 0; --i) inputs.push_back(draws_.one_of(same));
    add(draws_.one_of(ops), inputs);
  }
  void conv() {
    const ir::ValueId x = any();
    if (dims(x).size() != 4) return;
    const int64_t in = dims(x)[1], group = draws_.coin() ? 1 : in, out = draws_.integer(1, 2) * group;
    const int64_t kernel = draws_.coin() ? 1 : 3, pad = kernel / 2;
    const ir::ValueId w = constant(draws_.tensor({out, in / group, kernel, kernel}, -0.5f, 0.5f));
    std::vector<ir::ValueId> inputs = {x, w};
    if (draws_.coin()) inputs.push_back(constant(draws_.tensor({out})));
    add("Conv", inputs,
        {number("group", group), attribute("pads", std::vector<int64_t>(4, pad)),
         attribute("strides", std::vector<int64_t>(2, draws_.integer(1, 2)))});
  }
  void pool() {
    static const std::vector<std::string> ops = {"MaxPool", "AveragePool", "GlobalAveragePool"};
    const ir::ValueId x = any();
    if (dims(x).size() != 4 || dims(x)[2] < 2 || dims(x)[3] < 2) return;
    const std::string op = draws_.one_of(ops);
    add(op, {x},
        op[0] == 'G' ? std::vector<ir::Attribute>{}
                     : std::vector{attribute("kernel_shape", std::vector<int64_t>{2, 2})});
  }
  void concat() {
    const ir::ValueId a = any();
    const int64_t axis = draws_.integer(0, static_cast<int64_t>(dims(a).size()) - 1);
    std::vector<ir::ValueId> fitting;
    for (const ir::ValueId id : values_) {
      ir::Shape other = dims(id);
      if (other.size() != dims(a).size()) continue;
      other[static_cast<size_t>(axis)] = dims(a)[static_cast<size_t>(axis)];
      if (other == dims(a)) fitting.push_back(id);
    }
    add("Concat", {draws_.one_of(fitting), a, draws_.one_of(fitting)}, {number("axis", axis)});
  }
  void slice() {
    const ir::ValueId x = any();
    const int64_t axis = draws_.integer(0, static_cast<int64_t>(dims(x).size()) - 1);
    const int64_t length = dims(x)[static_cast<size_t>(axis)];
    add("Slice", {x, constant(ints({draws_.integer(0, length - 1)})), constant(ints({length})), constant(ints({axis})),
                  constant(ints({draws_.integer(1, 2)}))});
  }
  void transpose() {
    const ir::ValueId x = any();
    std::vector<int64_t> perm(dims(x).size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    if (perm.size() < 2) return;
    std::swap(perm[static_cast<size_t>(draws_.integer(0, static_cast<int64_t>(perm.size()) - 1))], perm[1]);
    add("Transpose", {x}, {attribute("perm", perm)});
  }
  /// To three dimensions and back to four, so that layouts end and begin.
  void reshape() {
    const ir::ValueId x = any();
    const ir::Shape& from = dims(x);
    if (from.size() == 4) return add("Reshape", {x, constant(ints({0, from[1], -1}))});
    if (from.size() == 3) return add("Reshape", {x, constant(ints({from[0], from[1], from[2], 1}))});
  }
  void reduce() {
    const ir::ValueId x = any();
    add(draws_.coin() ? "ReduceMean" : "ReduceMax", {x},
        {attribute("axes", std::vector<int64_t>{draws_.integer(0, static_cast<int64_t>(dims(x).size()) - 1)}),
         number("keepdims", 1)});
  }
  void normalize() {
    const ir::ValueId x = any();
    if (dims(x).size() != 4 || draws_.coin()) {
      return add("Softmax", {x}, {number("axis", draws_.integer(0, static_cast<int64_t>(dims(x).size()) - 1))});
    }
    std::vector<ir::ValueId> inputs = {x};
    for (int i = 0; i < 4; ++i) inputs.push_back(constant(draws_.tensor({dims(x)[1]}, 0.5f, 1.5f)));
    add("BatchNormalization", inputs);
  }

  /// Zeros around an image, which a Conv or a pool may take over, or other values, which none may.
  void pad() {
    const ir::ValueId x = any();
    if (dims(x).size() != 4) return;
    std::vector<int64_t> pads(8);
    for (const size_t place : {2, 3, 6, 7}) pads[place] = draws_.integer(0, 1);
    if (draws_.integer(0, 3) == 0) pads[1] = 1;
    const ir::ValueId amounts = constant(ints(pads)), value = constant(floats({}, {draws_.coin() ? 0.0f : 0.5f}));
    add("Pad", {x, amounts, value});
    if (draws_.coin()) conv();
  }
  void no_op() {
    static const std::vector<std::string> ops = {"Identity", "Dropout", "Mul", "Add", "Reshape"};
    const ir::ValueId x = any();
    const std::string op = draws_.one_of(ops);
    if (op == "Reshape") return add(op, {x, constant(ints(dims(x)))});
    if (op != "Mul" && op != "Add") return add(op, {x});
    add(op, {x, constant(floats({1}, {op == "Mul" ? 1.0f : 0.0f}))});
  }
  /// Pairs that cancel, with or without something between them.
  void back_and_forth() {
    const ir::ValueId x = any();
    if (dims(x).size() != 4) return;
    const bool transposes = draws_.coin();
    const ir::ValueId last = constant(ints({-1}));
    transposes ? add("Transpose", {x}, {attribute("perm", std::vector<int64_t>{0, 2, 3, 1})})
               : add("Unsqueeze", {x, last});
    if (draws_.coin()) add("Relu", {values_.back()});
    transposes ? add("Transpose", {values_.back()}, {attribute("perm", std::vector<int64_t>{0, 3, 1, 2})})
               : add("Squeeze", {values_.back(), last});
  }
  /// A matrix product with its sum apart or inside.
  void gemm() {
    const ir::ValueId x = any();
    add("Flatten", {x});
    const ir::ValueId flat = values_.back();
    if (dims(flat).size() != 2) return;
    const int64_t made = draws_.integer(1, 5);
    const ir::ValueId w = constant(draws_.tensor({dims(flat)[1], made}, -0.3f, 0.3f));
    const ir::ValueId b = constant(draws_.tensor({made}));
    if (draws_.coin()) {
      add("Gemm", {flat, w, b}, {attribute("alpha", draws_.coin() ? 1.0f : 0.5f)});
    } else {
      add("MatMul", {flat, w});
      add("Add", {values_.back(), b});
    }
    add("Reshape", {values_.back(), constant(ints({0, 0, 1, 1}))});
  }

  void resize() {
    static const std::vector<std::string> modes = {"nearest", "linear"};
    const ir::ValueId x = any();
    if (dims(x).size() != 4) return;
    const ir::ValueId scales = constant(floats({4}, {1, 1, draws_.coin() ? 2.0f : 1.0f, 2}));
    add("Resize", {x, {}, scales},
        {attribute("mode", draws_.one_of(modes)),
         attribute("coordinate_transformation_mode", std::string("asymmetric")),
         attribute("nearest_mode", std::string("floor"))});
  }
  void rearrange() {
    const ir::ValueId x = any();
    const int64_t axis = draws_.integer(0, static_cast<int64_t>(dims(x).size()) - 1);
    if (draws_.coin()) {
      const ir::ValueId places = constant(draws_.indices({draws_.integer(1, 3)}, dims(x)[static_cast<size_t>(axis)]));
      return add("Gather", {x, places}, {number("axis", axis)});
    }
    if (dims(x).size() != 4 || dims(x)[2] % 2 != 0 || dims(x)[3] % 2 != 0) return;
    add("SpaceToDepth", {x}, {number("blocksize", 2)});
    if (draws_.coin()) add("DepthToSpace", {values_.back()}, {number("blocksize", 2)});
  }
  void norm() {
    const ir::ValueId x = any();
    if (dims(x).size() < 3) return;
    const bool is_layer = draws_.coin();
    const int64_t size = is_layer ? dims(x).back() : dims(x)[1];
    const ir::ValueId w = constant(draws_.tensor({size}, 0.5f, 1.5f)), b = constant(draws_.tensor({size}));
    // A large epsilon: values that hardly vary would be blown up, roundings with them.
    add(is_layer ? "LayerNormalization" : "InstanceNormalization", {x, w, b}, {attribute("epsilon", 0.1f)});
  }
  void clip() {
    const ir::ValueId x = any();
    const ir::ValueId low = constant(floats({}, {draws_.coin() ? 0.0f : -1.0f})), high = constant(floats({}, {6.0f}));
    draws_.coin() ? add("Clip", {x, low, high}) : add("Clip", {x, low});
  }
  /// A transposed convolution, which makes images larger.
  void spread() {
    const ir::ValueId x = any();
    if (dims(x).size() != 4) return;
    const ir::ValueId w = constant(draws_.tensor({dims(x)[1], draws_.integer(1, 3), 2, 2}, -0.5f, 0.5f));
    add("ConvTranspose", {x, w}, {attribute("strides", std::vector<int64_t>{2, 2})});
  }

  Draws draws_;
  ir::Model model_;
  ir::GraphEdit edit_{model_.graph};
  ir::Tensor input_;
  std::vector<ir::ValueId> values_;
  std::map<int32_t, ir::Tensor> results_;  ///< by value index
  std::string failure_;
};

}  // namespace quarkq::test
