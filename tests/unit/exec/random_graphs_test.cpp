// SPDX-License-Identifier: MIT
// Random graphs in a session, where layouts, fusion, in-place outputs and reused memory meet, against running their
// nodes one by one, each in a session of its own.
#include <gtest/gtest.h>

#include <map>

#include "ir/verify.h"
#include "support/random_draws.h"
#include "support/run_node.h"

namespace quarkq::test {
namespace {

/// Nodes over image tensors; the shape of each value is known while it is drawn.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : draws_(seed) {
    model_.set_opset("", 17);
    const ir::ValueId x = edit_.add_value("x");
    edit_.add_graph_input(x);
    input_ = draws_.tensor({draws_.integer(1, 2), draws_.integer(1, 17), draws_.integer(2, 6), draws_.integer(2, 6)});
    values_.push_back(x);
    results_[x.index] = input_;
  }

  /// False when the node does not run alone, which is a failure of the test itself.
  bool grow() {
    using Member = void (RandomGraph::*)();
    static constexpr Member kMembers[] = {&RandomGraph::unary,  &RandomGraph::unary,     &RandomGraph::binary,
                                          &RandomGraph::binary, &RandomGraph::variadic,  &RandomGraph::conv,
                                          &RandomGraph::conv,   &RandomGraph::pool,      &RandomGraph::concat,
                                          &RandomGraph::slice,  &RandomGraph::transpose, &RandomGraph::reshape,
                                          &RandomGraph::reduce, &RandomGraph::normalize};
    (this->*kMembers[static_cast<size_t>(draws_.integer(0, std::size(kMembers) - 1))])();
    return failure_.empty();
  }
  /// The last value and some others become outputs.
  void close() {
    for (const ir::ValueId id : values_) {
      if (id == values_.back() || draws_.integer(0, 6) == 0) edit_.add_graph_output(id);
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
    static const std::vector<std::string> kOps = {"Relu",      "Sigmoid",   "Tanh", "Neg",      "Abs",
                                                  "LeakyRelu", "HardSwish", "Clip", "Identity", "Elu"};
    add(draws_.one_of(kOps), {any()});
  }
  /// Partners have the same shape, are channels' vectors, or are the value itself.
  void binary() {
    static const std::vector<std::string> kOps = {"Add", "Sub", "Mul", "Max", "PRelu"};
    const std::string op = draws_.one_of(kOps);
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
    static const std::vector<std::string> kOps = {"Sum", "Min", "Mean"};
    const ir::ValueId a = any();
    std::vector<ir::ValueId> same;
    for (const ir::ValueId id : values_) {
      if (dims(id) == dims(a)) same.push_back(id);
    }
    std::vector<ir::ValueId> inputs;
    for (int64_t i = draws_.integer(2, 4); i > 0; --i) inputs.push_back(draws_.one_of(same));
    add(draws_.one_of(kOps), inputs);
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
    static const std::vector<std::string> kOps = {"MaxPool", "AveragePool", "GlobalAveragePool"};
    const ir::ValueId x = any();
    if (dims(x).size() != 4 || dims(x)[2] < 2 || dims(x)[3] < 2) return;
    const std::string op = draws_.one_of(kOps);
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

  Draws draws_;
  ir::Model model_;
  ir::GraphEdit edit_{model_.graph};
  ir::Tensor input_;
  std::vector<ir::ValueId> values_;
  std::map<int32_t, ir::Tensor> results_;  ///< by value index
  std::string failure_;
};

class RandomGraphsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 14; ++i) ASSERT_TRUE(graph_.grow()) << graph_.failure();
    graph_.close();
    ASSERT_EQ(ir::verify(graph_.model().graph).message(), "");
  }
  void expect_results(const std::vector<ir::Tensor>& found) {
    const std::vector<ir::ValueId>& outputs = graph_.model().graph.outputs();
    ASSERT_EQ(found.size(), outputs.size());
    for (size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(graph_.model().graph.value(outputs[i]).name);
      ASSERT_EQ(found[i].dims(), graph_.result(outputs[i]).dims());
      expect_near(found[i], values(graph_.result(outputs[i])), 1e-4);
    }
  }

  RandomGraph graph_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphsTest, ::testing::Range(1u, 61u));

TEST_P(RandomGraphsTest, ASessionComputesWhatItsNodesComputeAlone) {
  exec::Session session(graph_.model(), {});
  for (int run = 0; run < 2; ++run) {  // the second run reuses all memory
    const auto found = session.run(std::vector{graph_.input()});
    ASSERT_TRUE(found.ok()) << found.status().message();
    expect_results(*found.value());
  }
}

/// Without other readers outside, a value may be fused away, kept in another layout or written over.
TEST_P(RandomGraphsTest, EveryValueCanBeFetchedAlone) {
  for (size_t i = 0; i < graph_.model().graph.value_count(); i += 3) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph_.model().graph.value(id).producer.valid()) continue;
    SCOPED_TRACE(graph_.model().graph.value(id).name);
    exec::Session session(graph_.model(), {.fetches = {id}, .taps = {}});
    const auto found = session.run(std::vector{graph_.input()});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found.value()->size(), 1u);
    expect_near(found.value()->front(), values(graph_.result(id)), 1e-4);
  }
}

}  // namespace
}  // namespace quarkq::test
