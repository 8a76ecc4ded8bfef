// SPDX-License-Identifier: MIT
// From the output of an attention back to the columns of the matrix that computes its values. The way through reshapes
// and transposes is replayed on the numbers of the columns.
#include <algorithm>
#include <numeric>

#include "ir/constants.h"
#include "qdq/write/nbits_learned.h"

namespace quarkq::qdq {
namespace {

/// Numbers of columns in place of the values of a tensor.
struct Columns {
  ir::Shape dims;
  std::vector<int64_t> values;
};

int64_t product(const ir::Shape& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// A node on the way, and which of its outputs the way uses.
struct Step {
  const ir::Node* node;
  ir::ValueId output;
};

class Way {
 public:
  explicit Way(const ir::Graph& graph) : graph_(graph) {}

  /// Collects the steps from `value` back to a MatMul with a stored matrix. Returns false if there is no such way.
  bool find(ir::ValueId value) {
    constexpr size_t kMostSteps = 12;
    bool has_product = false;
    while (steps_.size() < kMostSteps) {
      const ir::Node* const node = graph_.producer(value);
      if (node == nullptr) return false;
      if (node->is("MatMul") && ir::stored_floats(graph_, node->input(1)) != nullptr) {
        source_ = node;
        return has_product && graph_.use_count(node->input(1)) == 1;
      }
      const std::optional<size_t> next = next_input(*node, has_product);
      if (!next) return false;
      has_product = has_product || node->is("MatMul");
      steps_.push_back({node, value});
      value = node->input(*next);
      if (!value.valid() || !graph_.sole_use(value)) return false;
    }
    return false;
  }

  const ir::Node& source() const { return *source_; }
  ir::ValueId bias() const { return bias_; }

  /// Replays the steps on the columns' numbers of `count` columns, with one row and one position.
  std::optional<Columns> replay(int64_t count) const {
    Columns at{{1, 1, count}, std::vector<int64_t>(static_cast<size_t>(count))};
    std::iota(at.values.begin(), at.values.end(), int64_t{0});
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      std::optional<Columns> next = apply(*step, at);
      if (!next) return std::nullopt;
      at = std::move(*next);
    }
    return at;
  }

 private:
  /// Returns the input through which the way continues.
  std::optional<size_t> next_input(const ir::Node& node, bool has_product) {
    if (node.is("Reshape") || node.is("Transpose") || node.is("Squeeze") || node.is("Split")) return 0;
    if (node.is("MatMul") && !has_product) return 1;  // probabilities of attention times values
    if (!node.is("Add") || bias_.valid()) return std::nullopt;
    for (const size_t i : {1, 0}) {
      const ir::Tensor* const vector = ir::stored_floats(graph_, node.input(i));
      const ir::Node* const before = graph_.producer(node.input(1 - i));
      if (vector == nullptr || vector->rank() != 1 || graph_.use_count(node.input(i)) != 1) continue;
      if (before == nullptr || !before->is("MatMul")) continue;
      bias_ = node.input(i);
      return 1 - i;
    }
    return std::nullopt;
  }

  std::optional<Columns> apply(const Step& step, const Columns& from) const {
    const ir::Node& node = *step.node;
    if (node.is("Add")) return from;
    if (node.is("Reshape")) return reshaped(node, from);
    if (node.is("Transpose")) return transposed(node, from);
    if (node.is("Squeeze")) return squeezed(node, from);
    if (node.is("Split")) return part(step, from);
    // One position: the product with the probabilities keeps the columns.
    const size_t rank = from.dims.size();
    return rank >= 2 && from.dims[rank - 2] == 1 ? std::optional(from) : std::nullopt;
  }

  /// The numbers of a shape that is stored or joined from stored parts. Dimensions that are computed are rows and
  /// positions, of which the replay has one.
  std::optional<ir::Shape> shape_of(ir::ValueId id) const {
    const ir::Tensor* const stored = graph_.constant(id);
    if (stored != nullptr) {
      if (stored->type() != ElementType::kInt64) return std::nullopt;
      return ir::Shape(stored->data<int64_t>().begin(), stored->data<int64_t>().end());
    }
    const ir::Node* const node = graph_.producer(id);
    if (node == nullptr || !node->is("Concat")) return std::nullopt;
    ir::Shape dims;
    int computed = 0;
    for (const ir::ValueId part : node->inputs) {
      const ir::Tensor* const known = graph_.constant(part);
      if (known == nullptr) {
        if (++computed > 2) return std::nullopt;
        dims.push_back(1);
      } else {
        const std::optional<ir::Shape> some = shape_of(part);
        if (!some) return std::nullopt;
        dims.insert(dims.end(), some->begin(), some->end());
      }
    }
    return dims;
  }

  std::optional<Columns> reshaped(const ir::Node& node, const Columns& from) const {
    std::optional<ir::Shape> dims = shape_of(node.input(1));
    if (!dims || node.int_or("allowzero", 0) != 0) return std::nullopt;
    int64_t open = -1;
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] == 0) (*dims)[i] = i < from.dims.size() ? from.dims[i] : -2;
      if ((*dims)[i] < -1 || ((*dims)[i] == -1 && open >= 0)) return std::nullopt;
      if ((*dims)[i] == -1) open = static_cast<int64_t>(i);
    }
    const auto size = static_cast<int64_t>(from.values.size());
    if (open >= 0) {
      (*dims)[static_cast<size_t>(open)] = 1;
      const int64_t rest = product(*dims);
      if (rest < 1 || size % rest != 0) return std::nullopt;
      (*dims)[static_cast<size_t>(open)] = size / rest;
    }
    if (std::ranges::any_of(*dims, [&](int64_t dim) { return dim < 1 || dim > size; }) || product(*dims) != size)
      return std::nullopt;
    return Columns{*dims, from.values};
  }

  static std::optional<Columns> transposed(const ir::Node& node, const Columns& from) {
    const size_t rank = from.dims.size();
    std::vector<int64_t> perm = node.ints_or("perm", {});
    if (perm.empty()) {
      for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    }
    std::vector<int64_t> sorted = perm, steps(rank, 1);
    std::ranges::sort(sorted);
    if (sorted.size() != rank) return std::nullopt;
    for (size_t i = 0; i < rank; ++i) {
      if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
    }
    for (size_t i = rank; i-- > 1;) steps[i - 1] = steps[i] * from.dims[i];
    Columns made{{}, std::vector<int64_t>(from.values.size())};
    for (const int64_t axis : perm) made.dims.push_back(from.dims[static_cast<size_t>(axis)]);
    for (size_t i = 0; i < made.values.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      int64_t place = 0;
      for (size_t axis = rank; axis-- > 0; rest /= made.dims[axis])
        place += rest % made.dims[axis] * steps[static_cast<size_t>(perm[axis])];
      made.values[i] = from.values[static_cast<size_t>(place)];
    }
    return made;
  }

  std::optional<Columns> squeezed(const ir::Node& node, const Columns& from) const {
    const std::optional<std::vector<int64_t>> axes = ir::integers_of(graph_, node, 1, "axes");
    if (!axes || axes->size() != 1) return std::nullopt;
    const Result<int64_t> axis = ir::normalize_axis(axes->front(), static_cast<int64_t>(from.dims.size()));
    if (!axis.ok() || from.dims[static_cast<size_t>(axis.value())] != 1) return std::nullopt;
    Columns made = from;
    made.dims.erase(made.dims.begin() + axis.value());
    return made;
  }

  /// The part of the Split's input that becomes this output, for parts of equal size.
  std::optional<Columns> part(const Step& step, const Columns& from) const {
    const ir::Node& node = *step.node;
    const Result<int64_t> found = ir::normalize_axis(node.int_or("axis", 0), static_cast<int64_t>(from.dims.size()));
    if (!found.ok()) return std::nullopt;
    const auto axis = static_cast<size_t>(found.value()), parts = node.outputs.size();
    const auto number = static_cast<size_t>(std::ranges::find(node.outputs, step.output) - node.outputs.begin());
    const std::optional<std::vector<int64_t>> sizes = ir::integers_of(graph_, node, 1, "split");
    const bool are_equal = sizes && std::ranges::all_of(*sizes, [&](int64_t size) { return size == sizes->front(); });
    if (!are_equal || from.dims[axis] % static_cast<int64_t>(parts) != 0) return std::nullopt;
    Columns made{from.dims, {}};
    made.dims[axis] /= static_cast<int64_t>(parts);
    const auto inner = static_cast<size_t>(
        std::accumulate(from.dims.begin() + found.value(), from.dims.end(), int64_t{1}, std::multiplies<>()));
    const size_t width = inner / parts;
    for (size_t begin = number * width; begin < from.values.size(); begin += inner) {
      const auto first = from.values.begin() + static_cast<std::ptrdiff_t>(begin);
      made.values.insert(made.values.end(), first, first + static_cast<std::ptrdiff_t>(width));
    }
    return made;
  }

  const ir::Graph& graph_;
  std::vector<Step> steps_;
  const ir::Node* source_ = nullptr;
  ir::ValueId bias_;
};

}  // namespace

std::optional<std::vector<ScaleTaker>> find_head_takers(const ir::Graph& graph, ir::ValueId value, int64_t channels) {
  Way way(graph);
  if (!way.find(value)) return std::nullopt;
  const ir::Tensor& matrix = *graph.constant(way.source().input(1));
  if (matrix.rank() != 2) return std::nullopt;
  const std::optional<Columns> found = way.replay(matrix.dims()[1]);
  if (!found || found->dims.empty() || found->dims.back() != channels ||
      static_cast<int64_t>(found->values.size()) != channels)
    return std::nullopt;
  std::vector<ScaleTaker> takers = {{way.source().input(1), found->values}};
  if (way.bias().valid()) {
    if (graph.constant(way.bias())->size() != matrix.dims()[1]) return std::nullopt;
    takers.push_back({way.bias(), found->values});
  }
  return takers;
}

}  // namespace quarkq::qdq
